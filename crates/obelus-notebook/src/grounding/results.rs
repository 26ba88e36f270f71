//! Rows that the user names, and ids issued by creations of this session.

use serde_json::Value;

use super::{Evidence, FoundIn, Grounding, GroundingRule, below, each_leaf};
use crate::context::{Context, named};
use crate::mention::names::word_match;
use crate::mention::text::{folded, words};
use crate::message::{Data, Message};
use crate::origin::Origin;
use crate::tool::{Effect, NameSource, Tool};

/// A row of a result.
struct ResultRow {
    id: String,
    /// Whether the id itself is trusted.
    is_trusted: bool,
    /// The parts of its name, folded.
    parts: Vec<String>,
}

impl Grounding<'_> {
    /// Finds the id of a row that the user named: all words of a part of its name occur one after another in a message
    /// of the user, and at least one of them matches this row's name better than any other row's.
    pub(super) fn named_row(&self, value: &Value, names: &NameSource<'_>) -> Option<Evidence> {
        let wanted = id(value)?;
        let (own, others): (Vec<ResultRow>, Vec<ResultRow>) =
            self.rows(names).into_iter().partition(|row| row.id == wanted);
        let others: Vec<&str> =
            others.iter().flat_map(|row| &row.parts).flat_map(|part| words(part).map(|(_, word)| word)).collect();
        let parts = || own.iter().filter(|row| row.is_trusted).flat_map(|row| &row.parts);
        let found = self.index.user_texts(self.instance).find(|message| {
            parts().flat_map(|part| message.mentions(part)).any(|mention| {
                // A word that matches two rows equally well does not distinguish them.
                let tells_apart = |(word, own): &(&str, _)| {
                    others.iter().all(|other| word_match(word, other).is_none_or(|theirs| theirs < *own))
                };
                mention.iter().any(tells_apart)
            })
        });
        found.map(|message| Evidence::new(GroundingRule::C, message.place))
    }

    /// Finds a value issued by a creation of this session. If the parameter has a source of names, only its tools
    /// count.
    pub(super) fn created(&self, value: &Value, names: Option<&NameSource<'_>>) -> Option<Evidence> {
        let wanted = id(value)?;
        let is_meant = |tool: &Tool| names.is_none_or(|names| names.tools.contains(&tool.name.as_str()));
        let length = self.context.length();
        let since = self.context.latest().take(length.saturating_sub(self.base));
        let mut numbered = since.enumerate().map(|(back, message)| (length - 1 - back, message));
        numbered.find_map(|(index, message)| {
            let (data, tool, result) = self.result_of(message)?;
            // Only results of the tool itself have parts; its errors and side writes do not.
            if tool.effect != Effect::Create || data.parts.is_none() || !is_meant(tool) {
                return None;
            }
            let mut issued = Vec::new();
            tool.issued.iter().for_each(|path| named(result, Vec::new(), path, &mut issued));
            let mut is_issued = false;
            for (_, part) in issued {
                each_leaf("", part, &mut |_, leaf| is_issued |= id(leaf).as_ref() == Some(&wanted));
            }
            is_issued.then(|| Evidence::new(GroundingRule::D, FoundIn::Message(index)))
        })
    }

    /// The rows in results of tools whose id the parameter's value may be.
    fn rows(&self, names: &NameSource<'_>) -> Vec<ResultRow> {
        let mut rows = Vec::new();
        for message in self.context.latest() {
            let Some((data, tool, result)) = self.result_of(message) else { continue };
            if names.tools.contains(&tool.name.as_str()) {
                find_rows("", result, names, &|path| is_trusted_at(data, path), &mut rows);
            }
        }
        rows
    }

    /// The result of a tool in a message that this instance sees. Errors, and results of the model or of a delegate, do
    /// not count.
    fn result_of<'m>(&self, message: &'m Message) -> Option<(&'m Data, &Tool, &'m Value)> {
        let Message::Data(data) = message else { return None };
        let name = data.output.as_ref()?.call.tool()?;
        let is_visible = data.instance.is_none() || data.instance.as_deref() == self.instance;
        if data.is_error() || !is_visible {
            return None;
        }
        let is_own = |origin: &Origin| matches!(origin, Origin::Tool { name: own, .. } if own.as_ref() == name);
        let tool = self.context.tool(name)?;
        data.all_sources().iter().any(is_own).then_some((data, tool, data.operation().2?))
    }
}

/// Whether the value at a dotted path of a result is trusted.
fn is_trusted_at(data: &Data, path: &str) -> bool {
    let parts = data.parts.iter().flat_map(|parts| parts.iter()).rev();
    match parts.into_iter().find(|(upper, _)| crate::tool::lies_within(path, upper)) {
        Some((_, origins)) => origins.is_trusted(),
        None => data.sources().is_trusted(),
    }
}

/// Finds all objects with an id, at any depth.
fn find_rows(
    path: &str,
    value: &Value,
    names: &NameSource<'_>,
    is_trusted: &dyn Fn(&str) -> bool,
    rows: &mut Vec<ResultRow>,
) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| find_rows(path, item, names, is_trusted, rows)),
        Value::Object(fields) => {
            if let Some(id) = fields.get(names.id).and_then(id) {
                let part = |field: &&str| fields.get(*field).and_then(Value::as_str).map(folded);
                let parts = names.name.iter().filter_map(part).collect();
                rows.push(ResultRow { id, is_trusted: is_trusted(&below(path, names.id)), parts });
            }
            fields.iter().for_each(|(name, inner)| find_rows(&below(path, name), inner, names, is_trusted, rows));
        }
        _ => {}
    }
}

/// An id as text. Ids as numbers and as texts of digits are equal.
fn id(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The ids of the latest list in a result of a tool that contains the value as a trusted id.
pub fn list_with(context: &Context, names: &NameSource<'_>, value: &Value) -> Option<Vec<Value>> {
    let wanted = id(value)?;
    context.latest().find_map(|message| {
        let Message::Data(data) = message else { return None };
        let by = data.output.as_ref()?.call.tool()?;
        if data.is_error() || !names.tools.contains(&by) {
            return None;
        }
        find_list("", data.operation().2?, names.id, &wanted, &|path| is_trusted_at(data, path))
    })
}

fn find_list(
    path: &str,
    value: &Value,
    field: &str,
    wanted: &str,
    is_trusted: &dyn Fn(&str) -> bool,
) -> Option<Vec<Value>> {
    match value {
        Value::Array(rows) => {
            let ids: Vec<Value> = rows.iter().filter_map(|row| row.get(field).cloned()).collect();
            let has_it = ids.iter().any(|own| id(own).as_deref() == Some(wanted));
            (has_it && is_trusted(&below(path, field))).then_some(ids)
        }
        Value::Object(fields) => {
            fields.iter().find_map(|(name, inner)| find_list(&below(path, name), inner, field, wanted, is_trusted))
        }
        _ => None,
    }
}
