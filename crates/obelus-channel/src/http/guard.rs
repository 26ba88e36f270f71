//! Checks each request: host, origin, token, role, rate; and sets the headers of each answer.

use std::time::Instant;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use obelus_runtime::Language;

use super::protocol::error_for;
use super::reply::{Failure, UnrenderedError};
use super::{App, console};
use crate::ChannelError;
use crate::tokens::{Caller, TokenRole};

/// The caller, and the language of the answer. A handler checks the role that it needs.
#[derive(Clone, Debug)]
pub struct Access {
    /// The caller.
    pub caller: Caller,
    /// The requested language, from `lang` in the query or `Accept-Language`.
    pub language: Option<Language>,
    /// The id of the input, from the header `Idempotency-Key` (DUR-13).
    pub input_id: Option<String>,
}

impl Access {
    /// Refuses callers with a lower role.
    pub fn needs(&self, role: TokenRole) -> Result<(), ChannelError> {
        if self.caller.role >= role { Ok(()) } else { Err(ChannelError::Forbidden(role.name())) }
    }

    /// The caller and channel, as journals store them.
    pub fn by(&self) -> String {
        self.caller.by("api")
    }

    /// The id of an object created with an `Idempotency-Key`: the same key gives the same id.
    pub fn id_of_key(&self, what: &str) -> Option<String> {
        self.input_id().map(|key| crate::service::id_of_key(what, key))
    }

    /// The id of the input.
    pub fn input_id(&self) -> Option<&str> {
        self.input_id.as_deref()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Access {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        parts.extensions.get::<Access>().cloned().ok_or_else(|| ChannelError::Unauthorized.into())
    }
}

/// Paths that need no token: health checks, pages without data, and the exchange of a one-time code.
const OPEN: [&str; 7] = ["/healthz", "/readyz", "/", console::ICON, "/api/", "/api/try.js", "/api/v1/login"];

/// The prefix of the subprotocol with a token: browsers cannot set other headers on WebSockets.
const TOKEN_PROTOCOL: &str = "obelus.token.";

/// Checks a request before anything else, and completes the answer.
pub(super) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let language = language_of(&request);
    let origin = request.headers().get(ORIGIN).cloned();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
    let path = request.uri().path().to_owned();
    let words = language.unwrap_or(Language::English);
    let mut response = match judge(&app, &request) {
        Err(error) => error_for(&path, &error, words),
        Ok(_) if method == Method::OPTIONS && origin.is_some() => StatusCode::NO_CONTENT.into_response(),
        Ok(access) => {
            if let Some(caller) = access {
                let key = request.headers().get("idempotency-key").map(|key| key.to_str().unwrap_or_default());
                // Keys are separate for each caller, and from the ids of other channels.
                let input_id = key.map(|key| format!("api:{}:{key}", caller.name));
                request.extensions_mut().insert(Access { caller, language, input_id });
            }
            next.run(request).await
        }
    };
    // Handlers know neither the language nor the protocol of their errors.
    if let Some(UnrenderedError(error)) = response.extensions_mut().remove::<UnrenderedError>() {
        response = error_for(&path, &error, words);
    }
    set_headers(&mut response, origin.filter(|_| method != Method::CONNECT), &app);
    app.inner.metrics.request(method.as_str(), &route, response.status().as_u16(), started.elapsed());
    response
}

/// The caller; none if no token is needed.
fn judge(app: &App, request: &Request) -> Result<Option<Caller>, ChannelError> {
    let headers = request.headers();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    if headers.get_all(HOST).iter().count() != 1 || !app.inner.hosts.contains(&host) {
        return Err(ChannelError::NotAllowed("Host"));
    }
    if let Some(origin) = headers.get(ORIGIN) {
        let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        if !app.inner.origins.contains(&origin) {
            return Err(ChannelError::NotAllowed("Origin"));
        }
    }
    let is_preflight = request.method() == Method::OPTIONS && headers.contains_key(ORIGIN);
    if is_preflight || is_open(request.uri().path()) {
        return Ok(None);
    }
    if app.is_closing() {
        return Err(ChannelError::Closing);
    }
    // Services that send events have their own secrets; unauthenticated requests count against no token's rate.
    if request.uri().path().starts_with("/hooks/") {
        return Ok(None);
    }
    let token = token_of(headers).ok_or(ChannelError::Unauthorized)?;
    let caller = app.inner.tokens.caller(token).ok_or(ChannelError::UnknownToken)?;
    app.inner.limits.request(&caller.name)?;
    if headers.get("idempotency-key").is_some_and(|key| !key.to_str().is_ok_and(|key| (1..=120).contains(&key.len()))) {
        return Err(ChannelError::BadRequest("`Idempotency-Key` has 1 to 120 characters of ASCII".to_owned()));
    }
    Ok(Some(caller))
}

/// Whether a path needs no token.
fn is_open(path: &str) -> bool {
    OPEN.contains(&path) || path.starts_with(console::ASSETS)
}

/// The token of a request.
pub(super) fn token_of(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
    if let Some((scheme, token)) = bearer {
        return scheme.eq_ignore_ascii_case("bearer").then(|| token.trim());
    }
    // LangGraph's clients send their key this way.
    if let Some(key) = headers.get("x-api-key") {
        return key.to_str().ok().map(str::trim);
    }
    let protocols = headers.get("sec-websocket-protocol").and_then(|value| value.to_str().ok())?;
    protocols.split(',').find_map(|protocol| protocol.trim().strip_prefix(TOKEN_PROTOCOL))
}

/// The language that a client requests.
fn language_of(request: &Request) -> Option<Language> {
    let known = |code: &str| match code.get(..2)?.to_ascii_lowercase().as_str() {
        "ru" => Some(Language::Russian),
        "en" => Some(Language::English),
        _ => None,
    };
    let query = request.uri().query().unwrap_or_default();
    let requested = query.split('&').find_map(|pair| pair.strip_prefix("lang="));
    let accepted = || {
        let header = request.headers().get("accept-language")?.to_str().ok()?;
        header.split(',').find_map(|part| known(part.trim()))
    };
    requested.and_then(known).or_else(accepted)
}

/// Sets the headers of each answer.
fn set_headers(response: &mut Response, origin: Option<HeaderValue>, app: &App) {
    let headers = response.headers_mut();
    let fixed = [
        (
            "content-security-policy",
            "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in fixed {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    let known = |origin: &HeaderValue| {
        origin.to_str().is_ok_and(|origin| app.inner.origins.contains(&origin.to_ascii_lowercase()))
    };
    if let Some(origin) = origin.filter(known) {
        headers.insert("access-control-allow-origin", origin);
        headers.insert("vary", HeaderValue::from_static("origin"));
        let allowed =
            "authorization, content-type, idempotency-key, last-event-id, accept-language, x-api-key, x-session-id";
        headers.insert("access-control-allow-headers", HeaderValue::from_static(allowed));
        headers.insert("access-control-allow-methods", HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn a_token_is_read_from_the_header_and_never_from_the_url() {
        let with = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            token_of(&headers).map(str::to_owned)
        };
        assert_eq!(with("authorization", "Bearer abc").as_deref(), Some("abc"));
        assert_eq!(with("authorization", "bearer  abc").as_deref(), Some("abc"));
        assert_eq!(with("authorization", "Basic abc"), None);
        assert_eq!(with("sec-websocket-protocol", "obelus.events, obelus.token.abc").as_deref(), Some("abc"));
        assert_eq!(with("x-api-key", "abc").as_deref(), Some("abc"));
        assert_eq!(with("cookie", "token=abc"), None);
    }

    #[test]
    fn the_language_is_taken_from_the_query_or_the_header() {
        let of = |uri: &str, accept: &str| {
            let request = Request::builder().uri(uri).header("accept-language", accept).body(Body::empty()).unwrap();
            language_of(&request)
        };
        assert_eq!(of("/x?lang=ru", "en"), Some(Language::Russian));
        assert_eq!(of("/x", "de, ru;q=0.5"), Some(Language::Russian));
        assert_eq!(of("/x?lang=%00", "€"), None);
    }
}
