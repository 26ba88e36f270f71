//! PLAN-8: calls that start while the model is still writing.
//!
//! Such a call is handed out under a name of its own. When the whole solution is there, its calls go the way of all
//! calls, through every check; only where one would be handed out that is under way already, what was started early
//! takes its place. So nothing is started twice, and a solution that never comes leaves nothing behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Session;
use super::elicitation::ElicitationRequest;
use super::freeze::frozen_call;
use super::input::{ElicitationAnswer, Input, Outcome, Start, Task};
use super::job::JobRef;
use super::policy::Verdict;
use super::provenance::{Sources, doubts};
use super::turn::Phase;
use crate::call::Call;
use crate::message::PlanMode;
use crate::origin::{Origin, Origins};
use crate::plan::{Who, who_runs};
use crate::tool::{Effect, Tool};

/// What was started early, by the request and the place in its answer.
pub(super) type Early = BTreeMap<(u64, u32), EarlyCall>;

/// A call that was started before its solution was there.
pub(super) struct EarlyCall {
    /// The call as it was handed out.
    call: Arc<Value>,
    /// What it brought, where it has ended and nobody has asked for it yet.
    outcome: Option<Outcome>,
    /// The job whose call it turned out to be.
    job: Option<JobRef>,
    /// What it wants to ask people, while nobody knows whose call it is.
    asks: Vec<ElicitationRequest>,
}

/// The names of such calls are told from others by their first letter.
const MARK: char = 'e';

fn name((request, index): (u64, u32)) -> String {
    format!("{MARK}{request}.{index}")
}

/// The request and the place of a call that was started early, if this is the name of one.
pub(super) fn early_place(id: &str) -> Option<(u64, u32)> {
    let (request, index) = id.strip_prefix(MARK)?.split_once('.')?;
    Some((request.parse().ok()?, index.parse().ok()?))
}

impl Session {
    /// Whether a call that has come whole, in an answer that has not, may start now. If so, say so by
    /// [`Input::Partial`].
    pub fn may_start_early(&self, id: &str, index: u32, call: &Value) -> bool {
        if let Some((job, rest)) = id.split_once('/') {
            return self.child(job).is_some_and(|child| child.may_start_early(rest, index, call));
        }
        id.parse().is_ok_and(|request| self.early_call(request, index, call).is_some())
    }

    /// Whether a request is for the solution of the session's own turn, whose words are for the user.
    pub fn is_solving(&self, id: &str) -> bool {
        id.parse().is_ok_and(|request| self.turn.phase == Phase::Asking(request))
    }

    /// A call has come whole, in an answer that has not.
    pub(super) fn take_partial(&mut self, id: &str, index: u32, call: Value) {
        if let Some((job, rest)) = id.split_once('/') {
            return self.tell_child(job, Input::Partial { id: rest.to_owned(), index, call });
        }
        let Ok(request) = id.parse() else { return };
        let Some((call, tool, named)) = self.early_call(request, index, &call) else { return };
        let id = name((request, index));
        let key = format!("{}:{id}", self.id);
        let start = Start {
            id,
            named,
            call: Arc::clone(&call),
            tool,
            scope: Vec::new(),
            key,
            attempt: 1,
            seconds: self.settings.call_seconds,
        };
        self.early.insert((request, index), EarlyCall { call, outcome: None, job: None, asks: Vec::new() });
        self.tasks.push_back(Task::Call(Box::new(start)));
    }

    /// The call as it would be handed out, if it may start: a read that is carried out by an activity, once, with
    /// nothing in it that comes from memory, and about which nobody has to be asked.
    fn early_call(&self, request: u64, index: u32, call: &Value) -> Option<(Arc<Value>, Arc<Tool>, Option<String>)> {
        let is_time = self.turn.phase == Phase::Asking(request)
            && self.plan_mode() == PlanMode::Eager
            && self.walk.is_none()
            && self.paused.is_none()
            && !self.turn.stops()
            && !self.early.contains_key(&(request, index));
        let early = u32::try_from(self.early.values().filter(|call| call.job.is_none()).count()).unwrap_or(u32::MAX);
        let has_room = self.running.saturating_sub(self.resting).saturating_add(early) < self.settings.max_parallel
            && self.turn.calls.saturating_add(early) < self.settings.max_calls;
        if !is_time || !has_room || crate::message::depth(call) >= crate::MAX_DEPTH {
            return None;
        }
        let (call, faults) = Call::read(&Arc::new(call.clone()), &self.context);
        let tool = call.tool.clone()?;
        let is_plain = faults.is_empty()
            && tool.effect == Effect::Read
            && call.delegate.is_none()
            && call.scopes.is_empty()
            && call.asides.is_none()
            && !call.has_refs()
            && call.output_path.as_ref().is_none_or(|path| path.alternatives.len() == 1)
            && who_runs(&[&call], &self.context) == [Who::Once];
        self.activity_of(&tool, call.activity.as_deref())?;
        let named = self.known_activity(call.activity.as_deref()).map(str::to_owned);
        if !is_plain {
            return None;
        }
        let nothing = |_: &crate::path::Path| None;
        let params = call.params.iter().map(|(name, value)| Some((name.to_string(), value.resolve(&nothing).ok()?)));
        let params = Value::Object(params.collect::<Option<Map<String, Value>>>()?);
        let frozen = frozen_call(&call, params.clone(), None);
        self.needs_nobody(&call, &tool, &params, &frozen).then(|| (Arc::new(frozen), tool, named))
    }

    fn needs_nobody(&self, call: &Call, tool: &Tool, params: &Value, frozen: &Value) -> bool {
        let hash = self.hash_of_call(call, frozen);
        let is_spoken_of = self.questions.about(&hash).is_some()
            || self.questions.denied.contains_key(&hash)
            || self.questions.approved.contains_key(&hash);
        let literal = self.shown.clone().joined(&Origins::of(Origin::Model));
        let sources = Sources { context: &self.context, instance: None, literal: &literal, said: &self.said };
        let origins = |path: Option<&str>| match path {
            Some(path) => sources.of_path(call, path).unwrap_or_default(),
            None => sources.of_call(call),
        };
        let targets = tool.target.iter().flatten();
        let targets = targets.filter_map(|path| Some((path.clone(), sources.of_path(call, path)?))).collect();
        !is_spoken_of
            && doubts(tool, &literal, targets, &|_| false).is_empty()
            && self.settings.policy.verdict(call, tool, params, self.settings.mode, &origins) == Verdict::Allow
    }

    /// A job is to be handed out: whether its call is under way already, or has even ended.
    pub(super) fn join_early(&mut self, at: JobRef) -> bool {
        if self.early.is_empty() {
            return false;
        }
        let Some(frozen) = self.frozen(at) else { return false };
        let same = |early: &EarlyCall| early.job.is_none() && early.call == frozen.call;
        let Some(place) = self.early.iter().find(|(_, early)| same(early)).map(|(place, _)| *place) else {
            return false;
        };
        let Some(early) = self.early.get_mut(&place) else { return false };
        match early.outcome.take() {
            Some(outcome) => {
                self.early.remove(&place);
                self.take_outcome(&at.id(), outcome);
            }
            None => {
                early.job = Some(at);
                let asks = std::mem::take(&mut early.asks);
                asks.into_iter().for_each(|asked| self.open_elicitation(at, &name(place), asked));
            }
        }
        true
    }

    /// Something that was started early asks a person. None is asked before it is known whose call it is. Hands back
    /// what is asked if there is no such call.
    pub(super) fn elicit_early(&mut self, id: &str, asked: ElicitationRequest) -> Option<ElicitationRequest> {
        let Some(early) = early_place(id).and_then(|place| self.early.get_mut(&place)) else { return Some(asked) };
        match early.job {
            Some(at) => self.open_elicitation(at, id, asked),
            None => early.asks.push(asked),
        }
        None
    }

    /// Something that was started early has come to its end.
    pub(super) fn take_early_outcome(&mut self, place: (u64, u32), outcome: Outcome) {
        // What nobody waits for any more is no news.
        let Some(early) = self.early.get_mut(&place) else { return };
        match early.job {
            Some(at) => {
                self.early.remove(&place);
                self.take_outcome(&at.id(), outcome);
            }
            None => {
                early.outcome.get_or_insert(outcome);
            }
        }
    }

    /// Nobody knows what became of a call that was started early: it starts as any other, when its time has come.
    pub(super) fn doubt_early(&mut self, id: &str, why: &str) -> bool {
        let Some(place) = early_place(id) else { return false };
        if let Some(at) = self.early.remove(&place).and_then(|early| early.job) {
            self.doubt(&at.id(), why);
        }
        true
    }

    /// The answer is there and its calls have begun, or there is none: what nobody has taken up is dropped.
    pub(super) fn forget_early(&mut self) {
        for (place, early) in &mut self.early {
            for ElicitationRequest { key, .. } in early.asks.drain(..) {
                self.tasks.push_back(Task::AnswerElicitation {
                    id: name(*place),
                    key,
                    answer: ElicitationAnswer::Gone,
                });
            }
        }
        self.early.retain(|_, early| early.job.is_some());
    }
}
