//! Models on any server that speaks OpenAI's Chat Completions.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `options` | what an agent's file may say |
//! | `access` | address, key, proxy, headers |
//! | `wire` | the forms that are sent and received, and how strictly an answer is asked for |
//! | `picture` | pictures that go along |
//! | `sse` | events of a stream |
//! | `collect` | from pieces to one answer |
//! | `failure` | why there is no answer |
//! | `patience` | when a request is sent again |

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
mod patience;
#[cfg(feature = "openai")]
mod picture;
#[cfg(feature = "openai")]
mod sse;
#[cfg(feature = "openai")]
mod wire;

#[cfg(feature = "openai")]
pub use access::Access;
#[cfg(feature = "openai")]
pub use client::OpenAi;
pub use options::{DEFAULT_MODEL, OpenAiOptions, Price, Structured, Timeouts};
