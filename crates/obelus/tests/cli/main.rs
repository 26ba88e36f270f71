//! Tests of the binary: arguments and files in; stdout, stderr and exit code out.

mod activities;
mod bad_input;
mod before;
mod chat;
mod completions;
mod consents;
mod demo;
mod disk;
mod eval;
mod events;
mod examples;
mod help;
mod hints;
mod json;
mod language;
mod login;
mod mcp;
mod pictures;
mod places;
mod plans;
mod policy;
mod refused;
mod sandbox;
mod state;
mod support;
mod why;
