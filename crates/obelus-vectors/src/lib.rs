//! Conformance vectors: test cases as data, and their runner.
//!
//! # Layout
//!
//! A file is a JSON array of cases ([`Case`]). The `kind` of a case says how it is run:
//! `resolve` (a context and the values of expressions in it), `plan` (a plan and the result of its check),
//! `run` (a request with scripted activities, model and people), `conversation` (whole turns with a bundled agent).
//! Conversations can also be run with a real model ([`evaluate`]). Sessions of `run` and `conversation` are opened by a
//! `Host` and used by a `SessionHandle` (`session.rs`), so what passes here is what runs in production.
//! Kinds that this version cannot run are reported and never counted as passed.

mod case;
pub use case::{Case, CaseOutcome, Report, find_files, run_file, run_paths};

mod eval;
pub use eval::{Asked, EvalVerdict, Evaluated, evaluate};

mod conversation;
mod plan;
mod resolve;
mod run;
mod session;
