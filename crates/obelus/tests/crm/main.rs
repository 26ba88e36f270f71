//! Tests of the CRM agent: the binary, the agent's files, and a sandbox portal. The model is a playbook that writes
//! blocks, or the recording of one.
#![cfg(unix)]

mod crashes;
mod methods;
mod office;
mod replay;
mod secrets;
#[path = "../cli/support.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod support;
mod talk;
