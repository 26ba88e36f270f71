//! Effects that need a person before they are repeated (DUR-4, ASK-3): what the session notes in its `past`, and asks of
//! it.

use std::sync::Arc;

use super::ids::JobRef;
use super::inbox::{About, AskedCall, Question};
use super::input::CallError;
use super::memory::CallFailure;
use super::past::{effect_of, proposed_effect};
use super::{FailureCode, Session};
use crate::call::Call;
use crate::policy::Reason;
use crate::time::Time;
use obelus_notebook::call_json::CallJson;

impl Session {
    /// The error of a call whose activity succeeded, but whose result is too large, invalid or unreadable. Of an effect
    /// it says that it happened; a read has only failed.
    pub(super) fn error_of_result(&mut self, at: JobRef, error: CallError) -> CallError {
        if self.scheduler.call(at).has_effect() { self.not_kept(at, &error.message) } else { error }
    }

    /// The same for a result that could not be written where the call says.
    pub(super) fn failure_of_result(&mut self, at: JobRef, failure: CallFailure) -> CallFailure {
        if !self.scheduler.call(at).has_effect() {
            return failure;
        }
        match failure {
            CallFailure::Structural(fault) => CallFailure::NotKept(fault.rule, self.not_kept(at, &fault.words())),
            CallFailure::Rule(rule, text) => CallFailure::NotKept(rule, self.not_kept(at, &text)),
            CallFailure::Runtime(error) => CallFailure::Runtime(self.not_kept(at, &error.message)),
            kept @ CallFailure::NotKept(..) => kept,
        }
    }

    fn not_kept(&mut self, at: JobRef, why: &str) -> CallError {
        let why = crate::visible(why);
        self.note_happened(at, Reason::Happened(why.clone()));
        let text = format!(
            "the effect happened, its result could not be kept: {why}. Do not repeat this call: it would be done twice"
        );
        CallError::new(FailureCode::ResultNotKept, text)
    }

    /// Records that a call that must not be repeated happened, or may have.
    pub(super) fn note_happened(&mut self, at: JobRef, why: Reason) {
        if let Some(effect) = self.unrepeatable_effect(at) {
            self.call_rules.past.require_person(effect, why);
        }
    }

    /// Records calls that were denied, or left out of a plan.
    pub(super) fn note_unwanted(&mut self, calls: &[CallJson]) {
        for proposal in calls {
            let call = Call::read(proposal, self.context()).0;
            if call.acts() {
                self.call_rules.past.note_unwanted(self.proposed_effect(&call));
            }
        }
    }

    /// A person approves calls of a plan, whatever was decided about the same calls before.
    pub(super) fn forget_unwanted(&mut self, calls: &[CallJson]) {
        for proposal in calls {
            self.inbox.forget_denial(&self.hash_of_proposal(proposal));
            let effect = self.proposed_effect(&Call::read(proposal, self.context()).0);
            self.call_rules.past.forget_shared_denial(&effect);
            self.call_rules.past.forget_unwanted(&effect);
        }
    }

    /// The result of a call is known, so the next one is judged like any other.
    pub(super) fn forget_happened(&mut self, at: JobRef) {
        if !self.call_rules.past.requires_person()
            || !self.scheduler.call(at).has_effect()
            || self.scheduler.job(at).is_result_unknown
        {
            return;
        }
        let Some(frozen) = self.scheduler.frozen(at).map(|frozen| frozen.call.clone()) else { return };
        let call = Arc::clone(self.scheduler.call(at));
        self.call_rules.past.no_longer_require_person(&self.effect_of(&call, &frozen));
        // A person may have edited the call: then what was proposed is another effect, which may have happened.
        self.call_rules.past.forget_unwanted(&self.proposed_effect(&call));
    }

    /// A call was done. Questions about the same effect say so; nothing is judged by it.
    pub(super) fn note_done(&mut self, at: JobRef) {
        if self.scheduler.call(at).has_effect()
            && let Some(effect) = self.effect_of_job(at)
        {
            self.call_rules.past.note_done(&effect, self.memory.now());
        }
    }

    /// When the effect of each call of a question was last done in this session, as far as that is remembered.
    pub fn done_before(&self, question: &Question) -> Vec<Option<Time>> {
        let owner = self.owner_of(&question.id);
        let done_at = |asked: &AskedCall| {
            let call = Call::read(&asked.call, owner.context()).0;
            owner.call_rules.past.done_at(&owner.effect_of(&call, &asked.call))
        };
        question.calls.iter().map(done_at).collect()
    }

    /// Why a person must be asked before this call, if the same one happened without a result, or may have, or was
    /// denied. In a plan it had the references of its proposal.
    pub(super) fn happened_before(&self, call: &Call, frozen: &CallJson) -> Option<Reason> {
        if !self.call_rules.past.requires_person() {
            return None;
        }
        let found = |effect: String| self.call_rules.past.why_person(&effect).cloned();
        let denied = || found(self.proposed_effect(call)).filter(|why| *why == Reason::DeniedBefore);
        found(self.effect_of(call, frozen)).or_else(denied)
    }

    fn unrepeatable_effect(&self, at: JobRef) -> Option<String> {
        let call = self.scheduler.call(at);
        let frozen = self.scheduler.frozen(at).filter(|_| call.has_effect() && !call.is_idempotent())?;
        Some(self.effect_of(call, &frozen.call))
    }

    fn effect_of(&self, call: &Call, frozen: &CallJson) -> String {
        effect_of(self.constants.root_id(), call, frozen)
    }

    fn proposed_effect(&self, call: &Call) -> String {
        proposed_effect(self.constants.root_id(), call)
    }

    fn effect_of_job(&self, at: JobRef) -> Option<String> {
        Some(self.effect_of(self.scheduler.call(at), &self.scheduler.frozen(at)?.call))
    }

    /// A call is in doubt: until that is settled, it may have happened.
    pub(super) fn note_doubt(&mut self, at: JobRef) {
        if let Some(effect) = self.unrepeatable_effect(at) {
            self.call_rules.past.open_doubt(effect);
            self.scheduler.note_doubt(at);
        }
    }

    /// The doubt about a call is settled.
    pub(super) fn forget_doubt(&mut self, at: JobRef) {
        let effect = if self.scheduler.forget_doubt(at) { self.effect_of_job(at) } else { None };
        if let Some(effect) = effect {
            self.call_rules.past.close_doubt(&effect);
        }
    }

    /// A delegate ends while effects of it are at work: nobody will learn whether they happened.
    pub(super) fn note_abandoned(&mut self, child: &Session) {
        let at_work = child.scheduler.jobs().filter_map(|(at, job)| {
            let effect = child.unrepeatable_effect(child.scheduler.running_job(at)?)?;
            Some((effect, job.is_doubt_noted))
        });
        for (effect, is_in_doubt) in at_work {
            if is_in_doubt {
                self.call_rules.past.close_doubt(&effect);
            }
            self.call_rules.past.note_abandoned(effect);
        }
        child.delegates.iter().for_each(|(_, below)| self.note_abandoned(below));
    }

    /// A call was denied: the same one is ignored in other delegates and at the top too (ASK-3).
    pub(super) fn share_denial(&mut self, at: JobRef) {
        if let Some(effect) = self.effect_of_job(at) {
            self.call_rules.past.share_denial(effect, &self.constants.id);
        }
    }

    /// Whether the user has written since the same call was denied in another delegate or at the top; none if it was
    /// not. Paths of results do not matter there: each session has its own memory.
    pub(super) fn denied_elsewhere(&self, call: &Call, frozen: &CallJson) -> Option<bool> {
        if !self.call_rules.past.shares_denials() {
            return None;
        }
        self.call_rules.past.denied_elsewhere(&self.effect_of(call, frozen), &self.constants.id)
    }

    /// A denied call is requested again, or approved.
    pub(super) fn forget_shared_denial(&mut self, at: JobRef) {
        let effect = if self.call_rules.past.shares_denials() { self.effect_of_job(at) } else { None };
        if let Some(effect) = effect {
            self.call_rules.past.forget_shared_denial(&effect);
        }
    }

    /// Gives the shared past to all delegates, and adds what it says to their open questions.
    pub(super) fn share_past(&mut self) {
        self.note_repetitions();
        for child in self.delegates.iter_mut() {
            child.call_rules.past.share_of(&self.call_rules.past);
            child.share_past();
        }
    }

    /// Open questions say if the same effect has happened meanwhile, or may have: an approval would repeat it.
    fn note_repetitions(&mut self) {
        let requires = self.call_rules.past.requires_person();
        let concerned = |question: &Question| question.about == About::Call && (requires || question.may_repeat());
        for number in self.inbox.open_where(concerned) {
            let Some(question) = self.inbox.get(number) else { continue };
            let jobs = question.open_calls().filter_map(|index| question.calls[index].jobs.first().copied());
            let earlier = jobs.filter_map(|at| {
                let frozen = self.scheduler.frozen(at)?;
                self.happened_before(self.scheduler.call(at), &frozen.call)
            });
            let earlier = earlier.collect();
            self.inbox.note_repetitions(number, earlier);
        }
    }
}
