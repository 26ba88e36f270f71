//! The transcript: what the model has been shown, and what the next request adds.
//!
//! It owns the history of the session for the model, the origins of everything shown, the reports of the turn's ended
//! calls, and the errors for the next request. The other parts of a prompt are read from memory (see `prompt`).
//!
//! | file | subject |
//! |---|---|
//! | `history` | the entries in order, and their limit |
//! | `pending_call` | calls before they become entries |

mod history;
mod pending_call;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::output::{CallReport, CallStatus};
use super::proposed_step::ProposedStep;
use super::report_error::ReportError;
use crate::context::View;
use crate::origin::{Origin, Origins};
use history::History;
use obelus_notebook::jq::Filter;
pub use obelus_notebook::transcript_entry::{CallEntry, TranscriptEntry, TranscriptEvent};
pub(super) use pending_call::{PendingCall, params_alone};

/// The limit of characters of a text in the state that may be repeated.
const SHORT: usize = 40;

/// What the model has been shown, and what the next request adds.
#[derive(Default)]
pub(super) struct Transcript {
    record: TranscriptRecord,
    /// Filters of kinds that are not shown whole.
    views: BTreeMap<String, Filter>,
}

/// The stored part of a transcript.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct TranscriptRecord {
    /// The origins of everything that the model has been shown.
    shown: Origins,
    /// The origins of the agent's own messages: of everything it had been shown at that time.
    #[serde(rename = "said")]
    agent_text_origins: Origins,
    /// The turn's calls that have ended.
    #[serde(with = "reports")]
    ended: Vec<CallReport>,
    /// The same as proposed, for a planner that does not see untrusted values.
    #[serde(with = "reports")]
    ended_as_proposed: Vec<CallReport>,
    /// The same step by step, for views of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    proposed: Vec<ProposedStep>,
    /// The numbers of ended calls and messages when the model last completed a step of a graph.
    reported: (usize, usize),
    /// Whether calls of the latest plan were started.
    has_started: bool,
    /// A person's denial of the latest plan as a whole.
    plan_denied: Option<ReportError>,
    /// Whether something was read, or failed, since the latest request.
    has_news: bool,
    /// Errors that belong to no active call.
    errors: Vec<Value>,
    /// The history of the session as the model sees it.
    history: History,
    /// The origins of everything in it, and in the ended calls.
    history_origins: Origins,
    /// Per list of the state: how many elements the history already shows (the last ones; for goals the first).
    #[serde(rename = "told")]
    listed: BTreeMap<String, usize>,
}

impl Transcript {
    pub(super) fn new(shown: Origins, views: BTreeMap<String, Filter>) -> Self {
        Self { record: TranscriptRecord { shown, ..TranscriptRecord::default() }, views }
    }

    pub(super) fn record(&self) -> Cow<'_, TranscriptRecord> {
        let mut record = Cow::Borrowed(&self.record);
        if record.history.has_pending_calls() {
            record.to_mut().history.flush();
        }
        record
    }

    pub(super) fn restore(&mut self, record: TranscriptRecord) {
        self.record = record;
    }

    /// Begins a turn.
    pub(super) fn begin_turn(&mut self) {
        let has_started = self.record.has_started;
        let plan_denied = self.record.plan_denied.take();
        self.reset();
        self.record.has_started = has_started;
        self.record.plan_denied = plan_denied;
    }

    /// Begins a turn with a decision, whose result is yet to be shown.
    pub(super) fn begin_turn_by_decision(&mut self) {
        let errors = self.take_errors();
        let has_news = self.record.has_news;
        self.begin_turn();
        self.record.errors = errors;
        self.record.has_news = has_news;
    }

    /// Clears the turn's calls. Their entries in the history stay.
    pub(super) fn reset(&mut self) {
        let former = std::mem::take(&mut self.record);
        self.record = TranscriptRecord {
            shown: former.shown,
            agent_text_origins: former.agent_text_origins,
            history: former.history,
            history_origins: former.history_origins,
            listed: former.listed,
            ..TranscriptRecord::default()
        };
    }

    /// Adds an event for the model, with its origins.
    pub(super) fn add(&mut self, event: TranscriptEvent, origins: &Origins) {
        self.record.history_origins.join(origins);
        self.record.history.push(event);
    }

    /// Adds a decision that does not belong to a single call.
    pub(super) fn add_decision(&mut self, decision: Value) {
        self.add(TranscriptEvent::Decision { decision }, &Origins::of(Origin::User));
    }

    /// Adds a call, whose entry is made later.
    pub(super) fn add_call(&mut self, call: PendingCall, origins: &Origins) {
        self.record.history_origins.join(origins);
        self.record.history.push_call(call);
    }

    /// Makes the entries of pending calls.
    pub(super) fn flush(&mut self) {
        self.record.history.flush();
    }

    /// The origins of everything that the model sees.
    pub(super) fn history_origins(&self) -> &Origins {
        &self.record.history_origins
    }

    /// The history that the latest request shows.
    pub(super) fn sent(&self) -> &[TranscriptEntry] {
        self.record.history.sent()
    }

    /// Calls that no request has shown yet, each with its index.
    pub(super) fn unsent_calls(&self) -> impl Iterator<Item = (usize, &CallEntry)> {
        self.record.history.unsent_calls()
    }

    /// Whether the model has seen that a call waits for a person.
    pub(super) fn has_shown_waiting(&self, place: (u32, u32)) -> bool {
        self.record.history.has_shown_waiting(place)
    }

    /// Removes a result that no request has shown yet.
    pub(super) fn forget_result(&mut self, at: usize) {
        self.record.history.forget_result(at);
    }

    /// Whether the model's latest answer has this text.
    pub(super) fn answer_has(&self, text: &str) -> bool {
        self.record.history.answer_has(text)
    }

    /// Whether a visible answer of the model has this value, so that the state need not repeat it.
    pub(super) fn answers_have(&self, value: &Value) -> bool {
        let is_long = match value {
            Value::String(text) => text.chars().count() > SHORT,
            Value::Array(_) => true,
            _ => false,
        };
        is_long
            && self.sent().iter().filter(|entry| !entry.is_digest).any(|entry| match &entry.what {
                TranscriptEvent::Answer { output: Value::Object(fields), .. } => {
                    fields.values().any(|field| field == value)
                }
                _ => false,
            })
    }

    /// Whether it tells that a person denied the step of a confirmation.
    pub(super) fn has_denial(&self, confirmation: &Value) -> bool {
        let (tool, params) = (&confirmation["action"]["method"], &confirmation["action"]["params"]);
        let has_params = |call: &Value| {
            let own = call.as_object().into_iter().flatten().filter(|(name, _)| !name.starts_with('_'));
            own.clone().count() == params.as_object().map_or(0, Map::len)
                && own.into_iter().all(|(name, value)| params.get(name) == Some(value))
        };
        let is_denial = |entry: &TranscriptEntry| match &entry.what {
            TranscriptEvent::Call(call) => {
                call.status == CallStatus::Denied && call.call.tool() == tool.as_str() && has_params(&call.call)
            }
            _ => false,
        };
        confirmation["status"] == "denied" && self.sent().iter().any(is_denial)
    }

    /// The history shows one more element of a list of the state.
    pub(super) fn note_listed(&mut self, field: &str) {
        *self.record.listed.entry(field.to_owned()).or_default() += 1;
    }

    /// How many elements of a list of the state the history shows.
    pub(super) fn listed(&self, field: &str) -> usize {
        self.record.listed.get(field).copied().unwrap_or_default()
    }

    /// A field of the state was replaced: the history no longer shows its content.
    pub(super) fn forget_listed(&mut self, field: &str) {
        self.record.listed.remove(field);
    }

    /// The driver has lost the observations.
    pub(super) fn forget_observations(&mut self) {
        self.record.history.forget_observations();
    }

    /// Keeps only texts.
    pub(super) fn keep_texts_only(&mut self) {
        self.record.history.keep_texts_only();
        self.record.listed.clear();
    }

    /// The origins of everything that the model has been shown.
    pub(super) fn shown(&self) -> &Origins {
        &self.record.shown
    }

    /// The origins of the agent's own messages.
    pub(super) fn agent_text_origins(&self) -> &Origins {
        &self.record.agent_text_origins
    }

    /// The model is shown something with these origins.
    pub(super) fn note_shown(&mut self, origins: &Origins) {
        self.record.shown.join(origins);
    }

    /// The agent sent a message: it has the origins of what the agent had been shown.
    pub(super) fn note_agent_message(&mut self) {
        self.record.agent_text_origins.join(&self.record.shown);
    }

    /// A request shows everything that has ended so far.
    pub(super) fn note_request(&mut self, budget: usize) {
        self.record.has_news = false;
        self.record.history.note_request(budget);
    }

    /// The model completed a step of a graph: the next request shows what follows.
    pub(super) fn note_step_end(&mut self, messages: usize) {
        self.record.reported = (self.record.ended.len(), messages);
    }

    /// The number of messages when the model last completed a step of a graph.
    pub(super) fn reported_messages(&self) -> usize {
        self.record.reported.1
    }

    /// Something was read, or failed.
    pub(super) fn note_news(&mut self) {
        self.record.has_news = true;
    }

    /// Whether something was read, or failed, since the latest request.
    pub(super) fn has_news(&self) -> bool {
        self.record.has_news
    }

    /// Adds an ended step, with the reports of its calls and the origins of their inputs.
    pub(super) fn add_ended<'a>(
        &mut self,
        step: ProposedStep,
        reports: impl Iterator<Item = CallReport>,
        origins: impl Iterator<Item = &'a Origins>,
    ) {
        origins.for_each(|origins| self.record.history_origins.join(origins));
        self.record.ended.extend(reports);
        self.record.proposed.push(step);
    }

    /// Adds the reports of an ended step with its calls as proposed, for a planner.
    pub(super) fn add_ended_as_proposed(&mut self, reports: Vec<CallReport>) {
        self.record.ended_as_proposed.extend(reports);
    }

    /// The turn's ended steps, as proposed.
    pub(super) fn proposed(&self) -> &[ProposedStep] {
        &self.record.proposed
    }

    /// The turn's ended calls.
    pub(super) fn ended(&self) -> &[CallReport] {
        &self.record.ended
    }

    /// Those since the model last completed a step of a graph, as proposed.
    pub(super) fn ended_as_proposed(&self) -> impl Iterator<Item = &CallReport> {
        self.record.ended_as_proposed.iter().skip(self.record.reported.0)
    }

    /// The number of ended calls that the model need not see again.
    pub(super) fn reported_calls(&self) -> usize {
        self.record.reported.0
    }

    /// There is a plan, and nothing of it has been started.
    pub(super) fn note_plan(&mut self) {
        self.record.has_started = false;
        self.record.plan_denied = None;
    }

    /// The plan was denied as a whole.
    pub(super) fn note_plan_denied(&mut self, error: ReportError) {
        self.record.plan_denied = Some(error);
    }

    /// A person's denial of the plan as a whole.
    pub(super) fn plan_denied(&self) -> Option<&ReportError> {
        self.record.plan_denied.as_ref()
    }

    /// Calls are started.
    pub(super) fn note_start(&mut self) {
        self.record.has_started = true;
    }

    /// Whether calls of the latest plan were started.
    pub(super) fn has_started(&self) -> bool {
        self.record.has_started
    }

    /// Adds an error for the next request.
    pub(super) fn add_error(&mut self, error: Value) {
        self.record.errors.push(error);
    }

    pub(super) fn take_errors(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.record.errors)
    }

    /// A kind's value, filtered as the author says. A failing filter hides nothing.
    pub(super) fn filtered(&self, kind: &str, view: &View, state: impl FnOnce() -> Value) -> Option<Value> {
        let whole = view.read(&[], None)?;
        let value = if kind == "state" { state() } else { whole.into_owned() };
        let part = self.views.get(kind).and_then(|filter| filter.one(&value).ok()).filter(|part| !part.is_null());
        Some(part.unwrap_or(value))
    }
}

/// Stored reports include their places, which other programs do not see.
mod reports {

    use obelus_notebook::call_json::CallJson;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{CallReport, CallStatus, ReportError};
    use crate::session::report_error::Lack;

    type StoredReport = ((u32, u32), CallJson, CallStatus, Option<StoredError>);

    /// An error with what its call lacks, which other programs do not see either.
    #[derive(Serialize, Deserialize)]
    struct StoredError {
        #[serde(flatten)]
        error: Box<ReportError>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lacks: Option<Lack>,
    }

    pub(super) fn serialize<S: Serializer>(reports: &[CallReport], to: S) -> Result<S::Ok, S::Error> {
        let stored = |error: &ReportError| StoredError { lacks: error.lacks.clone(), error: Box::new(error.clone()) };
        let report = |report: &CallReport| {
            (report.place, report.call.clone(), report.status, report.error.as_deref().map(stored))
        };
        to.collect_seq(reports.iter().map(report))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CallReport>, D::Error> {
        let error = |stored: StoredError| Box::new(ReportError { lacks: stored.lacks, ..*stored.error });
        let report =
            |(place, call, status, stored): StoredReport| CallReport { place, call, status, error: stored.map(error) };
        Ok(Vec::<StoredReport>::deserialize(from)?.into_iter().map(report).collect())
    }
}

#[cfg(test)]
mod tests {
    use obelus_notebook::call_json::CallJson;

    use super::*;

    #[test]
    fn a_new_turn_clears_the_calls_and_keeps_the_history() {
        let mut transcript = Transcript::default();
        let call = CallJson::of_tool("t");
        transcript.record.ended.push(CallReport { place: (0, 0), call, status: CallStatus::Done, error: None });
        transcript.add(TranscriptEvent::Assistant { text: "hi".to_owned() }, &Origins::default());
        transcript.note_listed("done");
        transcript.begin_turn();
        transcript.note_request(1_000);
        assert_eq!((transcript.ended().len(), transcript.sent().len(), transcript.listed("done")), (0, 1, 1));
    }

    #[test]
    fn a_restored_transcript_finds_its_calls() {
        let mut transcript = Transcript::default();
        let call = CallJson::of_tool("t");
        let lacks = Some(crate::session::report_error::Lack::Value("†state.x".to_owned()));
        let error = Some(Box::new(ReportError { lacks, ..ReportError::new("broken", "words") }));
        let expected = error.clone();
        transcript.record.ended.push(CallReport { place: (3, 1), call, status: CallStatus::Failed, error });
        let stored = serde_json::to_string(&transcript.record()).unwrap();
        transcript.restore(serde_json::from_str(&stored).unwrap());
        let report = &transcript.ended()[0];
        assert_eq!((report.place, report.status), ((3, 1), CallStatus::Failed));
        assert_eq!(report.error, expected, "texts for people need what it lacks");
    }
}
