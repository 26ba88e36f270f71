//! Errors of `agents check`: misspelt meta-properties in tools, and in the calls of playbooks and saved requests.
//! Nothing reads a field such as `_outputpath`: without this check the result of the call is silently lost.

use obelus_connect::model::ModelSpec;
use obelus_kernel::Tool;
use obelus_runtime::Agent;
use obelus_runtime::files::{Places, Problem, read_document};
use serde_json::Value;

use super::oddities::Note;
use crate::input;

/// Misspelt meta-properties of the agent's tools.
pub(super) fn in_tools(agent: &Agent) -> Vec<Note> {
    let mut found = Vec::new();
    for tool in agent.context.tools() {
        let (own, properties) = (tool.schema.as_object(), tool.schema["properties"].as_object());
        for (fields, inner) in [(own, ""), (properties, "properties.")] {
            for (name, text) in fields.into_iter().flat_map(|fields| misspelt(fields.keys())) {
                found.push((format!("tools.{}.{inner}{name}", tool.name), format!("`{}`: {text}", tool.name)));
            }
        }
    }
    found
}

/// Misspelt meta-properties in the calls of the agent's playbook, and in the plans of its delegates' requests.
pub(super) fn in_calls(agent: &Agent) -> Vec<Problem> {
    let playbook = agent.model.as_ref().and_then(|model| match ModelSpec::from_value(model) {
        Ok(ModelSpec::Playbook(file)) => Some(file),
        _ => None,
    });
    let delegates = agent.context.tools().filter_map(|tool| tool.fixed_name("_delegate"));
    let mut files: Vec<_> = playbook.into_iter().chain(delegates.map(Into::into)).collect();
    files.sort();
    files.dedup();
    let mut problems = Vec::new();
    for file in files {
        let file = agent.folder.join(file);
        // Files that cannot be read are reported elsewhere, or when they are used.
        let Ok(text) = input::text(&file) else { continue };
        let Ok(document) = read_document(&file, &text) else { continue };
        let places = Places::of(&text);
        for (place, call) in calls_of(&document) {
            for (name, text) in call.as_object().into_iter().flat_map(|fields| misspelt(fields.keys())) {
                let at = places.find(&format!("{place}.{name}"));
                problems.push(Problem { file: file.clone(), place: at, text: format!("CALL-3: {place}: {text}") });
            }
        }
    }
    problems
}

/// The calls of a playbook's answers or of a request's plans, each with its place.
fn calls_of(document: &Value) -> Vec<(String, &Value)> {
    let mut lists = Vec::new();
    let (rules, prefix) = if document.is_array() { (document, "") } else { (&document["rules"], "rules") };
    for (number, rule) in rules.as_array().into_iter().flatten().enumerate() {
        lists.push((format!("{prefix}[{number}].answer.calls"), &rule["answer"]["calls"]));
    }
    lists.push(("otherwise.answer.calls".to_owned(), &document["otherwise"]["answer"]["calls"]));
    for (number, message) in document["context"].as_array().into_iter().flatten().enumerate() {
        lists.push((format!("context[{number}].plan"), &message["plan"]));
    }
    let mut all = Vec::new();
    for (place, calls) in lists {
        let calls = calls.as_array().into_iter().flatten().enumerate();
        all.extend(calls.map(|(index, call)| (format!("{place}[{index}]"), call)));
    }
    all
}

/// The misspelt names among these, each with a text.
fn misspelt<'a>(names: impl Iterator<Item = &'a String>) -> Vec<(&'a str, String)> {
    let note = |name: &'a String| {
        let near = Tool::meant_meta(name)?;
        Some((name.as_str(), format!("`{name}`: there is no such meta-property; did you mean `{near}`?")))
    };
    names.filter_map(note).collect()
}
