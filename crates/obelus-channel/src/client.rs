//! A client of the HTTP API, for programs that use the sessions of a server.
//!
//! Answers are read as rows of the API ([`crate::types`]). Unknown fields are ignored, so that a program works with a
//! newer server.

mod events;

use std::time::Duration;

use obelus_runtime::{Language, Secret};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;

use crate::address::is_safe;
pub use events::{EventReader, ServerEvent, ServerEventBody};

/// The time limit of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of an answer. The server waits up to ten minutes for a turn.
const PATIENCE: Duration = Duration::from_secs(660);
/// The largest answer.
const LARGEST: usize = 64 << 20;
/// How often a request without an answer is sent.
const TRIES: u32 = 3;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address or the token is invalid.
    #[error("{0}")]
    Unusable(String),
    /// There is no answer, or it is invalid.
    #[error("the server {0} does not answer: {1}")]
    Unreachable(String, String),
    /// The answer is JSON of another form than this program expects.
    #[error("the server {0} answered in a form that this program does not know, perhaps that of another version: {1}")]
    Unexpected(String, String),
    /// The connection ended before the answer: the request may have been taken.
    #[error("the server {0} has ended before it answered, so the request may have been taken")]
    AnswerLost(String),
    /// Nothing listens at the address.
    #[error("nothing listens at {0}: is `obelus serve` running there?")]
    NobodyThere(String),
    /// The server refused.
    #[error("{message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// A stable code.
        code: String,
        /// The error, with what to do.
        message: String,
    },
}

/// A client of a server.
pub struct Client {
    http: reqwest::Client,
    address: String,
    token: Secret,
    language: Option<Language>,
}

impl Client {
    /// A client of the server at an address, such as `https://agents.example.test`.
    pub fn new(address: &str, token: Secret, language: Option<Language>) -> Result<Self, ClientError> {
        let address = address.trim_end_matches('/');
        if !is_safe(address) {
            let why = format!("`{address}` must begin with https:// (http:// for this machine only)");
            return Err(ClientError::Unusable(why));
        }
        if token.expose().is_empty() || !token.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ClientError::Unusable(
                "the token is empty or has characters that a token cannot have".to_owned(),
            ));
        }
        let http = crate::address::client(address)
            .user_agent(concat!("obelus/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(PATIENCE)
            .build()
            .map_err(|error| ClientError::Unusable(format!("HTTPS cannot be set up: {error}")))?;
        Ok(Self { http, address: address.to_owned(), token, language })
    }

    /// The address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a GET request.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.send(reqwest::Method::GET, path, None).await
    }

    /// Reads an answer that is no JSON document.
    pub async fn get_text(&self, path: &str) -> Result<Vec<u8>, ClientError> {
        let response = self.request(reqwest::Method::GET, path).send().await;
        let response = response.map_err(|error| self.unreachable(error))?;
        let status = response.status().as_u16();
        let bytes = self.whole(response).await?;
        if status == 200 { Ok(bytes) } else { Err(refused(status, &bytes)) }
    }

    /// Sends an input. It has its own id, so that it acts once even if it must be repeated (DUR-13).
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ClientError> {
        let body = serde_json::to_string(body).map_err(|error| ClientError::Unusable(error.to_string()))?;
        self.send(reqwest::Method::POST, path, Some(body)).await
    }

    /// Sends a DELETE request.
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.send(reqwest::Method::DELETE, path, None).await
    }

    /// The events of a session after a number.
    pub async fn events(&self, session: &str, after: &str) -> Result<EventReader, ClientError> {
        let path = format!("/api/v1/sessions/{}/events?after={}", encoded(session), encoded(after));
        let request = self.request(reqwest::Method::GET, &path);
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = response.status().as_u16();
        match status {
            200 => Ok(EventReader::new(response)),
            _ => Err(refused(status, &self.whole(response).await?)),
        }
    }

    fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.address));
        let request = request.header("authorization", format!("Bearer {}", self.token.expose()));
        match self.language {
            Some(language) => request.header("accept-language", language.code()),
            None => request,
        }
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: reqwest::Method,
        path: &str,
        body: Option<String>,
    ) -> Result<T, ClientError> {
        let response = self.answered(method, path, body).await?;
        let status = response.status().as_u16();
        let bytes = self.whole(response).await?;
        match status {
            200..=299 => self.read(&bytes),
            _ => Err(refused(status, &bytes)),
        }
    }

    /// Reads an answer. One without content is read as null.
    fn read<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, ClientError> {
        let json = if bytes.is_empty() { b"null" } else { bytes };
        serde_json::from_slice(json).map_err(|error| match error.classify() {
            Category::Data => ClientError::Unexpected(self.address.clone(), error.to_string()),
            _ => ClientError::Unreachable(self.address.clone(), format!("no JSON: {error}")),
        })
    }

    /// Sends a request, several times if there is no answer.
    async fn answered(
        &self,
        method: reqwest::Method,
        path: &str,
        body: Option<String>,
    ) -> Result<reqwest::Response, ClientError> {
        let key = uuid::Uuid::now_v7().simple().to_string();
        let mut pause = Duration::from_millis(300);
        let mut tries = 1;
        let mut may_be_taken = false;
        loop {
            let mut request = self.request(method.clone(), path);
            if let Some(body) = &body {
                request = request.header("content-type", "application/json").header("idempotency-key", &key);
                request = request.body(body.clone());
            }
            match request.send().await {
                Ok(response) => return Ok(response),
                Err(error) if error.is_timeout() => return Err(self.unreachable(error)),
                Err(error) => {
                    may_be_taken |= body.is_some() && !error.is_connect();
                    match tries {
                        TRIES if may_be_taken => return Err(ClientError::AnswerLost(self.address.clone())),
                        TRIES => return Err(self.unreachable(error)),
                        _ => tokio::time::sleep(pause).await,
                    }
                }
            }
            (tries, pause) = (tries + 1, pause * 2);
        }
    }

    async fn whole(&self, mut response: reqwest::Response) -> Result<Vec<u8>, ClientError> {
        let mut bytes = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            if bytes.len() + part.len() > LARGEST {
                return Err(ClientError::Unreachable(self.address.clone(), "its answer is too large".to_owned()));
            }
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    fn unreachable(&self, error: reqwest::Error) -> ClientError {
        if error.is_connect() && is_refused(&error) {
            return ClientError::NobodyThere(self.address.clone());
        }
        let error = error.without_url();
        let causes = std::iter::successors(std::error::Error::source(&error), |cause| (*cause).source());
        let words = causes.fold(error.to_string(), |words, cause| format!("{words}: {cause}"));
        ClientError::Unreachable(self.address.clone(), words)
    }
}

/// Whether the connection was refused.
fn is_refused(error: &reqwest::Error) -> bool {
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| (*cause).source());
    causes.any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused)
    })
}

/// The error in a server's refusal.
fn refused(status: u16, bytes: &[u8]) -> ClientError {
    let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let text = |name: &str| body["error"][name].as_str().map(str::to_owned);
    ClientError::Refused {
        status,
        code: text("code").unwrap_or_else(|| "refused".to_owned()),
        message: text("message").unwrap_or_else(|| format!("the server answered with the status {status}")),
    }
}

/// Percent-encodes everything except letters, digits and `-._~:`.
pub fn encoded(text: &str) -> String {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');
    utf8_percent_encode(text, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Taken;

    #[test]
    fn path_segments_are_percent_encoded() {
        assert_eq!(encoded("s:q1"), "s:q1");
        assert_eq!(encoded("../a?b#c d"), "..%2Fa%3Fb%23c%20d");
        assert_eq!(encoded("†x"), "%E2%80%A0x");
    }

    #[test]
    fn a_token_is_not_sent_over_plain_http_and_server_errors_are_passed_on() {
        let token = || Secret::new("obelus_token");
        assert!(Client::new("http://example.test", token(), None).is_err());
        assert!(Client::new("http://127.0.0.1:8321/", token(), None).is_ok());
        assert!(Client::new("http://127.0.0.1:8321", Secret::new("a\nb"), None).is_err());
        let error = refused(404, br#"{"error": {"code": "unknown_session", "message": "there is no session `x`"}}"#);
        assert!(matches!(&error, ClientError::Refused { status: 404, code, .. } if code == "unknown_session"));
        assert_eq!(error.to_string(), "there is no session `x`");
    }

    #[test]
    fn unknown_fields_of_an_answer_are_ignored_and_missing_ones_are_reported() {
        let client = Client::new("http://127.0.0.1:8321", Secret::new("t"), None).unwrap();
        let taken = client.read::<Taken>(br#"{"session": "s", "record": 1, "event": "1-0", "later": true}"#);
        assert_eq!(taken.unwrap(), Taken { session: "s".to_owned(), record: 1, event: "1-0".to_owned() });
        let error = client.read::<Taken>(br#"{"session": "s"}"#).unwrap_err();
        assert!(matches!(error, ClientError::Unexpected(..)), "{error}");
        assert!(error.to_string().contains("missing field `record`"), "{error}");
        let error = client.read::<Taken>(b"<html>").unwrap_err();
        assert!(matches!(error, ClientError::Unreachable(..)), "{error}");
        assert!(client.read::<Option<Taken>>(b"").unwrap().is_none(), "an answer without content");
    }
}
