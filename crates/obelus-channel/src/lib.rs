//! Channels: how people and programs reach sessions from outside of the process.
//!
//! [`Service`] has the calls that every channel uses, free of transport: each channel is a thin adapter over it. Results
//! are plain data that can be serialised ([`types`]); errors are one enum with stable codes ([`ChannelError`]).
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `service` | the calls |
//! | `types` | what they take and return |
//! | `error`, `words` | what can go wrong, in both languages |
//! | `tokens` | who may call: names, roles, hashes |
//! | `http` | the HTTP API, server-sent events and WebSocket (feature `http`) |

mod error;
#[cfg(feature = "http")]
pub mod http;
mod service;
pub mod tokens;
pub mod types;
mod words;

pub use error::ChannelError;
pub use service::{Service, Started};
