//! Plans as data-flow graphs: edges, order, checks and dry runs.

mod branches;
mod check;
mod graph;
mod known;
mod names;
mod rivals;
mod simulate;
mod template;
mod types;

pub(crate) use crate::call::Manner;
pub(crate) use check::check_in_manner;
pub use check::{Check, Warning, check};
pub(crate) use graph::PlanNode;
pub(crate) use graph::TooDense;
pub use graph::{Cycle, Edge, Graph};
pub use simulate::Simulation;
pub(crate) use simulate::simulate;
pub use template::Who;
pub(crate) use template::instances_of;
pub(crate) use template::who_runs;
