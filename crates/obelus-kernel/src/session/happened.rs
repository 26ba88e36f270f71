//! Effects that happened, or may have, and of which no result was kept: the same call again needs a person (DUR-4).

use super::Session;
use super::ids::JobRef;
use super::input::CallError;
use super::memory::Failure;
use crate::call::identity::hash;
use crate::call::{ASIDES, Call};
use crate::policy::Reason;
use crate::tool::{Effect, Tool};
use serde_json::Value;

impl Session {
    /// The error of a call whose activity succeeded, but whose result is too large, invalid or unreadable. Of an effect
    /// it says that it happened; a read has only failed.
    pub(super) fn error_of_result(&mut self, at: JobRef, error: CallError) -> CallError {
        match self.has_effect(at) {
            true => self.not_kept(at, &error.message),
            false => error,
        }
    }

    /// The same for a result that could not be written where the call says.
    pub(super) fn failure_of_result(&mut self, at: JobRef, failure: Failure) -> Failure {
        if !self.has_effect(at) {
            return failure;
        }
        match failure {
            Failure::Structural(fault) => Failure::NotKept(fault.rule, self.not_kept(at, &fault.words())),
            Failure::Rule(rule, text) => Failure::NotKept(rule, self.not_kept(at, &text)),
            other => other,
        }
    }

    fn not_kept(&mut self, at: JobRef, why: &str) -> CallError {
        let why = crate::visible(why);
        self.note_happened(at, Reason::Happened(why.clone()));
        let text = format!(
            "the effect happened, its result could not be kept: {why}. Do not repeat this call: it would be done twice"
        );
        CallError::new(CallError::RESULT_NOT_KEPT, text)
    }

    /// Records that a call that must not be repeated happened, or may have.
    pub(super) fn note_happened(&mut self, at: JobRef, why: Reason) {
        if let Some(effect) = self.unrepeatable_effect(at) {
            self.inbox.note_happened(effect, why);
        }
    }

    /// The result of a call was kept, so the next one is judged like any other.
    pub(super) fn forget_happened(&mut self, at: JobRef) {
        if self.inbox.has_happened()
            && let Some(effect) = self.unrepeatable_effect(at)
        {
            self.inbox.forget_happened(&effect);
        }
    }

    /// Why a person must be asked before this call, if the same one happened without a result, or may have.
    pub(super) fn happened_before(&self, call: &Call, frozen: &Value) -> Option<Reason> {
        if !self.inbox.has_happened() {
            return None;
        }
        self.inbox.happened(&self.effect_of(call, frozen)).cloned()
    }

    /// Whether a call acts on the world through an activity. A delegate's calls are judged one by one.
    fn has_effect(&self, at: JobRef) -> bool {
        let call = self.scheduler.call(at);
        let acts = |tool: &Tool| tool.effect != Effect::Read;
        self.settings.guards_effects && call.delegate.is_none() && call.tool.as_deref().is_some_and(acts)
    }

    fn unrepeatable_effect(&self, at: JobRef) -> Option<String> {
        let call = self.scheduler.call(at);
        let is_repeatable = call.tool.as_deref().is_none_or(|tool| tool.idempotent);
        let frozen = self.scheduler.frozen(at).filter(|_| self.has_effect(at) && !is_repeatable)?;
        Some(self.effect_of(call, &frozen.call))
    }

    /// The identity of a call's effect: its tool and its parameters, wherever its result goes.
    fn effect_of(&self, call: &Call, frozen: &Value) -> String {
        let is_other = |name: &str| {
            (name.starts_with('_') && name != "_tool") || (ASIDES.contains(&name) && call.aside(name).is_some())
        };
        hash(&self.constants.id, frozen, is_other)
    }
}
