//! The inbox, answers, consents.

use axum::extract::{Path, Query, State};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::Answered;
use crate::http::body::JsonBody;
use crate::http::reply::Failures;
use crate::http::{Access, App, Json};
use crate::tokens::Role;
use crate::types::{AnswerBody, ConsentRow, InboxFilter, QuestionRow, Taken};

/// Which questions are wanted
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct InboxQuery {
    /// Those of this session.
    session: Option<String>,
    /// Those of sessions with this agent.
    agent: Option<String>,
}

/// An answer, and what it answers
#[derive(Deserialize, ToSchema)]
pub(super) struct AnswerRequest {
    /// The decision.
    #[serde(flatten)]
    answer: AnswerBody,
    /// The `digest` of the question as it was shown: the answer is refused if the question has changed since.
    digest: Option<String>,
}

/// The open questions of all sessions
#[utoipa::path(get, path = "/api/v1/questions", tag = "questions", operation_id = "listQuestions", params(InboxQuery),
    responses((status = 200, body = Vec<QuestionRow>), Failures))]
pub(super) async fn inbox(
    State(app): State<App>,
    access: Access,
    Query(query): Query<InboxQuery>,
) -> Answered<Vec<QuestionRow>> {
    let filter = InboxFilter { session: query.session, agent: query.agent };
    Ok(Json(app.service().inbox(filter, access.language).await?))
}

/// A question, open or decided
#[utoipa::path(get, path = "/api/v1/questions/{question}", tag = "questions", operation_id = "showQuestion",
    params(("question" = String, Path, description = "its id, `SESSION:QUESTION`")),
    responses((status = 200, body = QuestionRow), Failures))]
pub(super) async fn show(
    State(app): State<App>,
    access: Access,
    Path(question): Path<String>,
) -> Answered<QuestionRow> {
    Ok(Json(app.service().question(&question, access.language).await?))
}

/// Answer a question
#[utoipa::path(post, path = "/api/v1/questions/{question}/answer", tag = "questions", operation_id = "answer", request_body = AnswerRequest,
    params(("question" = String, Path, description = "its id, `SESSION:QUESTION`"), ("idempotency-key" = Option<String>, Header, description = "the id of the input: sent again, it acts once")),
    responses((status = 200, body = Taken), Failures))]
pub(super) async fn answer(
    State(app): State<App>,
    access: Access,
    Path(question): Path<String>,
    JsonBody(request): JsonBody<AnswerRequest>,
) -> Answered<Taken> {
    access.needs(Role::Operator)?;
    let AnswerRequest { answer, digest } = request;
    Ok(Json(app.service().answer(&question, answer, &access.by(), digest.as_deref(), access.input_id()).await?))
}

/// What people have agreed to for the rest of the session
#[utoipa::path(get, path = "/api/v1/sessions/{id}/consents", tag = "questions", operation_id = "listConsents",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = Vec<ConsentRow>), Failures))]
pub(super) async fn consents(
    State(app): State<App>,
    access: Access,
    Path(id): Path<String>,
) -> Answered<Vec<ConsentRow>> {
    Ok(Json(app.service().consents(&id, access.language).await?))
}

/// Take back a consent
#[utoipa::path(delete, path = "/api/v1/sessions/{id}/consents/{consent}", tag = "questions", operation_id = "revokeConsent",
    params(("id" = String, Path, description = "the session"), ("consent" = String, Path, description = "its id, such as `c1`"), ("idempotency-key" = Option<String>, Header, description = "the id of the input")),
    responses((status = 200, body = Taken), Failures))]
pub(super) async fn revoke(
    State(app): State<App>,
    access: Access,
    Path((id, consent)): Path<(String, String)>,
) -> Answered<Taken> {
    access.needs(Role::Operator)?;
    Ok(Json(app.service().revoke(&id, &consent, &access.by(), access.input_id()).await?))
}
