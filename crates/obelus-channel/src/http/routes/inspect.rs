//! Inspecting a session: the plan as a graph, values of the state, instances, pictures.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::JsonResult;
use crate::http::body::{InPath, InQuery};
use crate::http::reply::{Failure, Failures, text};
use crate::http::{Access, App, Json};
use crate::types::{InstanceFilter, InstanceList, PlanGraphView, StateChanges, StateValues};

/// A time in the past
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct GraphQuery {
    /// The record after which the session is shown; by default the last one.
    at: Option<u64>,
}

/// Which values are wanted
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ValuesQuery {
    /// The record after which the session is shown; by default the last one.
    at: Option<u64>,
    /// The path below which they are, such as `state.deal`; by default the whole state.
    path: Option<String>,
}

/// Two times
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct BetweenQuery {
    /// The first record.
    at: u64,
    /// The second record; by default the present state.
    to: Option<u64>,
}

/// Which instances are wanted
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct InstancesQuery {
    /// Only those with this status: of a call, or `idle`.
    status: Option<String>,
    /// Only those whose name contains this text.
    text: Option<String>,
    /// Only those that failed with this code.
    error: Option<String>,
    /// The `next` of the previous page.
    after: Option<String>,
    /// The most rows, 1 to 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The calls of the latest turn as a graph, and the agent's graph of steps
#[utoipa::path(get, path = "/api/v1/sessions/{id}/graph", tag = "sessions", operation_id = "showGraph", params(("id" = String, Path, description = "the session"), GraphQuery),
    responses((status = 200, body = PlanGraphView), Failures))]
pub(super) async fn graph(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<GraphQuery>,
) -> JsonResult<PlanGraphView> {
    Ok(Json(app.service().graph(&id, query.at, access.language).await?))
}

/// The values of the state with their origins and approvals
#[utoipa::path(get, path = "/api/v1/sessions/{id}/state/values", tag = "sessions", operation_id = "listValues", params(("id" = String, Path, description = "the session"), ValuesQuery),
    responses((status = 200, body = StateValues), Failures))]
pub(super) async fn values(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<ValuesQuery>,
) -> JsonResult<StateValues> {
    Ok(Json(app.service().state_values(&id, query.at, query.path.as_deref(), access.language).await?))
}

/// The changes of the state between two records
#[utoipa::path(get, path = "/api/v1/sessions/{id}/state/changes", tag = "sessions", operation_id = "listChanges", params(("id" = String, Path, description = "the session"), BetweenQuery),
    responses((status = 200, body = StateChanges), Failures))]
pub(super) async fn changes(
    State(app): State<App>,
    _: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<BetweenQuery>,
) -> JsonResult<StateChanges> {
    Ok(Json(app.service().state_changes(&id, query.at, query.to).await?))
}

/// The instances of the session, with counts and errors
#[utoipa::path(get, path = "/api/v1/sessions/{id}/instances", tag = "sessions", operation_id = "listInstances", params(("id" = String, Path, description = "the session"), InstancesQuery),
    responses((status = 200, body = InstanceList), Failures))]
pub(super) async fn instances(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<InstancesQuery>,
) -> JsonResult<InstanceList> {
    let InstancesQuery { status, text, error, after, limit } = query;
    let filter = InstanceFilter { status, text, error, after, limit: limit.unwrap_or(200) };
    Ok(Json(app.service().instances(&id, filter, access.language).await?))
}

/// The latest picture of the page that the session observes
#[utoipa::path(get, path = "/api/v1/sessions/{id}/picture", tag = "sessions", operation_id = "showSessionPicture", params(("id" = String, Path, description = "the session")),
    responses((status = 200, description = "the picture", body = Vec<u8>, content_type = "image/png"), Failures))]
pub(super) async fn picture(
    State(app): State<App>,
    _: Access,
    InPath(id): InPath<String>,
) -> Result<Response, Failure> {
    let picture = app.service().picture_of_session(&id).await?;
    Ok(text(picture.kind, picture.bytes))
}
