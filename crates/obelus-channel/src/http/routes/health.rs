//! Health checks and metrics.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use crate::http::reply::{Failures, text};
use crate::http::{Access, App};

/// Whether the process is alive
#[utoipa::path(get, path = "/healthz", tag = "server", operation_id = "healthz", security(()),
    responses((status = 200, description = "it is alive", body = String)))]
pub(super) async fn healthz() -> Response {
    text("text/plain; charset=utf-8", "ok\n")
}

/// Whether the store can be read and the server is not shutting down
#[utoipa::path(get, path = "/readyz", tag = "server", operation_id = "readyz", security(()),
    responses((status = 200, description = "ready", body = String), (status = 503, description = "not ready", body = String)))]
pub(super) async fn readyz(State(app): State<App>) -> Response {
    let why = if app.is_closing() {
        "not ready: the server is ending\n"
    } else if app.service().is_ready().await {
        return text("text/plain; charset=utf-8", "ready\n");
    } else {
        "not ready: the sessions cannot be read now\n"
    };
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}

/// Counters in the text form of Prometheus
#[utoipa::path(get, path = "/metrics", tag = "server", operation_id = "metrics",
    responses((status = 200, description = "counters", body = String, content_type = "text/plain"), Failures))]
pub(super) async fn metrics(State(app): State<App>, _: Access) -> Response {
    let restored = app.inner.service.host().restored();
    text("text/plain; version=0.0.4; charset=utf-8", app.inner.metrics.text(app.inner.started.elapsed(), restored))
}
