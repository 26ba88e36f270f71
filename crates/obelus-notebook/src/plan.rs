//! Plans as data-flow graphs: edges, order, checks and simulation.

mod branches;
mod check;
mod graph;
mod known;
mod names;
mod simulate;
mod template;
mod types;
mod write_conflicts;

pub use crate::call::StepOptions;
pub use check::check_with_options;
pub use check::{Check, Warning, check};
pub use graph::PlanNode;
pub use graph::TooDense;
pub use graph::{Cycle, Edge, Graph};
pub use simulate::Simulation;
pub use simulate::simulate;
pub use template::RunsFor;
pub use template::instances_of;
pub use template::runs_for;
