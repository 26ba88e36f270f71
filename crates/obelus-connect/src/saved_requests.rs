//! Saved requests of delegates at addresses (DEL-1).

use std::time::Duration;

use obelus_runtime::ConnectFuture;
use obelus_runtime::specs::RequestSource;
use reqwest::redirect::Policy;

use crate::web;

/// The time limit of reading a saved request.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The largest saved request, in bytes.
const MOST: usize = 1024 * 1024;

/// Reads saved requests by HTTP. Redirects are not followed: only the named address is allowed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WebRequests;

impl RequestSource for WebRequests {
    fn read<'a>(&'a self, address: &'a str) -> ConnectFuture<'a, Result<String, String>> {
        Box::pin(read(address))
    }
}

async fn read(address: &str) -> Result<String, String> {
    let client = web::client().redirect(Policy::none()).timeout(TIME_LIMIT).build().map_err(web::no_tls)?;
    let describe = |error: reqwest::Error| error.without_url().to_string();
    let mut answer = client.get(address).send().await.map_err(describe)?;
    if !answer.status().is_success() {
        return Err(format!("the server answered {}", answer.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(describe)? {
        if body.len() + chunk.len() > MOST {
            return Err(format!("a saved request has at most {MOST} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    String::from_utf8(body).map_err(|_| "it is not UTF-8 text".to_owned())
}

#[cfg(test)]
#[path = "../tests/common/server.rs"]
#[expect(dead_code, reason = "not every test needs everything")]
mod server;

#[cfg(test)]
mod tests {
    use super::server::{Reply, Server, answer, redirect};
    use super::*;

    #[tokio::test]
    async fn a_saved_request_is_read_only_from_its_own_address() {
        let server = Server::start(|asked, _| match asked.target.as_str() {
            "/one.yaml" => answer("200 OK", "text/yaml", "context: []"),
            "/moved" => redirect("/one.yaml"),
            "/flood" => Reply::Flood("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_owned()),
            _ => answer("404 Not Found", "text/plain", "no"),
        })
        .await;
        let at = |path: &str| format!("{}{path}", server.url);
        assert_eq!(WebRequests.read(&at("/one.yaml")).await, Ok("context: []".to_owned()));
        for (path, words) in [("/lost", "404"), ("/moved", "302"), ("/flood", "at most")] {
            let error = WebRequests.read(&at(path)).await.unwrap_err();
            assert!(error.contains(words), "{path}: {error}");
        }
    }
}
