//! Graphs of steps: an agent's loop as data. The plain loop is the graph with one node.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::draw::{Drawing, Edge, Look, Node as Drawn};
use crate::expr::{Expr, OutputPath};
use crate::jq::Filter;

/// A graph of steps, as it stands in an agent's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// The node where every turn begins.
    pub start: String,
    /// Nodes that one turn may visit.
    #[serde(default = "default_max_steps")]
    pub max_steps: u32,
    /// The nodes by name.
    pub nodes: BTreeMap<String, StepNode>,
}

fn default_max_steps() -> u32 {
    50
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
    /// The tools on offer; none if it is empty.
    pub tools: Vec<String>,
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
        jq: String,
    },
}

/// A way out of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// A predicate over the folded kinds and the counters.
    #[serde(default)]
    pub when: Option<String>,
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
        if !self.nodes.contains_key(&self.start) {
            faults.push(format!("start: there is no node `{}`", self.start));
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
        match node.next.last() {
            None => fault("`next` is missing: where does it go from here?".to_owned()),
            Some(last) if last.when.is_some() => {
                fault("the last way in `next` has no `when`, so that there is always one".to_owned());
            }
            Some(_) => {}
        }
        for (index, next) in node.next.iter().enumerate() {
            if !self.nodes.contains_key(&next.to) {
                fault(format!("next[{index}]: there is no node `{}`", next.to));
            }
            match &next.when {
                Some(filter) => {
                    if let Err(error) = Filter::compile(filter) {
                        fault(format!("next[{index}].when: {error}"));
                    }
                }
                None if index + 1 < node.next.len() => {
                    fault(format!("next[{index}]: without `when`, what follows is never looked at"));
                }
                None => {}
            }
        }
    }

    fn reached(&self) -> Vec<&str> {
        let mut reached: Vec<&str> = vec![&self.start];
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

    /// The graph as a drawing.
    pub fn picture(&self, title: &str) -> Drawing {
        let names: Vec<&String> = self.nodes.keys().collect();
        let nodes = self.nodes.iter().map(|(name, node)| {
            let (look, detail) = match node {
                StepNode { request: Some(_), .. } => (Look::Thought, "asks the model".to_owned()),
                StepNode { call: Some(call), .. } => (Look::Update, format!("calls {}", call.tool)),
                StepNode { ask: Some(_), .. } => (Look::Question, "asks a person".to_owned()),
                StepNode { end: Some(end), .. } => (Look::End, format!("ends: {}", end.name)),
                _ => (Look::Faulty, "nothing".to_owned()),
            };
            let look = if *name == self.start { Look::Start } else { look };
            let path = node.output_path.iter().chain(node.call.iter().filter_map(|call| call.output_path.as_ref()));
            Drawn {
                label: name.clone(),
                details: std::iter::once(detail).chain(path.map(|path| format!("→ {path}"))).collect(),
                look,
            }
        });
        let mut edges = Vec::new();
        for (from, node) in self.nodes.values().enumerate() {
            for next in &node.next {
                if let Some(to) = names.iter().position(|name| **name == next.to) {
                    edges.push(Edge {
                        from,
                        to,
                        label: next.when.clone().unwrap_or_default(),
                        dashed: next.when.is_some(),
                    });
                }
            }
        }
        Drawing { title: title.to_owned(), nodes: nodes.collect(), edges }
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
            for tool in request.tools.iter().filter(|tool| !is_tool(tool)) {
                fault(format!("request.tools: there is no tool `{tool}`"));
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
                Words::Made { jq } => Filter::compile(jq).err(),
            };
            if let Some(error) = wrong {
                fault(format!("words: {error}"));
            }
        }
    }
}
