//! The inbox, answers, consents.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::JsonResult;
use crate::http::body::{InPath, InQuery, JsonBody};
use crate::http::reply::{Failure, Failures, text};
use crate::http::{Access, App, Json};
use crate::tokens::TokenRole;
use crate::types::{
    AnswerRequest, ConsentRow, FormView, InboxFilter, LookView, PreviewRequest, PreviewView, QuestionRow, Taken,
};

/// Which questions are wanted
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct InboxQuery {
    /// Only those of this session.
    session: Option<String>,
    /// Only those of sessions with this agent.
    agent: Option<String>,
    /// Only those about this: `call`, `plan`, `input` or `in_doubt`.
    about: Option<String>,
    /// Only those that contain this text.
    text: Option<String>,
    /// The most questions, 1 to 200; only for decided ones.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

impl InboxQuery {
    fn filter(self) -> InboxFilter {
        InboxFilter { session: self.session, agent: self.agent, about: self.about, text: self.text }
    }
}

/// The open questions of all sessions
#[utoipa::path(get, path = "/api/v1/questions", tag = "questions", operation_id = "listQuestions", params(InboxQuery),
    responses((status = 200, body = Vec<QuestionRow>), Failures))]
pub(super) async fn inbox(
    State(app): State<App>,
    access: Access,
    InQuery(query): InQuery<InboxQuery>,
) -> JsonResult<Vec<QuestionRow>> {
    Ok(Json(app.service().inbox(query.filter(), access.language).await?))
}

/// Questions that were decided or expired lately, latest first
#[utoipa::path(get, path = "/api/v1/questions/recent", tag = "questions", operation_id = "listDecided", params(InboxQuery),
    responses((status = 200, body = Vec<QuestionRow>), Failures))]
pub(super) async fn recent(
    State(app): State<App>,
    access: Access,
    InQuery(query): InQuery<InboxQuery>,
) -> JsonResult<Vec<QuestionRow>> {
    let limit = query.limit.unwrap_or(50);
    Ok(Json(app.service().recent(query.filter(), limit, access.language).await?))
}

/// The editable fields of the call in a question
#[utoipa::path(get, path = "/api/v1/questions/{question}/form", tag = "questions", operation_id = "showForm",
    params(("question" = String, Path, description = "its id, `SESSION:QUESTION`")),
    responses((status = 200, body = FormView), Failures))]
pub(super) async fn form(
    State(app): State<App>,
    access: Access,
    InPath(question): InPath<String>,
) -> JsonResult<FormView> {
    Ok(Json(app.service().form(&question, access.language).await?))
}

/// Preview an edit as it would run
#[utoipa::path(post, path = "/api/v1/questions/{question}/preview", tag = "questions", operation_id = "previewEdit", request_body = PreviewRequest,
    params(("question" = String, Path, description = "its id, `SESSION:QUESTION`")),
    responses((status = 200, body = PreviewView), Failures))]
pub(super) async fn preview(
    State(app): State<App>,
    access: Access,
    InPath(question): InPath<String>,
    JsonBody(edit): JsonBody<PreviewRequest>,
) -> JsonResult<PreviewView> {
    Ok(Json(app.service().preview(&question, edit, access.language).await?))
}

/// Check whether records are still as a question shows them
///
/// The records that the question would change are read again. Nothing is decided or stored.
#[utoipa::path(post, path = "/api/v1/questions/{question}/look", tag = "questions", operation_id = "lookAgain",
    params(("question" = String, Path, description = "its id, `SESSION:QUESTION`")),
    responses((status = 200, body = LookView), Failures))]
pub(super) async fn look(
    State(app): State<App>,
    access: Access,
    InPath(question): InPath<String>,
) -> JsonResult<LookView> {
    access.needs(TokenRole::Operator)?;
    Ok(Json(app.service().refresh_preview(&question, access.language).await?))
}

/// The picture of the page in a question
#[utoipa::path(get, path = "/api/v1/questions/{question}/picture", tag = "questions", operation_id = "showPicture",
    params(("question" = String, Path, description = "its id, `SESSION:QUESTION`")),
    responses((status = 200, description = "the picture", body = Vec<u8>, content_type = "image/png"), Failures))]
pub(super) async fn picture(
    State(app): State<App>,
    _: Access,
    InPath(question): InPath<String>,
) -> Result<Response, Failure> {
    let picture = app.service().picture_of_question(&question).await?;
    Ok(text(picture.kind, picture.bytes))
}

/// A question, open or decided
#[utoipa::path(get, path = "/api/v1/questions/{question}", tag = "questions", operation_id = "showQuestion",
    params(("question" = String, Path, description = "its id, `SESSION:QUESTION`")),
    responses((status = 200, body = QuestionRow), Failures))]
pub(super) async fn show(
    State(app): State<App>,
    access: Access,
    InPath(question): InPath<String>,
) -> JsonResult<QuestionRow> {
    Ok(Json(app.service().question(&question, access.language).await?))
}

/// Answer a question
#[utoipa::path(post, path = "/api/v1/questions/{question}/answer", tag = "questions", operation_id = "answer", request_body = AnswerRequest,
    params(("question" = String, Path, description = "its id, `SESSION:QUESTION`"), ("idempotency-key" = Option<String>, Header, description = "the id of the input: repeated requests act once")),
    responses((status = 200, body = Taken), Failures))]
pub(super) async fn answer(
    State(app): State<App>,
    access: Access,
    InPath(question): InPath<String>,
    JsonBody(request): JsonBody<AnswerRequest>,
) -> JsonResult<Taken> {
    access.needs(TokenRole::Operator)?;
    let AnswerRequest { answer, digest } = request;
    Ok(Json(app.service().answer(&question, answer, &access.by(), digest.as_deref(), access.input_id()).await?))
}

/// The standing consents of the session
#[utoipa::path(get, path = "/api/v1/sessions/{id}/consents", tag = "questions", operation_id = "listConsents",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = Vec<ConsentRow>), Failures))]
pub(super) async fn consents(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
) -> JsonResult<Vec<ConsentRow>> {
    Ok(Json(app.service().consents(&id, access.language).await?))
}

/// Revoke a consent
#[utoipa::path(delete, path = "/api/v1/sessions/{id}/consents/{consent}", tag = "questions", operation_id = "revokeConsent",
    params(("id" = String, Path, description = "the session"), ("consent" = String, Path, description = "its id, such as `c1`"), ("idempotency-key" = Option<String>, Header, description = "the id of the input")),
    responses((status = 200, body = Taken), Failures))]
pub(super) async fn revoke(
    State(app): State<App>,
    access: Access,
    InPath((id, consent)): InPath<(String, String)>,
) -> JsonResult<Taken> {
    access.needs(TokenRole::Operator)?;
    Ok(Json(app.service().revoke(&id, &consent, &access.by(), access.input_id()).await?))
}
