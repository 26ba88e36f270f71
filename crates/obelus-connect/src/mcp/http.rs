//! Servers that are reached by HTTP.

mod bounded;

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use rmcp::service::ClientInitializeError;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use tokio::sync::watch;

use self::bounded::{Bounded, Listens};
use super::error::McpErrorKind;
use super::oauth::Auth;
use super::words::TextWithSecrets;
use crate::web;

const MOST_REDIRECTS: usize = 5;

/// How long to wait for the stream of the server's own requests. Those sent before it is open would be lost.
const MOST_WAIT: Duration = Duration::from_secs(3);

/// A transport by HTTP, and its observed state.
pub(super) struct HttpTransport {
    pub(super) transport: StreamableHttpClientTransport<Bounded>,
    /// Changes for every answer that was too large.
    pub(super) too_large: watch::Receiver<u64>,
    pub(super) listens: watch::Receiver<Listens>,
}

/// Waits until the client receives the server's own requests.
pub(super) async fn listening(mut listens: watch::Receiver<Listens>) {
    let _ = tokio::time::timeout(MOST_WAIT, listens.wait_for(|listens| *listens != Listens::NotYet)).await;
}

/// Creates the transport. The error says what is missing.
pub(super) fn http_transport(
    url: &Url,
    headers: &[(HeaderName, TextWithSecrets)],
    auth: Option<&Arc<Auth>>,
) -> Result<HttpTransport, (McpErrorKind, String)> {
    let mut filled = HashMap::new();
    for (name, words) in headers {
        let text = words
            .filled()
            .map_err(|missing| (McpErrorKind::NoSecret, format!("the environment has no `{missing}`; set it")))?;
        // The value may hold a secret, so the error does not show it.
        let mut value = HeaderValue::from_bytes(text.expose().as_bytes()).map_err(|_| {
            let words = format!("the value of `{name}` has a line break or another control character");
            (McpErrorKind::NoSecret, words)
        })?;
        value.set_sensitive(true);
        filled.insert(name.clone(), value);
    }
    let client = builder()
        .redirect(keeping())
        .build()
        .map_err(|error| (McpErrorKind::NoStart, web::no_tls(innermost(&error))))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(filled);
    let client = Bounded::new(client, auth.cloned());
    let (too_large, listens) = (client.too_large(), client.listens());
    Ok(HttpTransport { transport: StreamableHttpClientTransport::with_client(client, config), too_large, listens })
}

/// A client that keeps its requests on one host.
pub(super) fn builder() -> reqwest::ClientBuilder {
    web::client().redirect(Policy::custom(|attempt| if is_near(&attempt) { attempt.follow() } else { attempt.stop() }))
}

/// Follows only redirects that keep method and body: a call that became a GET would be lost.
fn keeping() -> Policy {
    Policy::custom(|attempt| {
        if is_near(&attempt) && matches!(attempt.status().as_u16(), 307 | 308) {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Whether the redirect stays on the host, because headers may hold secrets.
fn is_near(attempt: &Attempt<'_>) -> bool {
    let is_same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    is_same && attempt.previous().len() <= MOST_REDIRECTS
}

/// The innermost cause, which is the most specific.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Whether the server was not reached, so that it cannot have done anything.
pub(super) fn is_unreached(error: &(dyn Error + 'static)) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<reqwest::Error>()).any(reqwest::Error::is_connect)
}

/// Whether the transport failed, rather than the request.
pub(super) fn is_of_the_way(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(<dyn Error>::is::<reqwest::Error>)
}

/// The advice to a person if a request lacks authorization.
pub(super) fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a str> {
    let refused = causes(error).find_map(|cause| cause.downcast_ref::<AuthRequiredError>());
    refused.map(|refused| refused.www_authenticate_header.as_str())
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |cause| cause_of(*cause))
}

/// The cause of an error, even if the library hides it.
fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(ClientInitializeError::TransportError { error, .. }) = error.downcast_ref() {
        return Some(error.error.as_ref());
    }
    if let Some(ClientInitializeError::LegacyFallbackFailed { fallback, .. }) = error.downcast_ref() {
        return Some(fallback.as_ref());
    }
    if let Some(StreamableHttpError::Client(error)) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        return Some(error);
    }
    error.source()
}
