//! Errors of a request or an agent that are found before anything is started: bindings, activities that tools name,
//! saved requests of delegates, the model, annotations, data, the policy.

use std::fmt;
use std::sync::Arc;

use anyhow::{Result, bail};
use obelus_connect::activity::bind_with;
use obelus_connect::browser::Browser;
use obelus_connect::model::{ModelSpec, open};
use obelus_kernel::{Message, Rule, closest};
use obelus_runtime::files::Places;
use obelus_runtime::{Activities, SessionSpec};
use serde_json::Map;

use super::delegates::delegate_faults;
use crate::cli::RunOptions;

/// An error in a file.
pub(crate) struct SpecProblem {
    /// The violated rule, if any.
    pub(crate) rule: Option<Rule>,
    /// Its place in the file, as a dotted path.
    pub(crate) field: String,
    /// What is wrong.
    pub(crate) text: String,
}

impl SpecProblem {
    /// Whether other arguments of the command replace what is wrong or add what is missing.
    pub(crate) fn is_mended_by(&self, how: &RunOptions) -> bool {
        match self.rule {
            Some(Rule::Tool3 | Rule::Tool7) => how.activities.is_some(),
            Some(Rule::Pol3) => how.mcp.is_some(),
            None => self.field == "model" && how.model.is_some(),
            Some(_) => false,
        }
    }
}

/// Refuses a request for a model with an error that would stop it later, or leave it unprotected. Unknown annotations
/// are left to `plan check`.
pub(crate) fn must_be_sound(spec: &SessionSpec, text: &str, how: &RunOptions) -> Result<()> {
    let stops =
        |problem: &SpecProblem| !matches!(problem.rule, Some(Rule::Tool1 | Rule::Tool4)) && !problem.is_mended_by(how);
    match problems_of(spec, None).into_iter().find(stops) {
        None => Ok(()),
        Some(problem) => {
            let place = Places::of(text).find(&problem.field);
            bail!("{}{}: {problem}", spec.name, at(place))
        }
    }
}

/// A position, appended to a file name.
pub(crate) fn at(place: Option<(u64, u64)>) -> String {
    place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default()
}

impl fmt::Display for SpecProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Some(rule) => write!(f, "{rule}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// All errors of a request. An agent's file is checked when it is read, except bindings, delegates and the model.
pub(crate) fn problems_of(spec: &SessionSpec, browser: Option<&Arc<Browser>>) -> Vec<SpecProblem> {
    let mut problems = bindings_and_model(spec, browser);
    problems.extend(annotations(spec));
    problems.extend(data(spec));
    problems.extend(spec.policy_faults().into_iter().map(|fault| SpecProblem {
        rule: Some(Rule::Pol3),
        field: format!("settings.policy.{}", fault.field),
        text: format!("policy: `{}`: {}", fault.field, fault.text),
    }));
    problems
}

/// Errors of bindings, of activities that tools name, of the saved requests of delegates, of the model and of
/// the time zone.
pub(crate) fn bindings_and_model(spec: &SessionSpec, browser: Option<&Arc<Browser>>) -> Vec<SpecProblem> {
    let mut problems = Vec::new();
    for lot in &spec.activities {
        for (name, binding) in &lot.bound {
            let one = Map::from_iter([(name.clone(), binding.clone())]);
            if let Err(error) = bind_with(&mut Activities::new(), &one, &lot.folder, browser) {
                let field = format!("activities.{}.{}", error.binding, error.field.trim_matches('`'));
                problems.push(SpecProblem { rule: Some(Rule::Tool7), field, text: error.to_string() });
            }
        }
    }
    problems.extend(missing_activities(spec));
    problems.extend(spec.unused_bindings().into_iter().map(|fault| SpecProblem {
        rule: Some(Rule::Tool7),
        field: format!("activities.{}", fault.name),
        text: fault.text,
    }));
    let delegates = delegate_faults(spec).into_iter().filter(|fault| !fault.is_note);
    problems.extend(delegates.map(|fault| SpecProblem {
        rule: Some(Rule::Del1),
        field: fault.field,
        text: fault.text,
    }));
    if let Some(chosen) = &spec.model {
        let opened = ModelSpec::from_value(&chosen.model).map_err(|error| error.to_string());
        let opened = opened.and_then(|model| open(&model, &chosen.folder).map(drop).map_err(|error| error.to_string()));
        if let Err(error) = opened {
            problems.push(SpecProblem { rule: None, field: "model".to_owned(), text: format!("the model: {error}") });
        }
    }
    let field = if spec.agent.is_empty() { "settings.time_zone" } else { "time_zone" };
    problems.extend(time_zone(spec.settings.time_zone.as_deref(), field));
    problems
}

/// A time zone that is not known. The prompt would have the days of UTC.
pub(crate) fn time_zone(name: Option<&str>, field: &str) -> Option<SpecProblem> {
    let name = name?;
    if jiff::tz::TimeZone::get(name).is_ok() {
        return None;
    }
    let known: Vec<String> = jiff::tz::db().available().map(|known| known.to_string()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let hint = match closest(name, &known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "write a name such as Europe/Moscow".to_owned(),
    };
    let text = format!("time_zone: there is no time zone `{name}`; {hint}");
    Some(SpecProblem { rule: None, field: field.to_owned(), text })
}

/// Activities that a tool names and that are not bound. A request without bindings gets them by `--activities`.
fn missing_activities(spec: &SessionSpec) -> Vec<SpecProblem> {
    let bound: Vec<&str> = spec.activities.iter().flat_map(|lot| lot.bound.keys()).map(String::as_str).collect();
    if bound.is_empty() && spec.agent.is_empty() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for tool in spec.context.tools() {
        let named = tool.fixed_name("_activity").filter(|_| tool.fixed_name("_delegate").is_none());
        let Some(name) = named.filter(|name| !bound.contains(name)) else { continue };
        let hint = closest(name, &bound).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let text = format!("the tool `{}` names the activity `{name}`, which is not bound{hint}", tool.name);
        let field = format!("{}._activity", place_of_tool(spec, &tool.name));
        problems.push(SpecProblem { rule: Some(Rule::Tool3), field, text });
    }
    problems
}

/// The place of a tool's definition: in an agent's file by its name, in a request in the last message that has it.
pub(crate) fn place_of_tool(spec: &SessionSpec, name: &str) -> String {
    let has_it = |message: &Message| matches!(message, Message::Tool(tools) if tools.contains_key(name));
    match spec.context.messages().iter().rposition(has_it) {
        Some(index) if spec.agent.is_empty() => format!("context[{index}].tool.{name}"),
        _ => format!("tools.{name}"),
    }
}

fn annotations(spec: &SessionSpec) -> Vec<SpecProblem> {
    let mut problems = Vec::new();
    for tool in spec.context.tools() {
        let place = place_of_tool(spec, &tool.name);
        let problem = |rule, annotation: &str, words: String| SpecProblem {
            rule: Some(rule),
            field: format!("{place}.{annotation}"),
            text: format!("`{}`: {words}", tool.name),
        };
        let odd = tool.stray_paths().into_iter().chain(tool.annotation_warnings());
        problems.extend(odd.map(|(annotation, words)| problem(Rule::Tool1, annotation, words)));
        let unknown = tool.unknown_annotations().into_iter();
        problems.extend(unknown.map(|(annotation, words)| problem(Rule::Tool4, &annotation, words)));
    }
    problems
}

/// Data that violate the schema of their kind. Missing fields are allowed: work fills them in.
fn data(spec: &SessionSpec) -> Vec<SpecProblem> {
    let mut problems = Vec::new();
    for (kind, _) in spec.context.views() {
        let is_of = |message: &Message| matches!(message, Message::Data(data) if data.kind == kind);
        let index = spec.context.messages().iter().rposition(is_of).unwrap_or_default();
        for fault in spec.context.breaches(kind, false) {
            let field = format!("context[{index}].data.{}", fault.field);
            let text = format!("the kind `{kind}`: {}", fault.words());
            problems.push(SpecProblem { rule: Some(fault.rule), field, text });
        }
    }
    problems
}
