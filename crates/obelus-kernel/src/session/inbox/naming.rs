//! Names for people: of tools (`x-title`) and their parameters (`x-labels`), in the session's language, and a call on
//! one line with them.

use obelus_notebook::call_fields::CallFields as _;
use obelus_words::Language;
use serde_json::Value;

use super::question::{About, Question};
use crate::call::ASIDES;
use crate::context::Context;
use crate::visible::visible;

/// The longest line of a call.
const LONGEST_LINE: usize = 200;

/// The session's own reasons for people.
#[derive(Clone, Copy)]
pub(in crate::session) enum SessionReason {
    /// A question expired.
    Lapsed,
    /// The user declined in a message, without a reason.
    Declined,
    /// A person left the call out of a plan.
    LeftOut,
    /// The call was denied before, and not requested again.
    DeniedBefore,
    /// The user continued with another message while something was open.
    WentOn,
    /// The turn was stopped while something was open.
    Stopped,
    /// The agent's file no longer has the call's tool.
    ToolRemoved,
    /// The call does not fit its tool since the agent's file has changed.
    ToolChanged,
}

impl SessionReason {
    /// The text from the table. Journals contain it: the choice of Russian must not change.
    pub(in crate::session) fn words(self, language: Option<&str>) -> &'static str {
        let is_russian = language.is_some_and(|language| language.starts_with("ru"));
        let words = &if is_russian { Language::Russian } else { Language::English }.words().session;
        match self {
            SessionReason::Lapsed => words.lapsed,
            SessionReason::Declined => words.declined,
            SessionReason::LeftOut => words.left_out,
            SessionReason::DeniedBefore => words.denied_before,
            SessionReason::WentOn => words.went_on,
            SessionReason::Stopped => words.stopped,
            SessionReason::ToolRemoved => words.tool_removed,
            SessionReason::ToolChanged => words.tool_changed,
        }
    }
}

/// Creates texts for people from a context, in a language as far as the tools' authors provide it.
#[derive(Clone, Copy)]
pub(in crate::session) struct CallTexts<'a> {
    pub(in crate::session) context: &'a Context,
    pub(in crate::session) language: Option<&'a str>,
}

impl CallTexts<'_> {
    /// A call for people on one safe line: what is done, to what, and what is set.
    pub(in crate::session) fn call_headline(&self, call: &Value) -> String {
        let Self { context, language } = *self;
        let name = call.tool_name();
        let tool = context.tool(name);
        let mut line = tool.and_then(|tool| tool.title(language)).unwrap_or(name).to_owned();
        let entity = tool.and_then(|tool| tool.schema.get("x-entity"));
        let id = entity.and_then(|entity| entity["id"].as_str());
        if let Some(id) = id.and_then(|id| call.get(id)) {
            line.push_str(&format!(" {}", spoken(id)));
        }
        let mut set = Vec::new();
        let is_param = |field: &str| {
            let is_aside = ASIDES.contains(&field) && tool.is_none_or(|tool| tool.param(field).is_none());
            !field.starts_with('_') && !is_aside && Some(field) != id
        };
        for (field, value) in call.as_object().into_iter().flatten().filter(|(field, _)| is_param(field)) {
            gather(field, value, &mut |path, value| {
                let name = tool.and_then(|tool| tool.label(path, language)).unwrap_or(path);
                let known = tool.and_then(|tool| self.name_of_value(tool, call, path, value));
                set.push(format!("{name}: {}", known.unwrap_or_else(|| spoken(value))));
            });
        }
        if !set.is_empty() {
            line.push_str(&format!(" ({})", set.join(", ")));
        }
        let line = visible(&line);
        match line.char_indices().nth(LONGEST_LINE) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    /// The subject of a question, on one line.
    pub(in crate::session) fn headline(&self, question: &Question) -> String {
        if let Some(words) = &question.headline {
            return words.clone();
        }
        match (question.about, question.calls.as_slice()) {
            // A server's own text is not a headline.
            (About::Call | About::InDoubt | About::Input, [asked]) => self.call_headline(&asked.call),
            (About::Call | About::Plan, [first, ..]) => {
                format!("{} … ({})", self.call_headline(&first.call), question.calls.len())
            }
            _ => question.description.lines().next().unwrap_or_default().to_owned(),
        }
    }
}

/// Visits every value below, with its path; lists of plain values count as one.
fn gather(path: &str, value: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                gather(&format!("{path}.{name}"), value, visit);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for item in items {
                gather(path, item, visit);
            }
        }
        other => visit(path, other),
    }
}

fn spoken(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(spoken).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
