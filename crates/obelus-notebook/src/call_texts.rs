//! Names for people: of tools (`x-title`), their parameters (`x-labels`) and values (`x-names`), and a call on one line
//! with them.
//!
//! A tool declares in `x-names` where names of values are found, such as of a stage or a colleague: `{fields.STAGE_ID:
//! {in: [TOOL…], id: STATUS_ID, name: [NAME]}}`. They are looked up in those tools' results in this context, and only if
//! the tools are trusted: people trust a name more than a number, so nobody else may provide one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call_json::CallJson;
use crate::context::Context;
use crate::control_field::ControlField;
use crate::message::Message;
use crate::names::alike;
use crate::tool::{NameSource, Tool};
use crate::visible::visible;
use crate::wording::{clip, plain_text};

/// The longest line of a call.
const LONGEST_LINE: usize = 200;

/// A value and its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// The parameter, as a dotted path.
    pub place: String,
    /// The value.
    pub value: Value,
    /// Its name, escaped.
    pub name: String,
}

/// The limit of messages that are searched, latest first.
const MOST_MESSAGES: usize = 500;

/// Creates texts for people from a context, in a language as far as the tools' authors provide it.
#[derive(Clone, Copy)]
pub struct CallTexts<'a> {
    /// The context.
    pub context: &'a Context,
    /// The language.
    pub language: Option<&'a str>,
    /// Whether tools without `x-title` are named as everywhere else for people. The state and the prompts of a session
    /// have their plain names, which must stay so for its replay.
    pub has_all_titles: bool,
}

impl CallTexts<'_> {
    /// A call for people on one safe line: what is done, to what, and what is set.
    pub fn call_headline(&self, call: &CallJson) -> String {
        let Self { context, language, has_all_titles } = *self;
        let name = call.tool_name();
        let tool = context.tool(name);
        let mut line = match tool {
            Some(tool) if has_all_titles => tool.shown_title(language),
            _ => tool.and_then(|tool| tool.title(language)).unwrap_or(name).to_owned(),
        };
        let id = tool.and_then(|tool| tool.record());
        if let Some(id) = id.and_then(|id| call.get(id)) {
            line.push_str(&format!(" {}", spoken(id)));
        }
        let mut set = Vec::new();
        let is_param = |field: &str| {
            !field.starts_with('_') && !ControlField::is_in_call_of(tool.map(AsRef::as_ref), field) && Some(field) != id
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
        clip(&visible(&line), LONGEST_LINE)
    }

    /// The name of a parameter's value, if the context has it.
    pub fn name_of_value(&self, tool: &Tool, call: &Value, place: &str, value: &Value) -> Option<String> {
        let NameSource { tools: sources, id, name: parts, .. } = tool.names_of(place, value, call)?;
        // Ids as numbers and as texts of digits are equal.
        let wanted = plain_text(value);
        self.context.latest().take(MOST_MESSAGES).find_map(|message| {
            let Message::Data(data) = message else { return None };
            let by = data.output.as_ref()?.call.tool()?;
            // A record's own name is used even if it is untrusted, because its number is shown too.
            let may_name = tool.is_record(place) || self.context.tool(by).is_some_and(|tool| tool.trusted);
            if !sources.contains(&by) || !may_name {
                return None;
            }
            let whole = data.data();
            let row = find_row(&whole, &|row| row.get(id).is_some_and(|own| plain_text(own) == wanted))?;
            joined_name(row, &parts)
        })
    }

    /// The name of a call's record, from the read that shows what would change.
    pub fn name_of_record(&self, tool: &Tool, call: &Value, read: &Value) -> Option<Named> {
        let place = tool.record()?;
        let value = param_at(call, place)?;
        let NameSource { name: parts, .. } = tool.names_of(place, value, call)?;
        let row = find_row(read, &|row| parts.iter().any(|part| row.get(*part).is_some_and(Value::is_string)))?;
        let name = joined_name(row, &parts)?;
        Some(Named { place: place.to_owned(), value: value.clone(), name })
    }
}

/// The name in a record, joined from its parts and escaped. `None` if it is empty.
fn joined_name(row: &Value, parts: &[&str]) -> Option<String> {
    let parts: Vec<String> = parts.iter().filter_map(|part| row.get(*part)?.as_str()).map(visible).collect();
    let name = parts.join(" ").trim().to_owned();
    (!name.is_empty()).then_some(name)
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

/// A value for people: text without quotes, lists with commas.
fn spoken(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(spoken).collect::<Vec<_>>().join(", "),
        other => plain_text(other),
    }
}

/// The value at a dotted path; case and underscores do not matter.
pub fn param_at<'a>(value: &'a Value, place: &str) -> Option<&'a Value> {
    place.split('.').try_fold(value, |value, name| {
        value.as_object()?.iter().find(|(known, _)| alike(known, name)).map(|(_, inner)| inner)
    })
}

/// The first object, at any depth, that satisfies a condition.
fn find_row<'a>(value: &'a Value, holds: &dyn Fn(&Value) -> bool) -> Option<&'a Value> {
    match value {
        Value::Object(_) if holds(value) => Some(value),
        Value::Object(fields) => fields.values().find_map(|inner| find_row(inner, holds)),
        Value::Array(items) => items.iter().find_map(|inner| find_row(inner, holds)),
        _ => None,
    }
}
