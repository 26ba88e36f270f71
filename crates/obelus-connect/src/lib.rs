//! Connections to the outside: models, programs, HTTP.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | [`activity`] | activities bound in a file: `exec`, `http`, `jq`, `bitrix24` |
//! | `bitrix24` | the client of a Bitrix24 portal |
//! | `browser` | the browser: an MCP server, made safe to use |
//! | `mcp` | the client of MCP servers |
//! | [`operator`] | the working state of an agent that works with tools step by step |
//! | [`model`] | models: `openai`, `playbook`, `replay`, and recording |
//! | `standard` | [`StandardConnector`], which connects a session to everything that its file names |
//! | `external_uses` | what a session could start or reach |
//! | `saved_requests` | saved requests of delegates at addresses |
//! | `process_group` | a program and all processes that it starts |
//! | `web` | the HTTP client that all modules share |

pub mod activity;
#[cfg(feature = "bitrix24")]
pub mod bitrix24;
#[cfg(feature = "mcp")]
pub mod browser;
mod external_uses;
pub use external_uses::{ExternalTarget, ExternalUse, ExternalUser, external_uses};
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod model;
pub mod operator;
#[cfg(any(feature = "exec", feature = "mcp"))]
mod process_group;
#[cfg(feature = "http")]
mod saved_requests;
mod standard;
pub use standard::{Notice, StandardConnector};
#[cfg(feature = "mcp")]
pub use standard::{PINS_FILE, Pinned, Pins, PinsError, SessionServers};
#[cfg(any(feature = "http", feature = "mcp", feature = "openai"))]
mod web;

#[cfg(test)]
#[path = "../../../fuzz/engine.rs"]
mod fuzz;
