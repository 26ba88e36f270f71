//! Calls that start while the model is still writing (PLAN-8).
//!
//! Such a call has an id of its own. When the solution is complete, its calls pass all checks as usual; when one
//! would be started that already runs early, the early call is used instead. So nothing is started twice, and a
//! solution that never comes leaves nothing behind.

use std::collections::BTreeMap;

use super::ids::{JobRef, LocalCall};
use super::input::{ElicitationRequest, Outcome};
use obelus_notebook::call_json::CallJson;

/// The request being answered, and the call's index in the answer.
type AnswerPlace = (u64, u32);

/// Early calls that have not ended, or that no job has claimed.
#[derive(Default)]
pub(super) struct EarlyCalls(BTreeMap<AnswerPlace, EarlyCall>);

/// A call that was started before its solution was complete.
pub(super) struct EarlyCall {
    /// The started call.
    call: CallJson,
    /// Its outcome, if it has ended and no job has claimed it.
    outcome: Option<Outcome>,
    /// The job that claimed it.
    job: Option<JobRef>,
    /// Its questions to people, while no job has claimed it.
    elicitations: Vec<ElicitationRequest>,
}

/// An early call that a job has claimed.
pub(super) enum Claimed {
    /// It has ended.
    Ended(Outcome),
    /// It still runs, with these questions so far.
    Running(LocalCall, Vec<ElicitationRequest>),
}

impl EarlyCalls {
    pub(super) fn contains(&self, place: AnswerPlace) -> bool {
        self.0.contains_key(&place)
    }

    /// The number of unclaimed ones.
    pub(super) fn unclaimed(&self) -> u32 {
        u32::try_from(self.0.values().filter(|call| call.job.is_none()).count()).unwrap_or(u32::MAX)
    }

    /// The number of unclaimed ones that still run.
    pub(super) fn running(&self) -> u32 {
        let running = self.0.values().filter(|call| call.job.is_none() && call.outcome.is_none());
        u32::try_from(running.count()).unwrap_or(u32::MAX)
    }

    pub(super) fn add(&mut self, place: AnswerPlace, call: CallJson) {
        self.0.insert(place, EarlyCall { call, outcome: None, job: None, elicitations: Vec::new() });
    }

    /// A job with this call is about to start: it claims an identical early call.
    pub(super) fn claim(&mut self, at: JobRef, call: &CallJson) -> Option<Claimed> {
        let is_same = |early: &EarlyCall| early.job.is_none() && early.call == *call;
        let place = self.0.iter().find(|(_, early)| is_same(early)).map(|(place, _)| *place)?;
        let early = self.0.get_mut(&place)?;
        if let Some(outcome) = early.outcome.take() {
            self.0.remove(&place);
            return Some(Claimed::Ended(outcome));
        }
        early.job = Some(at);
        let (request, index) = place;
        Some(Claimed::Running(LocalCall::Early { request, index }, std::mem::take(&mut early.elicitations)))
    }

    /// Takes a question of an early call. It is stored until a job claims the call; if one has, or there is no such
    /// call, it is returned with the job if there is one.
    pub(super) fn elicit(
        &mut self,
        place: AnswerPlace,
        asked: ElicitationRequest,
    ) -> Option<(Option<JobRef>, ElicitationRequest)> {
        match self.0.get_mut(&place) {
            None => Some((None, asked)),
            Some(EarlyCall { job: Some(at), .. }) => Some((Some(*at), asked)),
            Some(early) => {
                early.elicitations.push(asked);
                None
            }
        }
    }

    /// Ends an early call. Returns the outcome with its job, if that is known.
    pub(super) fn end(&mut self, place: AnswerPlace, outcome: Outcome) -> Option<(JobRef, Outcome)> {
        let early = self.0.get_mut(&place)?;
        let Some(at) = early.job else {
            early.outcome.get_or_insert(outcome);
            return None;
        };
        self.0.remove(&place);
        Some((at, outcome))
    }

    /// Drops an early call with unknown outcome; returns its job.
    pub(super) fn drop_call(&mut self, place: AnswerPlace) -> Option<JobRef> {
        self.0.remove(&place).and_then(|early| early.job)
    }

    /// Drops unclaimed calls; returns their open elicitations.
    pub(super) fn drop_unclaimed(&mut self) -> Vec<(LocalCall, String)> {
        let mut unanswered = Vec::new();
        self.0.retain(|&(request, index), early| {
            let asked = early.elicitations.drain(..);
            unanswered.extend(asked.map(|asked| (LocalCall::Early { request, index }, asked.key)));
            early.job.is_some()
        });
        unanswered
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const JOB: JobRef = JobRef { step: 0, job: 0 };
    const PLACE: AnswerPlace = (1, 0);

    /// One early call of the tool `t`.
    fn early() -> EarlyCalls {
        let mut early = EarlyCalls::default();
        early.add(PLACE, CallJson::of_tool("t"));
        early
    }

    fn request() -> ElicitationRequest {
        ElicitationRequest { key: "k".to_owned(), text: "?".to_owned(), schema: json!({}) }
    }

    #[test]
    fn a_job_claims_only_the_call_that_is_its_own_and_only_once() {
        let mut early = early();
        assert!(early.claim(JOB, &CallJson::of_tool("u")).is_none());
        assert!(matches!(early.claim(JOB, &CallJson::of_tool("t")), Some(Claimed::Running(..))));
        assert_eq!(early.unclaimed(), 0);
        assert!(early.claim(JobRef { step: 0, job: 1 }, &CallJson::of_tool("t")).is_none());
    }

    #[test]
    fn an_outcome_waits_for_the_job_that_claims_the_call() {
        let mut early = early();
        assert!(early.end(PLACE, Outcome::Value(json!(1))).is_none());
        assert!(early.end(PLACE, Outcome::Value(json!(2))).is_none(), "the first end counts");
        let Some(Claimed::Ended(outcome)) = early.claim(JOB, &CallJson::of_tool("t")) else { panic!("it has ended") };
        assert_eq!(outcome, Outcome::Value(json!(1)));
        assert!(early.0.is_empty());
    }

    #[test]
    fn an_outcome_of_a_claimed_call_is_for_its_job() {
        let mut early = early();
        early.claim(JOB, &CallJson::of_tool("t"));
        assert_eq!(early.end(PLACE, Outcome::Value(json!(1))), Some((JOB, Outcome::Value(json!(1)))));
        assert_eq!(early.end(PLACE, Outcome::Value(json!(1))), None);
    }

    #[test]
    fn nobody_is_asked_before_it_is_known_whose_call_it_is() {
        let mut early = early();
        assert!(early.elicit(PLACE, request()).is_none());
        let Some(Claimed::Running(_, asked)) = early.claim(JOB, &CallJson::of_tool("t")) else { panic!("it runs") };
        assert_eq!(asked.len(), 1);
        assert!(matches!(early.elicit(PLACE, request()), Some((Some(JOB), _))));
        assert!(matches!(early.elicit((9, 9), request()), Some((None, _))));
    }

    #[test]
    fn a_call_that_no_job_claims_is_dropped_and_its_elicitations_are_unanswered() {
        let mut early = early();
        early.add((1, 1), CallJson::of_tool("u"));
        early.claim(JOB, &CallJson::of_tool("u"));
        early.elicit(PLACE, request());
        assert_eq!(early.drop_unclaimed(), [(LocalCall::Early { request: 1, index: 0 }, "k".to_owned())]);
        assert!(!early.contains(PLACE) && early.contains((1, 1)));
    }
}
