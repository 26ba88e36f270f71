//! Notes of `agents check` about names that lead nowhere: paths outside the schema of their kind, parameters in
//! templates, and scripts of programs.

use std::path::Path as FilePath;

use obelus_kernel::Tool;
use obelus_runtime::{Agent, SessionSpec};
use serde_json::Value;

use super::super::tool_notes::{declared_outputs, hint, stray_reference};
use super::oddities::Note;

/// Programs whose first argument is a script.
const INTERPRETERS: [&str; 12] =
    ["python3", "python", "sh", "bash", "zsh", "dash", "node", "deno", "ruby", "perl", "php", "Rscript"];

/// All notes about names that lead nowhere.
pub(super) fn stray_names(agent: &Agent, spec: &SessionSpec) -> Vec<Note> {
    let mut notes: Vec<Note> = agent.context.tools().flat_map(|tool| stray_outputs(tool, agent)).collect();
    for lot in &spec.activities {
        for (name, binding) in &lot.bound {
            let place = format!("activities.{name}");
            notes.extend(missing_script(binding, &lot.folder).map(|text| (place.clone(), text)));
            notes.extend(stray_params(name, &binding["http"], agent).into_iter().map(|text| (place.clone(), text)));
        }
    }
    notes
}

/// Output paths of a tool that are outside the schema of their kind.
fn stray_outputs(tool: &Tool, agent: &Agent) -> Vec<Note> {
    let stray = declared_outputs(tool).filter_map(|text| stray_reference(text, &agent.context));
    let place =
        if tool.schema["properties"]["_outputPath"].is_null() { "_outputPath" } else { "properties._outputPath" };
    let place = format!("tools.{}.{place}", tool.name);
    stray.map(|text| (place.clone(), format!("`{}`: `_outputPath`: {text}", tool.name))).collect()
}

/// Parameters in the templates of a request that no tool with this activity has.
fn stray_params(activity: &str, http: &Value, agent: &Agent) -> Vec<String> {
    let is_of = |tool: &&std::sync::Arc<Tool>| match tool.fixed_name("_activity") {
        Some(name) => name == activity,
        None => tool.name == activity,
    };
    let tools: Vec<&Tool> = agent.context.tools().filter(is_of).map(AsRef::as_ref).collect();
    let mut known: Vec<String> = Vec::new();
    for tool in &tools {
        let Some(fields) = tool.schema["properties"].as_object() else { return Vec::new() };
        known.extend(fields.keys().filter(|name| !name.starts_with('_')).cloned());
    }
    let mut notes = Vec::new();
    each_text(http, &mut |text| {
        for name in names_in_templates(text, &["call"]) {
            let is_known = name.starts_with('_') || known.contains(&name);
            if !tools.is_empty() && !is_known {
                notes.push(format!("`{activity}`: `call.{name}`: the tool has no `{name}`{}", hint(&name, &known)));
            }
        }
    });
    notes
}

/// The names of the groups of a pattern.
pub(super) fn groups_of(pattern: &str) -> Vec<String> {
    let parts = pattern.split("(?").skip(1);
    let named = parts.filter_map(|part| part.strip_prefix("P<").or(part.strip_prefix('<'))?.split_once('>'));
    named.map(|(name, _)| name.to_owned()).collect()
}

/// The names that follow these in the templates of a text: of `{{ call.city }}` after `call`, `city`. A name that may
/// be missing, because its default is given, is left out.
pub(super) fn names_in_templates(text: &str, after: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    let tags = text.split("{{").skip(1).filter_map(|tag| tag.split_once("}}"));
    let tags = tags.chain(text.split("{%").skip(1).filter_map(|tag| tag.split_once("%}")));
    let start = format!("{}.", after.join("."));
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    for (tag, _) in tags {
        for (at, _) in tag.match_indices(&start) {
            let rest = &tag[at + start.len()..];
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let is_whole = !tag[..at].ends_with(is_word) && !name.is_empty();
            let is_optional = ["default", "is defined", "is not defined"].iter().any(|word| tag.contains(word));
            if is_whole && !is_optional && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Calls a function with every text in a value.
fn each_text(value: &Value, with: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => with(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, with)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, with)),
        _ => {}
    }
}

/// The script of a program that is not in the folder where the program runs.
fn missing_script(binding: &Value, folder: &FilePath) -> Option<String> {
    let words: Vec<&str> = binding["exec"].as_array()?.iter().filter_map(Value::as_str).collect();
    let (program, rest) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let script = rest.first().filter(|script| !script.starts_with('-'))?;
    let is_missing = INTERPRETERS.contains(&program) && !folder.join(script).is_file();
    is_missing.then(|| format!("`exec`: there is no script `{script}` in {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_templates_only() {
        let names = |text| names_in_templates(text, &["call"]);
        assert_eq!(names("a/{{ call.city }}/{% if call.x %}{{ call.x | default(1) }}{% endif %}"), ["city", "x"]);
        assert!(names("call.city {{ recall.city }} {{ call.y | default('') }} {{ m.call.z }}").is_empty());
        assert_eq!(groups_of(r"(?i)order (?<number>\d+) (?P<rest>.*)"), ["number", "rest"]);
    }
}
