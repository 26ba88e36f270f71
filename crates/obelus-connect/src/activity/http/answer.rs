//! Reading answers, and errors of requests.

use std::error::Error;
use std::time::{Duration, SystemTime};

use obelus_kernel::session::{CallError, FailureCode};
use obelus_runtime::masking::mask_bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use serde_json::Value;

use crate::activity::MOST_OUTPUT;
use crate::activity::retry::{AttemptFailure, RetryAdvice};
use crate::activity::text::{excerpt, read_json};

/// The number of bytes read of an error's body.
const MOST_OF_ERROR: usize = 4096;

/// The result in an answer: JSON or text, by its content type.
pub(super) async fn read(mut response: Response) -> Result<Value, AttemptFailure> {
    let status = response.status();
    if !status.is_success() {
        return Err(refused(status, response).await);
    }
    let json = is_json(response.headers());
    if response.content_length().is_some_and(|length| length > MOST_OUTPUT as u64) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(&error))? {
        if body.len() + chunk.len() > MOST_OUTPUT {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    result_of(body, json)
}

/// The result in the body of an answer.
fn result_of(mut body: Vec<u8>, is_json: bool) -> Result<Value, AttemptFailure> {
    mask_bytes(&mut body);
    if body.is_empty() {
        return Ok(Value::Null);
    }
    let result = if is_json {
        read_json(&body, "the answer")
    } else {
        String::from_utf8(body).map(Value::String).map_err(|_| {
            CallError::new(FailureCode::BadOutput, "the answer is neither JSON nor UTF-8 text; only those can be kept")
        })
    };
    result.map_err(|error| AttemptFailure { error: error.after_success(), again: RetryAdvice::Never })
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind == "text/json" || kind.ends_with("+json")
}

/// Reads the error of a refused request.
async fn refused(status: StatusCode, mut response: Response) -> AttemptFailure {
    let again = match retry_after(response.headers(), SystemTime::now()) {
        _ if !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS => RetryAdvice::Never,
        Some(pause) => RetryAdvice::After(pause),
        None => RetryAdvice::Soon,
    };
    let mut body = Vec::new();
    while body.len() < MOST_OF_ERROR
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    mask_bytes(&mut body);
    let host = response.url().origin().ascii_serialization();
    let mut message = format!("{host} answered {status}");
    let body = excerpt(&body);
    if !body.is_empty() {
        message = format!("{message}: {body}");
    }
    AttemptFailure { error: CallError::new(FailureCode::Http(status.as_u16()), message), again }
}

/// The wait that the server asks for in `Retry-After`: seconds or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => Some(httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default()),
    }
}

/// The failure of a request without an answer.
pub(super) fn not_sent(error: &reqwest::Error, url: &Url) -> AttemptFailure {
    let host = url.origin().ascii_serialization();
    match error {
        error if error.is_connect() => {
            AttemptFailure::passing(FailureCode::Unreachable, format!("{host} cannot be reached: {}", cause(error)))
        }
        error if error.is_builder() => AttemptFailure::lasting(FailureCode::BadRequest, cause(error)),
        error => broken(error),
    }
}

/// The failure of a broken connection. The request may have been carried out.
fn broken(error: &reqwest::Error) -> AttemptFailure {
    AttemptFailure::passing(
        FailureCode::LostAnswer,
        format!("the connection broke before the answer was complete: {}", cause(error)),
    )
}

/// The failure of a request that was carried out.
fn too_large() -> AttemptFailure {
    let error =
        CallError::new(FailureCode::OutputTooLarge, format!("the answer is larger than {} MiB", MOST_OUTPUT >> 20));
    AttemptFailure { error: error.after_success(), again: RetryAdvice::Never }
}

/// The innermost cause, which is the most specific; the outer ones name the URL and the library's steps.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "it cannot be sent".to_owned(), ToString::to_string)
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (text, seconds) in [
            ("7", Some(7)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
            assert_eq!(retry_after(&headers, now), seconds.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn fuzz_any_body_of_an_answer_is_refused_or_read() {
        crate::fuzz::fuzz("http", |input| {
            let _ = result_of(input.to_vec(), false);
            result_of(input.to_vec(), true).is_ok()
        });
    }
}
