//! The index for grounding (POL-7), maintained if the policy uses grounded values.

use std::borrow::Cow;

use super::Session;
use super::ids::JobRef;
use crate::call::Call;
use crate::origin::Origins;
use crate::policy::{Callee, GroundIndex, Grounded, Grounding};

impl Session {
    /// Updates the index if it matters for the call of a job.
    pub(super) fn catch_up_grounds(&mut self, at: JobRef) {
        if self.settings.needs_grounds(&self.scheduler.step_of(at).literal, self.scheduler.call(at)) {
            self.memory.catch_up_grounds(self.inbox.texts_by_people());
        }
    }

    /// The same if it matters for the model's proposals after what it has been shown.
    pub(super) fn catch_up_grounds_of_shown(&mut self) {
        if self.settings.uses_grounds() && !self.transcript.shown().is_trusted() {
            self.memory.catch_up_grounds(self.inbox.texts_by_people());
        }
    }

    /// Finds values of a call, if it matters. None if the index is not up to date: then a person is asked.
    pub(super) fn grounding<'a>(
        &'a self,
        instance: Option<&'a str>,
        literal: &Origins,
        call: &Call,
    ) -> Option<Grounding<'a>> {
        let (index, texts) = (self.memory.grounds(), self.inbox.texts_by_people());
        let is_ready = self.settings.needs_grounds(literal, call) && index.is_current(self.context(), texts);
        is_ready.then(|| self.grounding_in(index, instance))
    }

    pub(super) fn grounding_in<'a>(&'a self, index: &'a GroundIndex, instance: Option<&'a str>) -> Grounding<'a> {
        Grounding { context: self.context(), index, base: self.memory.base(), instance }
    }

    /// The up-to-date index, for provenance queries. None if the policy does not use it.
    pub(super) fn current_grounds(&self) -> Option<Cow<'_, GroundIndex>> {
        if !self.settings.uses_grounds() {
            return None;
        }
        let (context, written) = (self.context(), self.inbox.texts_by_people());
        let mut grounds = Cow::Borrowed(self.memory.grounds());
        if !grounds.is_current(context, written) {
            grounds.to_mut().catch_up(context, written);
        }
        Some(grounds)
    }

    /// The index after a person's edit of a job's call, with the words of the edit, if it matters for that call.
    pub(super) fn grounds_after_edit(&self, at: JobRef, words: &[String]) -> Option<Cow<'_, GroundIndex>> {
        let is_used = self.settings.needs_grounds(&self.scheduler.step_of(at).literal, self.scheduler.call(at));
        let mut grounds = self.current_grounds().filter(|_| is_used && self.context().unreadable().is_none())?;
        if !words.is_empty() {
            grounds.to_mut().catch_up(self.context(), &[self.inbox.texts_by_people(), words].concat());
        }
        Some(grounds)
    }

    /// How the values of a job's call are grounded, for the person who is asked.
    pub(super) fn grounded_values(&self, at: JobRef, call: &Call) -> Vec<Grounded> {
        let (Some(grounding), Some(tool)) = (self.provenance(at).grounding, &call.tool) else { return Vec::new() };
        let params = self.scheduler.frozen(at).map(|frozen| frozen.params(call)).unwrap_or_default();
        grounding.found_in(Callee { tool, params: &params }, "", &params)
    }
}
