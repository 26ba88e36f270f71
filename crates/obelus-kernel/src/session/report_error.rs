//! The error in a call's report.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::FailureCode;
use super::input::CallError;
use crate::fault::{Fault, Rule};
use crate::policy::Reason;

/// Replaces the text of an error that is hidden.
const UNSHOWN: &str = "its words are not shown: they come from what is not trusted";

/// Why a call did not succeed. Its JSON is part of reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportError {
    /// The rule that the call broke, or that refused it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_known")]
    pub rule: Option<Rule>,
    /// A stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<FailureCode>,
    /// The description.
    #[serde(default)]
    pub message: String,
    /// The reason of a refusal. Channels choose their text by it; the model reads the message.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_known")]
    pub reason: Option<Box<Reason>>,
    /// The sources that a refused call depends on, if a rule about origins refused it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_known")]
    pub origins: Option<Box<Reason>>,
    /// What the call lacks, for the texts of channels.
    #[serde(skip)]
    pub lacks: Option<Lack>,
}

/// What a call lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// A required property of its parameters.
    Property {
        /// The field that lacks it, such as `fields`; empty for the parameters themselves.
        field: String,
        /// Its name.
        name: String,
    },
    /// The value of a reference.
    Value(String),
}

impl ReportError {
    pub(super) fn new(code: impl Into<FailureCode>, message: impl Into<String>) -> Self {
        Self { code: Some(code.into()), message: message.into(), ..Self::default() }
    }

    pub(super) fn by(rule: Rule, message: impl Into<String>) -> Self {
        Self { rule: Some(rule), message: message.into(), ..Self::default() }
    }

    /// The error without its structured reason, which is for channels.
    pub(super) fn without_reason(self) -> Self {
        Self { reason: None, ..self }
    }

    /// Only that there was an error, and its rule.
    pub(super) fn redacted(&self) -> Self {
        Self { rule: self.rule, message: UNSHOWN.to_owned(), ..Self::default() }
    }

    /// The code, or the rule.
    pub fn code_or_rule(&self) -> Option<String> {
        self.code.as_ref().map(FailureCode::to_string).or_else(|| self.rule.map(|rule| rule.to_string()))
    }
}

impl From<&Fault> for ReportError {
    fn from(fault: &Fault) -> Self {
        let property = |name: &str| Lack::Property { field: fault.field.clone(), name: name.to_owned() };
        Self { lacks: fault.property().map(property), ..Self::by(fault.rule, fault.words()) }
    }
}

impl From<&CallError> for ReportError {
    fn from(error: &CallError) -> Self {
        Self::new(error.code.clone(), error.message.clone())
    }
}

/// The payload of an error message.
pub(super) fn error_data(call: &Value, error: &ReportError) -> Value {
    json!({"call": call, "error": error})
}

/// Only that there was an error, and its rule: the same for an error in a message.
pub(super) fn redacted_error(error: &Value) -> Value {
    let mut plain = json!({"message": UNSHOWN});
    if let Some(rule) = error.get("rule") {
        plain["rule"] = rule.clone();
    }
    plain
}

/// A value in the form of this version; none for that of another.
fn if_known<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form<T> {
        Known(T),
        Other(serde::de::IgnoredAny),
    }
    Ok(match Form::deserialize(from)? {
        Form::Known(value) => Some(value),
        Form::Other(_) => None,
    })
}
