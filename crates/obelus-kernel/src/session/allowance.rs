//! Limits that a session and its delegates share: calls and tokens of a turn, and calls at once (LOOP-2, PLAN-5). Each
//! delegate's own limits are smaller than its caller's. This module also bounds their sum.

use super::Session;
use super::delegates::Allowance;
use super::ids::JobRef;
use super::input::{CallError, Limit};
use super::output::TurnEnd;
use super::turn::Phase;

impl Session {
    /// The limit that the call of a job would exceed, if any. An approved call is checked only against the limit of its
    /// own session.
    pub(super) fn limit_of_calls(&self, at: JobRef) -> Option<Limit> {
        let most = self.settings.max_calls;
        let is_approved = self.scheduler.job(at).is_approved;
        let (calls, _) = self.turn.calls();
        let (left, most) = if is_approved { (most.saturating_sub(calls), most) } else { self.calls_left() };
        (left == 0).then(|| Limit::Calls(most.into()))
    }

    /// The calls that may still start in this turn, with the limit that they come from.
    pub(super) fn calls_left(&self) -> (u32, u32) {
        let most = self.settings.max_calls;
        let (calls, below) = self.turn.calls();
        self.delegates.calls_left((most.saturating_sub(calls).saturating_sub(below), most))
    }

    /// A call starts that counts towards the limit.
    pub(super) fn count_call(&mut self) {
        self.turn.count_calls(1, 0);
        self.delegates.count_calls(1);
    }

    /// The limit that another model request would exceed, if any.
    pub(super) fn limit_of_requests(&self) -> Option<CallError> {
        let own = self.turn.limit_of_requests(&self.settings);
        let tokens = || self.tokens_left().filter(|(left, _)| *left == 0);
        own.or_else(|| tokens().map(|(_, most)| CallError::at(Limit::Tokens(most))))
    }

    /// The tokens that may still be used in this turn, with the limit that they come from.
    fn tokens_left(&self) -> Option<(u64, u64)> {
        let used = self.turn.spent().tokens;
        self.delegates.tokens_left(self.settings.max_tokens.map(|most| (most.saturating_sub(used), most)))
    }

    /// How many more calls may start here. Early calls of this session do not count: one of its calls may use them.
    pub(super) fn free_places(&self) -> u32 {
        self.most_at_once().saturating_sub(self.running_calls())
    }

    /// How many more calls may start in delegates.
    fn free_places_below(&self) -> u32 {
        self.most_at_once().saturating_sub(self.taken_places())
    }

    fn most_at_once(&self) -> u32 {
        self.delegates.places(self.settings.max_parallel.max(1))
    }

    /// The running calls, here and below, with those that started early.
    fn taken_places(&self) -> u32 {
        self.running_calls() + self.calls_beside_steps.early.running()
    }

    /// The running calls, here and below. A call whose delegate is at work is not one itself, nor is one that waits for
    /// a person.
    fn running_calls(&self) -> u32 {
        let is_counted = |at: JobRef| self.scheduler.find(at).is_some_and(|job| !job.awaits_user);
        let below = self.delegates.iter().fold((0, 0), |(jobs, calls), (at, child)| {
            (jobs + u32::from(is_counted(at)), calls + child.taken_places())
        });
        self.scheduler.running().saturating_sub(below.0) + below.1
    }

    /// Tells the delegate of a job what it may use. A decision there can begin another turn here, with its own limits.
    pub(super) fn give_allowance(&mut self, at: JobRef, is_decision: bool) {
        let renews = is_decision && self.renews_by_decision();
        let has_new_calls = renews || (is_decision && self.turn.phase() == Phase::Rested(TurnEnd::Limit));
        let most = self.settings.max_calls;
        let calls = if has_new_calls { self.delegates.calls_left((most, most)) } else { self.calls_left() };
        let own_tokens = || self.settings.max_tokens.map(|most| (most, most));
        let tokens = if renews { self.delegates.tokens_left(own_tokens()) } else { self.tokens_left() };
        let free = self.free_places_below();
        if let Some(child) = self.delegates.get_mut(at) {
            let places = child.taken_places().saturating_add(free);
            child.delegates.set_allowance(Allowance { calls, tokens, places });
        }
    }

    /// Counts the calls that the delegate of a job has started.
    pub(super) fn count_calls_of(&mut self, at: JobRef) {
        let started = self.delegates.get(at).map_or(0, |child| child.delegates.started());
        self.turn.count_calls(0, started);
        self.delegates.count_calls(started);
    }

    /// Whether a call here or below waits for a free place.
    fn wants_place(&self) -> bool {
        let own = self.scheduler.has_ready() && !self.turn.is_ending() && !self.tasks.is_paused();
        own || self.delegates.iter().any(|(_, child)| child.wants_place())
    }

    /// Lets delegates start calls that waited for a place of another one.
    pub(super) fn wake_delegates(&mut self) {
        if !self.delegates.iter().any(|(_, child)| child.wants_place()) {
            return;
        }
        let state = |session: &Self| (session.running_calls(), session.delegates.jobs().len());
        loop {
            let before = state(self);
            for at in self.delegates.jobs() {
                if !self.delegates.get(at).is_some_and(Session::wants_place) {
                    continue;
                }
                if self.free_places_below() == 0 {
                    break;
                }
                self.wake_delegate(at);
            }
            self.proceed();
            if state(self) == before {
                return;
            }
        }
    }
}
