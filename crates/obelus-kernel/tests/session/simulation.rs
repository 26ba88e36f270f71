//! Sessions driven by generated data, and what holds for every one of them.
//!
//! # Layout
//!
//! [`world`] makes an agent and what happens to it, [`plan`] the calls its model proposes, [`driver`] lets it
//! happen, [`watch`] looks whether the rules hold after every input, and [`laws`] are the tests.

mod driver;
mod laws;
mod plan;
mod watch;
mod world;
