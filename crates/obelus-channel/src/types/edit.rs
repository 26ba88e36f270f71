//! Editing a waiting call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
#[cfg(feature = "http")]
use utoipa::ToSchema;

use obelus_runtime::people::QuestionView;

/// What can be changed of the only open call of a question.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct FormView {
    /// The fields, in the order of the call.
    pub fields: Vec<FormFieldView>,
}

/// A field of a form.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct FormFieldView {
    /// The parameter, as a dotted path.
    pub place: String,
    /// What people call it.
    pub label: String,
    /// What may be typed.
    pub kind: FieldKindName,
    /// The values, where it is a choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Value>,
    /// What it holds now.
    pub value: Value,
    /// The same as it would be typed.
    pub typed: String,
}

/// What may be typed into a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub enum FieldKindName {
    /// Any text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// A day.
    Date,
    /// A day and a time.
    DateTime,
    /// One of some values.
    Choice,
    /// Anything else, as JSON.
    Json,
}

/// An edit that is to be looked at before it counts: what was typed, or parameters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PreviewRequest {
    /// What was typed into fields of the form, by their places.
    pub typed: BTreeMap<String, String>,
    /// The parameters that replace those of the same name, in place of what was typed.
    pub params: Option<Map<String, Value>>,
}

/// An edit as it will run. Nothing is decided.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PreviewView {
    /// The parameters for the answer `edit`.
    pub params: Map<String, Value>,
    /// What is wrong with what was typed.
    pub problems: Vec<EditProblem>,
    /// The question as the edit makes it; none where something is wrong.
    #[cfg_attr(feature = "http", schema(value_type = Option<crate::schemas::QuestionShape>))]
    pub view: Option<QuestionView>,
    /// The same as lines of text.
    pub text: Option<String>,
    /// The digest that goes with the edit.
    pub digest: Option<String>,
}

/// What is wrong with an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct EditProblem {
    /// The field; none where it is about the whole call.
    pub place: Option<String>,
    /// What is wrong, in words.
    pub message: String,
}

/// Whether records are still as a question shows them.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct LookView {
    /// Whether something is another value than was shown.
    pub changed: bool,
    /// When it was looked.
    pub looked_at: String,
    /// What is another value.
    pub rows: Vec<LookRow>,
}

/// A field that holds another value than was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct LookRow {
    /// The place of the call in the question.
    pub call: usize,
    /// The parameter, as a dotted path.
    pub place: String,
    /// What people call it.
    pub label: String,
    /// What was shown.
    pub shown: String,
    /// What it holds now.
    pub now: String,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureBytes {
    /// What it is: `image/png`, for example.
    pub kind: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
}
