//! Requests to obtain a token. Their addresses come from servers, so they must be `https`, redirects stay on their
//! host, and the size of an answer is limited.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde_json::Value;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::super::error::quoted;
use super::super::http;

/// The largest answer.
const MOST_READ: usize = 256 * 1024;

const TIME_LIMIT: Duration = Duration::from_secs(20);

/// A client of authorization servers.
pub(super) struct Fetch {
    /// Follows redirects on the same host.
    metadata: Client,
    /// Follows none, because it sends secrets.
    secret: Client,
    /// Whether the server itself is on this machine.
    is_local: bool,
}

impl Fetch {
    pub(super) fn new(server: &Url) -> Result<Self, String> {
        let failed = |error: reqwest::Error| format!("HTTPS cannot be set up: {}", http::innermost(&error));
        let metadata = http::builder().timeout(TIME_LIMIT).build().map_err(failed)?;
        let secret = http::builder().timeout(TIME_LIMIT).redirect(Policy::none()).build().map_err(failed)?;
        Ok(Self { metadata, secret, is_local: is_local(server) })
    }

    /// Checks an address that a server named.
    pub(super) fn address(&self, text: &str, what: &str) -> Result<Url, String> {
        let url = Url::parse(text).map_err(|_| format!("{what} is no address: {}", quoted(text)))?;
        let is_safe = url.scheme() == "https" || (url.scheme() == "http" && self.is_local && is_local(&url));
        if !is_safe {
            return Err(format!("{what} is not an https address: {}", quoted(text)));
        }
        // A remote server may not name an address on this machine.
        if is_local(&url) && !self.is_local {
            return Err(format!("{what} is on this machine, and the server is not: {}", quoted(text)));
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(format!("{what} has a name, a password or a fragment in it: {}", quoted(text)));
        }
        Ok(url)
    }

    /// A document; none if there is nothing at the address.
    pub(super) async fn document(&self, url: &Url) -> Result<Option<Value>, String> {
        let request = self.metadata.get(url.clone()).header(ACCEPT, "application/json");
        let (status, value) = answer(request, url).await?;
        Ok((status == StatusCode::OK).then_some(value).filter(Value::is_object))
    }

    /// Sends a JSON document.
    pub(super) async fn send(&self, url: &Url, document: &Value) -> Result<(StatusCode, Value), String> {
        let request = self.secret.post(url.clone()).header(ACCEPT, "application/json");
        answer(request.header(CONTENT_TYPE, "application/json").body(document.to_string()), url).await
    }

    /// Sends a form, with a user name and password in a header if given.
    pub(super) async fn send_form(
        &self,
        url: &Url,
        fields: &[(&str, &str)],
        basic: Option<(&str, &str)>,
    ) -> Result<(StatusCode, Value), String> {
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut request = self.secret.post(url.clone()).header(ACCEPT, "application/json");
        if let Some((name, password)) = basic {
            // Both are encoded before they are joined (RFC 6749, 2.3.1).
            let coded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let both = STANDARD.encode(format!("{}:{}", coded(name), coded(password)));
            let mut value = HeaderValue::from_str(&format!("Basic {both}")).map_err(|error| error.to_string())?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        answer(request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body), url).await
    }
}

/// The answer to a request; null if it is not JSON. Its text is not shown, because it may contain tokens.
async fn answer(request: RequestBuilder, url: &Url) -> Result<(StatusCode, Value), String> {
    let host = quoted(url.host_str().unwrap_or_default());
    let failed =
        |error: reqwest::Error| format!("{host} cannot be asked: {}", quoted(&http::innermost(&error.without_url())));
    let mut response = request.send().await.map_err(failed)?;
    let (status, mut body) = (response.status(), Vec::new());
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > MOST_READ {
            return Err(format!("what {host} answers is too large"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Whether an address is on this machine.
pub(super) fn is_local(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => address.to_canonical().is_loopback(),
        Ok(address) => address.is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_addresses_must_be_https_and_loopback_only_from_loopback() {
        let far = Fetch::new(&Url::parse("https://mcp.example.test/").unwrap()).unwrap();
        let near = Fetch::new(&Url::parse("http://127.0.0.1:1/mcp").unwrap()).unwrap();
        for (text, from_far, from_near) in [
            ("https://as.example.test/a", true, true),
            ("http://as.example.test/a", false, false),
            ("http://127.0.0.1/a", false, true),
            ("http://[::1]:5/a", false, true),
            ("https://localhost/a", false, true),
            ("https://x.localhost./a", false, true),
            ("https://[::ffff:127.0.0.1]/a", false, true),
            ("file:///etc/passwd", false, false),
            ("javascript:alert(1)", false, false),
            ("https://user@as.example.test/", false, false),
            ("https://as.example.test/#a", false, false),
            ("as", false, false),
        ] {
            assert_eq!(far.address(text, "it").is_ok(), from_far, "{text}");
            assert_eq!(near.address(text, "it").is_ok(), from_near, "{text}");
        }
    }
}
