//! Typing errors in the origins of a call that is to be explained. They would be ignored, and the verdict would be
//! another one.

use obelus_kernel::{Context, Tool, closest};
use obelus_words::PolicyWords;
use serde_json::Value;

use crate::language::fill;

/// The labels without a tool.
const PLAIN: [&str; 3] = ["user", "author", "model"];
/// What stands before the name of a tool.
const TRUST: [&str; 2] = ["trusted", "untrusted"];

/// Errors in `_from` and `_shown`: labels and parameters that do not exist.
pub(super) fn faults(call: &Value, tool: &Tool) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(each) = call["_from"].as_object() {
        let known: Vec<&str> = params(call).chain(params(&tool.schema["properties"])).collect();
        for (path, labels) in each {
            let name = path.split(['.', '[']).next().unwrap_or_default();
            if !name.starts_with('_') && !known.contains(&name) {
                let hint = hint(name, &known);
                faults.push(format!("`_from`: `{}` has no parameter `{name}`{hint}", tool.name));
            }
            faults.extend(of_labels(&format!("`_from`, `{path}`"), labels));
        }
    } else if let Some(labels) = call.get("_from") {
        faults.extend(of_labels("`_from`", labels));
    }
    faults.extend(call.get("_shown").into_iter().flat_map(|labels| of_labels("`_shown`", labels)));
    faults
}

/// Notes about labels with tools that the agent does not have. A server may have them.
pub(super) fn unknown_tools(call: &Value, context: &Context, words: &PolicyWords) -> Vec<String> {
    let known: Vec<&str> = context.tools().map(|tool| tool.name.as_str()).collect();
    let from = match &call["_from"] {
        Value::Object(each) => each.values().collect(),
        labels => vec![labels],
    };
    let mut notes = Vec::new();
    for label in from.into_iter().chain([&call["_shown"]]).filter_map(Value::as_array).flatten() {
        let named = label.as_str().and_then(|label| label.split_once(':'));
        let Some((_, name)) = named.filter(|(trust, name)| TRUST.contains(trust) && !known.contains(name)) else {
            continue;
        };
        let near = closest(name, &known).map(|near| fill(words.meant_tool, &[near])).unwrap_or_default();
        let note = format!("{}{near}", fill(words.no_such_tool, &[name]));
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn params(fields: &Value) -> impl Iterator<Item = &str> {
    fields.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).filter(|name| !name.starts_with('_'))
}

/// Errors of one list of labels.
fn of_labels(place: &str, labels: &Value) -> Vec<String> {
    let Some(labels) = labels.as_array() else {
        return vec![format!("{place}: a list of labels is expected, such as [user, 'untrusted:TOOL']")];
    };
    labels.iter().filter_map(|label| wrong_label(label).map(|wrong| format!("{place}: {wrong}"))).collect()
}

fn wrong_label(label: &Value) -> Option<String> {
    let Some(text) = label.as_str() else { return Some(format!("{label} is no label: labels are texts")) };
    let near = match text.split_once(':') {
        Some((trust, name)) if TRUST.contains(&trust) && !name.is_empty() => return None,
        None if PLAIN.contains(&text) => return None,
        Some((trust, name)) => closest(trust, &TRUST).map(|near| format!("{near}:{name}")),
        None => closest(text, &PLAIN).map(ToString::to_string),
    };
    let hint = near.map(|near| format!("; did you mean `{near}`?"));
    let hint = hint.unwrap_or_else(|| "; there are: user, author, model, trusted:TOOL, untrusted:TOOL".to_owned());
    Some(format!("there is no label `{text}`{hint}"))
}

fn hint(name: &str, known: &[&str]) -> String {
    closest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
