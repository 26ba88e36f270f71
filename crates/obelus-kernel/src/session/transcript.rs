//! The transcript: what the model has been shown, and what it has still to be told.
//!
//! It owns the origins of everything that was shown, the reports of the turn's calls that have ended, and the errors
//! that the next request tells. What a prompt is made of beyond that is read from memory (see `prompt`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::output::{CallReport, CallStatus};
use super::scheduler::Step;
use crate::compose;
use crate::jq::Filter;
use crate::origin::Origins;

/// What the model has been shown and has still to be told.
#[derive(Default)]
pub(super) struct Transcript {
    record: TranscriptRecord,
    /// What the model is shown of kinds that are not shown whole.
    views: BTreeMap<String, Filter>,
    /// The schema of the latest request's answer.
    composed: compose::Latest,
}

/// The part of a transcript that a checkpoint keeps.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct TranscriptRecord {
    /// Where everything comes from that the model has been shown.
    shown: Origins,
    /// Where the agent's own words of this session come from: everything it had been shown when it spoke.
    said: Origins,
    /// The turn's calls that have ended.
    #[serde(with = "reports")]
    ended: Vec<CallReport>,
    /// The same as they were proposed, for a planner that does not see untrusted values.
    #[serde(with = "reports")]
    ended_plainly: Vec<CallReport>,
    /// Where the values in those calls come from.
    ended_origins: Origins,
    /// How many of those calls the model was shown with the latest request.
    shown_calls: usize,
    /// The ended calls, and the messages, that there were when the model last brought a step of a graph to its end.
    reported: (usize, usize),
    /// The calls of the latest turn before this one that had any (PLAN-10).
    #[serde(with = "reports")]
    earlier: Vec<CallReport>,
    /// The same as they were proposed.
    #[serde(with = "reports")]
    earlier_plainly: Vec<CallReport>,
    /// Whether calls of the latest plan were set to work.
    has_started: bool,
    /// What a person said who denied the latest plan as a whole.
    plan_denied: Option<Value>,
    /// Whether something was read, or failed, since the latest request.
    has_news: bool,
    /// Errors that belong to no call under way.
    errors: Vec<Value>,
}

/// Calls of an earlier turn that the model is told of.
const MOST_EARLIER: usize = 30;

impl Transcript {
    pub(super) fn new(shown: Origins, views: BTreeMap<String, Filter>) -> Self {
        Self { record: TranscriptRecord { shown, ..TranscriptRecord::default() }, views, composed: <_>::default() }
    }

    pub(super) fn record(&self) -> &TranscriptRecord {
        &self.record
    }

    pub(super) fn restore(&mut self, record: TranscriptRecord) {
        self.record = record;
    }

    /// A turn begins. The model is still shown what became of the calls before it.
    pub(super) fn begin_turn(&mut self) {
        let skipped = self.record.reported.0;
        let record = std::mem::take(&mut self.record);
        self.record.shown = record.shown;
        self.record.said = record.said;
        self.record.has_started = record.has_started;
        self.record.plan_denied = record.plan_denied;
        self.record.ended_origins = record.ended_origins;
        let since = |calls: Vec<CallReport>| -> Vec<CallReport> { calls.into_iter().skip(skipped).collect() };
        let (calls, plainly) = (since(record.ended), since(record.ended_plainly));
        (self.record.earlier, self.record.earlier_plainly) = match calls.is_empty() {
            true => (record.earlier, record.earlier_plainly),
            false => (latest(calls), latest(plainly)),
        };
    }

    /// A turn begins with a decision, and what came of that has still to be told.
    pub(super) fn begin_turn_by_decision(&mut self) {
        let (errors, has_news) = (self.take_errors(), self.record.has_news);
        self.begin_turn();
        (self.record.errors, self.record.has_news) = (errors, has_news);
    }

    /// Forgets the turn's calls.
    pub(super) fn reset(&mut self) {
        let TranscriptRecord { shown, said, .. } = std::mem::take(&mut self.record);
        self.record = TranscriptRecord { shown, said, ..TranscriptRecord::default() };
    }

    /// Where everything comes from that the model has been shown.
    pub(super) fn shown(&self) -> &Origins {
        &self.record.shown
    }

    /// What the agent's own words carry.
    pub(super) fn said(&self) -> &Origins {
        &self.record.said
    }

    pub(super) fn show(&mut self, origins: &Origins) {
        self.record.shown.join(origins);
    }

    /// The agent spoke: its words carry what it had been shown.
    pub(super) fn note_said(&mut self) {
        self.record.said.join(&self.record.shown);
    }

    /// A request shows everything that has ended so far.
    pub(super) fn note_request(&mut self) {
        self.record.has_news = false;
        self.record.shown_calls = self.record.ended.len();
    }

    /// The model brought a step of a graph to its end: the next request shows what happens from here on.
    pub(super) fn note_step_end(&mut self, messages: usize) {
        self.record.reported = (self.record.ended.len(), messages);
    }

    /// How many messages there were when the model last brought a step of a graph to its end.
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

    /// A step has ended.
    pub(super) fn add_ended(&mut self, number: u32, step: &Step, plainly: bool) {
        step.jobs.iter().for_each(|job| self.record.ended_origins.join(&job.origins));
        if plainly {
            self.record.ended_plainly.extend(step.report_plainly(number));
        }
        self.record.ended.extend(step.report(number));
    }

    /// The turn's calls that have ended.
    pub(super) fn ended(&self) -> &[CallReport] {
        &self.record.ended
    }

    /// The same since the model last brought a step of a graph to its end, as they were proposed.
    pub(super) fn ended_plainly(&self) -> impl Iterator<Item = &CallReport> {
        self.record.ended_plainly.iter().skip(self.record.reported.0)
    }

    /// How many ended calls the model need not be shown any more.
    pub(super) fn reported_calls(&self) -> usize {
        self.record.reported.0
    }

    /// Where the values in the ended calls come from.
    pub(super) fn ended_origins(&self) -> &Origins {
        &self.record.ended_origins
    }

    /// The calls of the latest turn before this one that had any.
    pub(super) fn earlier(&self) -> &[CallReport] {
        &self.record.earlier
    }

    /// The same as they were proposed.
    pub(super) fn earlier_plainly(&self) -> &[CallReport] {
        &self.record.earlier_plainly
    }

    /// There is a plan, and nothing of it has been set to work.
    pub(super) fn note_plan(&mut self) {
        self.record.has_started = false;
        self.record.plan_denied = None;
    }

    /// The plan was denied as a whole.
    pub(super) fn note_plan_denied(&mut self, error: Value) {
        self.record.plan_denied = Some(error);
    }

    /// What a person said who denied the plan as a whole.
    pub(super) fn plan_denied(&self) -> Option<&Value> {
        self.record.plan_denied.as_ref()
    }

    /// Calls are set to work.
    pub(super) fn note_start(&mut self) {
        self.record.has_started = true;
    }

    /// Whether calls of the latest plan were set to work.
    pub(super) fn has_started(&self) -> bool {
        self.record.has_started
    }

    /// Something that the model has to know with the next request.
    pub(super) fn tell_error(&mut self, error: Value) {
        self.record.errors.push(error);
    }

    pub(super) fn take_errors(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.record.errors)
    }

    /// What the model is shown of a kind, if not all of it.
    pub(super) fn view(&self, kind: &str) -> Option<&Filter> {
        self.views.get(kind)
    }

    pub(super) fn composed(&self) -> &compose::Latest {
        &self.composed
    }

    /// The schema of an answer is large, and sessions may be at rest for long.
    pub(super) fn drop_composed(&mut self) {
        self.composed = compose::Latest::default();
    }
}

/// As many calls as are carried along. What is done is left out before what is not.
fn latest(mut calls: Vec<CallReport>) -> Vec<CallReport> {
    let mut over = calls.len().saturating_sub(MOST_EARLIER);
    calls.retain(|report| {
        let is_dropped = over > 0 && report.status == CallStatus::Done;
        over -= usize::from(is_dropped);
        !is_dropped
    });
    calls.drain(..over);
    calls
}

/// Reports as a checkpoint keeps them: with their places, which other programs do not see.
mod reports {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Value;

    use super::{CallReport, CallStatus};

    type Kept = ((u32, u32), Arc<Value>, CallStatus, Option<Value>);

    pub(super) fn serialize<S: Serializer>(reports: &[CallReport], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(reports.iter().map(|report| (report.place, &report.call, report.status, &report.error)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CallReport>, D::Error> {
        let report = |(place, call, status, error): Kept| CallReport { place, call, status, error };
        Ok(Vec::<Kept>::deserialize(from)?.into_iter().map(report).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn ended(transcript: &mut Transcript, status: CallStatus) {
        let call = Arc::new(json!({"_tool": "t"}));
        transcript.record.ended.push(CallReport { place: (0, 0), call, status, error: None });
    }

    fn earlier(transcript: &Transcript) -> Vec<CallStatus> {
        transcript.earlier().iter().map(|report| report.status).collect()
    }

    #[test]
    fn plan_10_calls_are_shown_until_a_later_turn_has_some() {
        let mut transcript = Transcript::default();
        ended(&mut transcript, CallStatus::Done);
        transcript.note_request();
        ended(&mut transcript, CallStatus::Denied);
        transcript.begin_turn();
        assert_eq!(earlier(&transcript), [CallStatus::Done, CallStatus::Denied]);
        assert!(transcript.ended().is_empty());
        transcript.begin_turn();
        assert_eq!(earlier(&transcript), [CallStatus::Done, CallStatus::Denied]);
        ended(&mut transcript, CallStatus::Failed);
        transcript.begin_turn();
        assert_eq!(earlier(&transcript), [CallStatus::Failed]);
    }

    #[test]
    fn of_many_earlier_calls_those_that_are_not_done_are_shown() {
        let mut transcript = Transcript::default();
        ended(&mut transcript, CallStatus::Failed);
        (0..MOST_EARLIER + 3).for_each(|_| ended(&mut transcript, CallStatus::Done));
        transcript.begin_turn();
        assert_eq!((transcript.earlier().len(), earlier(&transcript)[0]), (MOST_EARLIER, CallStatus::Failed));
        (0..MOST_EARLIER + 3).for_each(|_| ended(&mut transcript, CallStatus::Skipped));
        transcript.begin_turn();
        assert_eq!(transcript.earlier().len(), MOST_EARLIER);
    }

    #[test]
    fn a_restored_transcript_knows_the_places_of_its_calls() {
        let mut transcript = Transcript::default();
        let call = Arc::new(json!({"_tool": "t"}));
        let error = Some(json!({"code": "broken"}));
        transcript.record.ended.push(CallReport { place: (3, 1), call, status: CallStatus::Failed, error });
        let kept = serde_json::to_string(transcript.record()).unwrap();
        transcript.restore(serde_json::from_str(&kept).unwrap());
        let report = &transcript.ended()[0];
        assert_eq!((report.place, report.status), ((3, 1), CallStatus::Failed));
        assert_eq!(report.error, Some(json!({"code": "broken"})));
    }
}
