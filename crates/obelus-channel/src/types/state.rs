//! Values of the state with their provenance, and changes between two records.

use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "http")]
use utoipa::ToSchema;

use super::WriterView;

/// The values of the state, each with where it comes from.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StateValues {
    /// The place below which they are.
    pub path: String,
    /// The values, in their order.
    pub values: Vec<StateValue>,
    /// How many more there are.
    pub left_out: usize,
}

/// A value of the state.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StateValue {
    /// Its place, such as `†state.deal.title`.
    pub path: String,
    /// The value.
    pub value: Value,
    /// Whether the value is only the beginning of its text, because it is long.
    pub is_cut: bool,
    /// Where it comes from.
    pub origins: Vec<String>,
    /// Whether all of that is trusted.
    pub trusted: bool,
    /// Whose word it is.
    pub writer: Option<WriterView>,
    /// When it was written.
    pub written_at: Option<String>,
    /// The message that wrote it.
    pub message: Option<usize>,
    /// What the call that wrote it did, in one line.
    pub headline: Option<String>,
    /// That call, as it was proposed.
    pub call: Option<Value>,
    /// The question about the call that a person approved.
    pub question: Option<String>,
    /// Who approved, and from where.
    pub approved_by: Option<String>,
    /// The same in words.
    pub approved_by_words: Option<String>,
    /// The standing consent because of which the call ran without a question.
    pub consent: Option<String>,
}

/// What has changed in the state between two records.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StateChanges {
    /// The first record.
    pub at: u64,
    /// The second record; none means the present state.
    pub to: Option<u64>,
    /// What is another value, in the order of the places.
    pub changes: Vec<StateChange>,
    /// How many more there are.
    pub left_out: usize,
}

/// A value that is another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StateChange {
    /// Its place.
    pub path: String,
    /// How it changed.
    pub kind: ChangeKind,
    /// What was there at the first record; none where nothing was.
    pub before: Option<Value>,
    /// What is there at the other one; none where nothing is.
    pub after: Option<Value>,
}

/// How a value changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub enum ChangeKind {
    /// Nothing was there.
    Added,
    /// Nothing is there any more.
    Removed,
    /// Another value is there.
    Changed,
}
