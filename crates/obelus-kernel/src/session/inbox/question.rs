//! A question to a person, whatever its subject.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::elicitation::Elicitation;
use crate::origin::Origins;
use crate::policy::{Grounded, Reason};
use crate::session::ids::{JobRef, QuestionId, QuestionNumber, Routed};
use crate::time::Time;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::call_texts::Named;
use obelus_notebook::describe::{ValueMark, leaves};
use obelus_notebook::mention::consent::ConsentWords;
use obelus_notebook::plan::StepOptions;

/// The subject of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// Calls that may run or not.
    Call,
    /// A plan as a whole.
    Plan,
    /// A value, or a manual step.
    Input,
    /// An effect in doubt.
    InDoubt,
}

impl About {
    /// The name for other programs.
    pub fn name(self) -> &'static str {
        match self {
            About::Call => "call",
            About::Plan => "plan",
            About::Input => "input",
            About::InDoubt => "in_doubt",
        }
    }
}

/// The status of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionStatus {
    /// It is open.
    Requested,
    /// Yes.
    Approved,
    /// No.
    Denied,
    /// The value was given.
    Answered,
    /// It expired.
    Expired,
}

impl QuestionStatus {
    /// The name for other programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            QuestionStatus::Requested => "requested",
            QuestionStatus::Approved => "approved",
            QuestionStatus::Denied => "denied",
            QuestionStatus::Answered => "answered",
            QuestionStatus::Expired => "expired",
        }
    }
}

/// A question to a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    /// Its id, unique in the session.
    pub id: QuestionId,
    /// Its subject.
    pub about: About,
    /// Its calls, frozen: what runs is what is shown.
    pub calls: Vec<AskedCall>,
    /// The text for people, made from the frozen calls.
    pub description: String,
    /// Its headline, if it came from elsewhere with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// Why a person is asked.
    pub reasons: Vec<Reason>,
    /// What will change, field by field, as far as it was read.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// Names of values in it, as far as known.
    #[serde(default)]
    pub names: Vec<Named>,
    /// The schema of the answer, if that is a value.
    pub schema: Option<Value>,
    /// When it was asked.
    pub requested_at: Time,
    /// When people are reminded, once; none if there is no reminder, or it is done.
    #[serde(default)]
    pub remind_at: Option<Time>,
    /// When it expires.
    pub expires_at: Time,
    /// Its status.
    pub status: QuestionStatus,
    /// When it was decided.
    pub decided_at: Option<Time>,
    /// Who decided, and from where.
    pub by: Option<String>,
    /// The reason of a denial.
    pub reason: Option<String>,
    /// The running call that asks it, if any.
    #[serde(default)]
    pub(in crate::session) elicitation: Option<Elicitation>,
    /// For a plan: how its calls run.
    #[serde(rename = "manner")]
    pub(in crate::session) options: StepOptions,
    /// For a plan: whether it was made before anything untrusted was shown.
    pub(in crate::session) before_reading: bool,
    /// The number of messages in the context: later messages of the user may answer it.
    pub(in crate::session) asked_after: usize,
    /// Whether one of its calls pays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::session) is_payment: bool,
}

/// The parts of a new question.
pub(in crate::session) struct Draft {
    pub(in crate::session) about: About,
    pub(in crate::session) calls: Vec<AskedCall>,
    pub(in crate::session) description: String,
    pub(in crate::session) reasons: Vec<Reason>,
    pub(in crate::session) schema: Option<Value>,
    pub(in crate::session) elicitation: Option<Elicitation>,
    pub(in crate::session) options: StepOptions,
    pub(in crate::session) before_reading: bool,
}

impl Draft {
    pub(in crate::session) fn new(about: About, calls: Vec<AskedCall>, description: String) -> Self {
        Self {
            about,
            calls,
            description,
            reasons: Vec::new(),
            schema: None,
            elicitation: None,
            options: StepOptions::default(),
            before_reading: false,
        }
    }

    pub(in crate::session) fn because(self, reasons: Vec<Reason>) -> Self {
        Self { reasons, ..self }
    }
}

/// The time and deadlines of a question, and whether it is about a payment.
#[derive(Clone, Copy)]
pub(in crate::session) struct Terms {
    pub(in crate::session) is_payment: bool,
    pub(in crate::session) now: Time,
    /// Seconds until the reminder.
    pub(in crate::session) remind_after: Option<u64>,
    /// Seconds until it expires.
    pub(in crate::session) expire_after: u64,
    /// The number of messages in the context.
    pub(in crate::session) asked_after: usize,
}

impl Question {
    pub(super) fn new(number: u64, draft: Draft, terms: Terms) -> Self {
        let Draft { about, calls, description, reasons, schema, elicitation, options, before_reading } = draft;
        Self {
            id: Routed::own(QuestionNumber(number)),
            about,
            calls,
            description,
            headline: None,
            reasons,
            changes: Vec::new(),
            names: Vec::new(),
            schema,
            requested_at: terms.now,
            remind_at: terms.remind_after.map(|seconds| terms.now.plus_seconds(seconds)),
            expires_at: terms.now.plus_seconds(terms.expire_after),
            status: QuestionStatus::Requested,
            decided_at: None,
            by: None,
            reason: None,
            elicitation,
            options,
            before_reading,
            asked_after: terms.asked_after,
            is_payment: terms.is_payment,
        }
    }
}

/// A field that a call would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The index of the call in the question.
    pub call: usize,
    /// The field.
    pub field: String,
    /// The current value; none if it was not found.
    pub before: Option<Value>,
    /// The new value.
    pub after: Value,
    /// The origins of the current value.
    pub before_from: Origins,
    /// The origins of the new value.
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
}

/// A call that a person is asked about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AskedCall {
    /// The call with its references resolved.
    pub call: CallJson,
    /// The hash that decisions are bound to.
    pub hash: String,
    /// Whether it was approved or denied; none while it is open.
    pub decided: Option<bool>,
    /// When it was decided; calls of one question may be decided one by one.
    #[serde(default)]
    pub decided_at: Option<Time>,
    /// The reason of a denial.
    #[serde(default)]
    pub reason: Option<String>,
    /// How its values are grounded in the user's messages, if the policy uses that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grounded: Vec<Grounded>,
    /// Its untrusted values, and their sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<ValueMark>,
    /// The jobs that wait for it; the first one runs.
    pub(in crate::session) jobs: Vec<JobRef>,
}

impl AskedCall {
    /// An open call.
    pub(in crate::session) fn new(call: CallJson, hash: String, jobs: Vec<JobRef>) -> Self {
        Self {
            call,
            hash,
            decided: None,
            decided_at: None,
            reason: None,
            grounded: Vec::new(),
            marks: Vec::new(),
            jobs,
        }
    }

    /// The places of the turn's calls that wait for it, as in their reports.
    pub fn places(&self) -> impl Iterator<Item = (u32, u32)> {
        self.jobs.iter().map(|job| (job.step, job.job))
    }

    /// Its fields with their places, as in marks: parameters and remarks.
    pub fn leaves(&self) -> Vec<(String, &Value)> {
        leaves(&self.call)
    }

    /// Records a decision; returns the hash and the waiting jobs.
    pub(in crate::session) fn decide(&mut self, is_yes: bool, at: Time, reason: Option<&str>) -> (String, Vec<JobRef>) {
        self.decided = Some(is_yes);
        self.decided_at = Some(at);
        self.reason = reason.map(str::to_owned);
        (self.hash.clone(), self.jobs.clone())
    }
}

impl Question {
    /// Sets its headline, on one line. The description is still made from the call itself.
    pub(super) fn set_headline(&mut self, text: &str) {
        self.headline = Some(crate::visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")));
    }

    /// Adds the name of a value, unless it is known.
    pub(in crate::session) fn add_name(&mut self, named: Named) {
        if !self.names.iter().any(|known| known.place == named.place && known.value == named.value) {
            self.names.push(named);
        }
    }

    /// Adds a reason, unless it has it.
    pub(super) fn add_reason(&mut self, why: Reason) {
        if !self.reasons.contains(&why) {
            self.reasons.push(why);
        }
    }

    /// Whether an approval may repeat an effect that is in doubt.
    pub(in crate::session) fn may_repeat(&self) -> bool {
        self.reasons.contains(&Reason::MayHaveHappened)
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.status == QuestionStatus::Requested
    }

    /// The tool whose running call asks this; none if the agent itself asks.
    pub fn asked_by(&self) -> Option<&str> {
        self.elicitation.as_ref()?;
        self.calls.first()?.call.tool()
    }

    /// The form for the model, without anything that was read for people.
    pub(in crate::session) fn for_model(&self) -> Value {
        let mut form = self.to_json();
        if let Value::Object(fields) = &mut form {
            fields.shift_remove("changes");
            fields.shift_remove("grounded");
            fields.shift_remove("digest");
        }
        if self.elicitation.is_some() {
            // A server's text to people is only for them.
            form["description"] = "the call asks a person something while it is at work".into();
            form["schema"] = Value::Null;
        }
        form
    }

    /// The JSON for other programs.
    pub fn to_json(&self) -> Value {
        let calls: Vec<Value> = self.calls.iter().map(|asked| (*asked.call).clone()).collect();
        let mut form = json!({
            "id": self.id,
            "about": self.about,
            "call": calls.first(),
            "calls": calls,
            "description": self.description,
            "reasons": self.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "requested_at": self.requested_at.to_string(),
            "expires_at": self.expires_at.to_string(),
            "status": self.status,
            "digest": self.digest(),
        });
        let optional = [
            ("headline", self.headline.clone().map(Value::from)),
            ("names", (!self.names.is_empty()).then(|| json!(self.names))),
            ("grounded", Some(self.grounded()).filter(|all| !all.is_empty()).map(Value::from)),
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

    /// How the values of its calls are grounded, each with the index of the call.
    fn grounded(&self) -> Vec<Value> {
        let of_call = |(index, asked): (usize, &AskedCall)| {
            let one = move |one: &Grounded| {
                let mut form = one.to_json();
                form["call"] = index.into();
                form
            };
            asked.grounded.iter().map(one).collect::<Vec<_>>()
        };
        self.calls.iter().enumerate().flat_map(of_call).collect()
    }

    /// The same question, seen from the session whose job the delegate carries out.
    pub(in crate::session) fn below(mut self, job: JobRef) -> Self {
        self.id = self.id.below(job);
        self
    }

    /// Whether only an answer to the question itself counts, not the model's claim that the user agreed (ASK-6): it
    /// concerns origins, a deletion, a configuration, a payment or a repetition.
    pub fn needs_direct_answer(&self) -> bool {
        let is_about = |reason: &Reason| {
            matches!(reason, Reason::Deletes | Reason::Configures)
                || reason.is_about_origins()
                || reason.is_about_repetition()
        };
        self.is_payment || self.about == About::InDoubt || self.reasons.iter().any(is_about)
    }

    /// Whether the user's message consents to it. If it needs a direct answer, the message must say nothing else.
    pub(in crate::session) fn is_consent(&self, consent: &ConsentWords, text: &str) -> bool {
        if self.needs_direct_answer() { consent.only_consents(text) } else { consent.consents(text) }
    }

    /// Its number in its own session.
    pub(in crate::session) fn number(&self) -> QuestionNumber {
        self.id.local().unwrap_or(QuestionNumber(0))
    }

    /// The jobs whose calls it is about.
    pub(in crate::session) fn jobs(&self) -> impl Iterator<Item = JobRef> + '_ {
        self.calls.iter().flat_map(|asked| asked.jobs.iter().copied())
    }

    /// The indexes of the open calls.
    pub(in crate::session) fn open_calls(&self) -> impl Iterator<Item = usize> {
        self.calls.iter().enumerate().filter(|(_, call)| call.decided.is_none()).map(|(index, _)| index)
    }
}
