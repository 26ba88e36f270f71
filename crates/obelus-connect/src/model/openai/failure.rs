//! Failures of a request: a stable code, a message, and whether a retry may help.

use std::borrow::Cow;
use std::time::Duration;

use obelus_kernel::session::Answer;
pub(super) use obelus_kernel::session::FailureCode as Code;
use obelus_kernel::visible;
use serde_json::Value;

/// The number of characters quoted from a server's message.
const MAX_QUOTED: usize = 400;

/// Whether a failure is temporary. Time-outs are not retried, because they have used up their time.
fn may_pass(code: &Code) -> bool {
    matches!(code, Code::RateLimited | Code::ServerError | Code::Unreachable | Code::CutOff)
}

/// A request without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelFailure {
    pub(super) code: Code,
    pub(super) message: String,
    /// The wait that the server asks for.
    pub(super) after: Option<Duration>,
    /// Whether a retry may help.
    pub(super) may_pass: bool,
}

impl ModelFailure {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { may_pass: may_pass(&code), code, message: message.into(), after: None }
    }

    pub(super) fn too_large() -> Self {
        Self::new(Code::TooLarge, "the answer is too large; it was not read to its end")
    }

    /// The failure for an HTTP status and body.
    pub(super) fn of_status(status: u16, body: &[u8], after: Option<Duration>) -> Self {
        let error = ServerError::of(body);
        let code = match status {
            401 => Code::Unauthorised,
            403 => Code::Forbidden,
            404 => Code::UnknownModel,
            402 => Code::Quota,
            429 if error.is_quota() => Code::Quota,
            429 => Code::RateLimited,
            300..=399 => Code::Redirected,
            408 | 500..=599 => Code::ServerError,
            _ => Code::BadRequest,
        };
        let words = if error.words.is_empty() { String::new() } else { format!(": {}", error.words) };
        Self { after, ..Self::new(code, format!("the server answered {status}{words}")) }
    }

    /// The failure for an error event within a stream.
    pub(super) fn of_event(error: &Value) -> Self {
        let parsed = ServerError::of_error(error);
        let code = match error["code"].as_u64().and_then(|code| u16::try_from(code).ok()) {
            _ if parsed.is_quota() => Code::Quota,
            Some(status @ 400..=599) => Self::of_status(status, b"", None).code,
            _ if parsed.kind.contains("rate_limit") => Code::RateLimited,
            _ => Code::ServerError,
        };
        Self::new(code, format!("the server ended the stream with an error: {}", parsed.words))
    }

    /// Masks these secrets in the message, because servers may repeat them.
    pub(super) fn without<'a>(mut self, secrets: impl IntoIterator<Item = &'a str>) -> Self {
        for secret in secrets.into_iter().filter(|secret| secret.len() >= 4) {
            self.message = self.message.replace(secret, obelus_runtime::masking::MASKED);
        }
        self
    }

    pub(super) fn into_answer(self) -> Answer {
        Answer::Failed { code: self.code, message: self.message }
    }
}

/// A server's error in the usual JSON form.
#[derive(Default)]
struct ServerError {
    words: String,
    /// Its `type` and `code`.
    kind: String,
}

impl ServerError {
    fn of(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::of_error(value.get("error").unwrap_or(&value)),
            // Not JSON, for example the page of a gateway.
            Err(_) => Self { words: shorten(String::from_utf8_lossy(body).trim()), kind: String::new() },
        }
    }

    fn of_error(error: &Value) -> Self {
        let text = |name: &str| error[name].as_str().unwrap_or_default();
        let words = match (error, text("message")) {
            (Value::String(words), _) => words,
            (_, "") => text("detail"),
            (_, words) => words,
        };
        Self { words: shorten(words.trim()), kind: format!("{} {}", text("type"), text("code")) }
    }

    fn is_quota(&self) -> bool {
        self.kind.contains("quota")
            || self.kind.contains("billing")
            || self.words.contains("exceeded your current quota")
    }
}

/// Shortens text from a server to one visible line.
pub(super) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_QUOTED).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    let words = short.split_whitespace().map(without_bytes).collect::<Vec<_>>();
    visible(&words.join(" "))
}

/// Removes base64 data from a word; servers may repeat pictures.
fn without_bytes(word: &str) -> Cow<'_, str> {
    const MAX_RUN: usize = 48;
    let is_base64 = |letter: char| letter.is_ascii_alphanumeric() || "+/=_-".contains(letter);
    let runs = || word.split_inclusive(|letter| !is_base64(letter));
    if runs().all(|run| run.len() <= MAX_RUN) {
        return word.into();
    }
    let cut = |run| if str::len(run) <= MAX_RUN { run } else { "…" };
    runs().map(cut).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Code; 21] = [
        Code::NoKey,
        Code::NoSecret,
        Code::BadSettings,
        Code::Unauthorised,
        Code::Forbidden,
        Code::UnknownModel,
        Code::Quota,
        Code::RateLimited,
        Code::BadRequest,
        Code::Redirected,
        Code::Unreachable,
        Code::ServerError,
        Code::TimeoutFirstByte,
        Code::TimeoutIdle,
        Code::TimeoutTotal,
        Code::CutOff,
        Code::TooLarge,
        Code::NotUtf8,
        Code::Empty,
        Code::BadAnswer,
        Code::Declined,
    ];

    #[test]
    fn each_failure_has_its_own_text_for_the_user() {
        use obelus_kernel::session::{CallError, Reply, TurnEnd};
        use obelus_runtime::Language;
        use obelus_runtime::people::why_it_ended;

        let told = |code: &str, language| {
            let reply = Reply {
                ends: TurnEnd::Degraded,
                output: Value::Null,
                said: Vec::new(),
                calls: Vec::new(),
                waiting: Vec::new(),
                reason: Some(CallError::new(code, "the server's words")),
                end: None,
                at: obelus_kernel::Time::default(),
            };
            why_it_ended(&reply, None, language)
        };
        for language in [Language::Russian, Language::English] {
            let mut all: Vec<String> = ALL.iter().map(|code| told(&code.to_string(), language)).collect();
            all.push(told("something else", language));
            // The message that there is no key is our own, in English.
            let without = all.iter().filter(|words| !words.contains("the server's words")).count();
            assert_eq!(without, usize::from(language == Language::Russian));
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), ALL.len() + 1);
        }
    }

    #[test]
    fn http_statuses_are_mapped_to_failures() {
        let quota = br#"{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}"#;
        for (status, body, code) in [
            (401, &b"{}"[..], "unauthorised"),
            (403, b"", "forbidden"),
            (404, b"not here", "unknown_model"),
            (429, b"slow down", "rate_limited"),
            (429, quota, "quota"),
            (400, b"[]", "bad_request"),
            (502, b"<html>bad gateway</html>", "server_error"),
            (307, b"", "redirected"),
        ] {
            let failure = ModelFailure::of_status(status, body, None);
            assert_eq!(failure.code, code);
            assert!(failure.message.contains(&status.to_string()));
            assert_eq!(failure.may_pass, matches!(code, "rate_limited" | "server_error"), "{code}");
        }
    }

    #[test]
    fn server_errors_are_quoted_briefly_and_without_secrets() {
        let body = format!(r#"{{"error": {{"message": "Incorrect key sk-s3cr3t\u202e{}"}}}}"#, "x".repeat(5000));
        let failure = ModelFailure::of_status(401, body.as_bytes(), None).without(["sk-s3cr3t"]);
        assert!(failure.message.contains("Incorrect key ***"), "{}", failure.message);
        assert!(!failure.message.contains('\u{202e}') && failure.message.len() < 600);
    }

    #[test]
    fn pictures_are_removed_from_quoted_errors() {
        let said =
            format!("Unsupported part: \"url\": \"data:image/png;base64,iVBORw0KGgo{}\" (req_01ab)", "A1b/".repeat(40));
        assert_eq!(shorten(&said), "Unsupported part: \"url\": \"data:image/png;base64,… (req_01ab)");
    }

    #[test]
    fn an_error_event_in_a_stream_is_recognised() {
        let of = |error: Value| ModelFailure::of_event(&error).code;
        assert_eq!(of(serde_json::json!({"message": "overloaded", "type": "server_error"})), Code::ServerError);
        assert_eq!(of(serde_json::json!({"message": "slow", "code": 429})), Code::RateLimited);
        assert_eq!(of(serde_json::json!({"message": "slow", "code": "rate_limit_exceeded"})), Code::RateLimited);
        assert_eq!(of(serde_json::json!({"message": "pay", "code": "insufficient_quota"})), Code::Quota);
        assert_eq!(of(serde_json::json!("broken")), Code::ServerError);
    }
}
