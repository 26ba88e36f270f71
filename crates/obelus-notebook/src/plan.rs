//! Plans as data-flow graphs: edges, order, checks and simulation.

mod branches;
mod check;
mod graph;
mod known;
mod names;
mod rivals;
mod simulate;
mod template;
mod types;

pub use crate::call::Manner;
pub use check::check_in_manner;
pub use check::{Check, Warning, check};
pub use graph::PlanNode;
pub use graph::TooDense;
pub use graph::{Cycle, Edge, Graph};
pub use simulate::Simulation;
pub use simulate::simulate;
pub use template::Who;
pub use template::instances_of;
pub use template::who_runs;
