//! The MCP client against independent servers, and against misbehaving ones.
#![cfg(feature = "mcp")]

mod conformance;
mod doors;
mod everything;
mod hostile;
mod peers;
mod web;
