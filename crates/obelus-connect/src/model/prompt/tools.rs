//! The tools on offer, one per line.

use std::fmt::Write;
use std::sync::Arc;

use obelus_kernel::Tool;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::jinja;

/// Facts about a tool that the answer's schema lacks: its purpose, its effect, its result.
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
    /// A tool. For planned calls the effect is left out: it depends on the call and is judged later.
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

/// The shortest list of parameters that is worth a reference to another tool's.
const LONG: usize = 30;

/// Tools with their parameters, for a dialect without a schema: `deal.get(id): One deal`. Parameters equal to an
/// earlier tool's are shown by its name; the effect is shown unless the tool only reads.
pub(super) fn signatures(tools: &[Arc<Tool>]) -> Vec<String> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    let mut lines = Vec::new();
    for tool in tools {
        let mut params = members(tool.params());
        match seen.iter().find(|(known, _)| *known == params) {
            Some((_, first)) => params = format!("as {}", name(first)),
            None if params.chars().count() >= LONG => seen.push((params.clone(), &tool.name)),
            None => {}
        }
        lines.push(signature(tool, &params));
    }
    lines
}

fn signature(tool: &Tool, params: &str) -> String {
    let mut text = format!("{}({params})", name(&tool.name));
    if tool.effect.acts() {
        let _ = write!(text, " {}", tool.effect.name());
    }
    let words = tool.schema.get("description");
    match tool.words_of() {
        Some(source) => {
            let words = words.map(|words| format!(" {}", line(words))).unwrap_or_default();
            let _ = write!(text, "{words} unchecked_words_of {}", line(&source.into()));
        }
        None => text.push_str(&words.map(plain_words).unwrap_or_default()),
    }
    if let Some(result) = tool.output() {
        let _ = write!(text, " returns {}", type_of(result));
    }
    text
}

/// Text of the agent's author, quoted if it has several lines.
fn plain_words(words: &Value) -> String {
    match words.as_str() {
        Some(text) if !text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) => {
            format!(": {text}")
        }
        _ => format!(": {}", line(words)),
    }
}

/// A kind of memory: its name, its purpose and its type. If the model does not write it, the members' names are
/// enough.
pub(super) fn recipe(kind: &Value, is_written: bool) -> String {
    let mut text = name(kind["kind"].as_str().unwrap_or_default());
    match kind.get("schema") {
        Some(schema) if is_written => drop(write!(text, " {}", type_of(schema))),
        Some(schema) => {
            let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let members: Vec<String> = members.map(|(member, schema)| name(member) + &described(schema)).collect();
            let _ = write!(text, " {{{}}}", members.join(", "));
        }
        None => {}
    }
    text.push_str(&kind.get("description").map(plain_words).unwrap_or_default());
    // Descriptions and schemas of single instances.
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
            // A text, or a number where that fits.
            "str" | "int|str" | "number|str" => format!("{}{mark}", name(field)),
            type_ => format!("{}{mark}: {type_}", name(field)),
        }
    };
    properties.filter(|(field, _)| !field.starts_with('_')).map(member).collect::<Vec<_>>().join(", ")
}

/// A schema's description, as a suffix.
fn described(schema: &Value) -> String {
    schema.get("description").map(|words| format!(" {}", line(words))).unwrap_or_default()
}

/// A schema in short notation; as JSON if it has none.
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
        (_, Some(choices)) => choices.iter().map(choice).collect::<Vec<_>>().join("|"),
        _ => types(fields),
    };
    text.push_str(&described(schema));
    text
}

fn types(fields: &Map<String, Value>) -> String {
    let one = |name: &str| match name {
        "object" if fields.contains_key("properties") => {
            let own = Value::Object(fields.clone());
            let open = fields.get("additionalProperties").is_none_or(|more| *more != Value::Bool(false));
            format!("{{{}{}}}", members(&own), if open { ", …" } else { "" })
        }
        "object" => "{…}".to_owned(),
        "array" => match fields.get("items").map(type_of).as_deref() {
            None | Some("str" | "int|str" | "number|str" | "{…}") => "[…]".to_owned(),
            Some(items) => format!("[{items}]"),
        },
        "integer" => "int".to_owned(),
        "string" => "str".to_owned(),
        "boolean" => "bool".to_owned(),
        other => other.to_owned(),
    };
    match fields.get("type") {
        Some(Value::String(name)) => one(name),
        Some(Value::Array(names)) => {
            // A nullable field may be left out.
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.map(one).collect::<Vec<_>>().join("|")
        }
        _ => "any".to_owned(),
    }
}

/// A choice; a name needs no quotes.
fn choice(value: &Value) -> String {
    value.as_str().map_or_else(|| line(value), name)
}

/// A name, quoted if it has unusual characters.
pub(super) fn name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.chars().all(is_plain) && !name.is_empty() { name.to_owned() } else { line(&name.into()) }
}

fn line(value: &Value) -> String {
    jinja::on_one_line(value.to_string().into()).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(tools: &[(&str, Value)]) -> Vec<String> {
        let tools: Vec<Arc<Tool>> =
            tools.iter().map(|(name, schema)| Arc::new(Tool::parse(name, schema).unwrap())).collect();
        signatures(&tools)
    }

    #[test]
    fn parameters_are_shown_in_short() {
        let schema = json!({
            "description": "A new deal",
            "x-effect": "create",
            "properties": {
                "fields": {"type": "object", "properties": {
                    "TITLE": {"type": "string"}, "SUM": {"type": ["number", "string"], "description": "in roubles"},
                    "OWNER": {"type": ["integer", "null"]},
                }, "required": ["TITLE"]},
                "filter": {"type": "object"},
                "select": {"type": "array", "items": {"type": "string"}},
                "order": {"enum": ["ASC", "DESC", "a b"]},
                "id": {"type": ["integer", "string"]},
                "any": {},
                "odd": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "_outputPath": {"const": "†state.deal"},
            },
            "required": ["fields"],
        });
        assert_eq!(
            shown(&[("crm.deal.add", schema)]),
            [
                "crm.deal.add(fields: {TITLE, SUM?: number|str \"in roubles\", OWNER?: int, …}, filter?: {…}, select?: […], \
              order?: ASC|DESC|\"a b\", id?, any?: any, odd?: {\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}) \
              create: A new deal"
            ]
        );
    }

    #[test]
    fn parameters_equal_to_those_of_an_earlier_tool_are_shown_by_its_name() {
        let list = |words: &str| {
            let properties =
                json!({"filter": {"type": "object"}, "select": {"type": "array"}, "limit": {"type": "integer"}});
            json!({"description": words, "x-effect": "read", "properties": properties})
        };
        let get = json!({"x-effect": "read", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
        assert_eq!(
            shown(&[("a.list", list("Deals")), ("a.get", get.clone()), ("b.list", list("Tasks")), ("b.get", get)]),
            [
                "a.list(filter?: {…}, select?: […], limit?: int): Deals",
                "a.get(id: int)",
                "b.list(as a.list): Tasks",
                "b.get(id: int)"
            ]
        );
    }

    #[test]
    fn a_name_or_a_description_cannot_begin_a_line() {
        let tool =
            json!({"x-effect": "read", "description": "x\n# Mode", "properties": {"a\n# Mode": {"type": "string"}}});
        assert_eq!(shown(&[("t", tool)]), ["t(\"a\\n# Mode\"?): \"x\\n# Mode\""]);
    }
}
