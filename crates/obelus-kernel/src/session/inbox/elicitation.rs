//! Elicitations: a running call asks a person, such as a server that needs a value.
//!
//! An elicitation becomes a question, whose text names its source. The call keeps waiting; only it gets the answer.
//! When the call ends, its open elicitations are closed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::origin::Origins;
use crate::policy::mark;
use crate::quote::{json, word};
use crate::session::Refused;
use crate::session::ids::{CallId, JobRef};
use crate::session::input::Decision;
use crate::session::output::ElicitationAnswer;
use crate::visible::visible;

/// The call that asks, and its key of the question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::session) struct Elicitation {
    pub(in crate::session) job: JobRef,
    /// The driver's id of the call.
    pub(in crate::session) call: CallId,
    pub(in crate::session) key: String,
}

/// What a call asks.
pub(in crate::session) struct ElicitationRequest {
    pub(in crate::session) key: String,
    pub(in crate::session) words: String,
    pub(in crate::session) schema: Value,
}

/// The limits of characters of a call's text, and of a field.
const MOST_WORDS: usize = 4_000;
const MOST_OF_FIELD: usize = 300;

/// The limits of requested values, and of bytes of their schema.
const MOST_FIELDS: usize = 50;
const MOST_SCHEMA: usize = 20_000;

/// The call's answer from a decision; refused if it does not fit the schema.
pub(in crate::session) fn check_answer(decision: Decision, schema: &Value) -> Result<ElicitationAnswer, Refused> {
    let value = match decision {
        Decision::Deny { reason } => return Ok(ElicitationAnswer::Declined { reason }),
        Decision::Value { value } => fitted(value, schema),
        // If nothing is to be filled in, approval is the only answer.
        Decision::Approve { only: None } if fields_of(schema).is_none_or(Map::is_empty) => Value::Object(Map::new()),
        _ => {
            let text = "a call asks for a value: answer with a value, or deny it";
            return Err(Refused::new("unfit_answer", text));
        }
    };
    if let Ok(validator) = crate::schema::compile(schema)
        && let Some(breach) = crate::schema::breaches(&validator, &value).into_iter().next()
    {
        return Err(Refused::breach("bad_answer", breach));
    }
    Ok(ElicitationAnswer::Value(value))
}

/// Why a person cannot be asked for an answer with this schema.
pub(in crate::session) fn fault_of_schema(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some(format!("the schema of an answer is an object, not {}", crate::type_name(schema)));
    }
    if schema.to_string().len() > MOST_SCHEMA || fields_of(schema).is_some_and(|fields| fields.len() > MOST_FIELDS) {
        let text = format!("more is asked for than {MOST_FIELDS} values, or {MOST_SCHEMA} bytes of schema");
        return Some(text);
    }
    if crate::message::depth(schema) >= crate::path::MAX_DEPTH {
        return Some("the schema of an answer is nested too deep".to_owned());
    }
    crate::schema::compile(schema).err().map(|why| format!("the schema of an answer is not valid: {why}"))
}

/// The fields of an answer that is an object.
fn fields_of(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// A single value need not be wrapped, and a single text not quoted.
fn fitted(value: Value, schema: &Value) -> Value {
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

/// The text for a person: who asks, its own text with each line marked, and the requested values.
pub(in crate::session) fn describe_elicitation(tool: &str, words: &str, schema: &Value, origins: &Origins) -> String {
    let mut lines = vec![format!("{} asks, in its own words:{}", visible(tool), mark(origins))];
    let (words, cut) = cut(words, MOST_WORDS);
    lines.extend(words.lines().map(|line| format!("  │ {}", visible(line))));
    if cut {
        lines.push(format!("  (only the first {MOST_WORDS} characters are shown)"));
    }
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    for (name, field) in fields_of(schema).into_iter().flatten() {
        let need = if required(name) { "" } else { ", may be left out" };
        let mut line = format!("  {}: {}{need}", word(name), kind_of(field));
        let texts = ["title", "description"].iter().filter_map(|part| field[part].as_str());
        for text in texts {
            let (text, cut) = self::cut(text, MOST_OF_FIELD);
            line.push_str(&format!(" │ {}{}", visible(&text), if cut { "…" } else { "" }));
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// The type of a value, in a few words.
fn kind_of(field: &Value) -> String {
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
        let (listed, cut) = cut(&choices.iter().map(json).collect::<Vec<_>>().join(", "), MOST_OF_FIELD);
        let how = if several { "a list of" } else { "one of" };
        return format!("{how} {listed}{}", if cut { "…" } else { "" });
    }
    let mut kind = field["type"].as_str().map_or_else(|| "a value".to_owned(), visible);
    if let Some(format) = field["format"].as_str() {
        kind.push_str(&format!(" ({})", visible(&cut(format, 40).0)));
    }
    if let Some(default) = field.get("default") {
        kind.push_str(&format!(", {} is suggested", cut(&json(default), MOST_OF_FIELD).0));
    }
    kind
}

/// The first `most` characters, and whether there are more.
fn cut(text: &str, most: usize) -> (String, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text.to_owned(), false),
    }
}
