//! Activities bound in a file, so that they need no Rust.
//!
//! A binding is a JSON object: `{exec: [program, args…]}`, `{http: {method, url, headers, body}}`,
//! `{bitrix24: {webhook: $NAME}}` or `{jq: FILTER}`, with a `timeout` and what else its kind knows. [`bind`] makes activities of them; everything
//! that can be wrong with a binding is found there, before any call. `docs/activities.md` tells users about it.
//!
//! # Layout
//!
//! | module | subject |
//! |---|---|
//! | `binding` | from JSON to activities, and what is wrong with the JSON |
//! | `exec` | programs: one JSON object in, one JSON value out |
//! | `http` | requests made from templates |
//! | `jq` | pure filters |
//! | `messages` | results that are messages for the paths they choose |
//! | `retry` | when to try a read again |
//! | `secret_name` | which variables hold secrets |
//! | `text` | excerpts of what others wrote |

#![cfg_attr(
    not(all(feature = "bitrix24", feature = "exec", feature = "http", feature = "jq")),
    allow(dead_code, unreachable_code, unused_variables, reason = "some of what they share is for a kind left out")
)]

mod binding;
pub(crate) use binding::Fields;
#[cfg(feature = "mcp")]
pub use binding::bind_with;
pub use binding::{BindingError, bind, bind_into};

#[cfg(feature = "exec")]
mod exec;

#[cfg(feature = "http")]
mod http;
#[cfg(feature = "bitrix24")]
pub(crate) use http::innermost;

#[cfg(feature = "jq")]
mod jq;

mod messages;

mod retry;

mod secret_name;
#[cfg(feature = "mcp")]
pub(crate) use secret_name::looks_secret;

mod text;

/// Results beyond this are an error: a result becomes part of the agent's memory, and that is for people and
/// models to read.
pub(crate) const MOST_OUTPUT: usize = 8 * 1024 * 1024;
