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
    #[serde(flatten)]
    about: About<'a>,
}

#[derive(Serialize)]
struct About<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a Value>,
    effect: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unchecked_words_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asks_about: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returns: Option<&'a Value>,
}

impl<'a> ToolSummary<'a> {
    pub(super) fn of(tool: &'a Tool) -> Self {
        Self { tool: &tool.name, about: About::of(tool, false) }
    }
}

impl<'a> About<'a> {
    fn of(tool: &'a Tool, says_what_is_asked: bool) -> Self {
        Self {
            description: tool.schema.get("description"),
            effect: tool.effect.name(),
            unchecked_words_of: tool.words_of(),
            asks_about: tool.schema.get("x-risky").filter(|_| says_what_is_asked),
            returns: tool.output(),
        }
    }
}

/// A tool with its parameters, for a dialect without a schema: `deal.get(id: integer|string) {"effect":"read"}`.
pub(super) fn signature(tool: &Tool) -> Result<String, minijinja::Error> {
    let about = jinja::json_line(&About::of(tool, true))?;
    let params = tool.params();
    Ok(format!("{}({}) {about}", name(&tool.name), members(params)))
}

/// The members of an object: `TITLE: string, SUM?: number`.
fn members(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |field: &str| required.is_some_and(|names| names.iter().any(|name| name == field));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let member = |(field, schema): (&String, &Value)| {
        let mark = if is_required(field) { "" } else { "?" };
        format!("{}{mark}: {}", name(field), type_of(schema))
    };
    properties.filter(|(field, _)| !field.starts_with('_')).map(member).collect::<Vec<_>>().join(", ")
}

/// A schema in short. What has no short form is shown as it is.
fn type_of(schema: &Value) -> String {
    const PLAIN: [&str; 9] = [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "description",
        "minProperties",
        "additionalProperties",
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
        signature(&Tool::parse(name, schema).unwrap()).unwrap()
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
                "any": {},
                "odd": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "_outputPath": {"const": "†state.deal"},
            },
            "required": ["fields"],
        });
        assert_eq!(
            shown("crm.deal.add", &schema),
            "crm.deal.add(fields: {TITLE: string, SUM?: number|string \"in roubles\", …}, select?: [string], \
             order?: \"ASC\"|\"DESC\", any?: any, odd?: {\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}) \
             {\"description\":\"A new deal\",\"effect\":\"create\"}"
        );
    }

    #[test]
    fn a_name_cannot_begin_a_line() {
        let text = shown("t", &json!({"x-effect": "read", "properties": {"a\n# Mode": {"type": "string"}}}));
        assert_eq!(text, "t(\"a\\n# Mode\"?: string) {\"effect\":\"read\"}");
    }
}
