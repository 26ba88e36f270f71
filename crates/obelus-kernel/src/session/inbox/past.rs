//! What a session and its delegates remember together: effects that need a person, and denied ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Inbox;
use crate::policy::Reason;
use crate::time::Time;

/// How many effects that were done are remembered, so that a checkpoint does not grow with the age of its session.
const MOST_DONE: usize = 100;

/// The shared past of a session and its delegates. Effects are identified by tool and parameters.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(in crate::session) struct SharedPast {
    /// Effects that need a person: why. They happened, or may have, without a result, or were denied.
    #[serde(default)]
    happened: BTreeMap<String, Reason>,
    /// Effects in doubt, and how many calls of each: they may have happened. A call in doubt is running, so a checkpoint
    /// has none.
    #[serde(skip)]
    doubts: BTreeMap<String, u32>,
    /// Denied effects.
    #[serde(rename = "denied_effects", default, skip_serializing_if = "BTreeMap::is_empty")]
    denied: BTreeMap<String, DeniedEffect>,
    /// The latest effects that were done, and when: questions about the same ones show it. Nothing else reads them.
    #[serde(rename = "done_effects", default, skip_serializing_if = "BTreeMap::is_empty")]
    done: BTreeMap<Arc<str>, Time>,
}

/// An effect that a person denied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::session) struct DeniedEffect {
    /// The session or delegate whose call was denied.
    pub(super) session: String,
    /// Whether the user has written since.
    #[serde(rename = "has_words_since")]
    pub(super) user_wrote_since: bool,
}

impl Inbox {
    /// Records why an effect needs a person from now on.
    pub(in crate::session) fn require_person(&mut self, effect: String, why: Reason) {
        self.past_mut().happened.insert(effect, why);
    }

    /// Records that a call of this effect was denied. A stored reason that it happened, or may have, is not replaced.
    pub(in crate::session) fn note_unwanted(&mut self, effect: String) {
        self.past_mut().happened.entry(effect).or_insert(Reason::DeniedBefore);
    }

    /// Whether any effect needs a person.
    pub(in crate::session) fn requires_person(&self) -> bool {
        !self.past.happened.is_empty() || !self.past.doubts.is_empty()
    }

    /// Why this effect needs a person, if it does.
    pub(in crate::session) fn why_person(&self, effect: &str) -> Option<&Reason> {
        let in_doubt = || self.past.doubts.contains_key(effect).then_some(&Reason::MayHaveHappened);
        self.past.happened.get(effect).or_else(in_doubt)
    }

    /// Nobody will learn whether a call of this effect happened.
    pub(in crate::session) fn note_abandoned(&mut self, effect: String) {
        self.past_mut().happened.entry(effect).or_insert(Reason::MayHaveHappened);
    }

    /// A call of this effect is in doubt.
    pub(in crate::session) fn open_doubt(&mut self, effect: String) {
        *self.past_mut().doubts.entry(effect).or_default() += 1;
    }

    /// The doubt about a call of this effect has ended.
    pub(in crate::session) fn close_doubt(&mut self, effect: &str) {
        let doubts = &mut self.past_mut().doubts;
        if let Some(count) = doubts.get_mut(effect) {
            *count -= 1;
            if *count == 0 {
                doubts.remove(effect);
            }
        }
    }

    pub(in crate::session) fn no_longer_require_person(&mut self, effect: &str) {
        if self.past.happened.contains_key(effect) {
            self.past_mut().happened.remove(effect);
        }
    }

    /// A person is no longer required for an effect only because it was denied.
    pub(in crate::session) fn forget_unwanted(&mut self, effect: &str) {
        if self.why_person(effect) == Some(&Reason::DeniedBefore) {
            self.no_longer_require_person(effect);
        }
    }

    /// Records that an effect was done.
    pub(in crate::session) fn note_done(&mut self, effect: &str, at: Time) {
        let done = &mut self.past_mut().done;
        done.insert(effect.into(), at);
        if done.len() > MOST_DONE {
            let oldest = done.iter().min_by_key(|(_, at)| **at).map(|(effect, _)| Arc::clone(effect));
            oldest.and_then(|effect| done.remove(&effect));
        }
    }

    /// When an effect was last done, if it is remembered.
    pub(in crate::session) fn done_at(&self, effect: &str) -> Option<Time> {
        self.past.done.get(effect).copied()
    }

    /// Records for other sessions of the same past that a call of this one was denied.
    pub(in crate::session) fn share_denial(&mut self, effect: String, session: &str) {
        let denied = DeniedEffect { session: session.to_owned(), user_wrote_since: false };
        self.past_mut().denied.insert(effect, denied);
    }

    /// Whether any effect was denied.
    pub(in crate::session) fn shares_denials(&self) -> bool {
        !self.past.denied.is_empty()
    }

    /// Whether the user has written since an effect was denied in another session; none if it was not.
    pub(in crate::session) fn denied_elsewhere(&self, effect: &str, session: &str) -> Option<bool> {
        let denied = self.past.denied.get(effect).filter(|denied| denied.session != session)?;
        Some(denied.user_wrote_since)
    }

    pub(in crate::session) fn forget_shared_denial(&mut self, effect: &str) {
        if self.past.denied.contains_key(effect) {
            self.past_mut().denied.remove(effect);
        }
    }

    /// The user has written: denied calls may be requested again.
    pub(in crate::session) fn note_user_message(&mut self) {
        if self.shares_denials() {
            self.past_mut().denied.values_mut().for_each(|denied| denied.user_wrote_since = true);
        }
    }

    /// Takes over the past of another session, which has it from this one, or the other way round.
    pub(in crate::session) fn share_past_of(&mut self, other: &Self) {
        self.past = Arc::clone(&other.past);
    }

    fn past_mut(&mut self) -> &mut SharedPast {
        Arc::make_mut(&mut self.past)
    }
}
