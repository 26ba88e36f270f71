//! Timeline, log, fork.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use obelus_runtime::EventNumber;
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::JsonResult;
use crate::ChannelError;
use crate::http::body::{InPath, InQuery};
use crate::http::reply::{Failure, Failures};
use crate::http::{Access, App, Json, OptionalBody};
use crate::tokens::TokenRole;
use crate::types::{ForkForecastView, ForkView, Log, LogFilter, Timeline, UsageView};

/// Part of the events
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// The event after which the page begins, `RECORD-PART`.
    #[param(pattern = "^[0-9]+-[0-9]+$")]
    after: Option<String>,
    /// The most events, 1 to 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Part of the records
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RecordsQuery {
    /// The record after which the page begins.
    after: Option<u64>,
    /// Only those that contain this text.
    text: Option<String>,
    /// Only those of this kind: `user`, `answer`, `ended`, `decide`, …
    kind: Option<String>,
    /// The most records, 1 to 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The id and the start of a fork
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NewFork {
    /// The id of the new session. By default a random one.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    id: Option<String>,
    /// The record after which it begins. By default the last one.
    at: Option<u64>,
}

/// The events of the session, oldest first
#[utoipa::path(get, path = "/api/v1/sessions/{id}/timeline", tag = "past", operation_id = "showTimeline", params(("id" = String, Path, description = "the session"), EventsQuery),
    responses((status = 200, body = Timeline), Failures))]
pub(super) async fn timeline(
    State(app): State<App>,
    _: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<EventsQuery>,
) -> JsonResult<Timeline> {
    let after = query.after.as_deref().map(event_number).transpose()?;
    Ok(Json(app.service().timeline(&id, after, query.limit.unwrap_or(200)).await?))
}

/// The records of the journal, oldest first
#[utoipa::path(get, path = "/api/v1/sessions/{id}/log", tag = "past", operation_id = "showLog", params(("id" = String, Path, description = "the session"), RecordsQuery),
    responses((status = 200, body = Log), Failures))]
pub(super) async fn log(
    State(app): State<App>,
    _: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<RecordsQuery>,
) -> JsonResult<Log> {
    let RecordsQuery { after, text, kind, limit } = query;
    let filter = LogFilter { text, kind };
    Ok(Json(app.service().log(&id, after.unwrap_or(0), limit.unwrap_or(200), filter).await?))
}

/// What an export is for
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportQuery {
    /// Whether to leave out paths, commands and addresses of the agent.
    look: Option<bool>,
}

/// The session with its whole journal
///
/// JSON lines for `obelus sessions import`; this needs the role `admin`. With `look` every role gets them, without the
/// paths, commands and addresses of the agent.
#[utoipa::path(get, path = "/api/v1/sessions/{id}/export", tag = "past", operation_id = "exportSession", params(("id" = String, Path, description = "the session"), ExportQuery),
    responses((status = 200, body = String, content_type = "application/x-ndjson"), Failures))]
pub(super) async fn export(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<ExportQuery>,
) -> Result<Response, Failure> {
    let is_to_look = query.look.unwrap_or_default();
    access.needs(if is_to_look { TokenRole::Viewer } else { TokenRole::Admin })?;
    let lines = app.service().export(&id, is_to_look).await?;
    Ok(crate::http::reply::text("application/x-ndjson", lines))
}

/// Where a fork would begin
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ForkQuery {
    /// The record after which it would begin; by default the last one.
    at: Option<u64>,
}

/// What a fork would repeat, and what not
#[utoipa::path(get, path = "/api/v1/sessions/{id}/fork", tag = "past", operation_id = "forecastFork", params(("id" = String, Path, description = "the session"), ForkQuery),
    responses((status = 200, body = ForkForecastView), Failures))]
pub(super) async fn forecast(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<ForkQuery>,
) -> JsonResult<ForkForecastView> {
    Ok(Json(app.service().fork_forecast(&id, query.at, access.language).await?))
}

/// The usage of requests to the model
#[utoipa::path(get, path = "/api/v1/sessions/{id}/usage", tag = "past", operation_id = "showUsage", params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = UsageView), Failures))]
pub(super) async fn usage(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> JsonResult<UsageView> {
    Ok(Json(app.service().usage(&id, access.language).await?))
}

/// Fork the session at a record
#[utoipa::path(post, path = "/api/v1/sessions/{id}/fork", tag = "past", operation_id = "fork", request_body = Option<NewFork>,
    params(("id" = String, Path, description = "the session")),
    responses((status = 201, body = ForkView), Failures))]
pub(super) async fn fork(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    OptionalBody(new): OptionalBody,
) -> Result<Response, Failure> {
    access.needs(TokenRole::Operator)?;
    let new: NewFork = match new {
        Value::Null => NewFork::default(),
        new => serde_json::from_value(new).map_err(|error| ChannelError::BadRequest(error.to_string()))?,
    };
    let new_id = new.id.or_else(|| access.id_of_key("fork"));
    let fork = app.service().fork(&id, new_id, new.at).await?;
    Ok((StatusCode::CREATED, Json(fork)).into_response())
}

/// Reads the number of an event.
pub(in crate::http) fn event_number(text: &str) -> Result<EventNumber, ChannelError> {
    text.parse::<EventNumber>().map_err(|error| ChannelError::BadRequest(error.to_string()))
}
