//! Events by WebSocket: the same as the stream, each as a text message of JSON.

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use obelus_runtime::EventBody;

use super::body::{InPath, InQuery};
use super::reply::{Failure, Failures};
use super::stream::{AfterQuery, EventStream, StreamItem};
use super::{Access, App};

/// The subprotocol of events. A browser requests it, and sends its token as another one, `obelus.token.TOKEN`.
const PROTOCOL: &str = "obelus.events";

/// The events of a session, by WebSocket
///
/// Each event is a text message `{number, at, event, …}`. `after` resumes after an event.
#[utoipa::path(get, path = "/api/v1/sessions/{id}/socket", tag = "events", operation_id = "connectEvents",
    params(("id" = String, Path, description = "the session"), AfterQuery),
    responses((status = 101, description = "the connection is a WebSocket now"), Failures))]
pub(super) async fn connect(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<AfterQuery>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = upgrade.map_err(|error| crate::ChannelError::BadRequest(error.body_text()))?;
    let events = EventStream::open(&app, &access, &id, query.after.as_deref()).await?;
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(64 * 1024).max_frame_size(64 * 1024);
    Ok(upgrade.on_upgrade(move |socket| send(socket, events)))
}

/// Sends events until the client leaves, is too slow, or the server ends. Messages from the client are ignored.
async fn send(mut socket: WebSocket, mut events: EventStream) {
    loop {
        let message = tokio::select! {
            next = events.next() => match next {
                StreamItem::Event(event) => {
                    let text = crate::service::event_value(&events.session, &event).to_string();
                    let is_last = matches!(event.body, EventBody::Missed);
                    if socket.send(Message::Text(text.into())).await.is_err() || is_last {
                        break;
                    }
                    continue;
                }
                StreamItem::Silence => Message::Ping(bytes::Bytes::new()),
                StreamItem::End => break,
            },
            said = socket.recv() => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        if socket.send(message).await.is_err() {
            return;
        }
    }
    let _ = socket.send(Message::Close(None)).await;
}
