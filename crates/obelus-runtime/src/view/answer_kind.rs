//! The kinds of answers to a question.

use std::fmt;

use obelus_kernel::session::Decision;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A kind of answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// Yes, as it was shown.
    Approve,
    /// No.
    Deny,
    /// Yes, with other parameters.
    Edit,
    /// The value that was asked for.
    Value,
    /// The effect in doubt did happen.
    Happened,
    /// The effect in doubt did not happen.
    DidNot,
    /// Yes, with a standing consent.
    Consent,
}

impl AnswerKind {
    /// The kind of a decision.
    pub fn of(decision: &Decision) -> Self {
        match decision {
            Decision::Approve { .. } => Self::Approve,
            Decision::Consent { .. } => Self::Consent,
            Decision::Deny { .. } | Decision::DenySome { .. } => Self::Deny,
            Decision::Edit { .. } => Self::Edit,
            Decision::Value { .. } => Self::Value,
            Decision::Happened { .. } => Self::Happened,
            Decision::DidNot => Self::DidNot,
        }
    }

    /// Reads those kinds of a list that this program knows: a newer server may offer others.
    pub fn known<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Self>, D::Error> {
        let names = Vec::<Value>::deserialize(list)?;
        Ok(names.into_iter().filter_map(|name| serde_json::from_value(name).ok()).collect())
    }

    /// The name for other programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Edit => "edit",
            Self::Value => "value",
            Self::Happened => "happened",
            Self::DidNot => "did_not",
            Self::Consent => "consent",
        }
    }
}

impl fmt::Display for AnswerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
