//! Requests and notifications of a server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    ErrorData, FormElicitationCapability, Implementation, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// The limit of concurrent questions; more are declined.
const MOST_QUESTIONS: usize = 8;

/// A question of a server to a person during a call.
pub(super) struct ServerQuestion {
    pub(super) words: String,
    pub(super) schema: Value,
    /// Closed when the server withdraws the question.
    pub(super) answer: oneshot::Sender<ElicitResult>,
}

/// The state that the connection to a server and its calls share.
#[derive(Default)]
pub(super) struct ConnectionShared {
    registered: Mutex<Vec<(u64, mpsc::Sender<ServerQuestion>)>>,
    next: AtomicU64,
    /// Whether the server announced a change of the tool list.
    stale: AtomicBool,
    /// Whether a stateless server announces changes.
    hears: AtomicBool,
}

impl ConnectionShared {
    /// Registers a call that can ask a person: it receives the server's questions until the seat is dropped. The
    /// protocol does not link a question to a call, so the latest call gets it.
    pub(super) fn register_call(self: &Arc<Self>) -> (CallRegistration, mpsc::Receiver<ServerQuestion>) {
        let (sender, questions) = mpsc::channel(MOST_QUESTIONS);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.registered.lock().unwrap_or_else(PoisonError::into_inner).push((number, sender));
        (CallRegistration { shared: Arc::clone(self), number }, questions)
    }

    /// Notes a change of the tool list.
    pub(super) fn mark_stale(&self) {
        self.stale.store(true, Ordering::Release);
    }

    /// Whether the tool list changed since the last check.
    pub(super) fn take_stale(&self) -> bool {
        self.stale.swap(false, Ordering::AcqRel)
    }

    /// Whether a stateless server announces changes.
    pub(super) fn hears(&self) -> bool {
        self.hears.load(Ordering::Acquire)
    }

    /// Sets whether a stateless server announces changes.
    pub(super) fn now_hears(&self, hears: bool) {
        self.hears.store(hears, Ordering::Release);
    }

    fn ask(&self, question: ServerQuestion) -> bool {
        let registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.last().is_some_and(|(_, latest)| latest.try_send(question).is_ok())
    }
}

/// The registration of a call.
pub(super) struct CallRegistration {
    shared: Arc<ConnectionShared>,
    number: u64,
}

impl Drop for CallRegistration {
    fn drop(&mut self) {
        let mut registered = self.shared.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.retain(|(number, _)| *number != self.number);
    }
}

/// Handles requests of a server.
pub(super) struct Handler(pub(super) Arc<ConnectionShared>);

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let Some((words, schema)) = form_of(request) else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let (answer, answered) = oneshot::channel();
        if !self.0.ask(ServerQuestion { words, schema, answer }) {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        }
        tokio::select! {
            result = answered => Ok(result.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel))),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.mark_stale();
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        let me = Implementation::new("obelus", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, me).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

/// The text and schema of a form; none for other questions, such as an address to open.
pub(super) fn form_of(request: ElicitRequestParams) -> Option<(String, Value)> {
    match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            Some((message, serde_json::to_value(requested_schema).ok()?))
        }
        _ => None,
    }
}
