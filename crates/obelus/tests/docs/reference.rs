//! `docs/agent-reference.md` is generated from `docs/agent.schema.json`. With `UPDATE_REFERENCE=1` the test writes it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

const HEAD: &str = "# Every field of an agent's file

<!-- Generated from agent.schema.json; do not edit. To write it: UPDATE_REFERENCE=1 cargo test -p obelus --test docs reference -->

[agents.md](agents.md) explains how the parts work together, with examples. An editor checks a file as you type if it knows
[agent.schema.json](agent.schema.json). Fields of objects within objects are written with a dot, those of objects in a list with `[].`.
";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The text of a description: documents are links, and a table's columns are kept apart.
fn words(description: &str) -> String {
    let mut text = String::new();
    for (index, part) in description.split("docs/").enumerate() {
        match part.split_once(".md").filter(|_| index > 0) {
            Some((name, rest)) => {
                let _ = write!(text, "[{name}.md]({name}.md){rest}");
            }
            None => text.push_str(part),
        }
    }
    text.replace('|', "\\|")
}

/// The type of a field.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|place| place.rsplit('/').next()) {
        return format!("[{name}](#{name})");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`"));
        return values.collect::<Vec<_>>().join(", ");
    }
    if let Some(kinds) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return either(kinds.iter().map(kind));
    }
    match &schema["type"] {
        Value::String(name) => named(name, schema),
        Value::Array(names) => either(names.iter().filter_map(Value::as_str).map(|name| named(name, schema))),
        _ => "any value".to_owned(),
    }
}

fn either(kinds: impl Iterator<Item = String>) -> String {
    let kinds: Vec<String> = kinds.filter(|kind| !kind.is_empty()).collect();
    kinds.join(" or ")
}

fn named(name: &str, schema: &Value) -> String {
    match name {
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "boolean" => "`true`, `false`".to_owned(),
        "array" if schema["items"].is_object() => format!("list of {}", kind(&schema["items"])),
        "array" => "list".to_owned(),
        "object" if schema["additionalProperties"].is_object() => {
            format!("by name: {}", kind(&schema["additionalProperties"]))
        }
        "null" => String::new(),
        other => other.to_owned(),
    }
}

/// The rows of an object's fields, with those of the objects in them.
fn add_rows(whole: &Value, schema: &Value, before: &str, text: &mut String) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let default = match (&field["default"], required.contains(&name.as_str())) {
            (_, true) => "required".to_owned(),
            (Value::Null, _) => String::new(),
            (Value::String(value), _) => format!("`{value}`"),
            (value, _) => format!("`{value}`"),
        };
        // A part that is described once has no description where it is used.
        let part = field["$ref"].as_str().and_then(|place| whole.pointer(place.trim_start_matches('#')));
        let description = field["description"].as_str().or(part.and_then(|part| part["description"].as_str()));
        let description = description.unwrap_or_else(|| panic!("`{before}{name}` has no description in the schema"));
        let description = words(description);
        let _ = writeln!(text, "| `{before}{name}` | {} | {description} | {default} |", kind(field));
        let alternatives = field["anyOf"].as_array().into_iter().flatten();
        for inner in std::iter::once(field).chain(alternatives).filter(|inner| inner["properties"].is_object()) {
            add_rows(whole, inner, &format!("{before}{name}."), text);
        }
        if field["items"]["properties"].is_object() {
            add_rows(whole, &field["items"], &format!("{before}{name}[]."), text);
        }
    }
}

fn add_table(whole: &Value, schema: &Value, text: &mut String) {
    text.push_str("\n| field | type | meaning | default |\n|---|---|---|---|\n");
    add_rows(whole, schema, "", text);
}

/// The whole document.
fn reference(schema: &Value) -> String {
    let mut text = HEAD.to_owned();
    add_table(schema, schema, &mut text);
    for (name, part) in schema["$defs"].as_object().expect("definitions") {
        let _ = write!(text, "\n## {name}\n\n{}\n", words(part["description"].as_str().expect("a description")));
        for place in part["allOf"].as_array().into_iter().flatten() {
            let _ = write!(text, "\nIt also has the fields of {}.\n", kind(place));
        }
        if part["properties"].is_object() {
            add_table(schema, part, &mut text);
        }
        for one in part["oneOf"].as_array().into_iter().flatten() {
            // Of several forms, each is called by the field that it must have.
            let _ = write!(text, "\nWith `{}`:\n", one["required"][0].as_str().expect("a required field"));
            add_table(schema, one, &mut text);
        }
    }
    text
}

#[test]
fn the_reference_of_an_agents_file_is_generated_from_its_schema() {
    let schema = fs::read_to_string(docs().join("agent.schema.json")).expect("readable");
    let made = reference(&serde_json::from_str(&schema).expect("JSON"));
    let file = docs().join("agent-reference.md");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(&file, &made).expect("writable");
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == made, "{} is outdated: run this test with UPDATE_REFERENCE=1", file.display());
}
