//! Refused inputs and their errors.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::dotted;
use crate::policy::Reason;
use crate::schema::Breach;
use crate::visible::visible;
use obelus_notebook::edited::UnknownName;

/// A refused input; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refused {
    /// A stable code.
    pub code: &'static str,
    /// The error and the remedy.
    pub text: String,
    /// The same for channels with their own texts, if a person gave an invalid value or name.
    pub misfit: Option<Box<InvalidValue>>,
}

/// Why a person's value or name does not fit. Channels translate by variant and keyword.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvalidValue {
    /// A value violates its schema.
    Schema {
        /// The place in the value, as a dotted path; empty for the whole.
        place: String,
        /// The violated keyword, such as `type` or `required`.
        keyword: String,
        /// What the keyword requires: a limit, the valid types or values, the missing name, the unexpected names.
        demand: Value,
    },
    /// The call has no parameter of this name.
    UnknownParam(UnknownName),
    /// The policy forbids it.
    Policy(Reason),
}

impl Refused {
    /// A refusal with a code and a text.
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), misfit: None }
    }

    /// A person's value or name does not fit.
    pub(super) fn misfit(code: &'static str, text: impl Into<String>, misfit: InvalidValue) -> Self {
        Self { misfit: Some(Box::new(misfit)), ..Self::new(code, text) }
    }

    /// A person's value violates its schema.
    pub(super) fn breach(code: &'static str, breach: Breach) -> Self {
        let Breach { place, keyword, demand, text, .. } = breach;
        let place = visible(&dotted(&place));
        let text = if place.is_empty() { text } else { format!("`{place}`: {text}") };
        Self::misfit(code, text, InvalidValue::Schema { place, keyword, demand })
    }
}
