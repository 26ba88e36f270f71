//! The client of MCP servers beside servers that others have written, and beside some that misbehave.
#![cfg(feature = "mcp")]

mod conformance;
mod doors;
mod everything;
mod hostile;
mod peers;
mod web;
