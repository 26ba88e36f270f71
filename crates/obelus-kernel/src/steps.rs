//! Graphs of steps: an agent's loop as data. The plain loop is the graph with one node.

mod filter;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::expr::{Expr, OutputPath};
use crate::glob;
use crate::template::Template;
pub use filter::StepFilter;

/// A graph of steps, as it stands in an agent's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Where every turn begins.
    pub start: Start,
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
pub enum Start {
    /// Always here.
    Node(String),
    /// By ways as in `next`; the last has no `when`.
    Ways(Vec<Next>),
}

impl Start {
    /// The nodes where a turn may begin.
    pub fn nodes(&self) -> Vec<&str> {
        match self {
            Start::Node(name) => vec![name],
            Start::Ways(ways) => ways.iter().map(|way| way.to.as_str()).collect(),
        }
    }

    /// The node where a turn begins if nothing speaks for another.
    pub(crate) fn usual(&self) -> &str {
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
    /// A node that is none of these, or several; `Steps::check` says so.
    Faulty(String),
}

impl StepNode {
    /// Where to go from here: the first way whose predicate holds; the last has none.
    pub fn next(&self) -> &[Next] {
        match self {
            StepNode::Request { next, .. } | StepNode::Call { next, .. } | StepNode::Ask { next, .. } => next,
            StepNode::End(_) | StepNode::Faulty(_) => &[],
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
        let NodeForm { request, call, ask, end, output_path, next } = form;
        match (request, call, ask, end) {
            (Some(request), None, None, None) => StepNode::Request { request, output_path, next },
            (None, Some(call), None, None) => StepNode::Call { call, next },
            (None, None, Some(ask), None) => StepNode::Ask { ask, output_path, next },
            (None, None, None, Some(end)) if next.is_empty() => StepNode::End(end),
            (None, None, None, Some(_)) => StepNode::Faulty("an end has no `next`".to_owned()),
            (request, call, ask, end) => {
                let given = [("request", request.is_some()), ("call", call.is_some()), ("ask", ask.is_some())];
                let given = given.into_iter().chain([("end", end.is_some())]).filter(|(_, is_given)| *is_given);
                let names: Vec<&str> = given.map(|(name, _)| name).collect();
                let found = if names.is_empty() { "none".to_owned() } else { names.join(" and ") };
                StepNode::Faulty(format!("a node is one of request, call, ask and end; this one is {found}"))
            }
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
            StepNode::Faulty(_) => form,
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

/// One call that is planned at a node, checked, and not run there.
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
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|pattern| glob::fits(pattern, tool))
    }

    /// Whether a call of this tool may be planned here.
    pub(crate) fn plans(&self, tool: &str) -> bool {
        let patterns = self.plans.iter().flat_map(|plans| &plans.tools);
        !self.offers(tool) && patterns.into_iter().any(|pattern| glob::fits(pattern, tool))
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

impl Steps {
    /// Everything that is wrong with the graph, each with the node at fault.
    pub fn check(&self, is_tool: impl Fn(&str) -> bool) -> Vec<String> {
        let mut faults = Vec::new();
        match &self.start {
            Start::Node(name) if !self.nodes.contains_key(name) => {
                faults.push(format!("start: there is no node `{name}`"));
            }
            Start::Node(_) => {}
            Start::Ways(ways) => self.check_ways("start", ways, &mut |text| faults.push(text)),
        }
        for (field, name) in self.forced_ends() {
            match self.nodes.get(name) {
                None => faults.push(format!("{field}: there is no node `{name}`")),
                Some(node) if node.end().is_none() => faults.push(format!("{field}: `{name}` is no end")),
                Some(_) => {}
            }
        }
        for (name, node) in &self.nodes {
            let mut fault = |text: String| faults.push(format!("nodes.{name}: {text}"));
            node.check_parts(&is_tool, &mut fault);
            if !matches!(node, StepNode::End(_) | StepNode::Faulty(_)) {
                self.check_ways("next", node.next(), &mut fault);
            }
        }
        let reached = self.reached();
        for name in self.nodes.keys().filter(|name| !reached.contains(&name.as_str())) {
            faults.push(format!("nodes.{name}: no way leads here"));
        }
        faults
    }

    fn check_ways(&self, field: &str, ways: &[Next], fault: &mut impl FnMut(String)) {
        match ways.last() {
            None => fault(format!("`{field}` is missing: where does it go from here?")),
            Some(last) if last.when.is_some() => {
                fault(format!("{field}: the last way has no `when`, so that there is always one"));
            }
            Some(_) => {}
        }
        for (index, way) in ways.iter().enumerate() {
            if !self.nodes.contains_key(&way.to) {
                fault(format!("{field}[{index}]: there is no node `{}`", way.to));
            }
            match &way.when {
                Some(filter) => {
                    if let Err(error) = filter.compiled() {
                        fault(format!("{field}[{index}].when: {error}"));
                    }
                }
                None if index + 1 < ways.len() => {
                    fault(format!("{field}[{index}]: without `when`, what follows is never looked at"));
                }
                None => {}
            }
        }
    }

    /// The ends that a turn comes to without a way that leads there, each with the field that names it.
    fn forced_ends(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let named = [("at_limit", &self.at_limit), ("at_stop", &self.at_stop)];
        named.into_iter().filter_map(|(field, name)| Some((field, name.as_deref()?)))
    }

    fn reached(&self) -> Vec<&str> {
        let mut reached: Vec<&str> = self.start.nodes();
        reached.extend(self.forced_ends().map(|(_, name)| name));
        let mut at = 0;
        while at < reached.len() {
            for next in self.nodes.get(reached[at]).into_iter().flat_map(StepNode::next) {
                if !reached.contains(&next.to.as_str()) {
                    reached.push(&next.to);
                }
            }
            at += 1;
        }
        reached
    }
}

impl StepNode {
    fn check_parts(&self, is_tool: &impl Fn(&str) -> bool, fault: &mut impl FnMut(String)) {
        if let Some(Err(error)) = self.output_path().map(OutputPath::parse) {
            fault(format!("_outputPath: {}", error.text));
        }
        match self {
            StepNode::Request { request, output_path, .. } => {
                if output_path.is_none() {
                    fault("`_outputPath` is missing: where does the output go?".to_owned());
                }
                request.check(is_tool, fault);
            }
            StepNode::Call { call, .. } => call.check(is_tool, fault),
            StepNode::Ask { ask, .. } => ask.question.check(fault),
            StepNode::End(end) => end.reply.iter().for_each(|reply| reply.check(fault)),
            StepNode::Faulty(why) => fault(why.clone()),
        }
    }
}

impl RequestNode {
    fn check(&self, is_tool: &impl Fn(&str) -> bool, fault: &mut impl FnMut(String)) {
        // The tools of a pattern may come from a server, when a session begins.
        let is_known = |tool: &str| tool.contains('*') || is_tool(tool);
        for tool in self.tools.iter().filter(|tool| !is_known(tool)) {
            fault(format!("request.tools: there is no tool `{tool}`"));
        }
        if let Some(plans) = &self.plans {
            for tool in plans.tools.iter().filter(|tool| !is_known(tool)) {
                fault(format!("request.plans.tools: there is no tool `{tool}`"));
            }
            for tool in plans.tools.iter().filter(|tool| self.offers(tool)) {
                fault(format!("request.plans.tools: `{tool}` is among `request.tools`, and would run at once"));
            }
            if let Err(error) = OutputPath::parse(&plans.to) {
                fault(format!("request.plans.to: {}", error.text));
            }
        }
        if let Some(Err(error)) = self.schema.as_ref().map(crate::schema::compile) {
            fault(format!("request.schema: {error}"));
        }
    }
}

impl CallNode {
    fn check(&self, is_tool: &impl Fn(&str) -> bool, fault: &mut impl FnMut(String)) {
        if self.tool.starts_with('†') {
            if let Err(error) = Expr::parse(&self.tool) {
                fault(format!("call._tool: {}", error.text));
            }
        } else if !is_tool(&self.tool) {
            fault(format!("call._tool: there is no tool `{}`", self.tool));
        }
        if let Err(error) = Template::parse(&self.params) {
            fault(format!("call.params: {}", error.words()));
        }
    }
}

impl Words {
    fn check(&self, fault: &mut impl FnMut(String)) {
        let wrong = match self {
            Words::Text(text) if text.starts_with('†') => Expr::parse(text).err().map(|error| error.text),
            Words::Text(_) => None,
            Words::Made { jq } => jq.compiled().err(),
        };
        if let Some(error) = wrong {
            fault(format!("words: {error}"));
        }
    }
}
