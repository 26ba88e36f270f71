//! Sessions driven by generated data, and the properties of all of them.
//!
//! # Layout
//!
//! [`world`] generates an agent and its events, [`plan`] the calls of its model. [`driver`] plays the events, [`watch`]
//! checks the rules after every input, and [`laws`] has the tests.

mod driver;
mod laws;
mod plan;
mod watch;
mod world;
