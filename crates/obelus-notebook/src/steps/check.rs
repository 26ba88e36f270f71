//! Checks a graph of steps.

use super::{CallNode, FaultyNode, Next, NodeForm, RequestNode, StartAt, StepNode, StepText, Steps};
use crate::expr::{Expr, OutputPath};

const END_WITH_NEXT: &str = "an end has no `next`";

/// An error of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFault {
    /// The field of the graph, such as `nodes.ask` or `start[0].when`.
    pub field: String,
    /// What is wrong, with the field.
    pub text: String,
}

impl StepFault {
    fn new(field: &str, text: &str) -> Self {
        Self { field: field.to_owned(), text: format!("{field}: {text}") }
    }
}

impl Steps {
    /// All errors of the graph, each with its node.
    pub fn check(&self, is_tool: impl Fn(&str) -> bool) -> Vec<StepFault> {
        let mut faults = Vec::new();
        match &self.start {
            StartAt::Node(name) if !self.nodes.contains_key(name) => {
                faults.push(StepFault::new("start", &format!("there is no node `{name}`")));
            }
            StartAt::Node(_) => {}
            StartAt::Ways(ways) => self.check_ways("start", ways, &mut |fault| faults.push(fault)),
        }
        for (field, name) in self.forced_ends() {
            match self.nodes.get(name) {
                None => faults.push(StepFault::new(field, &format!("there is no node `{name}`"))),
                Some(node) if node.end().is_none() => {
                    faults.push(StepFault::new(field, &format!("`{name}` is no end")));
                }
                Some(_) => {}
            }
        }
        for (name, node) in &self.nodes {
            let mut fault = |text: String| faults.push(StepFault::new(&format!("nodes.{name}"), &text));
            let form = NodeForm::from(node.clone());
            form.check(&is_tool, &mut fault);
            match &form.end {
                None => self.check_ways("next", &form.next, &mut |inner| fault(inner.text)),
                Some(_) if !form.next.is_empty() => fault(END_WITH_NEXT.to_owned()),
                Some(_) => {}
            }
        }
        let reached = self.reached();
        for name in self.nodes.keys().filter(|name| !reached.contains(&name.as_str())) {
            faults.push(StepFault::new(&format!("nodes.{name}"), "no way leads here"));
        }
        faults
    }

    fn check_ways(&self, field: &str, ways: &[Next], fault: &mut impl FnMut(StepFault)) {
        match ways.last() {
            None => {
                let text = format!("`{field}` is missing: where does it go from here?");
                fault(StepFault { field: field.to_owned(), text });
            }
            Some(last) if last.when.is_some() => {
                fault(StepFault::new(field, "the last way has no `when`, so that there is always one"));
            }
            Some(_) => {}
        }
        for (index, way) in ways.iter().enumerate() {
            let field = format!("{field}[{index}]");
            if !self.nodes.contains_key(&way.to) {
                fault(StepFault::new(&field, &format!("there is no node `{}`", way.to)));
            }
            match &way.when {
                Some(filter) => {
                    if let Err(error) = filter.compiled() {
                        fault(StepFault::new(&format!("{field}.when"), &error));
                    }
                }
                None if index + 1 < ways.len() => {
                    fault(StepFault::new(&field, "without `when`, what follows is never looked at"));
                }
                None => {}
            }
        }
    }

    /// The ends that a turn reaches without a way to them, each with the field that names it.
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

impl FaultyNode {
    /// Why the node cannot run.
    pub fn why(&self) -> String {
        self.0.fault_of_kind().unwrap_or_else(|| END_WITH_NEXT.to_owned())
    }
}

impl NodeForm {
    /// The error of a node that does not have exactly one kind.
    fn fault_of_kind(&self) -> Option<String> {
        let kinds = [
            ("request", self.request.is_some()),
            ("call", self.call.is_some()),
            ("ask", self.ask.is_some()),
            ("end", self.end.is_some()),
        ];
        let named: Vec<&str> = kinds.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
        let found = match named[..] {
            [_] => return None,
            [] => "none".to_owned(),
            _ => named.join(" and "),
        };
        Some(format!("a node is one of request, call, ask and end; this one is {found}"))
    }

    fn check(&self, is_tool: &impl Fn(&str) -> bool, fault: &mut impl FnMut(String)) {
        self.fault_of_kind().into_iter().for_each(&mut *fault);
        if let Some(Err(error)) = self.output_path.as_deref().map(OutputPath::parse) {
            fault(format!("_outputPath: {}", error.text));
        }
        if let Some(request) = &self.request {
            if self.output_path.is_none() {
                fault("`_outputPath` is missing: where does the output go?".to_owned());
            }
            request.check(is_tool, fault);
        }
        if let Some(call) = &self.call {
            call.check(is_tool, fault);
        }
        let words = self.ask.iter().map(|ask| &ask.question);
        words.chain(self.end.iter().filter_map(|end| end.reply.as_ref())).for_each(|words| words.check(fault));
    }
}

impl RequestNode {
    fn check(&self, is_tool: &impl Fn(&str) -> bool, fault: &mut impl FnMut(String)) {
        // Tools that match a pattern may come from a server when a session begins.
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
        if let Err(error) = crate::template::Template::parse(&self.params) {
            fault(format!("call.params: {}", error.words()));
        }
    }
}

impl StepText {
    fn check(&self, fault: &mut impl FnMut(String)) {
        let wrong = match self {
            StepText::Text(text) if text.starts_with('†') => Expr::parse(text).err().map(|error| error.text),
            StepText::Text(_) => None,
            StepText::Made { jq } => jq.compiled().err(),
        };
        if let Some(error) = wrong {
            fault(format!("words: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A graph whose node `b` has several kinds, and leads to `c`.
    fn faulty() -> Steps {
        let graph = json!({
            "start": "b",
            "nodes": {
                "b": {
                    "call": {"_tool": "nosuch"}, "end": {"name": "done", "reply": "†"},
                    "_outputPath": "†", "next": [{"to": "c"}],
                },
                "c": {"end": {"name": "done"}},
            },
        });
        serde_json::from_value(graph).unwrap()
    }

    #[test]
    fn every_part_of_a_node_with_several_kinds_is_checked() {
        let faults = faulty().check(|_| false);
        let has = |words: &str| faults.iter().any(|fault| fault.field == "nodes.b" && fault.text.contains(words));
        for words in ["this one is call and end", "_outputPath: ", "no tool `nosuch`", "words: ", END_WITH_NEXT] {
            assert!(has(words), "{words} in {faults:?}");
        }
        assert!(!faults.iter().any(|fault| fault.field == "nodes.c"), "its ways are followed: {faults:?}");
    }

    #[test]
    fn an_invalid_node_is_written_back_unchanged() {
        let written = serde_json::to_value(faulty()).unwrap();
        assert_eq!(written["nodes"]["b"]["call"]["_tool"], "nosuch");
        assert_eq!(written["nodes"]["b"]["next"], json!([{"when": null, "to": "c"}]));
    }
}
