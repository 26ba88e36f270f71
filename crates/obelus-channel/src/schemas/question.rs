//! A question for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The subject of a question
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AboutName {
    /// Calls that may run or not
    Call,
    /// A plan as a whole
    Plan,
    /// A value or a manual step
    Input,
    /// An effect in doubt
    InDoubt,
}

/// A question for people, as data
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = QuestionView)]
pub(crate) struct QuestionShape {
    /// The id by which it is answered.
    id: String,
    /// What it is about.
    about: AboutName,
    /// What the reader has to do.
    head: String,
    /// The text of a request for a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<AskedShape>,
    /// The calls.
    calls: Vec<CallShape>,
    /// Rows that are the same for all calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    common: Vec<RowShape>,
    /// The file of the latest picture of its page. Its bytes are at `/questions/{question}/picture`.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    /// The text with which another program asked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    came_as: Option<String>,
    /// Why it is asked, in words for people.
    reasons: Vec<String>,
    /// The step whose delegate asks it, for a question of a delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    for_step: Option<String>,
    /// The waiting steps that read the result of an effect in doubt: without it they do not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    result_read_by: Vec<String>,
    /// Details that are the same for all calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    common_details: Vec<RowShape>,
    /// The decisions that answer it, by their names.
    answers: Vec<String>,
    /// The schema of the answer, if it is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    /// When it expires.
    expires_at: String,
    /// The digest of what is shown, for the answer.
    digest: String,
    /// The language of the words.
    language: String,
}

/// The text of a request for a value
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AskedWords)]
pub(crate) struct AskedShape {
    /// The running call that asks; null if the agent itself asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// The origin of the text, if it is not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    /// The text.
    words: String,
}

/// A call of a question
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CallView)]
pub(crate) struct CallShape {
    /// Its index in the question.
    index: usize,
    /// Whether it waits for a decision.
    is_open: bool,
    /// Whether it was approved or denied; null while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_approved: Option<bool>,
    /// Of a plan: the indexes of the calls whose results it reads. Without them it is skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    needs: Vec<usize>,
    /// What it does.
    title: String,
    /// The origin of its proposal, if that is not trusted and the answer covers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    /// When the same was done before in this session, in words, while it waits for a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    done_before: Option<String>,
    /// Its instance, if it is one of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    /// The record that it is about, by name and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RowShape>,
    /// The fields that it sets.
    rows: Vec<RowShape>,
    /// Technical details.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    details: Vec<RowShape>,
}

/// A field of a call
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RowView)]
pub(crate) struct RowShape {
    /// The parameter, as a dotted path; empty if it is not a parameter.
    place: String,
    /// Its label for people.
    label: String,
    /// The new value.
    value: String,
    /// The present value, if it was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<BeforeShape>,
    /// The agent's proposal, if a person has changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<String>,
    /// The origin of the value, if it is not grounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
}

/// The present value of a field
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BeforeView)]
pub(crate) struct BeforeShape {
    /// The value; null if it is not known.
    value: Option<String>,
    /// Whether it stays the same.
    is_same: bool,
}
