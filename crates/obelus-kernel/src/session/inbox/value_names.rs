//! Names of a call's values: of a stage, of a colleague.
//!
//! A tool declares in `x-names` where names are found: `{fields.STAGE_ID: {in: [TOOL…], id: STATUS_ID, name:
//! [NAME]}}`. They are looked up in those tools' results in this session, and only if the tools are trusted: people
//! trust a name more than a number, so nobody else may provide one.

use obelus_notebook::call_fields::CallFields as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::naming::CallTexts;
use super::question::{About, Question};
use crate::message::Message;
use crate::names::alike;
use crate::tool::{NameSource, Tool};
use crate::visible::visible;

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

impl CallTexts<'_> {
    /// The name of a parameter's value, if this session knows it.
    pub(in crate::session) fn name_of_value(
        &self,
        tool: &Tool,
        call: &Value,
        place: &str,
        value: &Value,
    ) -> Option<String> {
        let NameSource { tools: sources, id, name: parts, .. } = tool.names_of(place, value, call)?;
        let wanted = text(value);
        self.context.latest().take(MOST_MESSAGES).find_map(|message| {
            let Message::Data(data) = message else { return None };
            let by = data.output.as_ref()?.call.tool()?;
            // A record's own name is used even if it is untrusted, because its number is shown too.
            let may_name = tool.is_record(place) || self.context.tool(by).is_some_and(|tool| tool.trusted);
            if !sources.contains(&by) || !may_name {
                return None;
            }
            let whole = data.data();
            let row = find_row(&whole, &|row| row.get(id).is_some_and(|own| text(own) == wanted))?;
            let name: Vec<String> = parts.iter().filter_map(|part| row.get(*part)?.as_str()).map(visible).collect();
            let name = name.join(" ").trim().to_owned();
            (!name.is_empty()).then_some(name)
        })
    }

    /// The name of a call's record, from the read that shows what would change.
    pub(in crate::session) fn name_of_record(&self, tool: &Tool, call: &Value, read: &Value) -> Option<Named> {
        let place = tool.record()?;
        let value = at(call, place)?;
        let NameSource { name: parts, .. } = tool.names_of(place, value, call)?;
        let row = find_row(read, &|row| parts.iter().any(|part| row.get(*part).is_some_and(Value::is_string)))?;
        let name: Vec<String> = parts.iter().filter_map(|part| row.get(*part)?.as_str()).map(visible).collect();
        let name = name.join(" ").trim().to_owned();
        (!name.is_empty()).then(|| Named { place: place.to_owned(), value: value.clone(), name })
    }

    /// The names of the values in a question.
    pub(in crate::session) fn names_in(&self, question: &Question) -> Vec<Named> {
        let mut named: Vec<Named> = Vec::new();
        let asked = question.calls.iter().enumerate().filter(|_| question.about == About::Call);
        for (index, asked) in asked {
            let Some(tool) = asked.call.tool().and_then(|name| self.context.tool(name)) else { continue };
            let places = tool.schema.get("x-names").and_then(Value::as_object).into_iter().flatten();
            for (place, _) in places {
                let last = place.rsplit('.').next().unwrap_or(place);
                let changes = question.changes.iter().filter(|change| change.call == index);
                let changes = changes.filter(|change| alike(&change.field, last));
                let own = at(&asked.call, place).into_iter();
                for value in own.chain(changes.filter_map(|change| change.before.as_ref())) {
                    let is_known = named.iter().any(|known| known.place == *place && known.value == *value);
                    if let Some(name) = self.name_of_value(tool, &asked.call, place, value).filter(|_| !is_known) {
                        named.push(Named { place: place.clone(), value: value.clone(), name });
                    }
                }
            }
        }
        named
    }
}

/// The value at a dotted path; case and underscores do not matter.
fn at<'a>(value: &'a Value, place: &str) -> Option<&'a Value> {
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

/// Ids as numbers and as texts of digits are equal.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
