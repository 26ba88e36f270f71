//! What waits for a person: one thing, whatever it is about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::job::JobRef;
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
#[derive(Clone, Debug)]
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
    /// What an answer must look like, where it is a value.
    pub schema: Option<Value>,
    /// When it was asked.
    pub requested_at: Time,
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
    /// How the calls are to be taken, where it is about a plan.
    pub(super) manner: Manner,
    /// Whether it was made before anything untrusted was shown, where it is about a plan.
    pub(super) before_reading: bool,
    /// How many messages the context had: words of the user after that may answer it.
    pub(super) asked_after: usize,
}

/// A call that a person is asked about.
#[derive(Clone, Debug)]
pub struct AskedCall {
    /// The call with its references resolved.
    pub call: Arc<Value>,
    /// What it is bound to.
    pub hash: String,
    /// Whether it was approved or denied; none while it waits.
    pub decided: Option<bool>,
    /// The jobs that wait for it; the first one runs.
    pub(super) jobs: Vec<JobRef>,
}

impl Question {
    /// Whether it still waits.
    pub fn is_open(&self) -> bool {
        self.status == QuestionStatus::Requested
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
            ("schema", self.schema.clone()),
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
}

/// A job that needs a person.
pub(super) struct Asking {
    pub(super) at: JobRef,
    pub(super) described: String,
    pub(super) reasons: Vec<String>,
}

/// What became of a call that a person let run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approved {
    Running(JobRef),
    Done,
}

impl Questions {
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
    let digest = Sha256::digest(format!("{}\n{mode}\n{text}", Value::from(session)));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
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
