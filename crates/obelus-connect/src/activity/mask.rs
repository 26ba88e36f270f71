//! Secrets, and keeping them out of what an activity tells.

use obelus_kernel::session::{CallError, Outcome};
use serde_json::Value;

/// What stands where a secret stood.
const MASKED: &str = "***";

/// Words that make the name of a variable look like that of a secret, wherever they stand in it.
const TELLING: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "WEBHOOK", "CREDENTIAL"];

/// Whether a variable of this name is likely to hold a secret.
#[cfg(feature = "exec")]
pub(super) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // KEY must end a word, so that the layout of a keyboard is no secret.
    TELLING.iter().any(|word| name.contains(word)) || name.split('_').any(|word| word.ends_with("KEY"))
}

/// The secrets that an activity was given.
#[derive(Clone, Default)]
pub(super) struct Mask {
    secrets: Vec<String>,
}

impl Mask {
    pub(super) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<_> = secrets.into_iter().filter(|secret| !secret.is_empty()).collect();
        // A secret may begin with another one: the longest first, or its end would be left standing.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// What an activity tells, without the secrets. A peer may send them back, and a result is kept for good.
    pub(super) fn outcome(&self, result: Result<Outcome, CallError>) -> Outcome {
        let mut outcome = result.unwrap_or_else(Outcome::Error);
        match &mut outcome {
            Outcome::Value(value) => self.value(value),
            Outcome::Messages(messages) => messages.iter_mut().for_each(|message| self.value(message)),
            Outcome::Error(error) => self.text(&mut error.message),
        }
        outcome
    }

    fn text(&self, text: &mut String) {
        for secret in &self.secrets {
            if text.contains(secret) {
                *text = text.replace(secret, MASKED);
            }
        }
    }

    fn value(&self, value: &mut Value) {
        if self.secrets.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => map.values_mut().for_each(|field| self.value(field)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[cfg(feature = "exec")]
    #[test]
    fn names_of_secrets_are_told_from_others() {
        for name in [
            "OPENAI_API_KEY",
            "APIKEY",
            "GITHUB_TOKEN",
            "token",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PASSWORD",
            "BITRIX_WEBHOOK_URL",
            "KEY_2",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["PATH", "HOME", "KEYBOARD_LAYOUT", "LANG", "SSH_AUTH_SOCK", ""] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn a_secret_is_masked_wherever_it_stands() {
        let mask = Mask::new(["abc".to_owned(), "abcdef".to_owned(), String::new()]);
        let outcome = mask.outcome(Ok(Outcome::Value(json!({"a": ["x abcdef y", 1], "b": "abc"}))));
        assert_eq!(outcome, Outcome::Value(json!({"a": ["x *** y", 1], "b": "***"})));
        let outcome = mask.outcome(Err(CallError::new("c", "got abc")));
        assert_eq!(outcome, Outcome::Error(CallError::new("c", "got ***")));
    }
}
