//! Sessions and their contents.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::JsonResult;
use crate::http::body::{InPath, InQuery, JsonBody};
use crate::http::reply::{Failure, Failures};
use crate::http::{Access, App, Json};
use crate::schemas::{ContextMessage, ValueStory};
use crate::tokens::TokenRole;
use crate::types::{NewSession, Page, PlanView, SessionList, SessionView, Taken};

/// Part of a list
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// The `next` of the previous page.
    after: Option<String>,
    /// The most entries, 1 to 200.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// A time in the past
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AtQuery {
    /// The record after which the session is shown; by default the last one.
    at: Option<u64>,
}

/// The value whose history is wanted
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhyQuery {
    /// An expression such as `state.deal.title`.
    path: String,
    /// The instance that reads it.
    instance: Option<String>,
}

/// A state that replaces that of the session
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewState {
    /// The whole state.
    state: Value,
}

/// Sessions, newest first
#[utoipa::path(get, path = "/api/v1/sessions", tag = "sessions", operation_id = "listSessions", params(ListQuery),
    responses((status = 200, body = SessionList), Failures))]
pub(super) async fn list(
    State(app): State<App>,
    _: Access,
    InQuery(page): InQuery<ListQuery>,
) -> JsonResult<SessionList> {
    let page = Page { after: page.after, limit: page.limit.unwrap_or(50) };
    Ok(Json(app.service().sessions(page).await?))
}

/// Make a session with an agent
#[utoipa::path(post, path = "/api/v1/sessions", tag = "sessions", operation_id = "createSession", request_body = NewSession,
    params(("idempotency-key" = Option<String>, Header, description = "repeated requests with one key make one session")),
    responses((status = 201, body = SessionView), (status = 200, description = "it exists already", body = SessionView), Failures))]
pub(super) async fn create(
    State(app): State<App>,
    access: Access,
    JsonBody(mut new): JsonBody<NewSession>,
) -> Result<Response, Failure> {
    access.needs(TokenRole::Operator)?;
    new.lang = new.lang.or_else(|| access.language.map(|language| language.code().to_owned()));
    new.is_bound = access.caller.role < TokenRole::Admin;
    let (session, is_new) = app.service().create_session_once(new, &access.caller.name, access.input_id()).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let place = format!("/api/v1/sessions/{}", session.id);
    Ok((status, [("location", place)], Json(session)).into_response())
}

/// A session as it is now
#[utoipa::path(get, path = "/api/v1/sessions/{id}", tag = "sessions", operation_id = "showSession",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = SessionView), Failures))]
pub(super) async fn show(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
) -> JsonResult<SessionView> {
    Ok(Json(app.service().session(&id, access.language).await?))
}

/// Remove a session and all its data
#[utoipa::path(delete, path = "/api/v1/sessions/{id}", tag = "sessions", operation_id = "removeSession",
    params(("id" = String, Path, description = "the session")),
    responses((status = 204, description = "it is removed"), Failures))]
pub(super) async fn remove(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
) -> Result<StatusCode, Failure> {
    access.needs(TokenRole::Admin)?;
    app.service().remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The state, now or after a record
#[utoipa::path(get, path = "/api/v1/sessions/{id}/state", tag = "sessions", operation_id = "showState", params(("id" = String, Path, description = "the session"), AtQuery),
    responses((status = 200, body = Value), Failures))]
pub(super) async fn state(
    State(app): State<App>,
    _: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<AtQuery>,
) -> JsonResult<Value> {
    Ok(Json(app.service().state(&id, query.at).await?))
}

/// Replace the state of the session
#[utoipa::path(put, path = "/api/v1/sessions/{id}/state", tag = "sessions", operation_id = "editState", request_body = NewState,
    params(("id" = String, Path, description = "the session"), ("idempotency-key" = Option<String>, Header, description = "the id of the input")),
    responses((status = 200, body = Taken), Failures))]
pub(super) async fn edit_state(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    JsonBody(new): JsonBody<NewState>,
) -> JsonResult<Taken> {
    access.needs(TokenRole::Admin)?;
    Ok(Json(app.service().edit_state(&id, new.state, &access.by(), access.input_id()).await?))
}

/// The messages of the context, now or after a record
#[utoipa::path(get, path = "/api/v1/sessions/{id}/messages", tag = "sessions", operation_id = "listMessages", params(("id" = String, Path, description = "the session"), AtQuery),
    responses((status = 200, body = Vec<ContextMessage>), Failures))]
pub(super) async fn messages(
    State(app): State<App>,
    _: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<AtQuery>,
) -> JsonResult<Value> {
    Ok(Json(app.service().messages(&id, query.at).await?))
}

/// The calls of the latest turn with their status
#[utoipa::path(get, path = "/api/v1/sessions/{id}/plan", tag = "sessions", operation_id = "showPlan",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = PlanView), Failures))]
pub(super) async fn plan(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> JsonResult<PlanView> {
    Ok(Json(app.service().plan(&id, access.language).await?))
}

/// The provenance of a value
#[utoipa::path(get, path = "/api/v1/sessions/{id}/provenance", tag = "sessions", operation_id = "showProvenance", params(("id" = String, Path, description = "the session"), WhyQuery),
    responses((status = 200, body = ValueStory), Failures))]
pub(super) async fn provenance(
    State(app): State<App>,
    _: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<WhyQuery>,
) -> JsonResult<Value> {
    Ok(Json(app.service().why(&id, &query.path, query.instance.as_deref()).await?))
}
