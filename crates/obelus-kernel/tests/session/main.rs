//! Tests of the session: single stories, and properties of generated sessions.
//!
//! # Layout
//!
//! [`harness`] drives a session as a test says and records what the session emits. Each subject has a file of stories.
//! [`simulation`] drives sessions by generated data.

#![expect(clippy::needless_pass_by_value, reason = "a story reads better with its JSON written in place")]

mod harness;

mod adopt;
mod approval;
mod before;
mod checkpoint;
mod clock;
mod consent;
mod delegate_controls;
mod delegate_limits;
mod delegate_past;
mod delegates;
mod doubt;
mod early;
mod edit_origins;
mod elicitations;
mod events;
mod follow_up;
mod given;
mod grounded;
mod happened;
mod kept;
mod limits;
mod observations;
mod order;
mod pictures;
mod plan_denials;
mod plan_graph;
mod plans;
mod questions;
mod results;
mod rules;
mod shown;
mod spelling;
mod standing;
mod turns;
mod why;

mod simulation;
mod value_names;

#[path = "../../../obelus-notebook/tests/common/cases.rs"]
mod cases;

use cases::cases;
