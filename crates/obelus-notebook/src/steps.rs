//! Graphs of steps: an agent's loop as data. The plain loop is the graph with one node.

mod check;
mod filter;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::glob;
pub use filter::StepFilter;

/// A graph of steps, as it stands in an agent's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Where every turn begins.
    pub start: StartAt,
    /// Nodes that one turn may visit.
    #[serde(default = "default_max_steps")]
    pub max_steps: u32,
    /// The end that a turn comes to when a limit is met. It is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_limit: Option<String>,
    /// The end that a turn comes to when a person stops it. It is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_stop: Option<String>,
    /// The nodes by name.
    pub nodes: BTreeMap<String, StepNode>,
}

fn default_max_steps() -> u32 {
    50
}

/// Where a turn begins: always at one node, or where the first way leads whose predicate holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`start` is the name of a node, or a list of ways such as {when: FILTER, to: NODE}")]
pub enum StartAt {
    /// Always here.
    Node(String),
    /// By ways as in `next`; the last has no `when`.
    Ways(Vec<Next>),
}

impl StartAt {
    /// The nodes where a turn may begin.
    pub fn nodes(&self) -> Vec<&str> {
        match self {
            StartAt::Node(name) => vec![name],
            StartAt::Ways(ways) => ways.iter().map(|way| way.to.as_str()).collect(),
        }
    }

    /// The node where a turn begins if nothing speaks for another.
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
        /// What is asked.
        request: RequestNode,
        /// Where its output is written.
        output_path: Option<String>,
        /// Where to go from here.
        next: Vec<Next>,
    },
    /// One tool call.
    Call {
        /// The call.
        call: CallNode,
        /// Where to go from here.
        next: Vec<Next>,
    },
    /// A question to a person.
    Ask {
        /// The question.
        ask: AskNode,
        /// Where the answer is written.
        output_path: Option<String>,
        /// Where to go from here.
        next: Vec<Next>,
    },
    /// A named end.
    End(EndNode),
    /// A node that is none of these, or several, or an end with ways out; `Steps::check` says what is wrong with it.
    Faulty(Box<FaultyNode>),
}

/// A node that cannot be run, as it stands in its file.
#[derive(Clone, Debug)]
pub struct FaultyNode(NodeForm);

impl StepNode {
    /// Where to go from here: the first way whose predicate holds; the last has none.
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

    /// Where the output of a request, or the answer to a question, is written.
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

/// A node as it stands in a file: one of `request`, `call`, `ask` and `end`.
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

/// A request to the model, with instructions and an output of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RequestNode {
    /// What the model is told besides the agent's instructions.
    pub instructions: Option<String>,
    /// What its output must look like.
    pub schema: Option<Value>,
    /// The tools on offer, by name or with `*`; none if it is empty.
    pub tools: Vec<String>,
    /// The calls that it may plan for a later node to carry out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plans: Option<Plans>,
}

/// A call that is planned and checked at a node, and runs at another.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plans {
    /// The tools it may be of, by name or with `*`.
    pub tools: Vec<String>,
    /// Where it is written, as `{tool, params}`; null where none was planned.
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

/// One tool call, under policy like any call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallNode {
    /// The tool's name, or a reference to it.
    #[serde(rename = "_tool")]
    pub tool: String,
    /// Its parameters, or a reference to all of them.
    #[serde(default)]
    pub params: Value,
    /// Where the result is written.
    #[serde(rename = "_outputPath", default)]
    pub output_path: Option<String>,
    /// How.
    #[serde(rename = "_outputMethod", default)]
    pub output_method: Option<String>,
}

/// A question to a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskNode {
    /// What the person is told.
    pub question: Words,
    /// What the answer must look like.
    #[serde(default)]
    pub schema: Option<Value>,
}

/// A named end of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndNode {
    /// Its name: `done`, `blocked`, …
    pub name: String,
    /// The words of the reply.
    #[serde(default)]
    pub reply: Option<Words>,
}

/// Words: plain, by reference, or made by a filter.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Words {
    /// Plain words, or, if they begin with `†`, a reference.
    Text(String),
    /// Made from the folded kinds.
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
