//! Graphs of steps: an agent's loop as data. The plain loop is the graph with one node.

mod check;
mod filter;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::glob;
pub use check::StepFault;
pub use filter::StepFilter;

/// A graph of steps, as in an agent's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// The start of every turn.
    pub start: StartAt,
    /// The most nodes that one turn may visit.
    #[serde(default = "default_max_steps")]
    pub max_steps: u32,
    /// The end of a turn that reaches a limit. It does not count as a visited node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_limit: Option<String>,
    /// The end of a turn that a person stops. It does not count as a visited node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_stop: Option<String>,
    /// The nodes by name.
    pub nodes: BTreeMap<String, StepNode>,
}

fn default_max_steps() -> u32 {
    50
}

/// The start of a turn: always the same node, or the target of the first way whose predicate is true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`start` is the name of a node, or a list of ways such as {when: FILTER, to: NODE}")]
pub enum StartAt {
    /// Always this node.
    Node(String),
    /// Ways as in `next`; the last has no `when`.
    Ways(Vec<Next>),
}

impl StartAt {
    /// The nodes at which a turn may start.
    pub fn nodes(&self) -> Vec<&str> {
        match self {
            StartAt::Node(name) => vec![name],
            StartAt::Ways(ways) => ways.iter().map(|way| way.to.as_str()).collect(),
        }
    }

    /// The node at which a turn starts if no predicate is true.
    pub fn usual(&self) -> &str {
        self.nodes().last().copied().unwrap_or_default()
    }
}

/// One step of a graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "NodeForm", into = "NodeForm")]
pub enum StepNode {
    /// A request to the model.
    Request {
        /// The request.
        request: RequestNode,
        /// The path of its output.
        output_path: Option<String>,
        /// The ways to the next node.
        next: Vec<Next>,
    },
    /// One tool call.
    Call {
        /// The call.
        call: CallNode,
        /// The ways to the next node.
        next: Vec<Next>,
    },
    /// A question to a person.
    Ask {
        /// The question.
        ask: AskNode,
        /// The path of the answer.
        output_path: Option<String>,
        /// The ways to the next node.
        next: Vec<Next>,
    },
    /// A named end.
    End(EndNode),
    /// A node with none or several of these, or an end with ways out; `Steps::check` reports what is wrong.
    Faulty(Box<FaultyNode>),
}

/// A node that cannot run, as in its file.
#[derive(Clone, Debug)]
pub struct FaultyNode(NodeForm);

impl StepNode {
    /// The ways to the next node: the first whose predicate is true is taken; the last has none.
    pub fn next(&self) -> &[Next] {
        match self {
            StepNode::Request { next, .. } | StepNode::Call { next, .. } | StepNode::Ask { next, .. } => next,
            StepNode::End(_) => &[],
            StepNode::Faulty(node) => &node.0.next,
        }
    }

    /// The request to the model, if it is one.
    pub fn request(&self) -> Option<&RequestNode> {
        match self {
            StepNode::Request { request, .. } => Some(request),
            _ => None,
        }
    }

    /// The path of a request's output, or of the answer to a question.
    pub fn output_path(&self) -> Option<&str> {
        match self {
            StepNode::Request { output_path, .. } | StepNode::Ask { output_path, .. } => output_path.as_deref(),
            StepNode::Call { .. } | StepNode::End(_) | StepNode::Faulty(_) => None,
        }
    }

    /// The end, if it is one.
    pub fn end(&self) -> Option<&EndNode> {
        match self {
            StepNode::End(end) => Some(end),
            StepNode::Faulty(node) => node.0.end.as_ref(),
            _ => None,
        }
    }
}

/// A node as in a file: one of `request`, `call`, `ask` and `end`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NodeForm {
    request: Option<RequestNode>,
    call: Option<CallNode>,
    ask: Option<AskNode>,
    end: Option<EndNode>,
    #[serde(rename = "_outputPath")]
    output_path: Option<String>,
    next: Vec<Next>,
}

impl From<NodeForm> for StepNode {
    fn from(form: NodeForm) -> Self {
        match form {
            NodeForm { request: Some(request), call: None, ask: None, end: None, output_path, next } => {
                StepNode::Request { request, output_path, next }
            }
            NodeForm { request: None, call: Some(call), ask: None, end: None, next, .. } => {
                StepNode::Call { call, next }
            }
            NodeForm { request: None, call: None, ask: Some(ask), end: None, output_path, next } => {
                StepNode::Ask { ask, output_path, next }
            }
            NodeForm { request: None, call: None, ask: None, end: Some(end), next, .. } if next.is_empty() => {
                StepNode::End(end)
            }
            faulty => StepNode::Faulty(Box::new(FaultyNode(faulty))),
        }
    }
}

impl From<StepNode> for NodeForm {
    fn from(node: StepNode) -> Self {
        let form = Self::default();
        match node {
            StepNode::Request { request, output_path, next } => {
                Self { request: Some(request), output_path, next, ..form }
            }
            StepNode::Call { call, next } => Self { call: Some(call), next, ..form },
            StepNode::Ask { ask, output_path, next } => Self { ask: Some(ask), output_path, next, ..form },
            StepNode::End(end) => Self { end: Some(end), ..form },
            StepNode::Faulty(node) => node.0,
        }
    }
}

/// A request to the model, with its own instructions and output.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RequestNode {
    /// Instructions besides those of the agent.
    pub instructions: Option<String>,
    /// The schema of the output.
    pub schema: Option<Value>,
    /// The offered tools, by name or with `*`; none if it is empty.
    pub tools: Vec<String>,
    /// The calls that it may plan for a later node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plans: Option<Plans>,
}

/// A call that is planned and checked at one node, and runs at another.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plans {
    /// The permitted tools, by name or with `*`.
    pub tools: Vec<String>,
    /// The path of the planned call, as `{tool, params}`; null if none was planned.
    pub to: String,
}

impl RequestNode {
    /// Whether the model may call this tool here.
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|pattern| glob::matches(pattern, tool))
    }

    /// Whether a call of this tool may be planned here.
    pub fn plans(&self, tool: &str) -> bool {
        let patterns = self.plans.iter().flat_map(|plans| &plans.tools);
        !self.offers(tool) && patterns.into_iter().any(|pattern| glob::matches(pattern, tool))
    }
}

/// One tool call. The policy applies as to any call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallNode {
    /// The tool's name, or a reference to it.
    #[serde(rename = "_tool")]
    pub tool: String,
    /// Its parameters, or a reference to all of them.
    #[serde(default)]
    pub params: Value,
    /// The path of the result.
    #[serde(rename = "_outputPath", default)]
    pub output_path: Option<String>,
    /// The output method.
    #[serde(rename = "_outputMethod", default)]
    pub output_method: Option<String>,
}

/// A question to a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskNode {
    /// The text for the person.
    pub question: StepText,
    /// The schema of the answer.
    #[serde(default)]
    pub schema: Option<Value>,
}

/// A named end of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndNode {
    /// Its name: `done`, `blocked`, …
    pub name: String,
    /// The text of the reply.
    #[serde(default)]
    pub reply: Option<StepText>,
}

/// A text: plain, by reference, or computed by a filter.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a text, or {jq: FILTER}")]
pub enum StepText {
    /// Plain text, or a reference if it begins with `†`.
    Text(String),
    /// Computed from the folded kinds.
    Made {
        /// The filter.
        jq: StepFilter,
    },
}

/// A way out of a node, or into the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// A predicate over the folded kinds and the counters.
    #[serde(default)]
    pub when: Option<StepFilter>,
    /// The node to go to.
    pub to: String,
}
