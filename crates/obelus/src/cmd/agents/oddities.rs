//! Notes of `agents check` about a usable file: names, misspelt keys of schemas, and tools without an executor;
//! [`names`](super::names) has those about names that lead nowhere, [`playbook`](super::playbook) those about a
//! playbook.

use std::path::Path;

use obelus_kernel::{Tool, closest};
use obelus_runtime::files::{AgentCatalogue, is_bundled};
use obelus_runtime::{Agent, SessionSpec};
use serde_json::Value;

use super::super::delegates::delegate_faults;
use super::super::tool_notes::tool_notes;
use super::names::stray_names;

/// A note: its place in the file as a dotted path, and its text.
pub(super) type Note = (String, String);

/// The keys of JSON Schema that are commonly used.
const KEYS: [&str; 34] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "contains",
    "enum",
    "const",
    "default",
    "description",
    "title",
    "examples",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "definitions",
];

/// All notes about an agent.
pub(super) fn oddities(agent: &Agent, spec: &SessionSpec) -> Vec<Note> {
    let mut notes: Vec<Note> =
        name_notes(&agent.folder, &agent.name).into_iter().map(|text| ("name".to_owned(), text)).collect();
    for tool in agent.context.tools() {
        add_misspelt(&tool.schema, &format!("tools.{}", tool.name), &mut notes);
    }
    notes.extend(unanswered_reads(spec));
    let delegates = delegate_faults(spec).into_iter().filter(|fault| fault.is_note);
    notes.extend(delegates.map(|fault| (fault.field, format!("DEL-1: {}", fault.text))));
    let unread = spec.unread_in_delegates().into_iter();
    notes.extend(unread.map(|fault| (format!("tools.{}", fault.name), format!("DEL-1: {}", fault.text))));
    notes.extend(stray_names(agent, spec));
    notes.extend(tool_notes(spec, None).into_iter().map(|note| (note.field.clone(), note.to_string())));
    if let Some(language) = agent.language.as_deref().filter(|language| !["ru", "en"].contains(language)) {
        let text = format!("`{language}`: what the program says to people is in `ru` and `en`; it will be in English");
        notes.push(("language".to_owned(), text));
    }
    for tool in agent.context.tools() {
        notes.extend(stray_labels(tool));
    }
    notes
}

/// Labels whose names are nearly those of parameters. A name with dots is a field of a parameter, and some tools take
/// parameters that they do not declare.
fn stray_labels(tool: &Tool) -> Vec<Note> {
    let declared = tool.schema["properties"].as_object().into_iter().flatten();
    let params: Vec<&str> = declared.map(|(name, _)| name.as_str()).collect();
    let labels = tool.schema["x-labels"].as_object().into_iter().flatten().map(|(name, _)| name);
    let stray = labels.filter(|name| !params.contains(&name.as_str()) && !name.contains('.'));
    stray
        .filter_map(|name| {
            let near = closest(name, &params)?;
            let text = format!("`x-labels`: the tool has no parameter `{name}`; did you mean `{near}`?");
            Some((format!("tools.{}.x-labels.{name}", tool.name), text))
        })
        .collect()
}

/// Notes about the name of an agent in a folder: it differs from the folder's name, or equals that of a bundled agent.
/// An unchanged copy of a bundled agent gets no note.
pub(in crate::cmd) fn name_notes(folder: &Path, name: &str) -> Vec<String> {
    let Some(known) = folder.file_name().and_then(|known| known.to_str()).filter(|_| !is_bundled(folder)) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    if known != name {
        notes.push(format!("the file's `name` is `{name}`; commands find the agent by its folder, as `{known}`"));
    }
    let catalogue = AgentCatalogue::of_environment();
    let is_listed = catalogue.find(known).is_some_and(|found| found.as_path() == folder);
    let bundled = AgentCatalogue::default().files(known);
    if is_listed && bundled.is_some() && bundled != catalogue.files(known) {
        notes.push(format!("it hides the bundled agent `{known}`, and differs from it"));
    }
    notes
}

/// Adds the keys of a schema that are nearly those of JSON Schema, and required properties that it does not have, at
/// every depth.
fn add_misspelt(schema: &Value, place: &str, notes: &mut Vec<Note>) {
    let Value::Object(fields) = schema else { return };
    add_undeclared(schema, place, notes);
    for (key, value) in fields {
        let is_own = key.starts_with("x-") || key.starts_with(['_', '$']);
        let inner = format!("{place}.{key}");
        match value {
            _ if !is_own && !KEYS.contains(&key.as_str()) => {
                if let Some(near) = closest(key, &KEYS) {
                    let text = format!("`{key}` is no key of JSON Schema; did you mean `{near}`?");
                    notes.push((inner, text));
                }
            }
            Value::Object(named) if matches!(key.as_str(), "properties" | "patternProperties" | "definitions") => {
                named.iter().for_each(|(name, schema)| add_misspelt(schema, &format!("{inner}.{name}"), notes));
            }
            Value::Object(_) if matches!(key.as_str(), "items" | "not" | "additionalProperties" | "contains") => {
                add_misspelt(value, &inner, notes);
            }
            Value::Array(all) if matches!(key.as_str(), "anyOf" | "oneOf" | "allOf" | "prefixItems") => {
                all.iter().for_each(|schema| add_misspelt(schema, &inner, notes));
            }
            _ => {}
        }
    }
}

/// Adds the required properties of a schema that it does not declare. What it leaves to other schemas is declared
/// there.
fn add_undeclared(schema: &Value, place: &str, notes: &mut Vec<Note>) {
    let (Some(required), Some(known)) = (schema["required"].as_array(), schema["properties"].as_object()) else {
        return;
    };
    if ["patternProperties", "$ref", "anyOf", "oneOf", "allOf"].iter().any(|key| !schema[*key].is_null()) {
        return;
    }
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    for name in required.iter().filter_map(Value::as_str).filter(|name| !known.contains_key(*name)) {
        let hint = closest(name, &names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        notes.push((format!("{place}.required"), format!("`required`: `properties` has no `{name}`{hint}")));
    }
}

/// Tools that read, with neither an activity nor a declared result: the model would invent their results.
fn unanswered_reads(spec: &SessionSpec) -> Vec<Note> {
    let is_made_up = |tool: &&obelus_kernel::Tool| {
        let is_read = tool.schema["x-effect"] == "read" && tool.output().is_none();
        let may_be_carried_out = tool.meta("_delegate").or(tool.meta("_activity")).is_some();
        is_read && spec.runs_by_model(tool) && !may_be_carried_out && !has_servers(spec)
    };
    let note = |tool: &obelus_kernel::Tool| {
        let text = format!(
            "TOOL-3: the tool `{}` reads, and no activity carries it out: the model would make up its result; bind an \
             activity, or declare its `_output` if the model is meant to",
            tool.name
        );
        (format!("tools.{}", tool.name), text)
    };
    spec.context.tools().map(AsRef::as_ref).filter(is_made_up).map(note).collect()
}

/// Whether more tools come from servers when a session begins.
fn has_servers(spec: &SessionSpec) -> bool {
    spec.mcp.is_some()
}
