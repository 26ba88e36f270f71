//! Answers: JSON, and errors with a stable code.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use obelus_runtime::Language;
use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use crate::ChannelError;

/// A JSON answer.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

/// An error as clients see it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetails,
}

/// The error.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ErrorDetails {
    /// A stable name of the cause.
    pub code: String,
    /// The error and what to do, in the language that the client requested.
    pub message: String,
}

/// A failed call. Its text is chosen where the language is known.
pub struct Failure(pub ChannelError, pub Option<Language>);

impl From<ChannelError> for Failure {
    fn from(error: ChannelError) -> Self {
        Self(error, None)
    }
}

/// The error of an answer, to be rendered in the caller's language.
#[derive(Clone)]
pub(super) struct UnrenderedError(pub(super) std::sync::Arc<ChannelError>);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self(error, language) = self;
        let mut response = error_response(&error, language.unwrap_or(Language::English));
        if language.is_none() {
            response.extensions_mut().insert(UnrenderedError(std::sync::Arc::new(error)));
        }
        response
    }
}

/// The answer for an error.
pub(super) fn error_response(error: &ChannelError, language: Language) -> Response {
    let details = ErrorDetails { code: error.code().to_owned(), message: error.words(language) };
    let mut response = Json(ErrorBody { error: details }).into_response();
    *response.status_mut() = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if matches!(error, ChannelError::Unauthorized | ChannelError::UnknownToken | ChannelError::UsedLink) {
        response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
    }
    if matches!(error, ChannelError::TooMany(_) | ChannelError::Closing) {
        response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
    }
    response
}

/// The error answers of every call.
pub(super) struct Failures;

impl IntoResponses for Failures {
    fn responses() -> std::collections::BTreeMap<String, utoipa::openapi::RefOr<utoipa::openapi::response::Response>> {
        use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
        let response = ResponseBuilder::new().description("the error").content("application/json", content);
        let response = response.build();
        [("4XX".to_owned(), response.clone().into()), ("5XX".to_owned(), response.into())].into()
    }
}

/// An embedded page or text.
pub(super) fn text(kind: &'static str, text: impl Into<Body>) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static(kind))], text.into()).into_response()
}
