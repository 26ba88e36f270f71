//! An HTTP client that limits the size of answers.
//!
//! The library's client reads JSON answers of any size, and does not say when it starts to listen for the server's
//! own requests. This one limits the size, reports larger answers at once, and says when it listens.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream};
use obelus_runtime::Secret;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse, SseStream};
use tokio::sync::watch;

use super::super::error::quoted;
use super::super::lines::MOST_LINE;
use super::super::oauth::{Auth, Challenge};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";

/// The number of bytes read of an invalid answer.
const MOST_WORDS: usize = 64 * 1024;

/// How often another token is obtained for a request: the first may be refused, and the second for its scopes.
const MOST_RENEWALS: usize = 2;

type TransportError = StreamableHttpError<reqwest::Error>;

/// A client with limited answers.
#[derive(Clone)]
pub(in crate::mcp) struct Bounded {
    client: Client,
    /// Counts answers that were too large.
    too_large: Arc<watch::Sender<u64>>,
    listens: Arc<watch::Sender<Listens>>,
    /// None if the author provides a token.
    auth: Option<Arc<Auth>>,
}

/// Whether the client receives the server's own requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Listens {
    /// There is no session for them.
    NoSession,
    /// The client is about to listen.
    NotYet,
    /// It listens, or the server does not support it.
    Settled,
}

impl Bounded {
    pub(in crate::mcp) fn new(client: Client, auth: Option<Arc<Auth>>) -> Self {
        let (too_large, listens) = (watch::Sender::new(0), watch::Sender::new(Listens::NoSession));
        Self { client, too_large: Arc::new(too_large), listens: Arc::new(listens), auth }
    }

    /// Changes for every answer that was too large.
    pub(in crate::mcp) fn too_large(&self) -> watch::Receiver<u64> {
        self.too_large.subscribe()
    }

    /// Whether the client listens.
    pub(in crate::mcp) fn listens(&self) -> watch::Receiver<Listens> {
        self.listens.subscribe()
    }

    /// Sends a request, with a token if there is one. A refused request was not carried out, so it is repeated as
    /// long as another token can be obtained.
    async fn send(&self, request: RequestBuilder) -> Result<Response, TransportError> {
        let Some(auth) = &self.auth else { return Ok(request.send().await?) };
        for left in (0..=MOST_RENEWALS).rev() {
            let Some(this) = request.try_clone() else { break };
            let token = auth.token().await;
            let response = with_token(this, token.as_ref()).send().await?;
            let (status, challenge) = (response.status(), challenge_in(&response));
            let wants_more = status == StatusCode::FORBIDDEN && challenge.wants_more();
            if status != StatusCode::UNAUTHORIZED && !wants_more {
                return Ok(response);
            }
            let renewed = auth.renewed(challenge, token.as_ref(), left == 0).await;
            renewed.map_err(|words| StreamableHttpError::AuthRequired(AuthRequiredError::new(words)))?;
        }
        let words = "it refuses who asks".to_owned();
        Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(words)))
    }

    /// The body of an answer. None if it is too large.
    async fn read(&self, mut response: Response, most: usize) -> Result<Option<Vec<u8>>, TransportError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > most {
                return Ok(None);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Some(body))
    }

    /// The events of an answer, each limited in size.
    fn events(&self, response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
        let too_large = Arc::clone(&self.too_large);
        let chunks = stream::unfold((response, Event::default(), false), move |(mut response, mut event, failed)| {
            let too_large = Arc::clone(&too_large);
            async move {
                let chunk = match response.chunk().await {
                    _ if failed => return None,
                    Ok(None) => return None,
                    Ok(Some(chunk)) => chunk,
                    Err(error) => return Some((Err(io::Error::other(error)), (response, event, true))),
                };
                if event.grows_beyond(&chunk, MOST_LINE) {
                    too_large.send_modify(|count| *count += 1);
                    let error = io::Error::other("an event is too large");
                    return Some((Err(error), (response, event, true)));
                }
                Some((Ok(chunk), (response, event, false)))
            }
        });
        Box::pin(SseStream::from_bytes_stream(Box::pin(chunks)))
    }

    /// The error of a refused request.
    async fn refused(
        &self,
        response: Response,
        message: Option<&ClientJsonRpcMessage>,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let words = match &self.auth {
                Some(_) => "it forbids that (HTTP 403)",
                None => "it refuses who asks; see `headers`, such as {Authorization: Bearer $TOKEN}",
            };
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(words.to_owned())));
        }
        let session = session_of(&response);
        let is_json = is(&response, JSON);
        let body = self.read(response, MOST_WORDS).await?.unwrap_or_default();
        let mut error = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) if is_json => Some(error),
            _ => None,
        };
        // Restarted servers often use this status instead of 404. The error names no request, so none was carried
        // out.
        if has_session && status == StatusCode::BAD_REQUEST && error.as_ref().is_some_and(|error| error.id.is_none()) {
            return Err(StreamableHttpError::SessionExpired);
        }
        if let (Some(error), Some(ClientJsonRpcMessage::Request(request))) = (&mut error, message) {
            // Without its id the answer would not be matched to the request.
            error.id.get_or_insert_with(|| request.id.clone());
        }
        // Servers of the older era refuse the probe in different ways; each of them is an answer.
        if let Some(ClientJsonRpcMessage::Request(request)) = message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && status.is_client_error()
        {
            let error = error.map(|error| error.error);
            let error = error.unwrap_or_else(|| ErrorData::invalid_request(format!("HTTP {status}"), None));
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        match error {
            Some(error) if status != StatusCode::TOO_MANY_REQUESTS => {
                Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session))
            }
            _ => Err(HttpStatusError::new(status.as_u16(), None).into()),
        }
    }
}

impl StreamableHttpClient for Bounded {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        let has_session = session_id.is_some();
        let request = with_headers(self.client.post(&*uri), session_id.as_deref(), headers);
        let body = serde_json::to_vec(&message)?;
        let response = self.send(request.header(CONTENT_TYPE, JSON).body(body)).await?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return self.refused(response, Some(&message), has_session).await;
        }
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT)
            || (!wants_answer && response.content_length() == Some(0))
        {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = session_of(&response);
        if session.is_some() && !has_session {
            self.listens.send_replace(Listens::NotYet);
        }
        if is(&response, EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response), session));
        }
        if !is(&response, JSON) {
            let kind =
                response.headers().get(CONTENT_TYPE).map(|kind| quoted(&String::from_utf8_lossy(kind.as_bytes())));
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let Some(body) = self.read(response, MOST_LINE).await? else {
            self.too_large.send_modify(|count| *count += 1);
            return Err(StreamableHttpError::UnexpectedServerResponse(Cow::Borrowed("its answer is too large")));
        };
        match serde_json::from_slice(&body) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            Err(_) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => Err(StreamableHttpError::Deserialize(error)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), TransportError> {
        let response = self.send(with_headers(self.client.delete(&*uri), Some(&session_id), headers)).await?;
        // Servers need not support it.
        if response.status() != StatusCode::METHOD_NOT_ALLOWED {
            response.error_for_status()?;
        }
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, TransportError> {
        let mut request = with_headers(self.client.get(&*uri), session_id.as_deref(), headers);
        if let Some(last) = last_event_id {
            request = request.header(LAST_EVENT, last);
        }
        let response = self.send(request).await;
        self.listens.send_replace(Listens::Settled);
        let response = response?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => match self.refused(response, None, false).await {
                Err(error) => Err(error),
                Ok(_) => Err(HttpStatusError::new(status.as_u16(), None).into()),
            },
            _ if is(&response, EVENTS) => Ok(self.events(response)),
            _ => Err(StreamableHttpError::UnexpectedContentType(None)),
        }
    }
}

fn with_token(request: RequestBuilder, token: Option<&Secret>) -> RequestBuilder {
    let header = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok());
    let Some(mut value) = header else { return request };
    value.set_sensitive(true);
    request.header(AUTHORIZATION, value)
}

fn challenge_in(response: &Response) -> Challenge {
    let values = response.headers().get_all(WWW_AUTHENTICATE).iter();
    Challenge::parse(values.filter_map(|value| value.to_str().ok()))
}

fn with_headers(
    mut request: RequestBuilder,
    session: Option<&str>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    request = request.header(ACCEPT, format!("{EVENTS}, {JSON}"));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match session {
        Some(session) => request.header(SESSION, session),
        None => request,
    }
}

fn session_of(response: &Response) -> Option<String> {
    response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn is(response: &Response, kind: &str) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    content_type.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind.as_bytes()))
}

/// The size of the current event; an empty line ends it.
#[derive(Default)]
struct Event {
    size: usize,
    ends_line: bool,
}

impl Event {
    /// Counts more bytes; returns whether an event is too large.
    fn grows_beyond(&mut self, chunk: &[u8], most: usize) -> bool {
        for byte in chunk {
            match byte {
                b'\r' => {}
                b'\n' if self.ends_line => self.size = 0,
                b'\n' => self.ends_line = true,
                _ => self.ends_line = false,
            }
            self.size += 1;
            if self.size > most {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_with_an_empty_line() {
        let mut event = Event::default();
        assert!(!event.grows_beyond(b"data: 1\n\ndata: 2\r\n\r\ndata: 3", 11));
        assert!(!event.grows_beyond(b"45", 11));
        assert!(event.grows_beyond(b"67", 11));
        assert!(Event::default().grows_beyond(b"data: 1\ndata: 2", 11), "a line is no event");
    }
}
