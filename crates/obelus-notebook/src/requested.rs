//! Values that a running call requests of a person, from the schema of the answer.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::quote::{json, word};
use crate::schema::{compile, properties, required};
use crate::visible::visible;
use crate::wording::{clip, type_name};

/// The limit of characters of a field.
const MOST_OF_FIELD: usize = 300;

/// The limits of requested values, and of bytes of their schema.
const MOST_FIELDS: usize = 50;
const MOST_SCHEMA: usize = 20_000;

/// A value that a call requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: RequestedKind,
    /// Whether it may be left out.
    pub is_optional: bool,
    /// The call's own texts about it, each after a mark.
    pub own_texts: String,
}

/// The type of a requested value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestedKind {
    /// One of the listed values.
    OneOf(String),
    /// Several of the listed values.
    ListOf(String),
    /// A value of a type.
    Value {
        /// The type, as in its schema.
        name: Option<String>,
        /// The format, as in its schema.
        format: Option<String>,
        /// The suggested value.
        suggested: Option<String>,
    },
}

/// The fields of an answer that is an object.
pub fn fields_of(schema: &Value) -> Option<&Map<String, Value>> {
    properties(schema)
}

/// The values that an answer has.
pub fn requested(schema: &Value) -> impl Iterator<Item = RequestedField> {
    let is_required = |name: &str| required(schema).any(|one| one == name);
    fields_of(schema).into_iter().flatten().map(move |(name, field)| {
        let texts = ["title", "description"].iter().filter_map(|part| field[part].as_str());
        let own = texts.map(|text| format!(" │ {}", visible(&clip(text, MOST_OF_FIELD))));
        let (name, is_optional) = (word(name).to_string(), !is_required(name));
        RequestedField { name, kind: RequestedKind::of(field), is_optional, own_texts: own.collect() }
    })
}

/// Why a person cannot be asked for an answer with this schema.
pub fn fault_of_schema(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some(format!("the schema of an answer is an object, not {}", type_name(schema)));
    }
    if schema.to_string().len() > MOST_SCHEMA || fields_of(schema).is_some_and(|fields| fields.len() > MOST_FIELDS) {
        let text = format!("more is asked for than {MOST_FIELDS} values, or {MOST_SCHEMA} bytes of schema");
        return Some(text);
    }
    if crate::message::depth(schema) >= crate::path::MAX_DEPTH {
        return Some("the schema of an answer is nested too deep".to_owned());
    }
    compile(schema).err().map(|why| format!("the schema of an answer is not valid: {why}"))
}

/// A single value need not be wrapped, and a single text not quoted.
pub fn fitted(value: Value, schema: &Value) -> Value {
    let mut fields = fields_of(schema).into_iter().flatten();
    match (fields.next(), fields.next()) {
        (Some((name, only)), None) if !value.is_object() => {
            let value = match &value {
                Value::Number(_) | Value::Bool(_) if only["type"] == "string" => value.to_string().into(),
                _ => value,
            };
            Map::from_iter([(name.clone(), value)]).into()
        }
        _ => value,
    }
}

impl fmt::Display for RequestedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let need = if self.is_optional { ", may be left out" } else { "" };
        write!(f, "  {}: {}{need}{}", self.name, self.kind, self.own_texts)
    }
}

impl RequestedKind {
    fn of(field: &Value) -> Self {
        let one_of = |field: &Value| {
            let named = |part: &str| field[part].as_array().cloned().unwrap_or_default();
            let mut choices = named("enum");
            choices.extend(named("oneOf").iter().chain(&named("anyOf")).filter_map(|one| one.get("const").cloned()));
            choices
        };
        let (choices, several) = match one_of(field) {
            own if !own.is_empty() => (own, false),
            _ => (one_of(&field["items"]), true),
        };
        if !choices.is_empty() {
            let listed = clip(&choices.iter().map(json).collect::<Vec<_>>().join(", "), MOST_OF_FIELD);
            return if several { RequestedKind::ListOf(listed) } else { RequestedKind::OneOf(listed) };
        }
        RequestedKind::Value {
            name: field["type"].as_str().map(visible),
            format: field["format"].as_str().map(|format| visible(&cut(format, 40))),
            suggested: field.get("default").map(|default| cut(&json(default), MOST_OF_FIELD)),
        }
    }
}

impl fmt::Display for RequestedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestedKind::OneOf(choices) => write!(f, "one of {choices}"),
            RequestedKind::ListOf(choices) => write!(f, "a list of {choices}"),
            RequestedKind::Value { name, format, suggested } => {
                f.write_str(name.as_deref().unwrap_or("a value"))?;
                format.as_ref().map_or(Ok(()), |format| write!(f, " ({format})"))?;
                suggested.as_ref().map_or(Ok(()), |value| write!(f, ", {value} is suggested"))
            }
        }
    }
}

/// The first `most` characters.
fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
