//! The description of the API, and a page to try it.

use std::sync::Arc;

use axum::response::Response;
use utoipa::Modify;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use super::reply::text;

/// Describes how a token is sent.
pub(super) struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, api: &mut OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        api.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// The description as JSON.
pub(super) fn as_text(description: &OpenApi) -> Arc<str> {
    description.to_json().unwrap_or_default().into()
}

pub(super) async fn description(description: Arc<str>) -> Response {
    text("application/json", description.to_string())
}

/// A page without data; its user enters a token.
pub(super) async fn page() -> Response {
    text("text/html; charset=utf-8", include_str!("docs/try.html"))
}

pub(super) async fn script() -> Response {
    text("text/javascript; charset=utf-8", include_str!("docs/try.js"))
}
