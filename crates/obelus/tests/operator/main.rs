//! The operator agent as people run it: the binary, its own file, a real browser, and sites of the test's own. The model
//! is a playbook that reads what the agent observes.
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
