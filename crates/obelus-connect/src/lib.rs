//! What Obelus reaches outward: models, programs, HTTP.
//!
//! # Layout
//!
//! | module | subject |
//! |---|---|
//! | [`activity`] | activities bound in a file: `exec`, `http`, `jq` |
//! | [`model`] | models: `openai`, `playbook`, `replay`, and recording |

pub mod activity;
pub mod model;
