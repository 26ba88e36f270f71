//! Secrets: texts that can be used and cannot be shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// What stands where a secret would stand.
pub const MASKED: &str = "***";

/// Every text that was made a secret, and the parts of it that are secrets by themselves; the longest first, for one may
/// begin with another.
static KNOWN: RwLock<Vec<Arc<str>>> = RwLock::new(Vec::new());

/// Shorter texts are no secrets that could be told from other words.
const SHORTEST: usize = 4;

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

/// A text with every secret of this process blotted out.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let mut clean = Cow::Borrowed(text);
    for secret in known.iter() {
        if clean.contains(&**secret) {
            clean = Cow::Owned(clean.replace(&**secret, MASKED));
        }
    }
    clean
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
}
