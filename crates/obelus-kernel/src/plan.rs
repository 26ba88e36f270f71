//! Plans as data-flow graphs: who feeds whom, in which order, and what is wrong before anything runs.

mod check;
mod graph;
mod simulate;
mod template;
mod types;

pub(crate) use check::check_in_manner;
pub use check::{Check, Warning, check};
pub(crate) use graph::Node;
pub use graph::{Cycle, Edge, Graph, TooDense};
pub use simulate::{Simulation, simulate};
pub(crate) use template::instances_of;
pub use template::{Who, who_runs};

/// How the calls of a solution are to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Manner {
    /// They run in the order of writing.
    pub(crate) sequential: bool,
    /// The result of a call that names no place for it is pushed to `†results`.
    pub(crate) keeps_results: bool,
}
