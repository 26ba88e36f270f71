//! The LangGraph server API, so that its clients work with agents unchanged.
//!
//! An agent is an assistant, a session is a thread, and an input from outside is a run. `values` are `{messages, state}`: the
//! conversation as messages of LangChain, and the agent's state. A question is an interrupt.
//!
//! | file | subject |
//! |---|---|
//! | `assistants` | agents as assistants |
//! | `threads` | sessions as threads: creating, finding, copying, removing |
//! | `notes` | data of a thread beside its session |
//! | `state` | values, checkpoints, history, updates |
//! | `new_runs` | routes that begin a run: in the background, as a stream, until its end |
//! | `begin` | beginning a run: its session, and the input for it |
//! | `input` | the input of a run: a message, answers, or nothing |
//! | `runs` | routes of existing runs: showing, listing, joining and stopping |
//! | `follow` | following a run to its end |
//! | `wait`, `stream` | a followed run as its final values, or as server-sent events |
//! | `fold` | messages, runs and checkpoints, folded from events |
//! | `interrupts`, `ids` | questions as interrupts; ids that are derived from what they name |

mod assistants;
pub(crate) mod begin;
pub(crate) mod fold;
pub(crate) mod follow;
mod ids;
mod input;
mod interrupts;
mod new_runs;
mod notes;
mod runs;
mod state;
mod stream;
mod threads;
mod wait;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, FromRequestParts};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use obelus_kernel::session::refusals::RefusalCode;
use serde_json::{Value, json};

use crate::ChannelError;
use crate::http::{Access, App, Failure, Json};
use crate::service::{Service, SessionSnapshot};
use fold::Fold;
use notes::ThreadNotes;

/// A request about threads: the server, the notes beside its sessions, and the caller.
struct ThreadRequest {
    app: App,
    notes: Arc<ThreadNotes>,
    access: Access,
}

impl FromRequestParts<App> for ThreadRequest {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let notes = Extension::from_request_parts(parts, app).await;
        let Extension(notes) = notes.map_err(IntoResponse::into_response)?;
        let access = Access::from_request_parts(parts, app).await.map_err(IntoResponse::into_response)?;
        Ok(Self { app: app.clone(), notes, access })
    }
}

impl ThreadRequest {
    fn service(&self) -> &Service {
        self.app.service()
    }

    /// A session now, or after a record, in the caller's language.
    async fn snapshot(&self, session: &str, record: Option<u64>) -> Result<SessionSnapshot, ChannelError> {
        self.service().snapshot(session, record, self.access.language).await
    }

    /// The messages, runs and checkpoints of a session.
    async fn fold(&self, thread: &str, session: &str) -> Result<Fold, ChannelError> {
        let history = self.service().whole_history(session).await?;
        Ok(Fold::of(thread, history.iter().map(AsRef::as_ref)))
    }

    /// Notes that the caller is shown the open questions.
    fn note_shown(&self, now: &SessionSnapshot) {
        self.app.note_shown(&self.access, &now.questions);
    }
}

/// The result of a handler.
type ValueResult = Result<Json<Value>, Failure>;

/// The channel's name in journals: `langgraph:NAME`.
const CHANNEL: &str = "langgraph";

/// Removes the data of a thread whose session was removed.
pub fn forget(store: &Path, session: &str) {
    // A leftover note does no harm.
    let _ = notes::ThreadNotes::new(store).remove(session);
}

/// The routes. Notes about threads are stored in the store's folder.
pub fn routes(store: &Path) -> Router<App> {
    Router::new()
        .route("/ok", get(ok))
        .route("/info", get(info))
        .route("/assistants", post(assistants::refuse))
        .route("/assistants/search", post(assistants::search))
        .route("/assistants/count", post(assistants::count))
        .route("/assistants/{id}", get(assistants::show).patch(assistants::refuse).delete(assistants::refuse))
        .route("/assistants/{id}/graph", get(assistants::graph))
        .route("/assistants/{id}/schemas", get(assistants::schemas))
        .route("/assistants/{id}/subgraphs", get(assistants::subgraphs))
        .route("/assistants/{id}/versions", post(assistants::versions))
        .route("/threads", post(threads::create))
        .route("/threads/search", post(threads::search))
        .route("/threads/count", post(threads::count))
        .route("/threads/{id}", get(threads::show).patch(threads::update).delete(threads::remove))
        .route("/threads/{id}/copy", post(threads::copy))
        .route("/threads/{id}/state", get(state::now).post(state::update))
        .route("/threads/{id}/state/checkpoint", post(state::at_checkpoint))
        .route("/threads/{id}/state/{checkpoint}", get(state::at))
        .route("/threads/{id}/history", get(state::history_by_query).post(state::history))
        .route("/threads/{id}/runs", get(runs::list).post(new_runs::create))
        .route("/threads/{id}/runs/stream", post(new_runs::stream))
        .route("/threads/{id}/runs/wait", post(new_runs::wait))
        .route("/threads/{id}/runs/{run}", get(runs::show))
        .route("/threads/{id}/runs/{run}/cancel", post(runs::cancel))
        .route("/threads/{id}/runs/{run}/join", get(runs::join))
        .route("/threads/{id}/runs/{run}/stream", get(runs::join_stream))
        .route("/runs", post(new_runs::create_stateless))
        .route("/runs/stream", post(new_runs::stream_stateless))
        .route("/runs/wait", post(new_runs::wait_stateless))
        .layer(Extension(Arc::new(ThreadNotes::new(store))))
}

async fn ok(_: Access) -> Json<Value> {
    Json(json!({"ok": true}))
}

async fn info(_: Access) -> Json<Value> {
    let flags = json!({"assistants": true, "crons": false, "langsmith": false});
    Json(json!({"version": env!("CARGO_PKG_VERSION"), "server": "obelus", "flags": flags}))
}

/// A number in a body or a query, within limits.
fn limit_of(value: &Value, name: &str, usual: u64, most: u64) -> usize {
    let number = value[name].as_u64().or_else(|| value[name].as_str()?.parse().ok());
    usize::try_from(number.unwrap_or(usual).min(most)).unwrap_or(usize::MAX)
}

fn bad(text: impl Into<String>) -> ChannelError {
    ChannelError::BadRequest(text.into())
}

/// The error for an unsupported feature.
fn unsupported(text: &str) -> ChannelError {
    ChannelError::Refused(obelus_kernel::session::Refused::new(RefusalCode::Unsupported, text))
}
