//! Reads requests: JSON bodies within limits, and parts of the URL.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;

use super::App;
use super::reply::Failure;
use crate::ChannelError;

/// How much of a body that is too large is read, and for how long.
const DISCARDED: usize = 4 << 20;
const DISCARDING: Duration = Duration::from_secs(2);

/// A JSON body.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        let limit = app.inner.options.body;
        json_within(request, app, limit).await.map(Self)
    }
}

/// Reads a JSON body of at most `limit` bytes.
pub(super) async fn json_within<T: DeserializeOwned>(request: Request, app: &App, limit: usize) -> Result<T, Failure> {
    let is_json = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(is_json);
    if !is_json {
        return Err(ChannelError::NotJson.into());
    }
    let bytes = read(request, app, limit).await?;
    if obelus_kernel::text::depth_of_text(&bytes) > app.inner.options.depth {
        let limit = format!("JSON may be nested {} deep", app.inner.options.depth);
        return Err(ChannelError::TooLarge(limit).into());
    }
    let value = serde_json::from_slice(&bytes);
    Ok(value.map_err(|error| ChannelError::BadRequest(error.to_string()))?)
}

/// Parts of the path. Errors are reported as JSON.
pub struct InPath<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for InPath<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(path)| Self(path)).map_err(|error| ChannelError::BadRequest(error.body_text()).into())
    }
}

/// The query. Errors are reported as JSON.
pub struct InQuery<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for InQuery<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        query.map(|Query(query)| Self(query)).map_err(|error| {
            let text = error.body_text();
            let why = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            let missing = why.strip_prefix("missing field ").map(|name| format!("{name} is missing in the query"));
            ChannelError::BadRequest(missing.unwrap_or_else(|| why.to_owned())).into()
        })
    }
}

/// Reads a body within the limits of size and time.
async fn read(request: Request, app: &App, limit: usize) -> Result<bytes::Bytes, ChannelError> {
    let too_large = || ChannelError::TooLarge(format!("a body may have {limit} bytes"));
    let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let body: Body = request.into_body();
    if length.is_some_and(|length| length > limit as u64) {
        discard(body).await;
        return Err(too_large());
    }
    match tokio::time::timeout(app.inner.options.arrival, to_bytes(body, limit)).await {
        Err(_) => Err(ChannelError::TimedOut),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => {
            use std::error::Error as _;
            let is_limit = error.source().is_some_and(|source| source.to_string().contains("length limit"));
            Err(if is_limit { too_large() } else { ChannelError::BadRequest("the body ended early".to_owned()) })
        }
    }
}

/// Reads some of an unwanted body: otherwise a client that is still sending would not see the answer.
async fn discard(body: Body) {
    let mut parts = body.into_data_stream();
    let mut left = DISCARDED;
    let all = async {
        while let Some(Ok(part)) = parts.next().await
            && left > 0
        {
            left = left.saturating_sub(part.len());
        }
    };
    let _ = tokio::time::timeout(DISCARDING, all).await;
}

/// Whether a request has no body.
pub(super) fn is_empty(request: &Request) -> bool {
    let headers = request.headers();
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.is_none_or(|length| length == "0") && !headers.contains_key("transfer-encoding")
}

fn is_json(value: &str) -> bool {
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_content_types_are_accepted() {
        assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
        for wrong in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]
        {
            assert!(!is_json(wrong), "{wrong}");
        }
    }
}
