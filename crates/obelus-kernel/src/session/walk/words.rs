//! What the filters of a graph see, and the words that are made of it.

use serde_json::{Value, json};

use super::{Session, Walk};
use crate::expr::Expr;
use crate::jq::Read;
use crate::session::input::CallError;
use crate::steps::{Next, Words};

impl Session {
    pub(super) fn text_at(&self, reference: &str) -> Result<String, String> {
        let expr = Expr::parse(reference).map_err(|fault| fault.text)?;
        match self.context.resolve(&expr, None).as_deref() {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(format!("{reference} is {}, not a text", crate::type_name(other))),
            None => Err(format!("{reference} has no value")),
        }
    }

    /// Words for a person. Where a turn was ended, they may say why.
    pub(super) fn words(&self, words: &Words, reason: Option<&CallError>) -> Result<String, String> {
        match words {
            Words::Text(text) if text.starts_with('†') => self.text_at(text),
            Words::Text(text) => Ok(text.clone()),
            Words::Made { jq } => match jq.one(&self.filter_input(reason))? {
                Value::String(text) => Ok(text),
                other => Ok(other.to_string()),
            },
        }
    }

    /// Where the first way leads whose predicate holds.
    pub(super) fn way(&self, ways: &[Next]) -> Result<String, String> {
        let mut input = None;
        for way in ways {
            let holds = match &way.when {
                None => true,
                Some(filter) => {
                    let input = input.get_or_insert_with(|| self.filter_input(None));
                    !matches!(filter.one(input)?, Value::Null | Value::Bool(false))
                }
            };
            if holds {
                return Ok(way.to.clone());
            }
        }
        Err("no way leads out".to_owned())
    }

    /// What filters see: the folded kinds and the counters.
    fn filter_input(&self, reason: Option<&CallError>) -> Read {
        let kinds = self.context.views().filter_map(|(kind, view)| Some((kind, view.for_filters()?.clone())));
        let walk = self.walk.as_ref().map(|Walk { at, .. }| {
            let counters =
                json!({"steps": at.steps, "calls": self.turn.calls, "visits": at.visits, "failed": at.failed});
            let calls = at.calls.iter().map(|(node, call)| (node.as_str(), Read::new(call)));
            [("counters", Read::new(&counters)), ("last", Read::new(&at.last)), ("calls", Read::of_fields(calls))]
        });
        let user = self.context.last_user_text().map(|text| text.text.as_str());
        let others = [
            ("user", Read::new(&user.into())),
            ("language", Read::new(&self.settings.language.as_deref().into())),
            ("reason", Read::new(&json!(reason))),
        ];
        Read::of_fields(kinds.chain(walk.into_iter().flatten()).chain(others))
    }
}
