//! Activities bound in a file, so that they need no Rust.
//!
//! A binding is a JSON object: `{exec: [program, args…]}`, `{http: {method, url, headers, body}}`,
//! `{bitrix24: {webhook: $NAME}}` or `{jq: FILTER}`, with a `timeout` and other fields of its kind. [`bind`] makes
//! activities from them and reports all errors, before any call. `docs/activities.md` is the manual.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `binding` | making activities from JSON, and errors in the JSON |
//! | `declared_names` | variables that an agent names as secrets |
//! | `exec` | programs: one JSON object in, one JSON value out |
//! | `http` | requests made from templates |
//! | `jq` | pure filters |
//! | `messages` | results as messages for chosen paths |
//! | `retry` | retries of reads |
//! | `secret_name` | variables that are secrets by their names |
//! | `text` | excerpts of foreign text |

#![cfg_attr(
    not(all(feature = "bitrix24", feature = "exec", feature = "http", feature = "jq")),
    allow(dead_code, unreachable_code, unused_variables, reason = "some of what they share is for a kind left out")
)]

mod binding;
pub(crate) use binding::BindingFields;
pub(crate) use binding::bind_session;
#[cfg(feature = "mcp")]
pub use binding::bind_with;
pub use binding::{BindingError, bind, bind_into};

mod declared_names;
pub(crate) use declared_names::DeclaredNames;

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

pub(crate) mod secret_name;

mod text;

/// The largest result. A result becomes part of the agent's memory, which people and models read.
pub(crate) const MOST_OUTPUT: usize = 8 * 1024 * 1024;
