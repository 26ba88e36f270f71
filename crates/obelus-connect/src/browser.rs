//! The browser: an MCP server made safe to act with.
//!
//! # Layout
//!
//! | module | subject |
//! |---|---|
//! | `address` | addresses of pages, as they are told and kept |
//! | `judge` | what an action would do |
//! | `sites` | which sites are allowed |
//! | `snapshot` | what a page shows |

mod address;

mod judge;
pub use judge::Class;

mod sites;
pub use sites::Sites;

mod snapshot;
pub use snapshot::{Element, Snapshot, is_id};
