//! The caller, and one-time links for browsers.

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use obelus_runtime::Secret;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::JsonResult;
use crate::ChannelError;
use crate::http::body::json_within;
use crate::http::guard::token_of;
use crate::http::reply::Failures;
use crate::http::{Access, App, Json};
use crate::tokens::TokenRole;

/// The largest body with a code. Anybody may send one, so it is small.
const LONGEST_CODE: usize = 1024;

/// The code of a one-time link
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkCode {
    /// The part of the link after `#code=`.
    code: String,
}

/// A token with its owner and its role
#[derive(Serialize, ToSchema)]
pub(super) struct LoggedIn {
    /// The token.
    token: String,
    #[serde(flatten)]
    caller: CallerView,
}

/// The caller
#[derive(Serialize, ToSchema)]
pub(super) struct CallerView {
    /// The name of the token.
    name: String,
    /// What it permits.
    role: TokenRole,
    /// The version of the server.
    version: &'static str,
}

/// A new one-time link
#[derive(Serialize, ToSchema)]
pub(super) struct NewLink {
    /// The code: `ADDRESS/#code=CODE` opens the console.
    code: String,
}

/// Exchange the code of a one-time link for its token
///
/// It needs no token, and works once and within 15 minutes.
#[utoipa::path(post, path = "/api/v1/login", tag = "server", operation_id = "login", security(()), request_body = LinkCode,
    responses((status = 200, body = LoggedIn), Failures))]
pub(super) async fn login(State(app): State<App>, request: Request) -> JsonResult<LoggedIn> {
    app.inner.limits.request("/login")?;
    let given: LinkCode = json_within(request, &app, LONGEST_CODE).await?;
    let token = app.inner.links.take(&given.code).ok_or(ChannelError::UsedLink)?;
    // It may have been removed since.
    let caller = app.inner.tokens.caller(token.expose()).ok_or(ChannelError::Unauthorized)?;
    let caller = CallerView::of(&caller.name, caller.role);
    Ok(Json(LoggedIn { token: token.expose().to_owned(), caller }))
}

/// The owner and the role of this token
#[utoipa::path(get, path = "/api/v1/me", tag = "server", operation_id = "whoAmI",
    responses((status = 200, body = CallerView), Failures))]
pub(super) async fn me(access: Access) -> JsonResult<CallerView> {
    Ok(Json(CallerView::of(&access.caller.name, access.caller.role)))
}

/// Make a one-time link for the same token, for another window
#[utoipa::path(post, path = "/api/v1/links", tag = "server", operation_id = "createLink",
    responses((status = 200, body = NewLink), Failures))]
pub(super) async fn link(State(app): State<App>, _: Access, headers: HeaderMap) -> JsonResult<NewLink> {
    let token = token_of(&headers).ok_or(ChannelError::Unauthorized)?;
    let code = app.inner.links.add(Secret::new(token)).map_err(|error| ChannelError::BadRequest(error.to_string()))?;
    Ok(Json(NewLink { code: code.expose().to_owned() }))
}

impl CallerView {
    fn of(name: &str, role: TokenRole) -> Self {
        Self { name: name.to_owned(), role, version: env!("CARGO_PKG_VERSION") }
    }
}
