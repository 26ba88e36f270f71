//! Editing a waiting call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
#[cfg(feature = "http")]
use utoipa::ToSchema;

use obelus_runtime::people::QuestionView;

/// The editable fields of the only open call of a question.
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
    /// Its label for people.
    pub label: String,
    /// The type of the input.
    pub kind: FieldKindName,
    /// The values of a choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Value>,
    /// The present value.
    pub value: Value,
    /// The present value as it would be typed.
    pub typed: String,
}

/// The type of a field's input.
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

/// An edit to preview: typed values or parameters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PreviewRequest {
    /// The typed values of the form's fields, by path.
    pub typed: BTreeMap<String, String>,
    /// Parameters that replace those of the same name, instead of typed values.
    pub params: Option<Map<String, Value>>,
}

/// An edit as it will run. Nothing is decided.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PreviewView {
    /// The parameters for the answer `edit`.
    pub params: Map<String, Value>,
    /// The errors of the typed values.
    pub problems: Vec<EditProblem>,
    /// The question with the edit; null if there are errors.
    #[cfg_attr(feature = "http", schema(value_type = Option<crate::schemas::QuestionShape>))]
    pub view: Option<QuestionView>,
    /// The same as lines of text.
    pub text: Option<String>,
    /// The digest that goes with the edit.
    pub digest: Option<String>,
}

/// An error in an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct EditProblem {
    /// The field; null for the whole call.
    pub place: Option<String>,
    /// The error in words.
    pub message: String,
}

/// Whether records are still as a question shows them.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct LookView {
    /// Whether a value has changed since it was shown.
    pub changed: bool,
    /// The time of the check.
    pub looked_at: String,
    /// The changed values.
    pub rows: Vec<LookRow>,
}

/// A field whose value has changed since it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct LookRow {
    /// The index of the call in the question.
    pub call: usize,
    /// The parameter, as a dotted path.
    pub place: String,
    /// Its label for people.
    pub label: String,
    /// The shown value.
    pub shown: String,
    /// The present value.
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
