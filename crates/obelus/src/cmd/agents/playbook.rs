//! Notes of `agents check` about the agent's playbook, with their places in it: unknown tools and parameters, literal
//! values of a wrong type, and groups, fields and references that do not exist.

use std::path::PathBuf;
use std::sync::Arc;

use obelus_connect::model::{ModelSpec, Playbook, open};
use obelus_kernel::CallJson;
use obelus_kernel::jq::Filter;
use obelus_kernel::{Call, Tool, closest};
use obelus_runtime::files::{Places, Problem, read_document};
use obelus_runtime::{Agent, SessionSpec};
use serde_json::{Map, Value};

use super::super::tool_notes::{hint, stray_reference, stray_scopes};
use super::names::{groups_of, names_in_templates};
use crate::input;

/// All notes about the agent's playbook. One that cannot be used has errors instead.
pub(super) fn playbook_notes(agent: &Agent, spec: &SessionSpec) -> Vec<Problem> {
    let Some(mut book) = PlaybookCheck::of(agent, spec) else { return Vec::new() };
    let document = std::mem::take(&mut book.document);
    let (rules, prefix) = if document.is_array() { (&document, "") } else { (&document["rules"], "rules") };
    let names_of = |find: &Value| find.as_object().map(|find| find.keys().cloned().collect()).unwrap_or_default();
    let found: Vec<String> = names_of(&document["find"]);
    book.label = "the playbook".to_owned();
    let own = Value::Object(Map::from_iter([("find".to_owned(), document["find"].clone())]));
    book.filters(&own, "", &found);
    for (index, rule) in rules.as_array().into_iter().flatten().enumerate() {
        let name = rule["name"].as_str().map(|name| format!(" ({name})")).unwrap_or_default();
        book.label = format!("rule {}{name}", index + 1);
        book.rule(rule, &format!("{prefix}[{index}]"));
        let found = [found.clone(), names_of(&rule["find"])].concat();
        book.filters(rule, &format!("{prefix}[{index}]."), &found);
    }
    book.label = "otherwise".to_owned();
    book.rule(&document["otherwise"], "otherwise");
    book.filters(&document["otherwise"], "otherwise.", &found);
    book.notes
}

/// A playbook that is checked.
struct PlaybookCheck<'a> {
    agent: &'a Agent,
    file: PathBuf,
    places: Places,
    document: Value,
    /// The tools of delegates, for which the same model answers. None if tools are unknown, such as those of servers.
    delegated: Option<Vec<Arc<Tool>>>,
    /// The rule at hand.
    label: String,
    notes: Vec<Problem>,
}

impl<'a> PlaybookCheck<'a> {
    fn of(agent: &'a Agent, spec: &SessionSpec) -> Option<Self> {
        let chosen = spec.model.as_ref()?;
        let model = ModelSpec::from_value(&chosen.model).ok()?;
        let ModelSpec::Playbook(file) = &model else { return None };
        let file = chosen.folder.join(file);
        let text = input::text(&file).ok()?;
        let document = read_document(&file, &text).ok()?;
        open(&model, &chosen.folder).ok()?;
        let has_servers = !agent.mcp.is_empty() || agent.browser.is_some();
        let delegated = if has_servers { None } else { spec.tools_of_delegates() };
        let places = Places::of(&text);
        Some(Self { agent, file, places, document, delegated, label: String::new(), notes: Vec::new() })
    }

    /// Adds a note about the rule at hand. The same one is said once in a rule.
    fn note(&mut self, place: &str, text: &str) {
        let text = format!("{}: {text}", self.label);
        if !self.notes.iter().any(|known| known.text == text) {
            self.notes.push(Problem { file: self.file.clone(), place: self.places.find(place), text });
        }
    }

    fn rule(&mut self, rule: &Value, place: &str) {
        for (index, call) in rule["answer"]["calls"].as_array().into_iter().flatten().enumerate() {
            self.call(&call.clone().into(), &format!("{place}.answer.calls[{index}]"));
        }
        let groups = groups_of(rule["user"].as_str().unwrap_or_default());
        let mut texts = Vec::new();
        add_texts(rule, place, &mut texts);
        for (place, text) in texts {
            for name in names_in_templates(text, &["m"]).into_iter().filter(|name| !groups.contains(name)) {
                self.note(&place, &format!("`m.{name}`: `user` has no group `{name}`{}", hint(&name, &groups)));
            }
            let fields = names_in_templates(text, &["kinds", "state"]).into_iter();
            let paths = fields.filter_map(|name| stray_reference(&format!("†state.{name}"), &self.agent.context));
            let reference = Some(text).filter(|text| text.starts_with('†'));
            let reference = reference.and_then(|text| stray_reference(text, &self.agent.context));
            for stray in paths.chain(reference).collect::<Vec<_>>() {
                self.note(&place, &stray);
            }
        }
    }

    /// Notes about fields that the jq filters of a rule, or of the whole playbook, read and that never exist.
    fn filters(&mut self, rule: &Value, place: &str, found: &[String]) {
        let named = rule["find"].as_object().into_iter().flatten();
        let finds = named.map(|(name, filter)| (format!("find.{name}"), filter));
        let others = ["when", "calls_from"].map(|name| (name.to_owned(), &rule[name]));
        let groups = groups_of(rule["user"].as_str().unwrap_or_default());
        for (field, text) in finds.chain(others) {
            let Some(filter) = text.as_str().and_then(|text| Filter::compile(text).ok()) else { continue };
            for path in filter.paths() {
                if let Some(text) = self.stray_field(&path, &groups, found) {
                    self.note(&format!("{place}{field}"), &format!("`{field}`: {text}"));
                }
            }
        }
    }

    /// Why a field that a filter reads never exists, if so.
    fn stray_field(&self, path: &[String], groups: &[String], found: &[String]) -> Option<String> {
        let (first, rest) = path.split_first()?;
        let context = &self.agent.context;
        match (first.as_str(), rest) {
            ("kinds", [kind, fields @ ..]) => {
                let path = std::iter::once(kind).chain(fields).map(String::as_str).collect::<Vec<_>>().join(".");
                stray_reference(&format!("†{path}"), context)
            }
            ("m", [group, ..]) if !groups.contains(group) && group.parse::<usize>().is_err() => {
                Some(format!("`.m.{group}`: `user` has no group `{group}`{}", hint(group, groups)))
            }
            ("found", [name, ..]) if !found.contains(name) => {
                Some(format!("`.found.{name}`: there is no `{name}` in `find`{}", hint(name, found)))
            }
            _ if Playbook::variables().any(|known| known == first) => None,
            _ if context.view(first).is_some() || ["state", "input"].contains(&first.as_str()) => {
                Some(format!("there is no field `.{first}`; did you mean `.kinds.{first}`?"))
            }
            _ => {
                let known: Vec<String> = Playbook::variables().map(|name| format!(".{name}")).collect();
                Some(format!("there is no field `.{first}`{}", hint(&format!(".{first}"), &known)))
            }
        }
    }

    fn call(&mut self, call: &CallJson, place: &str) {
        for (index, text) in stray_scopes(call.scopes(), None, &self.agent.context) {
            self.note(&format!("{place}._scopes[{index}]"), &format!("`_scopes`: {text}"));
        }
        let Some(name) = call.tool().filter(|name| !has_template(name)) else { return };
        let agent = self.agent;
        let Some(tool) = agent.context.tool(name) else {
            let Some(delegated) = &self.delegated else { return };
            let known: Vec<&str> = agent.context.tools().chain(delegated).map(|tool| tool.name.as_str()).collect();
            if !known.contains(&name) {
                let near = closest(name, &known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let text = format!("it calls the tool `{name}`, which the agent does not have{near}");
                self.note(&format!("{place}._tool"), &text);
            }
            return;
        };
        let known = closed_params(tool);
        let mut literals = Map::from_iter([("_tool".to_owned(), Value::from(name))]);
        for (param, value) in call.as_object().into_iter().flatten().filter(|(param, _)| Call::is_param(param, tool)) {
            if let Some(known) = known.as_ref().filter(|known| !known.contains(param)) {
                let text = format!("`{name}` has no parameter `{param}`{}", hint(param, known));
                self.note(&format!("{place}.{param}"), &text);
            } else if !holds_template(value) {
                literals.insert(param.clone(), value.clone());
            }
        }
        // Parameters that are missing may come from templates.
        let (_, faults) = Call::read(&literals.into(), &agent.context);
        for fault in faults.iter().filter(|fault| fault.property().is_none() && !fault.field.is_empty()) {
            self.note(&format!("{place}.{}", fault.field), &format!("`{name}`: {}", fault.words()));
        }
    }
}

/// The parameters of a tool, if its schema names all of them.
fn closed_params(tool: &Tool) -> Option<Vec<String>> {
    let schema = &tool.schema;
    let open = ["patternProperties", "$ref", "anyOf", "oneOf", "allOf", "if"];
    let is_open = open.iter().any(|key| !schema[*key].is_null());
    let is_more = schema["additionalProperties"].is_object() || schema["additionalProperties"] == true;
    let fields = schema["properties"].as_object().filter(|_| !is_open && !is_more)?;
    Some(fields.keys().filter(|name| !name.starts_with('_')).cloned().collect())
}

fn has_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

fn holds_template(value: &Value) -> bool {
    let mut texts = Vec::new();
    add_texts(value, "", &mut texts);
    texts.iter().any(|(_, text)| has_template(text))
}

/// Adds every text in a value with its place.
fn add_texts<'a>(value: &'a Value, place: &str, into: &mut Vec<(String, &'a str)>) {
    match value {
        Value::String(text) => into.push((place.to_owned(), text)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| add_texts(item, &format!("{place}[{index}]"), into));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| add_texts(field, &format!("{place}.{name}"), into));
        }
        _ => {}
    }
}
