//! The client that all bindings of a file share.

use std::sync::{Arc, OnceLock};

use reqwest::redirect::Policy;

use crate::activity::retry::AttemptFailure;
use crate::web;

/// An HTTP client, created by the first request, because loading the system's certificates takes time and fails on a
/// machine without any.
#[derive(Clone, Default)]
pub(in crate::activity) struct LazyClient {
    made: Arc<OnceLock<Result<reqwest::Client, String>>>,
}

impl LazyClient {
    pub(super) fn get(&self) -> Result<&reqwest::Client, AttemptFailure> {
        let made = self.made.get_or_init(|| build().map_err(|error| super::answer::cause(&error)));
        made.as_ref().map_err(|problem| AttemptFailure::lasting("no_tls", web::no_tls(problem)))
    }
}

/// `redirect` follows redirects, because it knows the tool's effect; the library knows only the method.
fn build() -> reqwest::Result<reqwest::Client> {
    web::client().redirect(Policy::none()).build()
}
