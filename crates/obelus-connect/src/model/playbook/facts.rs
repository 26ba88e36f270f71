//! The data of a request for conditions and templates.

use minijinja::value::Value as TemplateValue;
use obelus_kernel::jq::Filter;
use obelus_kernel::session::{Prompt, Purpose};
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use crate::model::calendar::calendar;
use crate::model::jinja;
use crate::model::{last_words, said_since};

/// The variables of conditions and templates. In addition, `m` has the groups of the pattern.
pub(super) const NAMES: [&str; 19] = [
    "user",
    "texts",
    "kinds",
    "instances",
    "plan",
    "results",
    "errors",
    "questions",
    "requests",
    "purpose",
    "node",
    "call",
    "scope",
    "mode",
    "out_of_format",
    "time",
    "seen",
    "pictures",
    "found",
];

/// A named jq filter on a request.
pub(super) struct Find {
    pub(super) name: String,
    pub(super) filter: Filter,
}

/// A request for conditions and templates.
pub(super) struct Facts<'a> {
    pub(super) prompt: &'a Prompt,
    /// The user's last message.
    pub(super) user: Option<&'a str>,
    json: Map<String, Value>,
}

/// The facts with the groups of a pattern.
pub(super) struct View {
    /// For jq.
    pub(super) json: Value,
    /// For templates.
    pub(super) shown: TemplateValue,
}

impl<'a> Facts<'a> {
    pub(super) fn of(prompt: &'a Prompt) -> Self {
        let user = last_words(prompt);
        let plan: Vec<Value> = prompt
            .plan
            .iter()
            .map(|report| {
                json!({"tool": report.call.get("_tool"), "status": report.status, "call": report.call,
                    "error": report.error})
            })
            .collect();
        let results: Vec<Value> = plan.iter().filter(|entry| entry["status"] == "done").cloned().collect();
        let texts: Vec<Value> = prompt.texts.iter().map(|(role, text)| json!({"role": role, "text": text})).collect();
        let seen = prompt.observation.as_ref().map(|seen| {
            json!({"tool": seen.tool, "digest": seen.digest, "text": seen.text,
                "image": seen.image.as_ref().map(|path| path.to_string_lossy())})
        });
        let (purpose, call, scope) = match &prompt.purpose {
            Purpose::Solve => ("solve", Value::Null, Value::Null),
            Purpose::Think { call, scope, .. } => ("think", call.clone(), scope.clone().into()),
        };
        let json = json!({
            "user": user,
            "texts": texts,
            "kinds": by_kind(prompt, "value"),
            "instances": by_kind(prompt, "instances"),
            "plan": plan,
            "results": results,
            "errors": prompt.errors,
            "questions": prompt.questions,
            "requests": requests(prompt),
            "purpose": purpose,
            "node": prompt.node,
            "call": call,
            "scope": scope,
            "mode": prompt.mode,
            "out_of_format": prompt.out_of_format,
            "time": calendar(prompt.now, prompt.time_zone.as_deref(), prompt.language.as_deref()),
            "seen": seen,
            "pictures": prompt.pictures,
            "found": {},
        });
        let Value::Object(json) = json else { unreachable!("it was written as an object") };
        Self { prompt, user, json }
    }

    /// Whether the request follows calls or decisions of the turn.
    pub(super) fn is_follow_up(&self) -> bool {
        requests(self.prompt) > 1
    }

    /// Runs the filters of the whole playbook.
    pub(super) fn run_filters(&mut self, find: &[Find]) -> Result<(), String> {
        let json = std::mem::take(&mut self.json);
        self.json = found(json, find)?;
        Ok(())
    }

    /// The facts with the groups of a pattern as `m` and the results of the rule's filters.
    pub(super) fn view(&self, matched: Option<&(&Regex, Captures<'_>)>, find: &[Find]) -> Result<View, String> {
        let groups = matched.map(|(pattern, captures)| groups(pattern, captures)).unwrap_or_default();
        // Keys are text in jq and may be numbers in templates: `.m["1"]` and `m[1]`.
        let for_jq: Map<String, Value> = groups
            .iter()
            .flat_map(|(index, name, text)| {
                [Some(index.to_string()), name.map(str::to_owned)].into_iter().flatten().map(|key| (key, text.clone()))
            })
            .collect();
        let for_templates = groups.iter().flat_map(|(index, name, text)| {
            [Some(TemplateValue::from(*index)), name.map(TemplateValue::from)]
                .into_iter()
                .flatten()
                .map(|key| (key, jinja::value(text)))
        });
        let m = TemplateValue::from_pairs(for_templates);
        let mut json = self.json.clone();
        json.insert("m".to_owned(), for_jq.into());
        let json = found(json, find)?;
        let shown = json.iter().filter(|(name, _)| *name != "m");
        let shown = shown.map(|(name, value)| (name.as_str(), jinja::value(value)));
        let shown = TemplateValue::from_pairs(shown.chain([("m", m)]));
        Ok(View { json: json.into(), shown })
    }
}

/// Adds the results of the filters as `found`; each filter sees the results of those before it.
fn found(json: Map<String, Value>, find: &[Find]) -> Result<Map<String, Value>, String> {
    if find.is_empty() {
        return Ok(json);
    }
    let mut json = Value::Object(json);
    for Find { name, filter } in find {
        let value = filter.one(&json).map_err(|error| format!("`find.{name}`: {error}"))?;
        json["found"][name] = value;
    }
    match json {
        Value::Object(json) => Ok(json),
        _ => unreachable!("it was made of an object"),
    }
}

/// The call that the model must carry out, if the request is for one.
pub(super) fn latent_call(prompt: &Prompt) -> Option<&Value> {
    match &prompt.purpose {
        Purpose::Solve => None,
        Purpose::Think { call, .. } => Some(call),
    }
}

/// Number, name and text of each group; null for a group that did not match.
fn groups<'r>(pattern: &'r Regex, captures: &Captures<'_>) -> Vec<(usize, Option<&'r str>, Value)> {
    let names = pattern.capture_names().enumerate();
    names.map(|(index, name)| (index, name, captures.get(index).map(|found| found.as_str()).into())).collect()
}

fn by_kind(prompt: &Prompt, field: &str) -> Map<String, Value> {
    let entry = |kind: &Value| Some((kind["kind"].as_str()?.to_owned(), kind.get(field)?.clone()));
    prompt.kinds.iter().filter_map(entry).collect()
}

/// The number of this request in the turn, as far as the request shows it; it may be higher.
///
/// The agent's words and errors since the user's last message belong to this turn. Calls do too, unless a question is
/// open: then they may be from an earlier turn.
fn requests(prompt: &Prompt) -> usize {
    let has_worked = !prompt.errors.is_empty()
        || prompt.out_of_format.is_some()
        || (prompt.questions.is_empty() && !prompt.plan.is_empty());
    1 + said_since(prompt).count().max(usize::from(has_worked))
}
