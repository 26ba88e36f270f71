//! Conformance vectors: cases as data, and the runner that holds the implementation against them.
//!
//! # Layout
//!
//! A file is a JSON array of cases ([`Case`]); each has a `kind` that says how it is run:
//! `resolve` (a context and what expressions are worth in it), `plan` (a plan and what the check says of it),
//! `run` (a request with scripted activities, model and people), `conversation` (whole turns with a bundled agent).
//! A conversation can also be put to a real model ([`evaluate`]).
//! A kind that this version cannot run is reported as such and never counted as passed.

mod case;
pub use case::{Case, Outcome, Report, find_files, run_file, run_paths};

mod eval;
pub use eval::{Asked, Evaluated, Verdict, evaluate};

mod conversation;
mod plan;
mod resolve;
mod run;
