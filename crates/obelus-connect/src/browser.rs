//! A browser, through its MCP server.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `find` | where the server and the browser are on this machine |

mod find;

pub use find::{Found, Missing, PLAYWRIGHT_MCP, find};
