//! A sandbox Bitrix24 portal: its REST methods over an embedded database with made-up companies and people. It runs
//! on this machine only.
//!
//! ```
//! # async fn example() -> Result<(), obelus_sandbox::StartError> {
//! use obelus_sandbox::{SandboxOptions, Portal};
//!
//! let portal = Portal::start(SandboxOptions::default()).await?;
//! println!("{}", portal.base_url()); // http://127.0.0.1:PORT/rest/1/sandbox0token/
//! portal.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//!
//! The path of a request: `portal` (HTTP) → `wire` (encodings) → `server` (access, limits, transactions) → `batch`
//! or one of `methods` → `list` and `filter` → `store`. `entity` describes each kind of record as a list of fields;
//! one implementation serves them all. `events` notifies handlers, `log` keeps the latest requests, `page` shows
//! records and requests in a browser, `seed` fills a new portal.

mod batch;
mod clock;
mod entity;
mod events;
mod filter;
mod limits;
mod list;
mod log;
mod methods;
mod page;
mod portal;
mod seed;
mod server;
mod store;
mod tls;
mod tongue;
mod wire;

pub use portal::{DEFAULT_APPLICATION_TOKEN, DEFAULT_TOKEN, Events, Portal, SandboxOptions, StartError};
pub use tongue::PortalLanguage;
