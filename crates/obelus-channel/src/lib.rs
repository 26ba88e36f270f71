//! Channels: access to sessions from outside of the process.
//!
//! [`Service`] has the calls that every channel uses, without a transport: each channel is a thin adapter over it.
//! Results are plain serialisable data ([`types`]); errors are one enum with stable codes ([`ChannelError`]).
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `service` | the calls |
//! | `types` | their parameters and results |
//! | `schemas` | shapes of data that lower layers serialise, for the API description (feature `http`) |
//! | `error` | errors, in both languages |
//! | `who` | who answered, as text |
//! | `address` | addresses to which a secret is sent |
//! | `tokens` | who may call: names, roles, hashes |
//! | `http` | the HTTP API, server-sent events and WebSocket (feature `http`) |
//! | `client` | a client of that API (feature `client`) |
//! | `telegram` | a Telegram bot (feature `telegram`) |
//! | `traces` | traces for an OpenTelemetry collector (feature `traces`) |
//! | `langgraph`, `openai`, `mcp` | compatible protocols: LangGraph's API, OpenAI's API, MCP (feature `http`) |

#[cfg(any(feature = "client", feature = "telegram", feature = "traces"))]
mod address;
#[cfg(feature = "client")]
pub mod client;
mod error;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "http")]
pub mod langgraph;
#[cfg(feature = "http")]
pub mod mcp;
#[cfg(feature = "http")]
pub mod openai;
#[cfg(feature = "http")]
mod schemas;
mod service;
#[cfg(feature = "telegram")]
pub mod telegram;
pub mod tokens;
#[cfg(feature = "traces")]
pub mod traces;
pub mod types;
mod who;

#[cfg(test)]
#[path = "../../../fuzz/engine.rs"]
#[expect(dead_code, reason = "each crate and each feature uses a part of it")]
mod fuzz;

pub use error::ChannelError;
pub use service::{Changes, MadePrompt, MakePrompt, RestoredSessions, Service};
