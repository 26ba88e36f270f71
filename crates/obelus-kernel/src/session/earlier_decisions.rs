//! Earlier decisions about a call: an open question, a denial, an approval, a message.

use super::Session;
use super::ids::{JobRef, QuestionNumber};
use super::inbox::{Approved, SessionReason};
use super::scheduler::Status;
use super::sent_by::SentBy;
use super::settings::ModelMayConfirm;
use crate::call::Call;
use obelus_notebook::call_json::CallJson;

impl Session {
    /// Whether exactly this call was decided before, or is being asked about; that settles it.
    pub(super) fn settle_by_earlier_decision(&mut self, at: JobRef, call: &Call) -> bool {
        let refuses = call.is_declined();
        if self.inbox.is_blank() && !self.call_rules.past.shares_denials() && !refuses {
            return false;
        }
        let Some(frozen) = self.scheduler.frozen(at).map(|frozen| frozen.call.clone()) else { return false };
        let hash = self.hash_of(call, &frozen);
        if refuses {
            self.take_claimed_denial(at, call, &frozen, &hash);
            return true;
        }
        self.settle_by_denial(at, call, &frozen, &hash)
            || self.settle_by_question(at, call, &hash)
            || self.settle_by_doubt(at, &hash)
            || self.settle_by_approval(at, call, &hash)
    }

    /// The model reports that the user declined, which is always accepted.
    fn take_claimed_denial(&mut self, at: JobRef, call: &Call, frozen: &CallJson, hash: &str) {
        let default_reason = SessionReason::Declined.text(self.settings.language.as_deref());
        let reason = call.confirmation_reason().unwrap_or(default_reason);
        match self.inbox.about(hash) {
            Some((number, index)) => self.deny(number, &[index], reason, SentBy::AGENT_FOR_USER),
            None => self.record_denial(frozen, hash, reason),
        }
        // A delegate talks to no user.
        if self.constants.depth == 0 {
            self.share_denial(at);
        }
        self.deny_job(at, hash, reason);
    }

    /// Drops a denied call, unless it is requested again after a later message of the user.
    fn settle_by_denial(&mut self, at: JobRef, call: &Call, frozen: &CallJson, hash: &str) -> bool {
        let here = self.inbox.denied(hash).map(|since| self.memory.user_text_since(since).is_some());
        let denials = [here, self.denied_elsewhere(call, frozen)];
        if denials == [None, None] {
            return false;
        }
        // A graph has no way to request it: a later message of the user suffices.
        let asks = call.asks_confirmation() || self.graph.is_some();
        if asks && denials.into_iter().flatten().all(|user_wrote_since| user_wrote_since) {
            self.inbox.forget_denial(hash);
            self.forget_shared_denial(at);
            return false;
        }
        self.drop_denied(at, SessionReason::DeniedBefore.text(self.settings.language.as_deref()));
        true
    }

    /// A call that is being asked about joins its question, and runs if the user has consented meanwhile.
    fn settle_by_question(&mut self, at: JobRef, call: &Call, hash: &str) -> bool {
        let Some((number, index)) = self.inbox.about(hash) else { return false };
        self.inbox.join_question(number, index, at);
        self.scheduler.wait(at);
        if call.is_confirmed() && self.has_consent(number) {
            self.approve(number, &[index], &self.pending.latest_sender());
        }
        true
    }

    /// A call that is in doubt is not made again: it waits for the answer, and takes that outcome (DUR-4).
    fn settle_by_doubt(&mut self, at: JobRef, hash: &str) -> bool {
        let Some(primary) = self.job_in_doubt(hash) else { return false };
        self.join(at, primary);
        true
    }

    /// A confirmed call that a person approved before uses that result instead of running again.
    fn settle_by_approval(&mut self, at: JobRef, call: &Call, hash: &str) -> bool {
        match self.inbox.approved(hash).filter(|_| call.is_confirmed()) {
            None => return false,
            Some(Approved::Done) => self.close(at, Status::Done),
            Some(Approved::Running(primary)) => self.join(at, primary),
        }
        true
    }

    /// Whether there is evidence for the model's claim that the user agreed.
    fn has_consent(&self, number: QuestionNumber) -> bool {
        let Some(question) = self.inbox.get(number) else { return false };
        let consents = |text: &str| question.is_consent(&self.settings.consent, text);
        self.settings.model_may_confirm == ModelMayConfirm::AfterConsent
            && !question.needs_direct_answer()
            && self.inbox.is_answerable(number)
            && self.memory.user_text_since(question.asked_after).is_some_and(consents)
    }
}
