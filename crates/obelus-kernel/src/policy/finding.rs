//! What the gate finds about a call, and who says it.

use std::fmt;

use serde_json::{Value, json};

use super::ConsentId;
use super::gate::{Ruling, Verdict};
use super::reason::Reason;

/// The source of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingSource {
    /// The session's mode.
    Mode,
    /// A pattern in the policy's list with this ruling.
    List(Ruling, usize),
    /// A rule of the policy.
    Rule(usize),
    /// The policy has an allow-list, and nothing in it names the tool.
    NotListed,
    /// A risky parameter.
    Risky,
    /// The tool's effect.
    Effect,
    /// The model asks for a person.
    Agent,
    /// Untrusted data.
    Origins,
    /// The session's past.
    Session,
    /// A standing consent.
    Consent(u64),
}

impl fmt::Display for FindingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FindingSource::Mode => "mode",
            FindingSource::List(ruling, index) => return write!(f, "policy.{}[{index}]", ruling.name()),
            FindingSource::Rule(index) => return write!(f, "policy.rules[{index}]"),
            FindingSource::NotListed => "policy",
            FindingSource::Risky => "x-risky",
            FindingSource::Effect => "x-effect",
            FindingSource::Agent => "the agent",
            FindingSource::Origins => "origins",
            FindingSource::Session => "the session",
            FindingSource::Consent(number) => return write!(f, "consent {}", ConsentId(*number)),
        })
    }
}

/// A finding about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its source.
    pub by: FindingSource,
    /// Its ruling.
    pub says: Ruling,
    /// Why.
    pub why: Reason,
}

/// A verdict with all findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// All findings, including those that lost.
    pub findings: Vec<Finding>,
}

impl Explanation {
    /// The JSON for other programs.
    pub fn to_json(&self) -> Value {
        let spoken = |one: &Finding| json!({"by": one.by.to_string(), "says": one.says, "why": one.why.to_string()});
        let reasons: Vec<String> = self.verdict.reasons().iter().map(ToString::to_string).collect();
        json!({
            "verdict": self.verdict.ruling().name(),
            "reasons": reasons,
            "spoken": self.findings.iter().map(spoken).collect::<Vec<_>>(),
        })
    }
}
