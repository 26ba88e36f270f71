//! Effects that need a person before they are repeated: those that happened, or may have, without a stored result
//! (DUR-4), and those that were denied, or left out of a plan (ASK-3). A session and its delegates share them, together
//! with calls that were denied one by one, and the times of done effects. `happened` applies them to calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::call::freeze::frozen_call;
use crate::call::identity::hash;
use crate::policy::Reason;
use crate::time::Time;
use obelus_notebook::call_json::CallJson;

/// How many effects that were done are remembered, so that a checkpoint does not grow with the age of its session.
const MOST_DONE: usize = 100;

/// What a session and its delegates remember together. Effects are identified by [`effect_of`].
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PastEffects(Arc<SharedPast>);

/// The past of a session and its delegates.
#[derive(Clone, Default, Serialize, Deserialize)]
struct SharedPast {
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
struct DeniedEffect {
    /// The session or delegate whose call was denied.
    session: String,
    /// Whether the user has written since.
    #[serde(rename = "has_words_since")]
    user_wrote_since: bool,
}

impl PastEffects {
    /// Records why an effect needs a person from now on.
    pub(super) fn require_person(&mut self, effect: String, why: Reason) {
        self.to_mut().happened.insert(effect, why);
    }

    /// Records that a call of this effect was denied. A stored reason that it happened, or may have, is not replaced.
    pub(super) fn note_unwanted(&mut self, effect: String) {
        self.to_mut().happened.entry(effect).or_insert(Reason::DeniedBefore);
    }

    /// Whether any effect needs a person.
    pub(super) fn requires_person(&self) -> bool {
        !self.0.happened.is_empty() || !self.0.doubts.is_empty()
    }

    /// Why this effect needs a person, if it does.
    pub(super) fn why_person(&self, effect: &str) -> Option<&Reason> {
        let in_doubt = || self.0.doubts.contains_key(effect).then_some(&Reason::MayHaveHappened);
        self.0.happened.get(effect).or_else(in_doubt)
    }

    /// Nobody will learn whether a call of this effect happened.
    pub(super) fn note_abandoned(&mut self, effect: String) {
        self.to_mut().happened.entry(effect).or_insert(Reason::MayHaveHappened);
    }

    /// A call of this effect is in doubt.
    pub(super) fn open_doubt(&mut self, effect: String) {
        *self.to_mut().doubts.entry(effect).or_default() += 1;
    }

    /// The doubt about a call of this effect has ended.
    pub(super) fn close_doubt(&mut self, effect: &str) {
        let doubts = &mut self.to_mut().doubts;
        if let Some(count) = doubts.get_mut(effect) {
            *count -= 1;
            if *count == 0 {
                doubts.remove(effect);
            }
        }
    }

    pub(super) fn no_longer_require_person(&mut self, effect: &str) {
        if self.0.happened.contains_key(effect) {
            self.to_mut().happened.remove(effect);
        }
    }

    /// A person is no longer required for an effect only because it was denied.
    pub(super) fn forget_unwanted(&mut self, effect: &str) {
        if self.why_person(effect) == Some(&Reason::DeniedBefore) {
            self.no_longer_require_person(effect);
        }
    }

    /// Records that an effect was done.
    pub(super) fn note_done(&mut self, effect: &str, at: Time) {
        let done = &mut self.to_mut().done;
        done.insert(effect.into(), at);
        if done.len() > MOST_DONE {
            let oldest = done.iter().min_by_key(|(_, at)| **at).map(|(effect, _)| Arc::clone(effect));
            oldest.and_then(|effect| done.remove(&effect));
        }
    }

    /// When an effect was last done, if it is remembered.
    pub(super) fn done_at(&self, effect: &str) -> Option<Time> {
        self.0.done.get(effect).copied()
    }

    /// Records for other sessions of the same past that a call of this one was denied.
    pub(super) fn share_denial(&mut self, effect: String, session: &str) {
        let denied = DeniedEffect { session: session.to_owned(), user_wrote_since: false };
        self.to_mut().denied.insert(effect, denied);
    }

    /// Whether any effect was denied.
    pub(super) fn shares_denials(&self) -> bool {
        !self.0.denied.is_empty()
    }

    /// Whether the user has written since an effect was denied in another session; none if it was not.
    pub(super) fn denied_elsewhere(&self, effect: &str, session: &str) -> Option<bool> {
        let denied = self.0.denied.get(effect).filter(|denied| denied.session != session)?;
        Some(denied.user_wrote_since)
    }

    pub(super) fn forget_shared_denial(&mut self, effect: &str) {
        if self.0.denied.contains_key(effect) {
            self.to_mut().denied.remove(effect);
        }
    }

    /// The user has written: denied calls may be requested again.
    pub(super) fn note_user_message(&mut self) {
        if self.shares_denials() {
            self.to_mut().denied.values_mut().for_each(|denied| denied.user_wrote_since = true);
        }
    }

    /// Takes over the past of another session, which has it from this one, or the other way round.
    pub(super) fn share_of(&mut self, other: &Self) {
        *self = other.clone();
    }

    fn to_mut(&mut self) -> &mut SharedPast {
        Arc::make_mut(&mut self.0)
    }
}

/// The identity of a call's effect: its tool and its parameters, wherever its result goes. `root` is the id of the
/// session at the top.
pub(super) fn effect_of(root: &str, call: &Call, frozen: &CallJson) -> String {
    let is_other = |name: &str| (name.starts_with('_') && name != "_tool") || call.is_control_field(name);
    hash(root, frozen, is_other)
}

/// The effect of a call with its references as proposed.
pub(super) fn proposed_effect(root: &str, call: &Call) -> String {
    effect_of(root, call, &frozen_call(call, call.outline(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_in_doubt_needs_a_person_until_every_doubt_about_it_has_ended() {
        let mut past = PastEffects::default();
        past.open_doubt("a".to_owned());
        past.open_doubt("a".to_owned());
        past.close_doubt("a");
        assert_eq!(past.why_person("a"), Some(&Reason::MayHaveHappened));
        past.close_doubt("a");
        assert!(past.why_person("a").is_none() && !past.requires_person());
    }

    #[test]
    fn a_denial_does_not_replace_a_stronger_reason_and_an_approval_forgets_only_the_denial() {
        let mut past = PastEffects::default();
        past.require_person("a".to_owned(), Reason::MayHaveHappened);
        for effect in ["a", "b"] {
            past.note_unwanted(effect.to_owned());
            past.forget_unwanted(effect);
        }
        assert_eq!((past.why_person("a"), past.why_person("b")), (Some(&Reason::MayHaveHappened), None));
    }

    #[test]
    fn a_denial_counts_in_other_sessions_of_the_same_past_until_the_user_has_written() {
        let (mut past, mut other) = (PastEffects::default(), PastEffects::default());
        past.share_denial("a".to_owned(), "s");
        other.share_of(&past);
        assert_eq!((other.denied_elsewhere("a", "s"), other.denied_elsewhere("a", "s/0.0")), (None, Some(false)));
        other.note_user_message();
        assert_eq!(other.denied_elsewhere("a", "s/0.0"), Some(true));
    }

    #[test]
    fn the_oldest_done_effect_is_forgotten_at_the_limit() {
        let mut past = PastEffects::default();
        (0..=MOST_DONE).for_each(|n| past.note_done(&n.to_string(), Time(i64::try_from(n).unwrap())));
        assert_eq!((past.done_at("0"), past.done_at("1")), (None, Some(Time(1))));
    }
}
