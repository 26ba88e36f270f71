//! Tests of every part of the rule, with values that are found and values that are not.

mod creations;
mod letters;

use serde_json::{Value, json};

use super::*;

/// A context with one message of the user, these tools, and these results.
struct Memory {
    context: Context,
    index: GroundIndex,
    base: usize,
}

impl Memory {
    fn new(text: &str, tools: Value, results: Vec<Value>) -> Self {
        let mut messages = vec![json!({"role": "user", "text": text}), json!({"type": "tool", "tool": tools})];
        let base = messages.len();
        messages.extend(results);
        Self::of(messages, base)
    }

    fn of(messages: Vec<Value>, base: usize) -> Self {
        let context = Context::from_value(Value::Array(messages)).expect("the context is accepted");
        let mut index = GroundIndex::default();
        index.catch_up(&context, &[]);
        Self { context, index, base }
    }

    /// A context with the user's message only.
    fn words(text: &str) -> Self {
        Self::new(text, json!({"t": {"properties": {"p": {}}}}), Vec::new())
    }

    fn grounding(&self) -> Grounding<'_> {
        Grounding { context: &self.context, index: &self.index, base: self.base, instance: None }
    }

    fn tool(&self, name: &str) -> &Tool {
        self.context.tool(name).expect("the tool is there")
    }

    /// The tool `t`, without parameters that determine a kind of record.
    fn callee(&self) -> Callee<'_> {
        Callee { tool: self.tool("t"), params: &Value::Null }
    }

    /// The evidence for a value of the parameter `p` of the tool `t`; none if it is not grounded or is empty.
    fn found(&self, value: &Value) -> Option<Evidence> {
        let mut found = Vec::new();
        let is_grounded = self.grounding().collect_evidence(self.callee(), "p", value, &[], &mut found);
        found.into_iter().next().filter(|_| is_grounded).map(|one| one.found)
    }

    fn letter(&self, value: &Value) -> Option<GroundingRule> {
        self.found(value).map(|found| found.by)
    }
}

/// A result of a tool, with its labels.
fn result(tool: &str, labels: &[&str], value: Value) -> Value {
    let call = json!({"_tool": tool, "_outputPath": "†state.r"});
    json!({"type": "state", "data": {"r": value}, "_call": call, "_outputPath": "†state.r", "_labels": labels})
}

/// A result of a tool, with its labels and those of its parts.
fn result_with_parts(tool: &str, labels: &[&str], parts: Value, value: Value) -> Value {
    let mut message = result(tool, labels, value);
    message["_partLabels"] = parts;
    message
}
