//! The input of a graph's filters, and the texts and edges they choose.

use serde_json::{Value, json};

use crate::context::Context;
use crate::expr::Expr;
use crate::session::Session;
use crate::session::input::CallError;
use obelus_notebook::jq::Read;
use obelus_notebook::steps::{Next, StartAt, StepText};

/// The text at a reference.
pub(super) fn text_at(reference: &str, context: &Context) -> Result<String, String> {
    let expr = Expr::parse(reference).map_err(|fault| fault.text)?;
    match context.resolve(&expr, None).as_deref() {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(format!("{reference} is {}, not a text", crate::type_name(other))),
        None => Err(format!("{reference} has no value")),
    }
}

/// The node where a turn begins.
pub(super) fn start(start: &StartAt, input: impl FnOnce() -> Read) -> Result<String, String> {
    match start {
        StartAt::Node(name) => Ok(name.clone()),
        StartAt::Ways(ways) => next_node(ways, input),
    }
}

/// The next node: the target of the first edge whose predicate holds. The input is computed only if there is a predicate.
pub(super) fn next_node(ways: &[Next], input: impl FnOnce() -> Read) -> Result<String, String> {
    let input = std::cell::LazyCell::new(input);
    for edge in ways {
        let holds = match &edge.when {
            None => true,
            Some(filter) => !matches!(filter.one(&input)?, Value::Null | Value::Bool(false)),
        };
        if holds {
            return Ok(edge.to.clone());
        }
    }
    Err("no way leads out".to_owned())
}

impl Session {
    /// A text for people. It may include the reason why a turn ended.
    pub(super) fn step_text(&self, text: &StepText, reason: Option<&CallError>) -> Result<String, String> {
        match text {
            StepText::Text(text) if text.starts_with('†') => text_at(text, self.context()),
            StepText::Text(text) => Ok(text.clone()),
            StepText::Made { jq } => match jq.one(&self.filter_input(reason))? {
                Value::String(text) => Ok(text),
                other => Ok(other.to_string()),
            },
        }
    }

    /// The input of filters: the folded kinds and the counters.
    pub(super) fn filter_input(&self, reason: Option<&CallError>) -> Read {
        let context = self.context();
        let kinds = context.views().filter_map(|(kind, view)| Some((kind, Read::new(&*view.read(&[], None)?))));
        let run = self.graph.as_ref().map(|run| run.filter_input(self.turn.calls().0));
        let user = context.last_user_text().map(|text| text.text.as_str());
        let others = [
            ("user", Read::new(&user.into())),
            ("language", Read::new(&self.settings.language.as_deref().into())),
            ("reason", Read::new(&json!(reason))),
        ];
        Read::of_fields(kinds.chain(run.into_iter().flatten()).chain(others))
    }
}
