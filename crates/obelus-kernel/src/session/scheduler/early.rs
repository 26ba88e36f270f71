//! Calls that start while the model is still writing (PLAN-8).
//!
//! Such a call is handed out under an id of its own. When the whole solution is there, its calls go the way of all
//! calls, through every check; only where one would be handed out that is already under way, the early one takes its
//! place. So nothing is started twice, and a solution that never comes leaves nothing behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::session::ids::{JobRef, LocalCall};
use crate::session::inbox::ElicitationRequest;
use crate::session::input::Outcome;

/// The request that is being answered, and the call's place in the answer.
type Place = (u64, u32);

/// Early calls that have not ended, or that no job has claimed yet.
#[derive(Default)]
pub(in crate::session) struct EarlyCalls(BTreeMap<Place, EarlyCall>);

/// A call that was started before its solution was there.
pub(in crate::session) struct EarlyCall {
    /// The call as it was handed out.
    call: Arc<Value>,
    /// What it brought, if it has ended and no job has claimed it.
    outcome: Option<Outcome>,
    /// The job whose call it turned out to be.
    job: Option<JobRef>,
    /// What it asks people, while it is not known whose call it is.
    elicitations: Vec<ElicitationRequest>,
}

/// An early call that a job has claimed.
pub(in crate::session) enum Claimed {
    /// It has ended.
    Ended(Outcome),
    /// It still runs, and has asked this so far.
    Running(LocalCall, Vec<ElicitationRequest>),
}

impl EarlyCalls {
    pub(in crate::session) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in crate::session) fn contains(&self, place: Place) -> bool {
        self.0.contains_key(&place)
    }

    /// How many no job has claimed yet.
    pub(in crate::session) fn unclaimed(&self) -> u32 {
        u32::try_from(self.0.values().filter(|call| call.job.is_none()).count()).unwrap_or(u32::MAX)
    }

    pub(in crate::session) fn add(&mut self, place: Place, call: Arc<Value>) {
        self.0.insert(place, EarlyCall { call, outcome: None, job: None, elicitations: Vec::new() });
    }

    /// A job with this call is to be handed out: it claims the early call that is the same.
    pub(in crate::session) fn claim(&mut self, at: JobRef, call: &Value) -> Option<Claimed> {
        let is_same = |early: &EarlyCall| early.job.is_none() && *early.call == *call;
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

    /// An early call asks a person something: the job it belongs to, if that is known. Hands the request back if it is
    /// to be asked now, or if there is no such call.
    pub(in crate::session) fn elicit(
        &mut self,
        place: Place,
        asked: ElicitationRequest,
    ) -> Result<(), (Option<JobRef>, ElicitationRequest)> {
        match self.0.get_mut(&place) {
            None => Err((None, asked)),
            Some(EarlyCall { job: Some(at), .. }) => Err((Some(*at), asked)),
            Some(early) => {
                early.elicitations.push(asked);
                Ok(())
            }
        }
    }

    /// An early call has ended. Hands back the outcome with the job it belongs to, if that is known.
    pub(in crate::session) fn end(&mut self, place: Place, outcome: Outcome) -> Option<(JobRef, Outcome)> {
        let early = self.0.get_mut(&place)?;
        let Some(at) = early.job else {
            early.outcome.get_or_insert(outcome);
            return None;
        };
        self.0.remove(&place);
        Some((at, outcome))
    }

    /// Drops an early call of which nobody knows what became; the job it belongs to.
    pub(in crate::session) fn drop_call(&mut self, place: Place) -> Option<JobRef> {
        self.0.remove(&place).and_then(|early| early.job)
    }

    /// Drops what no job has claimed; the elicitations that nobody will answer.
    pub(in crate::session) fn drop_unclaimed(&mut self) -> Vec<(LocalCall, String)> {
        let mut unanswered = Vec::new();
        self.0.retain(|&(request, index), early| {
            let asked = early.elicitations.drain(..);
            unanswered.extend(asked.map(|asked| (LocalCall::Early { request, index }, asked.key)));
            early.job.is_some()
        });
        unanswered
    }
}
