//! The session machine: stories of what it does, and what holds whatever happens.
//!
//! # Layout
//!
//! [`desk`] sits beside a session, does what it is handed when a story says so, and remembers what it saw.
//! Then one file of stories for each subject. [`simulation`] drives sessions by generated data instead.

mod desk;

mod approval;
mod consent;
mod delegates;
mod doubt;
mod limits;
mod order;
mod plans;
mod questions;
mod results;
mod turns;
