//! One-time links: a browser gets a token without typing it.
//!
//! The code of a link comes after the `#` of the address, which browsers do not send. The page exchanges it for the
//! token, once and soon. Codes are kept in memory as hashes and end with the process.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use obelus_runtime::Secret;

use crate::tokens::{TokenError, drawn, hash_of, is_same};

/// The limit of unused links. Beyond it the oldest expire.
const MOST: usize = 64;

/// How long a link is valid: it may stay in the scrollback of a terminal.
const VALID: Duration = Duration::from_secs(15 * 60);

/// The unused links.
#[derive(Default)]
pub(super) struct Links(Mutex<Vec<LoginLink>>);

struct LoginLink {
    /// The hash of its code.
    hash: String,
    /// Its token.
    token: Secret,
    made: Instant,
}

impl Links {
    /// The code of a new link for a token.
    pub(super) fn add(&self, token: Secret) -> Result<Secret, TokenError> {
        let code = drawn("")?;
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.push(LoginLink { hash: hash_of(code.expose()), token, made: Instant::now() });
        let old = links.len().saturating_sub(MOST);
        links.drain(..old);
        Ok(code)
    }

    /// The token of a code, which becomes invalid.
    pub(super) fn take(&self, code: &str) -> Option<Secret> {
        self.take_at(code, Instant::now())
    }

    fn take_at(&self, code: &str, now: Instant) -> Option<Secret> {
        let given = hash_of(code);
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| now.saturating_duration_since(link.made) < VALID);
        let at = links.iter().position(|link| is_same(&link.hash, &given))?;
        Some(links.remove(at).token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_can_be_exchanged_once_for_its_own_token() {
        let links = Links::default();
        let code = links.add(Secret::new("obelus_first-token")).unwrap();
        let other = links.add(Secret::new("obelus_other-token")).unwrap();
        assert!(links.take("").is_none() && links.take("obelus_first-token").is_none());
        assert_eq!(links.take(other.expose()).unwrap().expose(), "obelus_other-token");
        assert_eq!(links.take(code.expose()).unwrap().expose(), "obelus_first-token");
        assert!(links.take(code.expose()).is_none());
    }

    #[test]
    fn a_code_expires_after_fifteen_minutes() {
        let links = Links::default();
        let code = links.add(Secret::new("obelus_first-token")).unwrap();
        let after = |minutes: u64| Instant::now() + Duration::from_secs(minutes * 60);
        assert!(links.take_at(code.expose(), after(16)).is_none());
        let code = links.add(Secret::new("obelus_first-token")).unwrap();
        assert!(links.take_at(code.expose(), after(14)).is_some());
    }

    #[test]
    fn the_number_of_pending_links_is_limited() {
        let links = Links::default();
        let first = links.add(Secret::new("obelus_first-token")).unwrap();
        for _ in 0..MOST {
            links.add(Secret::new("obelus_first-token")).unwrap();
        }
        assert!(links.take(first.expose()).is_none());
    }
}
