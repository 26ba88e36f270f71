//! Secrets: texts that can be used and cannot be shown.

use std::fmt;
use std::sync::Arc;

/// What stands where a secret would stand.
pub const MASKED: &str = "***";

/// A text that nothing prints: not `{}`, not `{:?}`, and it cannot be serialised. Whoever needs it says so by
/// [`Secret::expose`], which is easy to find.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Makes a secret of a text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The secret in a variable of the environment, if it is set and not empty.
    pub fn from_env(name: &str) -> Option<Self> {
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
