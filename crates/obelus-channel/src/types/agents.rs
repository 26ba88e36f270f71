//! Agents and their parts.

use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "http")]
use utoipa::ToSchema;

/// An agent in a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct AgentRow {
    /// The name by which a session is made.
    pub name: String,
    /// The name in its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The language it speaks first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Whether its file is valid.
    pub ok: bool,
    /// The errors of its file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// An agent and its tools.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct AgentView {
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentRow,
    /// Its mode: `shadow`, `canary` or `full`.
    pub mode: String,
    /// Its tools.
    pub tools: Vec<ToolRow>,
    /// Sentences that show what it can be asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// The nodes of its graph of steps, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<Vec<String>>,
    /// The model that it asks, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The JSON Schema of its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// The JSON Schema of its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The JSON Schema of a turn's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// A tool of an agent.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ToolRow {
    /// Its name.
    pub name: String,
    /// Its effect: `read`, `create`, `update`, `delete`, …
    pub effect: String,
    /// Whether its results are trusted.
    pub trusted: bool,
    /// The schema of its parameters.
    pub schema: Value,
}

/// A file of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct AgentFileView {
    /// Its name within the agent's folder.
    pub name: String,
    /// Its text; the beginning of a long file.
    pub text: String,
    /// Its size.
    pub bytes: u64,
    /// Whether the text is only the beginning.
    pub is_cut: bool,
}

/// The policy of an agent.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PolicyView {
    /// The agent's mode: `shadow`, `canary` or `full`.
    pub mode: String,
    /// Allowed tools; with such a list, tools that no rule names are refused.
    pub allow: Vec<String>,
    /// Tools that a person confirms.
    pub confirm: Vec<String>,
    /// Tools that never run.
    pub refuse: Vec<String>,
    /// The rules, in their order.
    pub rules: Vec<PolicyRuleView>,
    /// The policy for each tool, as far as it does not depend on parameters.
    pub tools: Vec<PolicyToolView>,
}

/// A rule of a policy.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PolicyRuleView {
    /// Its conditions, as in the agent's file.
    pub matching: Value,
    /// Its verdict: `allow`, `confirm` or `refuse`.
    pub verdict: String,
    /// Why, in words for a person.
    pub reason: Option<String>,
    /// Its examples.
    pub examples: Vec<PolicyExampleView>,
}

/// An example of a rule.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PolicyExampleView {
    /// The call.
    pub call: Value,
    /// Whether the rule matches it.
    pub matches: bool,
    /// The verdict of the whole policy: `allow`, `confirm` or `refuse`; null if the call is invalid.
    pub verdict: Option<String>,
    /// Why.
    pub reasons: Vec<String>,
}

/// The policy for a tool.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PolicyToolView {
    /// The tool.
    pub tool: String,
    /// Its title.
    pub title: String,
    /// Its effect.
    pub effect: String,
    /// Whether its results are trusted.
    pub trusted: bool,
    /// Parameters that always need an approval.
    pub risky: Vec<String>,
    /// The verdict on a call without parameters; null if it depends on them.
    pub verdict: Option<String>,
    /// Why.
    pub reasons: Vec<String>,
}

/// The messages for which the prompt is rendered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PromptRequest {
    /// Messages of a user, one after another.
    pub say: Vec<String>,
}

/// The prompts of an agent's model for messages of a user.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PromptView {
    /// The sizes of the requests, one for each message.
    pub requests: Vec<PromptSize>,
    /// The last request, as it is sent.
    pub messages: Vec<PromptMessage>,
    /// The schema that is sent with it; null if the agent answers in blocks.
    pub schema: Option<Value>,
}

/// The size of a request, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PromptSize {
    /// The size of its messages.
    pub chars: u64,
    /// The part of them that was a prefix of the previous request, which a provider can serve from its cache.
    pub prefix: u64,
    /// The share of that part in percent.
    pub percent: u64,
    /// The size of the schema that is sent with them.
    pub schema: u64,
}

/// A message of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PromptMessage {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
    /// Its length in characters.
    pub chars: u64,
}
