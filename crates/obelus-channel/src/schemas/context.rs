//! Messages of the context, and where a value comes from.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A message of the context
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContextMessage {
    /// Words of the author, the user or the agent
    Text {
        /// `system`, `user` or `assistant`.
        role: String,
        text: String,
    },
    /// The input of the session
    Input(DataMessage),
    /// The state of the session
    State(DataMessage),
    /// An error
    Error(DataMessage),
    /// Data of another kind
    Data(DataMessage),
    /// Tools: name → schema
    Tool { tool: Map<String, Value> },
    /// A plan
    Plan {
        plan: Vec<Map<String, Value>>,
        /// `eager` or `lazy`.
        mode: String,
    },
}

/// Data and its origin
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct DataMessage {
    /// The kind, if it differs from that of the type.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    data: Value,
    /// The call whose result it is, as it was proposed.
    #[serde(rename = "_call", skip_serializing_if = "Option::is_none")]
    call: Option<Map<String, Value>>,
    /// The path that it writes.
    #[serde(rename = "_outputPath", skip_serializing_if = "Option::is_none")]
    output_path: Option<String>,
    #[serde(rename = "_date", skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    /// `set`, `merge`, `assign`, `push` or `concat`.
    #[serde(rename = "_outputMethod", skip_serializing_if = "Option::is_none")]
    output_method: Option<String>,
    #[serde(rename = "_instance", skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    /// Its origins.
    #[serde(rename = "_labels", skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<String>>,
    /// The same for parts with other origins, by dotted path.
    #[serde(rename = "_partLabels", skip_serializing_if = "Option::is_none")]
    part_labels: Option<Map<String, Value>>,
}

/// The provenance of a value
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValueStory {
    /// The path, such as `†state.deal`.
    what: String,
    /// `user`, `author`, `model`, `trusted:TOOL`, `untrusted:TOOL`.
    origins: Vec<String>,
    /// The writes, latest first.
    because: Vec<ValueWriteShape>,
    /// The present value; only at the first level.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// How many writes are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
}

/// One write and its sources
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ValueWrite)]
pub(crate) struct ValueWriteShape {
    /// The index of the message.
    message: usize,
    date: Option<String>,
    by: WriterShape,
    /// The path that it wrote.
    to: String,
    /// The method by which it was joined with the value before.
    method: String,
    origins: Vec<String>,
    /// The parameters of the call.
    params: Vec<GivenParam>,
    /// The parts of memory that its executor saw.
    #[schema(no_recursion)]
    shown: Vec<ValueStory>,
    /// The standing consent because of which the call ran without a question, such as `c1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    consent: Option<String>,
    /// Who edited the state, and from where, if a person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_by: Option<String>,
}

/// The writer: exactly one of the fields is present
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WriterForm)]
pub(crate) struct WriterShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<bool>,
    /// A tool that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Whether it is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted: Option<bool>,
    /// The model itself carried out a call of this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// A delegate carried out a call of this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    delegate: Option<String>,
    /// A call of this tool by another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<String>,
}

/// A parameter of a call
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenParam {
    name: String,
    /// The value in the call, with references as written.
    value: Value,
    /// The provenance of each of its references.
    #[schema(no_recursion)]
    from: Vec<ValueStory>,
    /// What the model had read before it chose the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_after_reading: Option<Vec<String>>,
    /// Whether a person changed it before the call ran; absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited: Option<bool>,
    /// How it is grounded in what the user said.
    #[serde(skip_serializing_if = "Option::is_none")]
    grounded: Option<Vec<Value>>,
}
