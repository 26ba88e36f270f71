//! Models on any server with OpenAI's Chat Completions API.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options in an agent's file |
//! | `access` | address, key, proxy, headers |
//! | `client` | sending a request, with retries |
//! | `wire` | the JSON that is sent and received, and how strictly the answer's format is requested |
//! | `picture` | pictures in messages |
//! | `sse` | parsing the event stream |
//! | `collect` | joining the pieces of an answer |
//! | `failure` | failures and their codes |
//! | `retry` | when a request is sent again |

#[cfg(feature = "openai")]
mod access;
#[cfg(feature = "openai")]
mod client;
#[cfg(feature = "openai")]
mod collect;
#[cfg(feature = "openai")]
mod failure;
mod options;
#[cfg(feature = "openai")]
mod picture;
#[cfg(feature = "openai")]
mod retry;
#[cfg(feature = "openai")]
mod sse;
#[cfg(feature = "openai")]
mod wire;

#[cfg(feature = "openai")]
pub use access::ServerAccess;
#[cfg(feature = "openai")]
pub use client::OpenAi;
pub use options::{DEFAULT_MODEL, OpenAiOptions, Price, Structured, Timeouts};
