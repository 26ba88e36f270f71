//! OpenAI's API: an agent is a model, and a chat is a session.
//!
//! | file | subject |
//! |---|---|
//! | `request` | parsing requests |
//! | `chats` | the session of a conversation |
//! | `codes` | answers to questions as text: `approve CODE` |
//! | `completion` | the agent's answer, plain or as a stream |

mod chats;
mod codes;
mod completion;
mod request;

use std::path::Path as FilePath;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, State};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::http::{Access, App, Failure, InPath, Json};
use chats::Chats;

/// The channel's name in journals: `openai:NAME`.
const CHANNEL: &str = "openai";

/// The routes. The mapping from conversations to sessions is stored in the store's folder.
pub fn routes(store: &FilePath) -> Router<App> {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/models/{id}", get(model))
        .route("/v1/chat/completions", post(completion::create))
        .layer(Extension(Arc::new(Chats::new(store))))
}

/// Removes the data of a removed session.
pub fn forget(store: &FilePath, session: &str) {
    chats::forget(store, session);
}

fn model_view(name: &str) -> Value {
    json!({"id": name, "object": "model", "created": 0, "owned_by": "obelus"})
}

async fn models(State(app): State<App>, access: Access) -> Result<Json<Value>, Failure> {
    let agents = app.service().agents(access.language).await?;
    let data: Vec<Value> = agents.iter().filter(|agent| agent.ok).map(|agent| model_view(&agent.name)).collect();
    Ok(Json(json!({"object": "list", "data": data})))
}

async fn model(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> Result<Json<Value>, Failure> {
    Ok(Json(model_view(&app.service().agent(&id, access.language).await?.agent.name)))
}
