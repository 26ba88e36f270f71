//! The CRM agent as people run it: the binary, its own files, and a portal at the other end of a real connection. The
//! model is a playbook that writes the blocks a model would write.
#![cfg(unix)]

mod crashes;
mod methods;
mod office;
mod secrets;
#[path = "../cli/support.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod support;
mod talk;
