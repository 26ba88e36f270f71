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
    /// Calls of earlier turns that came to nothing after the last request: denied, lapsed, failed.
    #[serde(with = "reports")]
    untold: Vec<CallReport>,
    /// Whether something was read, or failed, since the latest request.
    has_news: bool,
    /// Errors that belong to no call under way.
    errors: Vec<Value>,
}

/// Calls of earlier turns that the model is told of.
const MOST_UNTOLD: usize = 10;

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

    /// A turn begins. What came to nothing since the last request has still to be told.
    pub(super) fn begin_turn(&mut self) {
        let record = &mut self.record;
        let came_to_nothing = |report: &&CallReport| matches!(report.status, CallStatus::Denied | CallStatus::Failed);
        let mut untold = std::mem::take(&mut record.untold);
        let since = record.ended.get(record.shown_calls..).unwrap_or_default();
        untold.extend(since.iter().filter(came_to_nothing).cloned());
        untold.drain(..untold.len().saturating_sub(MOST_UNTOLD));
        let origins = std::mem::take(&mut record.ended_origins);
        self.reset();
        if !untold.is_empty() {
            self.record.untold = untold;
            self.record.ended_origins = origins;
        }
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

    /// The model answered: what it was told of earlier turns need not be told again.
    pub(super) fn note_answer(&mut self) {
        self.record.untold.clear();
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

    /// Calls of earlier turns that the model has not been told of.
    pub(super) fn untold(&self) -> &[CallReport] {
        &self.record.untold
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

    #[test]
    fn what_came_to_nothing_after_the_last_request_is_told_with_the_next_turn() {
        let mut transcript = Transcript::default();
        ended(&mut transcript, CallStatus::Failed);
        transcript.note_request();
        ended(&mut transcript, CallStatus::Denied);
        ended(&mut transcript, CallStatus::Done);
        transcript.begin_turn();
        let untold: Vec<_> = transcript.untold().iter().map(|report| report.status).collect();
        assert_eq!(untold, [CallStatus::Denied]);
        assert!(transcript.ended().is_empty());
        transcript.note_answer();
        assert!(transcript.untold().is_empty());
    }

    #[test]
    fn no_more_than_the_latest_untold_calls_are_carried_along() {
        let mut transcript = Transcript::default();
        (0..MOST_UNTOLD + 3).for_each(|_| ended(&mut transcript, CallStatus::Failed));
        transcript.begin_turn();
        assert_eq!(transcript.untold().len(), MOST_UNTOLD);
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
