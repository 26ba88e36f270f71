//! The data of a request for conditions and templates.

use std::cell::OnceCell;

use minijinja::value::Value as TemplateValue;
use obelus_kernel::CallJson;
use obelus_kernel::jq::{Filter, Read};
use obelus_kernel::session::{CallEntry, CallReport, CallStatus, Prompt, Purpose, TranscriptEntry, TranscriptEvent};
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use super::reads::Reads;
use crate::model::calendar::calendar;
use crate::model::jinja;
use crate::model::{around_last_words, last_words, said_since};

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

/// A request for conditions and templates. What the playbook reads of it is converted once for all rules.
pub(super) struct Facts<'a> {
    pub(super) prompt: &'a Prompt,
    /// The user's last message.
    pub(super) user: Option<&'a str>,
    fields: Vec<(&'static str, Value)>,
    /// The results of the filters of the whole playbook.
    found: Map<String, Value>,
    /// The fields for jq.
    read: Vec<(&'static str, Read)>,
    /// The fields for templates.
    shown: OnceCell<Vec<(&'static str, TemplateValue)>>,
}

/// The facts with the groups of a pattern, and the results of a rule's filters.
pub(super) struct RuleFacts<'a> {
    facts: &'a Facts<'a>,
    /// For jq.
    pub(super) read: Read,
    found: Map<String, Value>,
    groups: Vec<PatternGroup<'a>>,
}

/// Number, name and text of a group of a pattern; null if it did not match.
type PatternGroup<'a> = (usize, Option<&'a str>, Value);

impl<'a> Facts<'a> {
    pub(super) fn of(prompt: &'a Prompt, reads: &Reads) -> Self {
        let user = last_words(prompt);
        let fields = fields_of(prompt, user, reads);
        let read = fields.iter().map(|(name, value)| (*name, Read::new(value))).collect();
        Self { prompt, user, fields, found: Map::new(), read, shown: OnceCell::new() }
    }

    /// Whether the request follows calls or decisions of the turn.
    pub(super) fn is_follow_up(&self) -> bool {
        requests(self.prompt) > 1
    }

    /// Whether a call of the plan ended before the user's last message. It is shown while others of its answer wait.
    pub(super) fn is_of_earlier_turn(&self, report: &CallReport) -> bool {
        is_of_earlier_turn(self.prompt, report)
    }

    /// The latest end, before the user's last message, of a call that `is_same`.
    pub(super) fn earlier_end(&self, is_same: impl Fn(&Value) -> bool) -> Option<CallStatus> {
        let earlier = ended(around_last_words(self.prompt).0).filter(|entry| is_same(&entry.call));
        earlier.last().map(|entry| entry.status)
    }

    /// Runs the filters of the whole playbook.
    pub(super) fn run_filters(&mut self, find: &[Find]) -> Result<(), String> {
        if !find.is_empty() {
            self.found = self.view(None, find)?.found;
        }
        Ok(())
    }

    /// The facts with the groups of a pattern as `m`, and the results of the rule's filters.
    pub(super) fn view(
        &'a self,
        matched: Option<&(&'a Regex, Captures<'_>)>,
        find: &[Find],
    ) -> Result<RuleFacts<'a>, String> {
        let groups = matched.map(|(pattern, captures)| groups(pattern, captures)).unwrap_or_default();
        let mut found = self.found.clone();
        let mut read = self.read(&groups, &found);
        // Each filter sees the results of those before it.
        for Find { name, filter } in find {
            let value = filter.one_read(&read).map_err(|error| format!("`find.{name}`: {error}"))?;
            found.insert(name.clone(), value);
            read = self.read(&groups, &found);
        }
        Ok(RuleFacts { facts: self, read, found, groups })
    }

    fn read(&self, groups: &[PatternGroup<'_>], found: &Map<String, Value>) -> Read {
        // Keys are text in jq and may be numbers in templates: `.m["1"]` and `m[1]`.
        let m: Map<String, Value> = groups
            .iter()
            .flat_map(|(index, name, text)| {
                [Some(index.to_string()), name.map(str::to_owned)].into_iter().flatten().map(|key| (key, text.clone()))
            })
            .collect();
        let more = [("found", Read::new(&found.clone().into())), ("m", Read::new(&m.into()))];
        Read::of_fields(self.read.iter().cloned().chain(more))
    }
}

impl RuleFacts<'_> {
    /// The facts for templates.
    pub(super) fn shown(&self) -> TemplateValue {
        let fields = self.facts.fields.iter();
        let convert = || fields.map(|(name, value)| (*name, jinja::value(value))).collect();
        let shown = self.facts.shown.get_or_init(convert).iter().cloned();
        let m = self.groups.iter().flat_map(|(index, name, text)| {
            [Some(TemplateValue::from(*index)), name.map(TemplateValue::from)]
                .into_iter()
                .flatten()
                .map(|key| (key, jinja::value(text)))
        });
        let found = jinja::value(&self.found.clone().into());
        TemplateValue::from_pairs(shown.chain([("found", found), ("m", TemplateValue::from_pairs(m))]))
    }
}

/// The facts of a request that the playbook reads.
fn fields_of(prompt: &Prompt, user: Option<&str>, reads: &Reads) -> Vec<(&'static str, Value)> {
    let read = NAMES.into_iter().filter(|name| reads.has(name));
    read.filter_map(|name| Some((name, field_of(prompt, user, name)?))).collect()
}

/// A fact of a request.
fn field_of(prompt: &Prompt, user: Option<&str>, name: &str) -> Option<Value> {
    let (purpose, call, scope) = match &prompt.purpose {
        Purpose::Solve => ("solve", None, None),
        Purpose::ModelCall { call, scope, .. } => ("think", Some(call), Some(scope)),
    };
    Some(match name {
        "user" => user.into(),
        "texts" => prompt.texts.iter().map(|(role, text)| json!({"role": role, "text": text})).collect(),
        "kinds" => by_kind(prompt, "value").into(),
        "instances" => by_kind(prompt, "instances").into(),
        "plan" => of_turn(prompt).map(entry).collect(),
        "results" => of_turn(prompt).filter(|report| report.status == CallStatus::Done).map(entry).collect(),
        "errors" => prompt.errors.clone().into(),
        "questions" => json!(prompt.questions),
        "requests" => requests(prompt).into(),
        "purpose" => purpose.into(),
        "node" => json!(prompt.node),
        "call" => call.map(|call| Value::clone(call)).into(),
        "scope" => scope.cloned().into(),
        "mode" => json!(prompt.mode),
        "out_of_format" => json!(prompt.out_of_format),
        "time" => json!(calendar(prompt.now, prompt.time_zone.as_deref(), prompt.language.as_deref())),
        "seen" => json!(prompt.observation.as_ref().map(|latest| {
            json!({"tool": latest.tool, "digest": latest.digest, "text": latest.text,
                "image": latest.image.as_ref().map(|path| path.to_string_lossy())})
        })),
        "pictures" => json!(prompt.pictures),
        // `found` comes from the playbook itself.
        _ => return None,
    })
}

fn is_of_earlier_turn(prompt: &Prompt, report: &CallReport) -> bool {
    ended(around_last_words(prompt).0).any(|entry| entry.place == report.place)
}

/// The calls of this turn, and those that still wait.
fn of_turn(prompt: &Prompt) -> impl Iterator<Item = &CallReport> {
    use CallStatus::{Denied, Done, Failed, Refused, Skipped};
    let has_ended = |report: &CallReport| matches!(report.status, Done | Failed | Skipped | Denied | Refused);
    prompt.plan.iter().filter(move |report| !(has_ended(report) && is_of_earlier_turn(prompt, report)))
}

/// A call of the turn.
fn entry(report: &CallReport) -> Value {
    let mut entry = json!({"tool": report.call.get("_tool"), "status": report.status});
    entry["call"] = (*report.call).clone();
    entry["error"] = json!(report.error);
    entry
}

/// The call that the model must carry out, if the request is for one.
pub(super) fn model_call(prompt: &Prompt) -> Option<&CallJson> {
    match &prompt.purpose {
        Purpose::Solve => None,
        Purpose::ModelCall { call, .. } => Some(call),
    }
}

fn groups<'r>(pattern: &'r Regex, captures: &Captures<'_>) -> Vec<PatternGroup<'r>> {
    let names = pattern.capture_names().enumerate();
    names.map(|(index, name)| (index, name, captures.get(index).map(|found| found.as_str()).into())).collect()
}

fn by_kind(prompt: &Prompt, field: &str) -> Map<String, Value> {
    let entry = |kind: &Value| Some((kind["kind"].as_str()?.to_owned(), kind.get(field)?.clone()));
    prompt.kinds.iter().filter_map(entry).collect()
}

/// The number of this request in the turn, as far as the request shows it; it may be higher.
///
/// The agent's words, errors and ended calls since the user's last message belong to this turn. Other calls of the plan
/// do too, unless a question is open: then they may be from an earlier turn.
fn requests(prompt: &Prompt) -> usize {
    let has_worked = !prompt.errors.is_empty()
        || prompt.out_of_format.is_some()
        || ended(around_last_words(prompt).1).next().is_some()
        || (prompt.questions.is_empty() && !prompt.plan.is_empty());
    1 + said_since(prompt).count().max(usize::from(has_worked))
}

/// The calls of a transcript that have ended.
fn ended(entries: &[TranscriptEntry]) -> impl Iterator<Item = &CallEntry> {
    let calls = entries.iter().filter_map(|entry| match &entry.what {
        TranscriptEvent::Call(call) => Some(&**call),
        _ => None,
    });
    // The transcript also has calls that wait for a person.
    calls.filter(|call| call.status != CallStatus::Waiting)
}
