//! The client that all bindings of a file share.

use std::sync::{Arc, OnceLock};

use reqwest::redirect::Policy;

use crate::activity::retry::Failure;
use crate::web;

/// A client, made when the first request needs it: loading the machine's certificates takes time, and a machine
/// without any can still run everything else.
#[derive(Clone, Default)]
pub(in crate::activity) struct Client {
    made: Arc<OnceLock<Result<reqwest::Client, String>>>,
}

impl Client {
    pub(super) fn get(&self) -> Result<&reqwest::Client, Failure> {
        let made = self.made.get_or_init(|| build().map_err(|error| super::answer::cause(&error)));
        made.as_ref().map_err(|problem| Failure::lasting("no_tls", web::no_tls(problem)))
    }
}

/// Redirects are followed in `redirect`, which knows what the request does; the library knows only its method.
fn build() -> reqwest::Result<reqwest::Client> {
    web::client().redirect(Policy::none()).build()
}
