//! The client that all bindings of a file share, and where it follows redirects.

use std::sync::{Arc, OnceLock};

use reqwest::Url;
use reqwest::redirect::{Attempt, Policy};

use crate::activity::retry::Failure;
use crate::web;

const MOST_REDIRECTS: usize = 5;

/// A client, made when the first request needs it: loading the machine's certificates takes time, and a machine
/// without any can still run everything else.
#[derive(Clone, Default)]
pub(in crate::activity) struct Client {
    made: Arc<OnceLock<Result<reqwest::Client, String>>>,
}

/// Why a redirect was not followed.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotFollowed {
    #[error("more than {MOST_REDIRECTS} redirects, most likely in a circle")]
    TooMany,
    /// The headers of a request may hold secrets, and they are for one host only.
    #[error("redirected to {0}; if that is right, bind that address")]
    Away(String),
}

impl Client {
    pub(super) fn get(&self) -> Result<&reqwest::Client, Failure> {
        let made = self.made.get_or_init(|| build().map_err(|error| super::answer::cause(&error)));
        made.as_ref().map_err(|problem| Failure::lasting("no_tls", web::no_tls(problem)))
    }
}

fn build() -> reqwest::Result<reqwest::Client> {
    web::client()
        .redirect(Policy::custom(|attempt| {
            let refused = refuse(&attempt);
            match refused {
                Some(refused) => attempt.error(refused),
                None => attempt.follow(),
            }
        }))
        .build()
}

fn refuse(attempt: &Attempt<'_>) -> Option<NotFollowed> {
    let first = attempt.previous().first()?;
    let next = attempt.url();
    if !same_place(first, next) {
        return Some(NotFollowed::Away(next.origin().ascii_serialization()));
    }
    (attempt.previous().len() > MOST_REDIRECTS).then_some(NotFollowed::TooMany)
}

/// The same host and port, or the same host by TLS.
fn same_place(first: &Url, next: &Url) -> bool {
    let upgraded = first.scheme() == "http" && next.scheme() == "https" && first.host() == next.host();
    first.origin() == next.origin() || (upgraded && first.port().is_none() && next.port().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_host_is_the_same_place() {
        for (first, next, same) in [
            ("http://h/a", "http://h/b?c", true),
            ("http://h/a", "https://h/a", true),
            ("https://h/a", "http://h/a", false),
            ("http://h/a", "http://h:81/a", false),
            ("http://h:81/a", "https://h/a", false),
            ("http://h/a", "http://www.h/a", false),
        ] {
            let url = |text| Url::parse(text).unwrap();
            assert_eq!(same_place(&url(first), &url(next)), same, "{first} {next}");
        }
    }
}
