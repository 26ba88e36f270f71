//! Graphs of steps: an agent's loop as data. The plain loop is the graph with one node.

mod filter;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::expr::{Expr, OutputPath};
use crate::glob;
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

/// One step: exactly one of `request`, `call`, `ask` and `end`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StepNode {
    /// A request to the model.
    pub request: Option<RequestNode>,
    /// One tool call.
    pub call: Option<CallNode>,
    /// A question to a person.
    pub ask: Option<AskNode>,
    /// A named end.
    pub end: Option<EndNode>,
    /// Where the output of a request, or the answer to a question, is written.
    #[serde(rename = "_outputPath")]
    pub output_path: Option<String>,
    /// Where to go from here: the first whose predicate holds; the last has none.
    pub next: Vec<Next>,
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

impl StepNode {
    fn kinds(&self) -> [(&'static str, bool); 4] {
        [
            ("request", self.request.is_some()),
            ("call", self.call.is_some()),
            ("ask", self.ask.is_some()),
            ("end", self.end.is_some()),
        ]
    }
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
                Some(node) if node.end.is_none() => faults.push(format!("{field}: `{name}` is no end")),
                Some(_) => {}
            }
        }
        for (name, node) in &self.nodes {
            let mut fault = |text: String| faults.push(format!("nodes.{name}: {text}"));
            let kinds: Vec<_> = node.kinds().into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect();
            if kinds.len() != 1 {
                fault(format!(
                    "a node is one of request, call, ask and end; this one is {}",
                    if kinds.is_empty() { "none".to_owned() } else { kinds.join(" and ") }
                ));
            }
            node.check_parts(&is_tool, &mut fault);
            self.check_next(node, &mut fault);
        }
        let reached = self.reached();
        for name in self.nodes.keys().filter(|name| !reached.contains(&name.as_str())) {
            faults.push(format!("nodes.{name}: no way leads here"));
        }
        faults
    }

    fn check_next(&self, node: &StepNode, fault: &mut impl FnMut(String)) {
        if node.end.is_some() {
            if !node.next.is_empty() {
                fault("an end has no `next`".to_owned());
            }
            return;
        }
        self.check_ways("next", &node.next, fault);
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
            for next in self.nodes.get(reached[at]).into_iter().flat_map(|node| &node.next) {
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
        if let Some(path) = &self.output_path
            && let Err(error) = OutputPath::parse(path)
        {
            fault(format!("_outputPath: {}", error.text));
        }
        if let Some(request) = &self.request {
            if self.output_path.is_none() {
                fault("`_outputPath` is missing: where does the output go?".to_owned());
            }
            // What a pattern stands for may come from a server, and only when a session begins.
            let is_known = |tool: &str| tool.contains('*') || is_tool(tool);
            for tool in request.tools.iter().filter(|tool| !is_known(tool)) {
                fault(format!("request.tools: there is no tool `{tool}`"));
            }
            if let Some(plans) = &request.plans {
                for tool in plans.tools.iter().filter(|tool| !is_known(tool)) {
                    fault(format!("request.plans.tools: there is no tool `{tool}`"));
                }
                for tool in plans.tools.iter().filter(|tool| request.offers(tool)) {
                    fault(format!("request.plans.tools: `{tool}` is among `request.tools`, and would run at once"));
                }
                if let Err(error) = OutputPath::parse(&plans.to) {
                    fault(format!("request.plans.to: {}", error.text));
                }
            }
            if let Some(Err(error)) = request.schema.as_ref().map(crate::schema::compile) {
                fault(format!("request.schema: {error}"));
            }
        }
        if let Some(call) = &self.call {
            if call.tool.starts_with('†') {
                if let Err(error) = Expr::parse(&call.tool) {
                    fault(format!("call._tool: {}", error.text));
                }
            } else if !is_tool(&call.tool) {
                fault(format!("call._tool: there is no tool `{}`", call.tool));
            }
            if let Err(error) = crate::Template::parse(&call.params) {
                fault(format!("call.params: {}", error.words()));
            }
        }
        let words =
            self.ask.iter().map(|ask| &ask.question).chain(self.end.iter().filter_map(|end| end.reply.as_ref()));
        for words in words {
            let wrong = match words {
                Words::Text(text) if text.starts_with('†') => Expr::parse(text).err().map(|error| error.text),
                Words::Text(_) => None,
                Words::Made { jq } => jq.compiled().err(),
            };
            if let Some(error) = wrong {
                fault(format!("words: {error}"));
            }
        }
    }
}
