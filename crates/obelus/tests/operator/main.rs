//! The operator agent as people run it: the binary, the agent's own file, a real browser, and test sites. The model is
//! a playbook that reads the agent's observations.
#![cfg(unix)]

mod canaries;
mod harness;
mod installed;
mod kill;
mod others;
mod person;
mod shop;
mod site;
#[path = "../cli/support.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod support;
mod tasks;
