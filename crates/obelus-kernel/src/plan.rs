//! Plans as data-flow graphs: edges, order, checks and dry runs.

mod check;
mod graph;
mod simulate;
mod template;
mod types;

pub(crate) use crate::call::Manner;
pub(crate) use check::check_in_manner;
pub use check::{Check, Warning, check};
pub(crate) use graph::Node;
pub use graph::{Cycle, Edge, Graph, TooDense};
pub use simulate::Simulation;
pub(crate) use simulate::simulate;
pub(crate) use template::instances_of;
pub use template::{Who, who_runs};
