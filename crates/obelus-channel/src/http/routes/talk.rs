//! Messages, stop, pause, resume, and the result of a turn.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use obelus_kernel::session::Session;
use obelus_kernel::session::sent_by::SentBy;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::JsonResult;
use crate::ChannelError;
use crate::http::body::{InPath, InQuery, JsonBody};
use crate::http::reply::{Failure, Failures};
use crate::http::{Access, App, Json, LONGEST_WAIT, USUAL_WAIT};
use crate::tokens::TokenRole;
use crate::types::{Taken, TurnView};

/// A message of the user
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "a message such as {\"text\": \"hello\"}")]
#[schema(as = Words)]
pub(super) struct UserMessage {
    /// The text.
    #[schema(pattern = r"\S")]
    text: String,
    /// Whether to answer only when the turn has ended.
    #[serde(default)]
    wait: bool,
    /// The most seconds to wait, up to 600; by default 60.
    timeout: Option<u64>,
}

/// An accepted message, and the result of its turn if the request waited for it
#[derive(Serialize, ToSchema)]
pub(super) struct Said {
    #[serde(flatten)]
    taken: Taken,
    /// The result of the turn; null if the request did not wait for it, or if it still runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnView>,
    /// Who paused the session; the message waits until it is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_by: Option<String>,
}

/// How long to wait
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WaitQuery {
    /// The most seconds to wait, up to 600; by default 60.
    timeout: Option<u64>,
    /// The record of a message: `left_open` says why it has not answered the questions that were open before it.
    message: Option<u64>,
}

/// Send a message of the user
#[utoipa::path(post, path = "/api/v1/sessions/{id}/messages", tag = "talk", operation_id = "say", request_body = UserMessage,
    params(("id" = String, Path, description = "the session"), ("idempotency-key" = Option<String>, Header, description = "the id of the input: repeated requests act once")),
    responses((status = 200, description = "the turn has ended", body = Said), (status = 202, description = "the message is stored", body = Said), Failures))]
pub(super) async fn say(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    JsonBody(words): JsonBody<UserMessage>,
) -> Result<Response, Failure> {
    access.needs(TokenRole::Operator)?;
    if words.text.trim().is_empty() {
        return Err(ChannelError::BadRequest("`text` is empty".to_owned()).into());
    }
    let earlier = match access.input_id().filter(|_| words.wait) {
        Some(input_id) => app.service().input_record(&id, input_id).await?,
        None => None,
    };
    let taken = app.service().say(&id, &words.text, &access.by(), access.input_id()).await?;
    let turn = match earlier {
        _ if !words.wait => None,
        Some(record) => first_turn(&app, &id, record, &access, words.timeout).await?,
        None => rested(&app, &id, &access, words.timeout).await?,
    };
    let status = if turn.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let paused_by = match turn {
        Some(_) => None,
        None => app.service().read(&id, |session| session.paused().map(str::to_owned)).await?,
    };
    Ok((status, Json(Said { taken, turn, paused_by })).into_response())
}

/// The turn of a message that was sent before, which later messages may have followed. Waits for it if it still runs.
async fn first_turn(
    app: &App,
    id: &str,
    record: u64,
    access: &Access,
    seconds: Option<u64>,
) -> Result<Option<TurnView>, Failure> {
    if let Some(turn) = app.service().turn_after(id, record, access.language).await? {
        return Ok(Some(turn));
    }
    rested(app, id, access, seconds).await?;
    Ok(app.service().turn_after(id, record, access.language).await?)
}

/// Waits for a turn, until the time limit or the server's shutdown.
async fn rested(app: &App, id: &str, access: &Access, seconds: Option<u64>) -> Result<Option<TurnView>, Failure> {
    let limit = Duration::from_secs(seconds.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT));
    tokio::select! {
        rested = app.service().rested(id, access.language) => Ok(rested?),
        () = tokio::time::sleep(limit) => Ok(None),
        () = app.closing() => Ok(None),
    }
}

/// Wait for the end of the turn and return its result
#[utoipa::path(get, path = "/api/v1/sessions/{id}/turn", tag = "talk", operation_id = "showTurn", params(("id" = String, Path, description = "the session"), WaitQuery),
    responses((status = 200, body = TurnView), (status = 204, description = "it is still running, or none has begun"), Failures))]
pub(super) async fn turn(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<WaitQuery>,
) -> Result<Response, Failure> {
    // Waiting resumes the work of an earlier process.
    access.needs(TokenRole::Operator)?;
    let Some(mut turn) = rested(&app, &id, &access, query.timeout).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    if let Some(message) = query.message {
        turn.left_open = app.service().left_open(&id, message, access.language).await?;
    }
    Ok(Json(turn).into_response())
}

/// Stop the turn
#[utoipa::path(post, path = "/api/v1/sessions/{id}/stop", tag = "talk", operation_id = "stop",
    params(("id" = String, Path, description = "the session"), ("idempotency-key" = Option<String>, Header, description = "the id of the input")),
    responses((status = 200, body = Taken), Failures))]
pub(super) async fn stop(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> JsonResult<Taken> {
    access.needs(TokenRole::Operator)?;
    Ok(Json(app.service().stop(&id, access.input_id()).await?))
}

/// Pause the session
#[utoipa::path(post, path = "/api/v1/sessions/{id}/pause", tag = "talk", operation_id = "pause",
    params(("id" = String, Path, description = "the session"), ("idempotency-key" = Option<String>, Header, description = "the id of the input")),
    responses((status = 200, body = Taken), Failures))]
pub(super) async fn pause(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> JsonResult<Taken> {
    access.needs(TokenRole::Operator)?;
    Ok(Json(app.service().pause(&id, &access.by(), access.input_id()).await?))
}

/// Resume a paused session
#[utoipa::path(post, path = "/api/v1/sessions/{id}/resume", tag = "talk", operation_id = "resume",
    params(("id" = String, Path, description = "the session"), ("idempotency-key" = Option<String>, Header, description = "the id of the input")),
    responses((status = 200, body = Taken), Failures))]
pub(super) async fn resume(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> JsonResult<Taken> {
    access.needs(TokenRole::Operator)?;
    let is_import =
        |session: &Session| session.paused().is_some_and(|by| matches!(SentBy::of(by), SentBy::ImportOf(_)));
    // Resuming an import starts the programs that its file names.
    if access.needs(TokenRole::Admin).is_err() && app.service().read(&id, is_import).await? {
        return Err(ChannelError::Imported(id).into());
    }
    Ok(Json(app.service().resume(&id, &access.by(), access.input_id()).await?))
}
