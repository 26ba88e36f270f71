//! Failures of a portal, and their messages for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use obelus_kernel::Time;
use obelus_kernel::session::{CallError, FailureCode};
use obelus_kernel::visible;
use obelus_words::{Language, PortalWords, fill};

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PortalFailure {
    /// The portal's rate limit is reached: nothing was done.
    Busy,
    /// The method has used up its time: nothing was done. `reset_at` is when it may be called again, in seconds since
    /// 1970.
    OutOfTime { reset_at: Option<u64> },
    /// The portal could not be reached: nothing was sent.
    NotSent(String),
    /// The request was sent and has no answer: it may have been carried out.
    Lost(String),
    /// The answer is too large.
    TooLarge,
    /// The portal refused the call.
    Portal(PortalError),
    /// The call is invalid: nothing was sent.
    Wrong(CallError),
}

/// An error of the portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortalError {
    pub(super) code: String,
    pub(super) description: String,
    /// The parameter at fault, if the portal names it.
    pub(super) argument: Option<String>,
}

impl PortalError {
    pub(super) fn new(code: impl Into<String>, description: impl Into<String>) -> Self {
        Self { code: code.into(), description: description.into(), argument: None }
    }

    /// The code, or one made up for an error without a code.
    fn plain_code(&self) -> String {
        if !self.code.is_empty() {
            return self.code.clone();
        }
        let described = self.description.to_lowercase();
        let known = [("not found", "not_found"), ("access denied", "access_denied"), ("not defined", "bad_id")];
        let code = known.iter().find(|(words, _)| described.contains(words)).map_or("portal_error", |(_, code)| code);
        code.to_owned()
    }

    /// The portal's message and a hint.
    fn words(&self, method: &str, language: Language) -> String {
        let table = &language.words().portal;
        let mut words = [self.code.as_str(), self.description.trim()].map(visible).join(": ");
        words = words.trim_matches([':', ' ']).to_owned();
        if let Some(argument) = &self.argument {
            words = format!("{words} ({})", visible(argument));
        }
        match hint(&self.plain_code(), method, table) {
            Some(hint) if words.is_empty() => hint.to_owned(),
            Some(hint) => format!("{words}. {hint}"),
            None if words.is_empty() => table.refused.to_owned(),
            None => words,
        }
    }
}

/// A hint for an error of the portal.
fn hint(code: &str, method: &str, words: &PortalWords) -> Option<&'static str> {
    Some(match code {
        "WRONG_AUTH_TYPE" if method.to_ascii_lowercase().starts_with("event.") => words.events_need_app,
        "WRONG_AUTH_TYPE" => words.needs_app,
        "insufficient_scope" => words.no_scope,
        "ACCESS_DENIED" | "access_denied" | "user_access_error" => words.no_access,
        "NO_AUTH_FOUND" | "INVALID_CREDENTIALS" | "expired_token" | "http_401" => words.bad_webhook,
        "OVERLOAD_LIMIT" => words.blocked,
        "ERROR_METHOD_NOT_FOUND" => words.no_method,
        "not_found" => words.not_found,
        _ => return None,
    })
}

impl PortalFailure {
    /// The failure as the error of a call.
    pub(super) fn into_error(self, method: &str, portal: &str, language: Language) -> CallError {
        let words = &language.words().portal;
        match self {
            PortalFailure::Busy => CallError::new("QUERY_LIMIT_EXCEEDED", words.busy),
            PortalFailure::OutOfTime { reset_at } => {
                let when = reset_at.map(|seconds| at(seconds, language)).unwrap_or_default();
                CallError::new("OPERATION_TIME_LIMIT", format!("{}{when}", words.out_of_time))
            }
            PortalFailure::NotSent(cause) => {
                CallError::new(FailureCode::Unreachable, fill(words.not_sent, &[portal, &cause]))
            }
            PortalFailure::Lost(cause) => CallError::new(FailureCode::LostAnswer, format!("{portal}: {cause}")),
            PortalFailure::TooLarge => CallError::new(FailureCode::OutputTooLarge, words.too_large),
            PortalFailure::Portal(error) => CallError::new(error.plain_code(), error.words(method, language)),
            PortalFailure::Wrong(error) => error,
        }
    }
}

/// A time, and how long it is until then.
fn at(seconds: u64, language: Language) -> String {
    let time = Time(i64::try_from(seconds).unwrap_or_default().saturating_mul(1000));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let minutes = Duration::from_secs(seconds).saturating_sub(now).as_secs().div_ceil(60);
    fill(language.words().portal.again_at, &[&time.to_string(), &minutes.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b24_10_errors_are_passed_on_with_code_description_and_explanation() {
        for (code, description, method, expected_code, words) in [
            ("", "Not found", "crm.deal.get", "not_found", "Not found. There is no such record"),
            ("", "Access denied.", "crm.deal.get", "access_denied", "has no access"),
            ("", "ID is not defined or invalid.", "crm.deal.get", "bad_id", "ID is not defined or invalid."),
            (
                "insufficient_scope",
                "",
                "tasks.task.list",
                "insufficient_scope",
                "insufficient_scope. The webhook lacks",
            ),
            ("WRONG_AUTH_TYPE", "x", "event.bind", "WRONG_AUTH_TYPE", "Subscriptions to events"),
            ("WRONG_AUTH_TYPE", "x", "app.info", "WRONG_AUTH_TYPE", "for applications"),
            ("ERROR_CORE", "Сумма неверна", "crm.deal.update", "ERROR_CORE", "ERROR_CORE: Сумма неверна"),
            ("", "", "crm.deal.update", "portal_error", "the portal refused it"),
        ] {
            let error =
                PortalFailure::Portal(PortalError::new(code, description)).into_error(method, "p", Language::English);
            assert_eq!(error.code, expected_code);
            assert!(error.message.contains(words), "{}", error.message);
        }
    }

    #[test]
    fn hints_are_in_the_language_of_the_agent() {
        let error =
            PortalFailure::Portal(PortalError::new("", "Not found")).into_error("crm.deal.get", "p", Language::Russian);
        assert_eq!(error.message, "Not found. Такой записи нет или она не видна вебхуку");
        let late = PortalFailure::OutOfTime { reset_at: Some(1_700_000_000) }.into_error("m", "p", Language::Russian);
        assert!(late.message.contains("2023-11-14T22:13:20Z"), "{}", late.message);
    }

    #[test]
    fn control_characters_in_portal_errors_are_escaped() {
        let error =
            PortalFailure::Portal(PortalError::new("X\u{1b}[2J", "a\u{202e}b")).into_error("m", "p", Language::English);
        assert!(!error.message.contains(['\u{1b}', '\u{202e}']), "{}", error.message);
    }
}
