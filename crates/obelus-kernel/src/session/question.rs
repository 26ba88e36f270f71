//! What waits for a person: one thing, whatever it is about.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::describe::{mark, word};
use super::elicitation::Elicitation;
use super::job::JobRef;
use super::value_names::Named;
use crate::origin::Origins;
use crate::plan::Manner;
use crate::time::Time;

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// Calls that may run or not.
    Call,
    /// A plan as a whole.
    Plan,
    /// Something else than a yes: a value, a manual step.
    Input,
    /// An effect of which nobody knows whether it happened.
    InDoubt,
}

/// Where a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionStatus {
    /// It waits.
    Requested,
    /// Yes.
    Approved,
    /// No.
    Denied,
    /// The value was given.
    Answered,
    /// Nobody said anything in time.
    Expired,
}

/// Something that waits for a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    /// Its id, unique in the session.
    pub id: String,
    /// What it is about.
    pub about: About,
    /// The calls it is about, frozen: what runs is what is shown.
    pub calls: Vec<AskedCall>,
    /// What a person is told, made from the frozen calls.
    pub description: String,
    /// Why a person is asked.
    pub reasons: Vec<String>,
    /// What will change, field by field, as far as somebody looked.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// What people call values that stand in it, as far as that is known.
    #[serde(default)]
    pub names: Vec<Named>,
    /// What an answer must look like, where it is a value.
    pub schema: Option<Value>,
    /// When it was asked.
    pub requested_at: Time,
    /// When whoever may answer is reminded, once; none if nobody is, or was already.
    #[serde(default)]
    pub remind_at: Option<Time>,
    /// When it lapses.
    pub expires_at: Time,
    /// Where it is.
    pub status: QuestionStatus,
    /// When it was decided.
    pub decided_at: Option<Time>,
    /// Who decided, and from where.
    pub by: Option<String>,
    /// Why, where it was denied.
    pub reason: Option<String>,
    /// The call at work that asks it, where one does.
    #[serde(default)]
    pub(super) elicitation: Option<Elicitation>,
    /// How the calls are to be taken, where it is about a plan.
    pub(super) manner: Manner,
    /// Whether it was made before anything untrusted was shown, where it is about a plan.
    pub(super) before_reading: bool,
    /// How many messages the context had: words of the user after that may answer it.
    pub(super) asked_after: usize,
}

/// A field that a call would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The place of the call in the question.
    pub call: usize,
    /// The field.
    pub field: String,
    /// What it holds now; none where that was not found.
    pub before: Option<Value>,
    /// What it would hold.
    pub after: Value,
    /// Where the one comes from.
    pub before_from: Origins,
    /// Where the other comes from.
    pub after_from: Origins,
}

impl Change {
    fn to_json(&self) -> Value {
        let mut form = json!({"call": self.call, "field": self.field, "after": self.after});
        form["before"] = self.before.clone().unwrap_or_default();
        form["known"] = self.before.is_some().into();
        for (name, origins) in [("before_untrusted", &self.before_from), ("after_untrusted", &self.after_from)] {
            if !origins.is_trusted() {
                form[name] = origins.untrusted().collect();
            }
        }
        form
    }

    /// On one line: `"STAGE": "NEW" → "WON"`.
    fn words(&self) -> String {
        let before = match &self.before {
            Some(value) => format!("{}{}", cut(value), mark(&self.before_from)),
            None => "not known".to_owned(),
        };
        let same = if self.before.as_ref() == Some(&self.after) { " (no change)" } else { "" };
        format!("{}: {before} → {}{}{same}", word(&self.field), cut(&self.after), mark(&self.after_from))
    }
}

/// A value on one line. What is long stands whole among the parameters.
fn cut(value: &Value) -> String {
    const MOST: usize = 200;
    let text = super::describe::json(value);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text,
    }
}

/// A call that a person is asked about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AskedCall {
    /// The call with its references resolved.
    pub call: Arc<Value>,
    /// What it is bound to.
    pub hash: String,
    /// Whether it was approved or denied; none while it waits.
    pub decided: Option<bool>,
    /// When that was; calls of one question may be decided one by one.
    #[serde(default)]
    pub decided_at: Option<Time>,
    /// Why, where it was denied.
    #[serde(default)]
    pub reason: Option<String>,
    /// The jobs that wait for it; the first one runs.
    pub(super) jobs: Vec<JobRef>,
}

impl AskedCall {
    /// A call that waits.
    pub(super) fn new(call: Arc<Value>, hash: String, jobs: Vec<JobRef>) -> Self {
        Self { call, hash, decided: None, decided_at: None, reason: None, jobs }
    }

    /// Keeps what was decided, and hands out what it was decided about: the hash, and the jobs that wait.
    pub(super) fn decide(&mut self, is_yes: bool, at: Time, reason: Option<&str>) -> (String, Vec<JobRef>) {
        self.decided = Some(is_yes);
        self.decided_at = Some(at);
        self.reason = reason.map(str::to_owned);
        (self.hash.clone(), self.jobs.clone())
    }
}

impl Question {
    /// Whether it still waits.
    pub fn is_open(&self) -> bool {
        self.status == QuestionStatus::Requested
    }

    /// The tool whose call asks this while it is at work; none where the agent itself asks.
    pub fn asked_by(&self) -> Option<&str> {
        self.elicitation.as_ref()?;
        self.calls.first()?.call.get("_tool")?.as_str()
    }

    /// What a person is told: the description, and then what will change: a line for each field, or, where there are
    /// several calls, for each call.
    pub fn words(&self) -> String {
        let mut lines = vec![self.description.clone()];
        lines.extend(self.change_lines());
        lines.join("\n")
    }

    /// What will change: a line for each field, or, where there are several calls, for each call.
    pub fn change_lines(&self) -> Vec<String> {
        if self.calls.len() < 2 {
            return self.changes.iter().map(|change| format!("  changes {}", change.words())).collect();
        }
        let mut lines = Vec::new();
        for (index, asked) in self.calls.iter().enumerate() {
            let changes = self.changes.iter().filter(|change| change.call == index);
            let changes: Vec<String> = changes.map(Change::words).collect();
            let whose = match asked.call.get("_instance").and_then(Value::as_str) {
                Some(instance) => format!("for {}", word(instance)),
                None => format!("call {}", index + 1),
            };
            if !changes.is_empty() {
                lines.push(format!("  changes {whose}: {}", changes.join("; ")));
            }
        }
        lines
    }

    /// What the model is told of it: nothing that was read for people's eyes.
    pub(super) fn for_model(&self) -> Value {
        let mut form = self.to_json();
        if let Value::Object(fields) = &mut form {
            fields.shift_remove("changes");
        }
        if self.elicitation.is_some() {
            // What a server says to people is said to nobody else.
            form["description"] = "the call asks a person something while it is at work".into();
            form["schema"] = Value::Null;
        }
        form
    }

    /// The form in which other programs read it.
    pub fn to_json(&self) -> Value {
        let calls: Vec<Value> = self.calls.iter().map(|asked| (*asked.call).clone()).collect();
        let mut form = json!({
            "id": self.id,
            "about": self.about,
            "call": calls.first(),
            "calls": calls,
            "description": self.description,
            "reasons": self.reasons,
            "requested_at": self.requested_at.to_string(),
            "expires_at": self.expires_at.to_string(),
            "status": self.status,
        });
        let optional = [
            ("names", (!self.names.is_empty()).then(|| json!(self.names))),
            ("changes", (!self.changes.is_empty()).then(|| self.changes.iter().map(Change::to_json).collect())),
            ("schema", self.schema.clone()),
            ("asked_by", self.asked_by().map(Value::from)),
            ("by", self.by.clone().map(Value::from)),
            ("reason", self.reason.clone().map(Value::from)),
            ("decided_at", self.decided_at.map(|time| time.to_string().into())),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                form[name] = value;
            }
        }
        form
    }

    /// The same question, seen from the session that delegated to the one that asks.
    pub(super) fn below(mut self, job: impl std::fmt::Display) -> Self {
        self.id = format!("{job}/{}", self.id);
        self
    }

    pub(super) fn open_calls(&self) -> impl Iterator<Item = usize> {
        self.calls.iter().enumerate().filter(|(_, call)| call.decided.is_none()).map(|(index, _)| index)
    }
}

/// Everything that was ever asked, and what was said.
#[derive(Default)]
pub(super) struct Questions {
    all: BTreeMap<u64, Question>,
    /// Numbers of those that wait.
    open: BTreeSet<u64>,
    /// Where each call was last asked about: the question's number and the call's place in it.
    places: BTreeMap<String, (u64, usize)>,
    /// Hashes of denied calls, with the length of the context at that moment.
    pub(super) denied: BTreeMap<String, usize>,
    /// Hashes of calls that a person let run, with the job that runs or ran.
    pub(super) approved: BTreeMap<String, Approved>,
    /// The hashes of the calls among them that have not ended, by job.
    pub(super) granted: BTreeMap<JobRef, String>,
    /// Jobs that wait for another to run for them.
    pub(super) joined: BTreeMap<JobRef, Vec<JobRef>>,
    /// Jobs that need a person, to be asked about together with their siblings of other instances.
    pub(super) asking: Vec<Asking>,
    /// Open questions that calls at work have asked, by job.
    pub(super) elicitations: BTreeMap<JobRef, Vec<String>>,
}

/// A job that needs a person.
pub(super) struct Asking {
    pub(super) at: JobRef,
    pub(super) described: String,
    pub(super) reasons: Vec<String>,
}

/// What became of a call that a person let run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Approved {
    Running(JobRef),
    Done,
}

/// The same while no job is under way.
#[derive(Serialize, Deserialize)]
pub(super) struct QuestionsCheckpoint<'a> {
    all: Cow<'a, BTreeMap<u64, Question>>,
    places: Cow<'a, BTreeMap<String, (u64, usize)>>,
    denied: Cow<'a, BTreeMap<String, usize>>,
    approved: Cow<'a, BTreeMap<String, Approved>>,
}

impl From<QuestionsCheckpoint<'_>> for Questions {
    fn from(kept: QuestionsCheckpoint<'_>) -> Self {
        let (all, places) = (kept.all.into_owned(), kept.places.into_owned());
        let (denied, approved) = (kept.denied.into_owned(), kept.approved.into_owned());
        let open = all.iter().filter(|(_, question)| question.is_open()).map(|(number, _)| *number).collect();
        Self { all, open, places, denied, approved, ..Self::default() }
    }
}

impl Questions {
    /// What is to be kept; none while a job waits or runs for one of them.
    pub(super) fn kept(&self) -> Option<QuestionsCheckpoint<'_>> {
        let is_idle = self.granted.is_empty() && self.joined.is_empty() && self.asking.is_empty();
        let is_idle = is_idle && self.elicitations.is_empty();
        is_idle.then(|| QuestionsCheckpoint {
            all: Cow::Borrowed(&self.all),
            places: Cow::Borrowed(&self.places),
            denied: Cow::Borrowed(&self.denied),
            approved: Cow::Borrowed(&self.approved),
        })
    }

    pub(super) fn add(&mut self, mut question: Question) -> String {
        let number = self.all.last_key_value().map_or(0, |(last, _)| *last) + 1;
        question.id = format!("q{number}");
        let id = question.id.clone();
        if question.about == About::Call {
            let hashes = question.calls.iter().map(|asked| asked.hash.clone()).enumerate();
            self.places.extend(hashes.map(|(index, hash)| (hash, (number, index))));
        }
        self.all.insert(number, question);
        self.open.insert(number);
        id
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Question> {
        self.all.values()
    }

    pub(super) fn open(&self) -> impl Iterator<Item = &Question> {
        self.open.iter().filter_map(|number| self.all.get(number))
    }

    pub(super) fn get(&self, id: &str) -> Option<&Question> {
        self.all.get(&number(id)?)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Question> {
        self.all.get_mut(&number(id)?)
    }

    /// The open question about exactly this call, and its place in it.
    pub(super) fn about(&self, hash: &str) -> Option<(String, usize)> {
        let &(number, index) = self.places.get(hash)?;
        let question = self.all.get(&number).filter(|question| question.is_open())?;
        let asked = &question.calls[index];
        (asked.decided.is_none() && asked.hash == hash).then(|| (question.id.clone(), index))
    }

    /// Ends a question.
    pub(super) fn decided(&mut self, id: &str, status: QuestionStatus, at: Time, by: &str, reason: Option<&str>) {
        let Some(number) = number(id) else { return };
        self.open.remove(&number);
        if let Some(question) = self.all.get_mut(&number) {
            question.status = status;
            question.decided_at = Some(at);
            question.by = Some(by.to_owned());
            question.reason = reason.map(str::to_owned);
        }
    }

    /// The context has become shorter: every length that something is dated by is another one now.
    pub(super) fn move_dates(&mut self, length: impl Fn(usize) -> usize) {
        self.denied.values_mut().for_each(|since| *since = length(*since));
        self.all.values_mut().for_each(|question| question.asked_after = length(question.asked_after));
    }

    /// Whether nothing was ever asked or denied, so that no call can have a history.
    pub(super) fn is_blank(&self) -> bool {
        self.all.is_empty() && self.denied.is_empty()
    }
}

fn number(id: &str) -> Option<u64> {
    id.strip_prefix('q')?.parse().ok()
}

/// What binds a decision to a call: its tool, parameters and meta-properties, in this session and mode.
pub(super) fn hash(session: &str, mode: &str, call: &Value, is_aside: impl Fn(&str) -> bool) -> String {
    let text = identity(call, is_aside);
    let digest = Sha256::digest(format!("{}\n{mode}\n{text}", Value::from(session)));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What makes a call this one, whatever is said about it.
pub(super) fn identity(call: &Value, is_aside: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    if let Value::Object(fields) = call {
        let mut names: Vec<&String> =
            fields.keys().filter(|name| *name != "_reasoningForCall" && !is_aside(name)).collect();
        names.sort();
        for name in names {
            text.push_str(&Value::from(name.as_str()).to_string());
            text.push(':');
            canonical(&fields[name], &mut text);
            text.push(',');
        }
    }
    text
}

/// JSON with the keys of every object sorted, so that equal values have equal text.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            text.push('{');
            for name in names {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                canonical(&fields[name], text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_bound_to_the_call_and_not_to_how_it_is_written() {
        let aside = |name: &str| name == "comment";
        let of = |call: Value| hash("s", "full", &call, aside);
        let call = of(json!({"_tool": "t", "a": {"x": 1, "y": 2}}));
        assert_eq!(call, of(json!({"a": {"y": 2, "x": 1}, "_tool": "t", "comment": "why", "_reasoningForCall": "z"})));
        assert_ne!(call, of(json!({"_tool": "t", "a": {"x": 1, "y": 3}})));
        assert_ne!(call, hash("s", "canary", &json!({"_tool": "t", "a": {"x": 1, "y": 2}}), aside));
        assert_ne!(of(json!({"a": ["b,c"]})), of(json!({"a": ["b", "c"]})));
    }
}
