//! Values of the state with their provenance, and changes between two records.

use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "http")]
use utoipa::ToSchema;

use super::WriterView;

/// The values of the state with their origins.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StateValues {
    /// The path below which they are.
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
    /// Its path, such as `†state.deal.title`.
    pub path: String,
    /// The value.
    pub value: Value,
    /// Whether the value is long and only its beginning is here.
    pub is_cut: bool,
    /// Its origins.
    pub origins: Vec<String>,
    /// Whether all origins are trusted.
    pub trusted: bool,
    /// Its writer.
    pub writer: Option<WriterView>,
    /// When it was written.
    pub written_at: Option<String>,
    /// The message that wrote it.
    pub message: Option<usize>,
    /// The action of the call that wrote it, in one line.
    pub headline: Option<String>,
    /// The call that wrote it, as proposed.
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

/// The changes of the state between two records.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StateChanges {
    /// The first record.
    pub at: u64,
    /// The second record; null means the present state.
    pub to: Option<u64>,
    /// The changed values, in the order of their paths.
    pub changes: Vec<StateChange>,
    /// How many more there are.
    pub left_out: usize,
}

/// A changed value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StateChange {
    /// Its path.
    pub path: String,
    /// How it changed.
    pub kind: ChangeKind,
    /// The value at the first record, if any.
    pub before: Option<Value>,
    /// The value at the second record, if any.
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
