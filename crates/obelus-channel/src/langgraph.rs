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
//! | `runs` | beginning, listing, waiting for and stopping runs |
//! | `begin` | the input of a run: messages, decisions, a checkpoint |
//! | `follow`, `stream` | following a run to its end; the same as server-sent events |
//! | `fold` | messages, runs and checkpoints, folded from events |
//! | `interrupts`, `ids` | questions as interrupts; ids that are derived from what they name |

mod assistants;
pub(crate) mod begin;
pub(crate) mod fold;
pub(crate) mod follow;
mod ids;
mod interrupts;
mod notes;
mod runs;
mod state;
mod stream;
mod threads;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::Extension;
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::ChannelError;
use crate::http::{Access, App, Failure, Json};
use notes::ThreadNotes;

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
        .route("/threads/{id}/runs", get(runs::list).post(runs::create))
        .route("/threads/{id}/runs/stream", post(runs::stream))
        .route("/threads/{id}/runs/wait", post(runs::wait))
        .route("/threads/{id}/runs/{run}", get(runs::show))
        .route("/threads/{id}/runs/{run}/cancel", post(runs::cancel))
        .route("/threads/{id}/runs/{run}/join", get(runs::join))
        .route("/threads/{id}/runs/{run}/stream", get(runs::join_stream))
        .route("/runs", post(runs::create_stateless))
        .route("/runs/stream", post(runs::stream_stateless))
        .route("/runs/wait", post(runs::wait_stateless))
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
    ChannelError::Refused(obelus_kernel::session::Refused::new("unsupported", text))
}
