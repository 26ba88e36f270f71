//! The binary as people and programs meet it: arguments and files in; stdout, stderr and an exit code out.

mod activities;
mod bad_input;
mod chat;
mod examples;
mod help;
mod json;
mod policy;
mod support;
mod why;
