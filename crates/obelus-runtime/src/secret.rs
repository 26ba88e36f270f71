//! Secrets: texts that can be used and cannot be shown.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What stands where a secret would stand.
pub const MASKED: &str = "***";

/// Secrets that this process was given by its own parts.
static PROVIDED: Mutex<BTreeMap<String, Secret>> = Mutex::new(BTreeMap::new());

/// A text that nothing prints: not `{}`, not `{:?}`, and it cannot be serialised. Whoever needs it says so by
/// [`Secret::expose`], which is easy to find.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Makes a secret of a text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
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
}
