//! Plans as data-flow graphs: who feeds whom, in which order, and what is wrong before anything runs.

mod check;
mod graph;
mod picture;
mod simulate;
mod template;
mod types;

pub use check::{Check, Warning, check};
pub(crate) use graph::Node;
pub use graph::{Cycle, Edge, Graph, TooDense};
pub use picture::picture;
pub use simulate::{Simulation, simulate};
pub use template::{Who, who_runs};
