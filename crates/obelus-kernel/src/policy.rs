//! What may happen: rules that a manager can read, the origins of values, and the gate that makes a verdict of both.
//!
//! | file | subject |
//! |---|---|
//! | `gate` | `Gate::judge`, the only place where a verdict is made |
//! | `rules`, `matching`, `index` | the policy of an agent's file, and how its lines are found |
//! | `provenance` | where the values of a call come from |
//! | `consent` | rules of a session that a person gave along with a yes |
//! | `grounding` of the notebook | whether values of a call stand in what the user said |
//! | `explain` | the verdict on a call that stands in a file, with everything that was said |
//! | `simulate`, `foretold` | the dry run of a plan, and where values come from that are still to come |
//! | `why`, `last_write` | the chain of calls behind a value; what wrote it last |

mod check;
mod consent;
mod explain;
mod foretold;
pub(crate) mod gate;
mod index;
mod last_write;
mod matching;
mod provenance;
mod rules;
mod simulate;
mod why;

pub use check::{PolicyFault, PolicyTools};
pub use consent::{ConsentScope, ConsentTerms, NeverStanding, StandingConsent};
pub(crate) use consent::{fields_of, hosts, never};
pub use explain::explain;
pub(crate) use gate::Mode;
pub use gate::{Explanation, Finding, Gate, Proposal, Reason, Ruling, Verdict};
pub(crate) use grounding::{AfterReading, Callee, GroundIndex, Grounded, Grounding, list_with};
pub use grounding::{Evidence, Letter};
pub(crate) use last_write::last_write;
pub use matching::Match;
pub(crate) use obelus_notebook::dotted::values_at;
use obelus_notebook::grounding;
pub use provenance::Place;
pub(crate) use provenance::{Provenance, mark, stands_in_one_result};
pub use rules::{Examples, Policy, Rule as PolicyRule};
pub use simulate::simulate;
pub use why::{Because, Given, Why, Writer, why};
