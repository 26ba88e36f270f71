//! Secrets, and keeping them out of what an activity tells.

use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::MASKED;
use serde_json::Value;

/// Words that make the name of a variable look like that of a secret, wherever they stand in it.
const TELLING: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "WEBHOOK", "CREDENTIAL"];

/// Whether a variable of this name is likely to hold a secret.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // KEY must end a word, so that the layout of a keyboard is no secret.
    TELLING.iter().any(|word| name.contains(word)) || name.split('_').any(|word| word.ends_with("KEY"))
}

/// Shorter secrets are masked in errors only: in a result, every other word would be taken for one.
const SHORTEST_IN_RESULTS: usize = 8;

/// The secrets that an activity was given.
#[derive(Clone, Default)]
pub(crate) struct Mask {
    /// The longest first.
    secrets: Vec<String>,
}

impl Mask {
    pub(crate) fn new(given: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<_> = given.into_iter().filter(|secret| !secret.is_empty()).collect();
        // A secret may begin with another one: the longest first, or its end would be left standing.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// Masks what came from a peer, before anything is cut out of it: half a secret would not be recognised.
    pub(super) fn bytes(&self, bytes: &mut Vec<u8>) {
        for secret in self.long() {
            let find = |from: &[u8]| from.windows(secret.len()).position(|part| part == secret.as_bytes());
            let mut rest = bytes.as_slice();
            let mut masked = Vec::new();
            while let Some(at) = find(rest) {
                masked.extend_from_slice(&rest[..at]);
                masked.extend_from_slice(MASKED.as_bytes());
                rest = &rest[at + secret.len()..];
            }
            if !masked.is_empty() {
                masked.extend_from_slice(rest);
                *bytes = masked;
            }
        }
    }

    /// What an activity tells, without the secrets. A peer may send them back, and a result is kept for good.
    pub(crate) fn outcome(&self, result: Result<Outcome, CallError>) -> Outcome {
        let mut outcome = result.unwrap_or_else(Outcome::Error);
        match &mut outcome {
            Outcome::Value(value) => self.value(value),
            Outcome::Messages(messages) => messages.iter_mut().for_each(|message| self.value(message)),
            Outcome::Error(error) => mask(&mut error.message, self.secrets.iter()),
            Outcome::Lost { message } => mask(message, self.secrets.iter()),
        }
        outcome
    }

    /// JSON has several spellings of a text, so that one may have been overlooked among the bytes.
    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => mask(text, self.long()),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => map.values_mut().for_each(|field| self.value(field)),
            _ => {}
        }
    }

    fn long(&self) -> impl Iterator<Item = &String> {
        self.secrets.iter().take_while(|secret| secret.len() >= SHORTEST_IN_RESULTS)
    }
}

fn mask<'a>(text: &mut String, secrets: impl Iterator<Item = &'a String>) {
    for secret in secrets {
        if text.contains(secret) {
            *text = text.replace(secret, MASKED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        let mask = Mask::new(["abcdefgh".to_owned(), "abcdefghij".to_owned(), "abc".to_owned(), String::new()]);
        let outcome =
            mask.outcome(Ok(Outcome::Value(json!({"a": ["x abcdefghij y", 1], "b": "abcdefgh", "c": "abc"}))));
        assert_eq!(outcome, Outcome::Value(json!({"a": ["x *** y", 1], "b": "***", "c": "abc"})));
        let outcome = mask.outcome(Err(CallError::new("c", "got abc and abcdefghij")));
        assert_eq!(outcome, Outcome::Error(CallError::new("c", "got *** and ***")));
        for (text, masked) in
            [("abcdefghijabcdefgh-", "******-"), ("-abcdefgh", "-***"), ("abcdefg", "abcdefg"), ("", "")]
        {
            let mut bytes = text.as_bytes().to_vec();
            mask.bytes(&mut bytes);
            assert_eq!(String::from_utf8(bytes).unwrap(), masked, "{text}");
        }
    }
}
