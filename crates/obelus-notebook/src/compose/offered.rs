//! The inputs of the schema of an answer, and the schema.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Composed, Offer, composed};
use crate::context::Context;
use crate::message::PlanMode;
use crate::tool::Tool;

/// All inputs of the schema of an answer.
#[derive(Debug)]
pub struct Offered {
    pub(super) tools: Vec<OfferedTool>,
    pub(super) instances: Vec<String>,
    pub(super) output: Option<Value>,
}

/// A tool offered to the model.
#[derive(Debug)]
pub(super) struct OfferedTool {
    pub(super) tool: Arc<Tool>,
    /// Whether it may be called; otherwise it may be planned.
    pub(super) is_called: bool,
    /// Whether its calls contain their results.
    pub(super) brings_output: bool,
}

impl Offered {
    /// The tools of this context, filtered by `offer`, and the expected output.
    pub fn new(
        context: &Context,
        output: Option<&Value>,
        mode: PlanMode,
        offer: impl Fn(&Tool) -> Offer,
        by_model: impl Fn(&Tool) -> bool,
    ) -> Self {
        let tools = context.tools().filter_map(|tool| {
            let is_called = match offer(tool) {
                Offer::No => return None,
                Offer::Call => true,
                Offer::Plan => false,
            };
            let brings_output = is_called && mode == PlanMode::Eager && by_model(tool);
            Some(OfferedTool { tool: Arc::clone(tool), is_called, brings_output })
        });
        let instances = context.instances().iter().cloned().collect();
        Self { tools: tools.collect(), instances, output: output.cloned() }
    }

    /// The tools, in the order for the model.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter().map(|offered| &offered.tool)
    }
}

/// The schema of an answer, which is composed when it is first read: an offline model reads none.
#[derive(Clone)]
pub struct AnswerSchema(Arc<LazyLock<Composed, Box<dyn FnOnce() -> Composed + Send>>>);

impl AnswerSchema {
    /// The schema that a function composes.
    pub(crate) fn new(compose: impl FnOnce() -> Composed + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(compose))))
    }
}

impl Default for AnswerSchema {
    /// A schema that permits any answer.
    fn default() -> Self {
        Self::new(|| Composed::new(json!({}), Vec::new()))
    }
}

impl From<Offered> for AnswerSchema {
    fn from(offered: Offered) -> Self {
        Self::new(move || composed(&offered))
    }
}

impl From<Composed> for AnswerSchema {
    fn from(composed: Composed) -> Self {
        Self::new(move || composed)
    }
}

impl Deref for AnswerSchema {
    type Target = Composed;

    fn deref(&self) -> &Composed {
        &self.0
    }
}

impl fmt::Debug for AnswerSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for AnswerSchema {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Composed::serialize(self, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn different_offers_have_different_schemas() {
        let tools = json!({"a": {"type": "object"}, "b": {"type": "object", "_output": {"type": "string"}}});
        let context = |more: Value| {
            let mut messages = vec![json!({"type": "tool", "tool": tools})];
            messages.extend(more.as_array().cloned().unwrap_or_default());
            Context::from_value(messages.into()).unwrap()
        };
        let plain = context(json!([]));
        let of = |context: &Context, output: Option<&Value>, mode, offer: fn(&Tool) -> Offer, by_model: bool| {
            AnswerSchema::from(Offered::new(context, output, mode, offer, |_| by_model))
        };
        let all = |_: &Tool| Offer::Call;
        let first = of(&plain, None, PlanMode::Eager, all, true);
        assert_eq!(first.schema, of(&plain, None, PlanMode::Eager, all, true).schema);
        let same_words = context(json!([]));
        let otherwise = [
            of(&same_words, Some(&json!({"type": "string"})), PlanMode::Eager, all, true),
            of(&plain, None, PlanMode::Lazy, all, true),
            of(&plain, None, PlanMode::Eager, all, false),
            of(&plain, None, PlanMode::Eager, |tool| if tool.name == "a" { Offer::Plan } else { Offer::Call }, true),
            of(&plain, None, PlanMode::Eager, |tool| if tool.name == "a" { Offer::No } else { Offer::Call }, true),
            of(&context(json!([{"type": "state", "data": {}, "_instance": "one"}])), None, PlanMode::Eager, all, true),
            of(
                &context(json!([{"type": "tool", "tool": {"a": {"type": "object", "properties": {"n": {}}}}}])),
                None,
                PlanMode::Eager,
                all,
                true,
            ),
        ];
        for other in otherwise {
            assert_ne!(first.schema, other.schema);
        }
    }
}
