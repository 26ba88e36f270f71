//! The parts of an agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "http")]
use utoipa::ToSchema;

/// A file of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct AgentFileView {
    /// Its name within the agent's folder.
    pub name: String,
    /// Its text; of a long file, the beginning.
    pub text: String,
    /// Its size.
    pub bytes: u64,
    /// Whether the text is only the beginning.
    pub is_cut: bool,
}

/// What an agent's policy says.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PolicyView {
    /// How far the agent may go: `shadow`, `canary` or `full`.
    pub mode: String,
    /// Tools that run; with such a list, what no rule names is refused.
    pub allow: Vec<String>,
    /// Tools that a person confirms.
    pub confirm: Vec<String>,
    /// Tools that never run.
    pub refuse: Vec<String>,
    /// The rules, in their order.
    pub rules: Vec<PolicyRuleView>,
    /// What holds for each tool, as far as that does not depend on the parameters.
    pub tools: Vec<PolicyToolView>,
}

/// A rule of a policy.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PolicyRuleView {
    /// What it is about, as in the agent's file.
    pub matching: Value,
    /// What holds then: `allow`, `confirm` or `refuse`.
    pub verdict: String,
    /// Why, in words for a person.
    pub reason: Option<String>,
    /// Calls that show what it means.
    pub examples: Vec<PolicyExampleView>,
}

/// A call that shows what a rule means.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PolicyExampleView {
    /// The call.
    pub call: Value,
    /// Whether the rule matches it.
    pub matches: bool,
    /// What the whole policy says of it: `allow`, `confirm` or `refuse`; none where the call is faulty.
    pub verdict: Option<String>,
    /// Why.
    pub reasons: Vec<String>,
}

/// What holds for a tool.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PolicyToolView {
    /// The tool.
    pub tool: String,
    /// What it is called.
    pub title: String,
    /// What it does to the world.
    pub effect: String,
    /// Whether its results are trusted.
    pub trusted: bool,
    /// Parameters that always need an approval.
    pub risky: Vec<String>,
    /// What holds for a call without parameters; none where that depends on them.
    pub verdict: Option<String>,
    /// Why.
    pub reasons: Vec<String>,
}

/// Words for which the prompt is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PromptRequest {
    /// Messages of a user, one after another.
    pub say: Vec<String>,
}

/// What the model of an agent would be asked first after each message of a user.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PromptView {
    /// The sizes of the requests, one for each message.
    pub requests: Vec<PromptSize>,
    /// The last request, as it is sent.
    pub messages: Vec<PromptMessage>,
    /// The schema that is sent beside it; none where the agent answers in blocks.
    pub schema: Option<Value>,
}

/// The size of a request, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PromptSize {
    /// Of its messages.
    pub chars: u64,
    /// Those among them that were a prefix of the request before, which a provider can serve from its cache.
    pub prefix: u64,
    /// Their share in percent.
    pub percent: u64,
    /// Of the schema beside them.
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
