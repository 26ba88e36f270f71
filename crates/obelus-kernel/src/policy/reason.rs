//! Why a person is asked about a call, or the call is refused.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::gate::{Mode, Ruling};
use super::grounding::Grounded;
use crate::quote::word;
use crate::time::Time;

/// Why a person is asked, or a call is refused. Its text is English; channels translate by variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The reason of the policy's author.
    Author(String),
    /// A rule of the policy without a reason.
    Listed(Ruling),
    /// The tool is not on the policy's allow-list.
    NotListed(String),
    /// A risky parameter is set.
    Risky(String),
    /// It deletes.
    Deletes,
    /// It changes configuration.
    Configures,
    /// The agent asks for it.
    AgentAsks,
    /// The mode does not permit this effect.
    Mode(Mode, String),
    /// The call was proposed after untrusted data of these tools was shown.
    ProposedAfterReading(Vec<String>),
    /// An untrusted value reaches a target.
    UntrustedTarget {
        /// The target, as a dotted path.
        path: String,
        /// The tools it comes from.
        sources: Vec<String>,
    },
    /// The call's scopes contain untrusted data of these tools.
    UntrustedScopes(Vec<String>),
    /// A plan needs a person's approval.
    PlanNeedsApproval,
    /// The plan was made after untrusted data of these tools was shown.
    PlannedAfterReading(Vec<String>),
    /// The work was interrupted, and it is unknown whether the call happened.
    Interrupted,
    /// The call's answer was lost, and it is unknown whether it happened; what is known.
    AnswerLost(String),
    /// The same call has happened, and its result could not be kept: why.
    Happened(String),
    /// The same call may have happened: the question about it was not answered in time.
    MayHaveHappened,
    /// The same call was in doubt when this was asked, and has been settled since.
    WasInDoubt,
    /// The same call was denied, or left out of a plan.
    #[serde(rename = "denied_in_plan")]
    DeniedBefore,
    /// When the call in doubt was started.
    Started(Time),
    /// A standing consent covers it (ASK-9).
    Consented {
        /// The consent's number.
        number: u64,
        /// Who gave it, and from where.
        by: String,
        /// When.
        at: Time,
    },
    /// It was proposed after reading, but the user named its values: how each was found.
    Grounded(Vec<Grounded>),
}

impl Reason {
    /// Whether it concerns origins.
    pub(crate) fn is_about_origins(&self) -> bool {
        matches!(
            self,
            Reason::ProposedAfterReading(_)
                | Reason::UntrustedTarget { .. }
                | Reason::UntrustedScopes(_)
                | Reason::PlannedAfterReading(_)
        )
    }

    /// Whether the call would do once more what happened, or may have.
    pub(crate) fn is_about_repetition(&self) -> bool {
        matches!(self, Reason::Happened(_) | Reason::MayHaveHappened | Reason::WasInDoubt)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |sources: &[String]| sources.iter().map(|name| word(name)).collect::<Vec<_>>().join(", ");
        match self {
            Reason::Author(words) => f.write_str(words),
            Reason::Interrupted => f.write_str("the work was interrupted, and it is not known whether this happened"),
            Reason::AnswerLost(known) => {
                write!(f, "its answer was lost, and it is not known whether this happened: {known}")
            }
            Reason::Happened(why) => {
                write!(f, "the same call has happened before, its result could not be kept: {why}; a yes does it again")
            }
            Reason::MayHaveHappened => f.write_str(
                "the same call may have happened before, and nobody said whether it did; a yes may repeat it",
            ),
            Reason::WasInDoubt => f.write_str(
                "the same call was started before, and its outcome was unknown for a time; a yes makes it once more",
            ),
            Reason::DeniedBefore => f.write_str("the same call was not approved before, or left out of a plan"),
            Reason::Started(time) => write!(f, "it was started at {time}, and may still be at work"),
            Reason::Listed(Ruling::Allow) => f.write_str("the policy allows it"),
            Reason::Listed(Ruling::Confirm) => f.write_str("the policy asks for it"),
            Reason::Listed(Ruling::Refuse) => f.write_str("the policy forbids it"),
            Reason::NotListed(tool) => write!(f, "`{tool}` is not on the allow-list"),
            Reason::Risky(path) => write!(f, "it sets `{path}`"),
            Reason::Deletes => f.write_str("it deletes"),
            Reason::Configures => f.write_str("it changes how things behave from now on"),
            Reason::AgentAsks => f.write_str("the agent asks for it"),
            Reason::Mode(Mode::Shadow, _) => f.write_str("in the mode `shadow` nothing is executed"),
            Reason::Mode(mode, effect) => {
                write!(f, "the mode `{}` permits reading and creating, and this is `{effect}`", mode.name())
            }
            Reason::ProposedAfterReading(sources) => {
                write!(f, "it was proposed after reading what is not trusted: {}", names(sources))
            }
            Reason::UntrustedTarget { path, sources } => {
                let path: Vec<String> = path.split('.').map(word).collect();
                write!(f, "{} comes from what is not trusted: {}", path.join("."), names(sources))
            }
            Reason::UntrustedScopes(sources) => {
                write!(f, "it is shown what is not trusted: {}", names(sources))
            }
            Reason::PlanNeedsApproval => f.write_str("a plan runs when it is approved"),
            Reason::PlannedAfterReading(sources) => {
                write!(f, "it was made after reading what is not trusted: {}", names(sources))
            }
            Reason::Consented { number, by, at } => {
                write!(f, "the standing consent `c{number}` covers it, which {by} gave at {at}")
            }
            Reason::Grounded(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "what it is about is what the user named: {}", values.join("; "))
            }
        }
    }
}
