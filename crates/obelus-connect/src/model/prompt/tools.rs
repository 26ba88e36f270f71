//! The tools on offer, one per line.

use std::fmt::Write;

use obelus_kernel::Tool;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::jinja;

/// What the answer's schema does not contain about a tool: its purpose, its effect, its result.
#[derive(Serialize)]
pub(super) struct ToolSummary<'a> {
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unchecked_words_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returns: Option<&'a Value>,
}

impl<'a> ToolSummary<'a> {
    /// A tool. The effect of a call that is only planned is not that of its tool: it is judged by what the call does.
    pub(super) fn of(tool: &'a Tool, is_planned: bool) -> Self {
        Self {
            tool: &tool.name,
            description: tool.schema.get("description"),
            effect: (!is_planned).then(|| tool.effect.name()),
            unchecked_words_of: tool.words_of(),
            returns: tool.output(),
        }
    }
}

/// A tool with its parameters, for a dialect without a schema: `deal.get(id) read "One deal"`. A parameter without
/// a type is a number or a text.
pub(super) fn signature(tool: &Tool) -> String {
    let mut text = format!("{}({}) {}", name(&tool.name), members(tool.params()), tool.effect.name());
    if let Some(words) = tool.schema.get("description") {
        let _ = write!(text, " {}", line(words));
    }
    if let Some(source) = tool.words_of() {
        let _ = write!(text, " unchecked_words_of {}", line(&source.into()));
    }
    let places = tool.schema.get("x-risky").and_then(Value::as_array).into_iter().flatten();
    let places: Vec<String> = places.filter_map(Value::as_str).map(name).collect();
    if !places.is_empty() {
        let _ = write!(text, " asks about {}", places.join(", "));
    }
    if let Some(result) = tool.output() {
        let _ = write!(text, " returns {}", type_of(result));
    }
    text
}

/// A kind of memory: its name, what it is for, and what its value looks like.
pub(super) fn recipe(kind: &Value) -> String {
    let mut text = name(kind["kind"].as_str().unwrap_or_default());
    if let Some(words) = kind.get("description") {
        let _ = write!(text, " {}", line(words));
    }
    if let Some(schema) = kind.get("schema") {
        let _ = write!(text, ": {}", type_of(schema));
    }
    // What single instances have of their own.
    for own in ["descriptions", "schemas"] {
        if let Some(of_instances) = kind.get(own) {
            let _ = write!(text, " {own} of instances {}", line(of_instances));
        }
    }
    text
}

/// The members of an object: `TITLE: str, SUM?: number`.
fn members(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |field: &str| required.is_some_and(|names| names.iter().any(|name| name == field));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let member = |(field, schema): (&String, &Value)| {
        let mark = if is_required(field) { "" } else { "?" };
        match type_of(schema).as_str() {
            "int|str" => format!("{}{mark}", name(field)),
            type_ => format!("{}{mark}: {type_}", name(field)),
        }
    };
    properties.filter(|(field, _)| !field.starts_with('_')).map(member).collect::<Vec<_>>().join(", ")
}

/// A schema in short. What has no short form is shown as it is.
fn type_of(schema: &Value) -> String {
    const PLAIN: [&str; 12] = [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "description",
        "minProperties",
        "additionalProperties",
        "minItems",
        "maxItems",
        "default",
    ];
    let Some(fields) = schema.as_object() else { return "any".to_owned() };
    if !fields.keys().all(|key| PLAIN.contains(&key.as_str()) || key.starts_with("x-")) {
        return line(schema);
    }
    let mut text = match (fields.get("const"), fields.get("enum").and_then(Value::as_array)) {
        (Some(only), _) => line(only),
        (_, Some(choices)) => choices.iter().map(line).collect::<Vec<_>>().join("|"),
        _ => types(fields),
    };
    if let Some(words) = fields.get("description") {
        let _ = write!(text, " {}", line(words));
    }
    text
}

fn types(fields: &Map<String, Value>) -> String {
    let one = |name: &str| match name {
        "object" if fields.contains_key("properties") => {
            let own = Value::Object(fields.clone());
            let open = fields.get("additionalProperties").is_none_or(|more| *more != Value::Bool(false));
            format!("{{{}{}}}", members(&own), if open { ", …" } else { "" })
        }
        "array" => match fields.get("items") {
            Some(items) => format!("[{}]", type_of(items)),
            None => "array".to_owned(),
        },
        "integer" => "int".to_owned(),
        "string" => "str".to_owned(),
        "boolean" => "bool".to_owned(),
        other => other.to_owned(),
    };
    match fields.get("type") {
        Some(Value::String(name)) => one(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join("|"),
        _ => "any".to_owned(),
    }
}

/// A name as it is, or in quotes where it has other signs than names have.
fn name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    match name.chars().all(is_plain) && !name.is_empty() {
        true => name.to_owned(),
        false => line(&name.into()),
    }
}

fn line(value: &Value) -> String {
    jinja::on_one_line(value.to_string().into()).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(name: &str, schema: &Value) -> String {
        signature(&Tool::parse(name, schema).unwrap())
    }

    #[test]
    fn parameters_are_shown_in_short() {
        let schema = json!({
            "description": "A new deal",
            "x-effect": "create",
            "properties": {
                "fields": {"type": "object", "properties": {
                    "TITLE": {"type": "string"}, "SUM": {"type": ["number", "string"], "description": "in roubles"},
                }, "required": ["TITLE"]},
                "select": {"type": "array", "items": {"type": "string"}},
                "order": {"enum": ["ASC", "DESC"]},
                "id": {"type": ["integer", "string"]},
                "any": {},
                "odd": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "_outputPath": {"const": "†state.deal"},
            },
            "required": ["fields"],
        });
        assert_eq!(
            shown("crm.deal.add", &schema),
            "crm.deal.add(fields: {TITLE: str, SUM?: number|str \"in roubles\", …}, select?: [str], \
             order?: \"ASC\"|\"DESC\", id?, any?: any, odd?: {\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}) \
             create \"A new deal\""
        );
    }

    #[test]
    fn a_name_cannot_begin_a_line() {
        let text = shown("t", &json!({"x-effect": "read", "properties": {"a\n# Mode": {"type": "string"}}}));
        assert_eq!(text, "t(\"a\\n# Mode\"?: str) read");
    }
}
