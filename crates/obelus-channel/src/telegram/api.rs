//! The Bot API: the necessary methods, over HTTP.
//!
//! Every method's URL contains the token, so no error shows a URL.

use std::time::Duration;

use obelus_runtime::Secret;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The time limit of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer.
const LARGEST: usize = 8 << 20;
/// The first and the longest pause after failures.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Why a method failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiError {
    /// There is no answer, or it is invalid.
    #[error("the Bot API cannot be reached: {0}")]
    Network(String),
    /// Too many requests.
    #[error("the Bot API asks for a pause of {} s", .0.as_secs())]
    TooMany(Duration),
    /// The API refused.
    #[error("the Bot API refused with {code}: {text}")]
    Refused {
        /// The code, as in HTTP.
        code: u16,
        /// Its message.
        text: String,
    },
}

impl ApiError {
    /// Whether a retry may succeed.
    fn is_passing(&self) -> bool {
        match self {
            Self::Network(_) | Self::TooMany(_) => true,
            Self::Refused { code, .. } => *code >= 500,
        }
    }

    /// Whether the API's message contains this text.
    pub(super) fn says(&self, words: &str) -> bool {
        matches!(self, Self::Refused { text, .. } if text.contains(words))
    }
}

/// A pause that grows with each failure.
pub(super) struct Backoff(Duration);

impl Backoff {
    pub(super) fn new() -> Self {
        Self(FIRST_PAUSE)
    }

    /// Waits as long as the error asks for, or with back-off.
    pub(super) async fn pause(&mut self, error: &ApiError) {
        let pause = match error {
            ApiError::TooMany(wanted) => *wanted,
            _ => {
                let pause = self.0;
                self.0 = (self.0 * 2).min(LONGEST_PAUSE);
                pause
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// A client of the Bot API.
pub(super) struct BotApi {
    http: reqwest::Client,
    address: String,
    token: Secret,
}

impl BotApi {
    pub(super) fn new(address: &str, token: Secret) -> Result<Self, String> {
        let http = crate::address::client(address)
            .user_agent(concat!("obelus/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .build()
            .map_err(|error| format!("HTTPS cannot be set up: {error}"))?;
        Ok(Self { http, address: address.trim_end_matches('/').to_owned(), token })
    }

    /// Calls a method once.
    pub(super) async fn call(&self, method: &str, params: &Value) -> Result<Value, ApiError> {
        self.post(method, "application/json", params.to_string().into_bytes(), PATIENCE).await
    }

    /// Calls a method, with retries after temporary failures.
    pub(super) async fn call_patiently(&self, method: &str, params: &Value) -> Result<Value, ApiError> {
        let mut backoff = Backoff::new();
        loop {
            match self.call(method, params).await {
                Err(error) if error.is_passing() => backoff.pause(&error).await,
                done => return done,
            }
        }
    }

    /// The updates from an id on; waits for the first one for a while. An unreadable one is returned without content,
    /// so that it is not requested again.
    pub(super) async fn updates(&self, offset: Option<i64>, wait: Duration) -> Result<Vec<Update>, ApiError> {
        let mut params = json!({"timeout": wait.as_secs(), "allowed_updates": ["message", "callback_query"]});
        if let Some(offset) = offset {
            params["offset"] = offset.into();
        }
        let body = params.to_string().into_bytes();
        let answer = self.post("getUpdates", "application/json", body, wait + PATIENCE).await?;
        let Value::Array(updates) = answer else { return Err(unreadable()) };
        Ok(updates.into_iter().filter_map(Update::of).collect())
    }

    /// Sends a text as a file with a caption.
    pub(super) async fn send_text_file(
        &self,
        chat: i64,
        name: &str,
        text: &str,
        caption: &str,
    ) -> Result<Value, ApiError> {
        let boundary = format!("obelus-{}", uuid::Uuid::now_v7().simple());
        let mut body = String::new();
        for (field, value) in [("chat_id", chat.to_string().as_str()), ("caption", caption)] {
            body += &format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n");
        }
        body += &format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"document\"; filename=\"{name}\"\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n--{boundary}--\r\n"
        );
        let kind = format!("multipart/form-data; boundary={boundary}");
        let mut backoff = Backoff::new();
        loop {
            match self.post("sendDocument", &kind, body.clone().into_bytes(), PATIENCE).await {
                Err(error) if error.is_passing() => backoff.pause(&error).await,
                done => return done,
            }
        }
    }

    async fn post(&self, method: &str, kind: &str, body: Vec<u8>, patience: Duration) -> Result<Value, ApiError> {
        let address = format!("{}/bot{}/{method}", self.address, self.token.expose());
        let request = self.http.post(address).header("content-type", kind).timeout(patience).body(body);
        let network = |error: reqwest::Error| ApiError::Network(chain(&error.without_url()));
        let mut response = request.send().await.map_err(network)?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        while let Some(part) = response.chunk().await.map_err(network)? {
            if bytes.len() + part.len() > LARGEST {
                return Err(ApiError::Network("the answer is too large".to_owned()));
            }
            bytes.extend_from_slice(&part);
        }
        read_answer(status, &bytes)
    }
}

/// An error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |words, cause| format!("{words}: {cause}"))
}

fn unreadable() -> ApiError {
    ApiError::Network("the answer is none of the Bot API".to_owned())
}

fn read_answer(status: u16, bytes: &[u8]) -> Result<Value, ApiError> {
    let answer: Option<Value> = serde_json::from_slice(bytes).ok();
    let Some(mut answer) = answer.filter(|answer| answer["ok"].is_boolean()) else {
        return match status {
            200..=299 => Err(unreadable()),
            code => Err(ApiError::Refused { code, text: "without words".to_owned() }),
        };
    };
    if answer["ok"] == true {
        return Ok(answer["result"].take());
    }
    let code = answer["error_code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(status);
    if let (429, Some(seconds)) = (code, answer["parameters"]["retry_after"].as_u64()) {
        return Err(ApiError::TooMany(Duration::from_secs(seconds.clamp(1, 3600))));
    }
    if code == 429 {
        return Err(ApiError::TooMany(FIRST_PAUSE));
    }
    let text = obelus_kernel::visible(answer["description"].as_str().unwrap_or_default());
    Err(ApiError::Refused { code, text: text.chars().take(300).collect() })
}

/// An update.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) id: i64,
    pub(super) content: UpdateContent,
}

/// Its content.
#[derive(Debug)]
pub(super) enum UpdateContent {
    Message(Box<TelegramMessage>),
    ButtonPress(Box<ButtonPress>),
    /// Other content, or unreadable.
    Other,
}

impl Update {
    fn of(mut update: Value) -> Option<Self> {
        let id = update["update_id"].as_i64()?;
        let message = || {
            TelegramMessage::deserialize(&update["message"]).map(|message| UpdateContent::Message(Box::new(message)))
        };
        let content = if update.get("callback_query").is_some() {
            serde_json::from_value(update["callback_query"].take())
                .map(|press| UpdateContent::ButtonPress(Box::new(press)))
        } else {
            message()
        };
        Some(Self { id, content: content.unwrap_or(UpdateContent::Other) })
    }
}

/// A message.
#[derive(Debug, Deserialize)]
pub(super) struct TelegramMessage {
    pub(super) message_id: i64,
    pub(super) from: Option<Sender>,
    pub(super) chat: Chat,
    pub(super) text: Option<String>,
    pub(super) reply_to_message: Option<Box<TelegramMessage>>,
    /// Other fields: pictures, voice, …
    #[serde(flatten)]
    pub(super) other: Map<String, Value>,
}

/// The sender.
#[derive(Debug, Deserialize)]
pub(super) struct Sender {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) is_bot: bool,
    #[serde(default)]
    pub(super) first_name: String,
    pub(super) language_code: Option<String>,
}

/// Where.
#[derive(Debug, Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// A pressed button.
#[derive(Debug, Deserialize)]
pub(super) struct ButtonPress {
    pub(super) id: String,
    pub(super) from: Sender,
    #[serde(default)]
    pub(super) data: String,
    /// The message that has the button.
    pub(super) message: Option<Box<TelegramMessage>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_answers_are_parsed_and_errors_are_classified() {
        assert_eq!(read_answer(200, br#"{"ok":true,"result":[1]}"#), Ok(json!([1])));
        let many = br#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}"#;
        assert_eq!(read_answer(429, many), Err(ApiError::TooMany(Duration::from_secs(7))));
        let refused = read_answer(400, br#"{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}"#);
        let refused = refused.unwrap_err();
        assert!(refused.says("chat not found") && !refused.is_passing());
        assert!(read_answer(502, b"<html>").unwrap_err().is_passing());
        assert!(read_answer(200, b"<html>").unwrap_err().is_passing());
    }

    #[test]
    fn an_unreadable_update_keeps_its_number() {
        let odd = json!({"update_id": 5, "message": {"chat": "?"}});
        assert!(matches!(Update::of(odd), Some(Update { id: 5, content: UpdateContent::Other })));
        let poll = json!({"update_id": 6, "poll": {}});
        assert!(matches!(Update::of(poll), Some(Update { id: 6, content: UpdateContent::Other })));
        assert!(Update::of(json!({"update_id": "x"})).is_none());
        let said = json!({"update_id": 7, "message": {"message_id": 1, "chat": {"id": 2, "type": "private"},
            "from": {"id": 2, "first_name": "Anna"}, "voice": {"file_id": "f"}}});
        let Some(Update { content: UpdateContent::Message(message), .. }) = Update::of(said) else { panic!() };
        assert!(message.text.is_none() && message.other.contains_key("voice"));
    }

    #[tokio::test]
    async fn errors_do_not_show_the_token() {
        let api = BotApi::new("http://127.0.0.1:9", Secret::new("123456:secret-of-the-bot")).unwrap();
        let error = api.call("getMe", &json!({})).await.unwrap_err();
        assert!(matches!(error, ApiError::Network(_)) && !error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn fuzz_any_answer_of_the_messenger_is_refused_or_read() {
        crate::fuzz::fuzz("telegram", |input| {
            let _ = read_answer(502, input);
            let Ok(answer) = read_answer(200, input) else { return false };
            let updates = answer.as_array().cloned().unwrap_or_else(|| vec![answer]);
            for update in updates.into_iter().filter_map(Update::of) {
                if let UpdateContent::ButtonPress(press) = update.content {
                    let _ = super::super::action::read_data(&press.data);
                }
            }
            true
        });
    }
}
