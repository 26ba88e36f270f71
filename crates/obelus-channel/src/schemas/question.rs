//! A question for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// What a question is about
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AboutName {
    /// Calls that may run or not
    Call,
    /// A plan as a whole
    Plan,
    /// A value or a manual step
    Input,
    /// An effect of which nobody knows whether it happened
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
    /// What is wanted of the reader.
    head: String,
    /// What somebody wants to know, in their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<AskedShape>,
    /// The calls.
    calls: Vec<CallShape>,
    /// Rows that are the same for all calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    common: Vec<RowShape>,
    /// The file of the latest picture of the page that it is about. Its bytes are at `/questions/{question}/picture`.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    /// The words with which it came from elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    came_as: Option<String>,
    /// Why it is asked, as a person would say it.
    reasons: Vec<String>,
    /// Details that are the same for all calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    common_details: Vec<RowShape>,
    /// The decisions that answer it, by their names.
    answers: Vec<String>,
    /// What an answer must look like, where it is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    /// When it lapses.
    expires_at: String,
    /// The digest of what is shown, which goes with the answer.
    digest: String,
    /// The language of the words.
    language: String,
}

/// Words of whoever asks for a value
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AskedWords)]
pub(crate) struct AskedShape {
    /// The step at work that asks; none for the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// Where the words come from, if that is not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    /// The words.
    words: String,
}

/// A call of a question
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CallView)]
pub(crate) struct CallShape {
    /// Its place in the question.
    index: usize,
    /// Whether it waits for a decision.
    is_open: bool,
    /// What it does.
    title: String,
    /// Where its proposal comes from, if that is not trusted and the answer covers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    /// Its instance, if it is one of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    /// The record that it is about, by name and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RowShape>,
    /// What it sets.
    rows: Vec<RowShape>,
    /// What only engineers look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    details: Vec<RowShape>,
}

/// A field of a call
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RowView)]
pub(crate) struct RowShape {
    /// The parameter, as a dotted path; empty for what is no parameter.
    place: String,
    /// What people call it.
    label: String,
    /// What it will be.
    value: String,
    /// What it is now, where somebody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<BeforeShape>,
    /// What the agent had proposed, where a person has changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<String>,
    /// Where the value comes from, if it is not grounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
}

/// What a field holds now
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BeforeView)]
pub(crate) struct BeforeShape {
    /// The value; none if it is not known.
    value: Option<String>,
    /// Whether it stays.
    is_same: bool,
}
