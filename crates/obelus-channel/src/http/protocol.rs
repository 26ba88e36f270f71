//! Shared by the compatible protocols: optional bodies, texts of messages, errors in their form.

use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse as _, Response};
use obelus_runtime::Language;
use obelus_words::fill;
use serde_json::{Value, json};

use super::body::JsonBody;
use super::reply::{Failure, Json, error_response};
use super::{App, body};
use crate::ChannelError;

/// A JSON body, or none.
pub(crate) struct OptionalBody(pub(crate) Value);

impl FromRequest<App> for OptionalBody {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        if body::is_empty(&request) {
            return Ok(Self(Value::Null));
        }
        let JsonBody(value) = JsonBody::<Value>::from_request(request, app).await?;
        Ok(Self(value))
    }
}

/// The text of a message: a string, or parts of text. Pictures, sounds and files are refused.
pub(crate) fn content_text(content: &Value) -> Result<String, ChannelError> {
    let part = |part: &Value| match (part, part["type"].as_str()) {
        (Value::String(text), _) => Some(text.clone()),
        (_, Some("text" | "input_text")) => part["text"].as_str().map(str::to_owned),
        _ => None,
    };
    let text = match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(part).collect::<Option<Vec<_>>>().map(|parts| parts.join("\n")),
        _ => None,
    };
    text.ok_or_else(|| {
        ChannelError::BadRequest("only text is accepted in a message here: no pictures, sounds or files".to_owned())
    })
}

/// An error in the form of the path's protocol.
pub(super) fn error_for(path: &str, error: &ChannelError, language: Language) -> Response {
    let first = path.split('/').nth(1).unwrap_or_default();
    let is_langgraph = ["ok", "info", "assistants", "threads", "runs"].contains(&first);
    let words = match error {
        // Its clients know the token by another header.
        ChannelError::Unauthorized if is_langgraph => {
            fill(language.words().channel.unauthorized, &["`x-api-key: TOKEN`"])
        }
        error => error.words(language),
    };
    let body = match first {
        _ if is_langgraph => json!({"detail": words, "code": error.code()}),
        "v1" => {
            json!({"error": {"message": words, "type": openai_type(error.status()), "param": null, "code": error.code()}})
        }
        _ => return error_response(error, language),
    };
    let (parts, _) = error_response(error, language).into_parts();
    let (_, body) = Json(body).into_response().into_parts();
    Response::from_parts(parts, body)
}

fn openai_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_content_of_a_message_is_accepted() {
        let of = |content: Value| content_text(&content).ok();
        assert_eq!(of(json!("a")).as_deref(), Some("a"));
        assert_eq!(of(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])).as_deref(), Some("a\nb"));
        for wrong in [json!(null), json!([{"type": "image_url", "image_url": {"url": "x"}}]), json!({"a": 1})] {
            assert_eq!(of(wrong.clone()), None, "{wrong}");
        }
    }
}
