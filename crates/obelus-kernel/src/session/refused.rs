//! Inputs that are refused, and what is wrong with them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::dotted;
use crate::policy::Reason;
use crate::schema::Breach;
use crate::visible::visible;

/// An input that cannot be taken; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refused {
    /// A stable name of the cause.
    pub code: &'static str,
    /// What is wrong, and what would be right.
    pub text: String,
    /// The same for channels with words of their own, where a person gave a value or a name that does not fit.
    pub misfit: Option<Box<Misfit>>,
}

/// Why a value or a name that a person gave does not fit. Channels translate by variant and keyword.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misfit {
    /// A value breaks its schema.
    Schema {
        /// The place in the value, as a dotted path; empty for the whole.
        place: String,
        /// The keyword that was broken, such as `type` or `required`.
        keyword: String,
        /// What the keyword demands: a limit, the types or values that fit, the missing name, the names that are too many.
        demand: Value,
    },
    /// The call has no parameter of this name.
    UnknownParam {
        /// The name.
        name: String,
        /// The nearest name that it has.
        near: Option<String>,
    },
    /// The policy forbids it.
    Policy(Reason),
}

impl Refused {
    /// A refusal with a code and words.
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), misfit: None }
    }

    /// A value or a name of a person does not fit.
    pub(super) fn misfit(code: &'static str, text: impl Into<String>, misfit: Misfit) -> Self {
        Self { misfit: Some(Box::new(misfit)), ..Self::new(code, text) }
    }

    /// A person's value breaks its schema.
    pub(super) fn breach(code: &'static str, breach: Breach) -> Self {
        let Breach { place, keyword, demand, text, .. } = breach;
        let place = visible(&dotted(&place));
        let text = if place.is_empty() { text } else { format!("`{place}`: {text}") };
        Self::misfit(code, text, Misfit::Schema { place, keyword, demand })
    }
}
