//! Secrets: texts that can be used and cannot be shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use obelus_kernel::session::Input;
use serde_json::{Map, Value};

/// What stands where a secret would stand.
pub const MASKED: &str = "***";

/// Every text that was made a secret, and the parts of it that are secrets by themselves; the longest first, for one may
/// begin with another.
static KNOWN: RwLock<Vec<Arc<str>>> = RwLock::new(Vec::new());

/// Shorter texts are no secrets that could be told from other words.
const SHORTEST: usize = 4;

/// Shorter secrets are masked in errors and logs only: in a result, every other word would be taken for one.
const SHORTEST_IN_RESULTS: usize = 8;

/// A shorter part of an address is no secret: the name of a path, the number of a user.
const SHORTEST_PART: usize = 10;

/// Secrets that this process was given by its own parts.
static PROVIDED: Mutex<BTreeMap<String, Secret>> = Mutex::new(BTreeMap::new());

/// A text that nothing prints: not `{}`, not `{:?}`, and it cannot be serialised. Whoever needs it says so by
/// [`Secret::expose`], which is easy to find.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Makes a secret of a text. From now on it is blotted out of every log.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        remember(&text);
        Self(text)
    }

    /// Puts a secret under the name of a variable, for this process alone: programs that bring their own service, such
    /// as a sandbox, need no variable set. It goes before the environment.
    pub fn provide(name: impl Into<String>, secret: Secret) {
        PROVIDED.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into(), secret);
    }

    /// The secret in a variable of the environment, if it is set and not empty.
    pub fn from_env(name: &str) -> Option<Self> {
        let provided = PROVIDED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(secret) = provided.get(name) {
            return Some(secret.clone());
        }
        std::env::var(name).ok().filter(|value| !value.trim().is_empty()).map(Self::new)
    }

    /// The text itself, for the one who must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

fn remember(text: &str) {
    let whole = text.trim().trim_end_matches('/');
    // A token in the path of an address is a secret without the address too.
    let path = whole.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let parts = path.split(['/', '?', '&', '=']).filter(|part| part.len() >= SHORTEST_PART);
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    for secret in std::iter::once(whole).filter(|whole| whole.len() >= SHORTEST).chain(parts) {
        if !known.iter().any(|other| **other == *secret) {
            let at = known.partition_point(|other| other.len() >= secret.len());
            known.insert(at, secret.into());
        }
    }
}

fn known() -> RwLockReadGuard<'static, Vec<Arc<str>>> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner)
}

/// Those that are masked in results too.
fn long(known: &[Arc<str>]) -> &[Arc<str>] {
    &known[..known.partition_point(|secret| secret.len() >= SHORTEST_IN_RESULTS)]
}

/// A text with every secret of this process blotted out.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    without(text, &known())
}

fn without<'a>(text: &'a str, secrets: &[Arc<str>]) -> Cow<'a, str> {
    let mut clean = Cow::Borrowed(text);
    for secret in secrets {
        if clean.contains(&**secret) {
            clean = Cow::Owned(clean.replace(&**secret, MASKED));
        }
    }
    clean
}

/// Blots the secrets of this process out of bytes that a service sent, before anything is cut out of them: half a secret
/// would not be recognised.
pub fn mask_bytes(bytes: &mut Vec<u8>) {
    for secret in long(&known()) {
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

/// Blots the secrets of this process out of JSON that a service sent, names of fields included.
pub fn mask_value(value: &mut Value) {
    let known = known();
    let secrets = long(&known);
    if !secrets.is_empty() {
        mask_with(secrets, value);
    }
}

/// What a person tells a session, without the secrets of this process: neither its journal nor its model may have them
/// (DUR-8).
pub(crate) fn without_secrets_of(input: Input) -> Input {
    match input {
        Input::User { mut text } => {
            if let Cow::Owned(clean) = without(&text, long(&known())) {
                text = clean;
            }
            Input::User { text }
        }
        Input::State { mut state, by, is_whole } => {
            mask_value(&mut state);
            Input::State { state, by, is_whole }
        }
        Input::Decide { question, mut decision, by, digest } => {
            if let Ok(mut form) = serde_json::to_value(&decision) {
                mask_value(&mut form);
                decision = serde_json::from_value(form).unwrap_or(decision);
            }
            Input::Decide { question, decision, by, digest }
        }
        other => other,
    }
}

fn mask_with(secrets: &[Arc<str>], value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = without(text, secrets) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask_with(secrets, item)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| mask_with(secrets, field));
            if fields.keys().any(|name| matches!(without(name, secrets), Cow::Owned(_))) {
                let renamed = std::mem::take(fields).into_iter();
                *fields =
                    renamed.map(|(name, field)| (without(&name, secrets).into_owned(), field)).collect::<Map<_, _>>();
            }
        }
        _ => {}
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASKED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASKED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_cannot_be_printed() {
        let secret = Secret::new("s3cr3t");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(secret.expose(), "s3cr3t");
    }

    #[test]
    fn what_was_made_a_secret_is_blotted_out_the_longest_first() {
        let (_short, _long) = (Secret::new("zq81-xk"), Secret::new("zq81-xk-longer"));
        assert_eq!(without_secrets("a zq81-xk-longer b zq81-xk."), "a *** b ***.");
        let _tiny = Secret::new("the");
        assert_eq!(without_secrets("the end"), "the end");
    }

    #[test]
    fn a_secret_is_masked_wherever_it_stands_in_a_result() {
        let _secrets = [Secret::new("mq-abcdefgh"), Secret::new("mq-abcdefghij"), Secret::new("mq-abc")];
        let mut value = serde_json::json!({"a": ["x mq-abcdefghij y", 1], "mq-abcdefgh": "mq-abc"});
        mask_value(&mut value);
        assert_eq!(value, serde_json::json!({"a": ["x *** y", 1], "***": "mq-abc"}));
        for (text, masked) in
            [("mq-abcdefghijmq-abcdefgh-", "******-"), ("-mq-abcdefgh", "-***"), ("mq-abcdefg", "mq-abcdefg"), ("", "")]
        {
            let mut bytes = text.as_bytes().to_vec();
            mask_bytes(&mut bytes);
            assert_eq!(String::from_utf8(bytes).unwrap(), masked, "{text}");
        }
    }
}
