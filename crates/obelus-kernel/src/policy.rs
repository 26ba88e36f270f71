//! What may happen: rules that a manager can read, the origins of values, and the gate that derives a verdict from
//! both. Whether values of a call are in the user's messages is decided in the notebook (`grounding`).
//!
//! | file | subject |
//! |---|---|
//! | `gate`, `reason` | `Gate::judge`, the only place where a verdict is made; its reasons |
//! | `finding` | what the gate finds about a call, and who says it |
//! | `rules`, `matching` | the policy of an agent's file; `check`: its examples |
//! | `provenance`, `edited_origins` | the origins of a call's values; after a person's edit |
//! | `consent` | standing consents of a session |
//! | `explain` | the verdict on a call in a file, with all findings |
//! | `simulate`, `planned_origins` | the simulation of a plan, and the origins of values to come |
//! | `why`, `last_write` | the chain of calls behind a value; its last write |

mod check;
mod consent;
mod edited_origins;
mod explain;
mod finding;
pub(crate) mod gate;
mod last_write;
mod matching;
mod planned_origins;
mod provenance;
mod reason;
mod rules;
mod simulate;
mod why;

pub use check::PolicyFault;
pub use consent::{ConsentScope, ConsentTerms, NeverStanding, StandingConsent};
pub(crate) use consent::{fields_of, hosts, never, pays};
pub(crate) use edited_origins::EditedOrigins;
pub use explain::explain;
pub(crate) use explain::explain_in;
pub use finding::{Explanation, Finding, FindingSource};
pub(crate) use gate::CallRefusal;
pub(crate) use gate::Mode;
pub use gate::{Gate, Proposal, Ruling, Verdict};
pub(crate) use grounding::{AfterReading, Callee, GroundIndex, Grounded, Grounding, list_with};
pub use grounding::{Evidence, GroundingRule};
pub(crate) use last_write::last_write;
pub use matching::Match;
pub use obelus_notebook::consent_id::ConsentId;
pub(crate) use obelus_notebook::dotted::values_at;
use obelus_notebook::grounding;
pub use provenance::Place;
pub(crate) use provenance::{Provenance, is_unchanged_from_one_result};
pub use reason::Reason;
pub use rules::{Examples, Policy, PolicyRule};
pub use simulate::simulate;
pub(crate) use why::WhyBuilder;
pub use why::{CallParam, ValueWrite, Why, Writer, why};
