//! The HTTP client that all modules share.

use std::fmt::Display;
use std::time::Duration;

use reqwest::{NoProxy, Proxy};

/// The time limit of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client builder, with the proxies of the environment. The caller sets the redirect policy.
pub(crate) fn client() -> reqwest::ClientBuilder {
    with_proxies(builder(), |name| std::env::var(name).ok())
}

/// Sets the proxies of the environment. Requests to this machine go to none: plain HTTP is permitted there because no
/// one else sees it.
fn with_proxies(builder: reqwest::ClientBuilder, of: impl Fn(&str) -> Option<String>) -> reqwest::ClientBuilder {
    let first_set = |names: &[&str]| names.iter().find_map(|name| of(name).filter(|value| !value.is_empty()));
    let except = unproxied(first_set(&["NO_PROXY", "no_proxy"]).as_deref());
    let http = first_set(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]).map(Proxy::http);
    let https = first_set(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]).map(Proxy::https);
    let mut builder = builder.no_proxy();
    // An invalid address of a proxy is ignored.
    for proxy in [http, https].into_iter().flatten().flatten() {
        builder = builder.proxy(proxy.no_proxy(except.clone()));
    }
    builder
}

/// The hosts that no proxy is used for: those of `NO_PROXY`, and this machine.
fn unproxied(named: Option<&str>) -> Option<NoProxy> {
    NoProxy::from_string(&format!("{},localhost,127.0.0.0/8,::1", named.unwrap_or_default()))
}

/// The hosts that no proxy is used for, by the environment.
#[cfg(feature = "openai")]
pub(crate) fn unproxied_hosts() -> Option<NoProxy> {
    unproxied(std::env::var("NO_PROXY").or_else(|_| std::env::var("no_proxy")).ok().as_deref())
}

fn builder() -> reqwest::ClientBuilder {
    // This fails if the program has already chosen a provider. Then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("obelus/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .referer(false)
}

/// The error if a client cannot be created, and what helps.
pub(crate) fn no_tls(problem: impl Display) -> String {
    format!("HTTPS cannot be set up: {problem}; are the certificates of this machine (ca-certificates) installed?")
}

/// Percent-encodes everything except letters, digits and `-._~`.
#[cfg(feature = "http")]
pub(crate) fn encoded(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    #[tokio::test]
    async fn requests_to_this_machine_go_to_no_proxy() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in server.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 1024]).unwrap();
                stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
            }
        });
        // Nothing listens at this proxy.
        let environment =
            |name: &str| ["HTTP_PROXY", "ALL_PROXY"].contains(&name).then(|| "http://127.0.0.1:1".to_owned());
        let client = with_proxies(builder(), environment).build().unwrap();
        for host in ["127.0.0.1", "localhost"] {
            assert_eq!(client.get(format!("http://{host}:{port}/")).send().await.unwrap().status(), 204, "{host}");
        }
        assert!(client.get("http://example.test/").send().await.unwrap_err().is_connect(), "others go to the proxy");
    }
}
