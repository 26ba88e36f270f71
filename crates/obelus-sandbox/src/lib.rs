//! A Bitrix24 portal to practise on: the REST surface of a portal over an embedded database, with made-up companies
//! and people, on this machine only.
//!
//! ```
//! # async fn example() -> Result<(), obelus_sandbox::StartError> {
//! use obelus_sandbox::{Options, Portal};
//!
//! let portal = Portal::start(Options::default()).await?;
//! println!("{}", portal.base_url()); // http://127.0.0.1:PORT/rest/1/sandbox0token/
//! portal.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//!
//! A request goes this way: `portal` (HTTP) → `wire` (encodings) → `server` (who may, limits, transactions) → `batch`
//! or one of `methods` → `list` and `filter` → `store`. What is kept is data in `entity`: a list of fields for each
//! kind of record, served by one implementation. `events` tells handlers, `log` remembers requests, `page` shows
//! both to people; `seed` is what a new portal has.

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
mod wire;

pub use portal::{DEFAULT_APPLICATION_TOKEN, DEFAULT_TOKEN, Events, Options, Portal, StartError};
