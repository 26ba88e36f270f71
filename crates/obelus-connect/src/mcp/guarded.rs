//! A transport that limits the number of open requests from a server.
//!
//! The library starts a task for each request, even if the server does not read the answers, so that endless requests
//! would fill the memory. Here requests beyond a limit are dropped.

use std::collections::HashSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;

/// The limit of open requests.
const MOST_OPEN: usize = 64;

/// A transport with its open requests.
pub(super) struct GuardedTransport<T> {
    inner: T,
    open: OpenRequests,
}

type OpenRequests = Arc<Mutex<HashSet<RequestId>>>;

impl<T> GuardedTransport<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, open: OpenRequests::default() }
    }

    /// Whether to accept a message.
    fn takes(&self, message: &ServerJsonRpcMessage) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            JsonRpcMessage::Request(request) => open.len() < MOST_OPEN && open.insert(request.id.clone()),
            JsonRpcMessage::Notification(said) => {
                if let ServerNotification::CancelledNotification(cancelled) = &said.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    open.remove(id);
                }
                true
            }
            _ => true,
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for GuardedTransport<T> {
    type Error = T::Error;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let sending = self.inner.send(item);
        let open = Arc::clone(&self.open);
        async move {
            let sent = sending.await;
            if let Some(id) = answered {
                open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            if self.takes(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::ClientResult;
    use rmcp::transport::async_rw::AsyncRwTransport;
    use serde_json::json;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn requests_of_a_server_are_held_back_while_too_many_are_unanswered() {
        let (mut server, from_server) = tokio::io::duplex(1 << 20);
        let mut guarded = GuardedTransport::new(AsyncRwTransport::new_client(from_server, tokio::io::sink()));
        let ping = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        let pings = (0..10 * MOST_OPEN).map(ping);
        let said = pings.chain([ping(3), progress, cancelled, ping(7000), ping(7001)]);
        for message in said {
            server.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }
        for _ in 0..MOST_OPEN {
            assert!(matches!(guarded.receive().await, Some(JsonRpcMessage::Request(_))));
        }
        for _ in 0..2 {
            assert!(matches!(guarded.receive().await, Some(JsonRpcMessage::Notification(_))), "these are heard");
        }
        let next = guarded.receive().await;
        assert!(
            matches!(&next, Some(JsonRpcMessage::Request(asked)) if asked.id == RequestId::Number(7000)),
            "{next:?}"
        );

        guarded.send(ClientJsonRpcMessage::response(ClientResult::empty(()), RequestId::Number(5))).await.unwrap();
        server.write_all(format!("{}\n", ping(8000)).as_bytes()).await.unwrap();
        let next = guarded.receive().await;
        assert!(
            matches!(&next, Some(JsonRpcMessage::Request(asked)) if asked.id == RequestId::Number(7001)),
            "{next:?}"
        );
        drop(server);
        assert!(guarded.receive().await.is_none());
    }
}
