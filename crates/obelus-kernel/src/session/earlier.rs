//! What people have said of a call before: a question that waits, a no, a yes, words in conversation.

use serde_json::Value;

use super::Session;
use super::job::{JobRef, Status};
use super::naming::Said;
use super::question::{Approved, Question};
use super::settings::ModelMayConfirm;
use crate::call::Call;
use crate::message::{Message, Role};

impl Session {
    /// Whether people have spoken of exactly this call before, or are being asked; then that settles it.
    pub(super) fn settle_by_earlier_word(&mut self, at: JobRef, call: &Call) -> bool {
        let says = |name: &str| call.aside(name) == Some(&Value::Bool(true));
        let refuses = call.aside("confirmation_decision").is_some_and(|said| said == "deny");
        if self.questions.is_blank() && !refuses {
            return false;
        }
        let Some(frozen) = self.frozen(at).cloned() else { return false };
        let hash = self.hash_of(call, &frozen);
        if refuses {
            let silent = Said::Declined.words(self.settings.language.as_deref());
            let reason = call.aside("confirmation_reason").and_then(Value::as_str).unwrap_or(silent);
            if let Some((id, index)) = self.questions.about(&hash) {
                self.deny(&id, &[index], reason, "the agent, for the user");
            } else {
                self.record_denial(&frozen.call, &hash, reason);
            }
            self.deny_job(at, &hash, reason);
            return true;
        }
        if let Some(&since) = self.questions.denied.get(&hash) {
            // A graph has no words of its own to ask by: that the user has spoken since is enough.
            let asks = says("requires_confirmation") || self.walk.is_some();
            let asked_anew = asks && self.words_since(since).is_some();
            if !asked_anew {
                self.drop_denied(at, Said::DeniedBefore.words(self.settings.language.as_deref()));
                return true;
            }
            self.questions.denied.remove(&hash);
        }
        let confirmed = says("confirmed");
        if let Some((id, index)) = self.questions.about(&hash) {
            if let Some(question) = self.questions.get_mut(&id) {
                question.calls[index].jobs.push(at);
            }
            self.set_status(at, Status::Waiting);
            self.wake_followers(at);
            if confirmed && self.has_consent(&id) {
                self.approve(&id, &[index], "the user, in conversation");
            }
            return true;
        }
        match self.questions.approved.get(&hash) {
            Some(Approved::Done) if confirmed => {
                self.close(at, Status::Done);
                true
            }
            Some(Approved::Running(primary)) if confirmed => {
                let primary = *primary;
                self.join(at, primary);
                self.wake_followers(at);
                true
            }
            _ => false,
        }
    }

    /// The model claims that the user agreed: is there evidence?
    fn has_consent(&self, id: &str) -> bool {
        let Some(question) = self.questions.get(id) else { return false };
        self.settings.model_may_confirm == ModelMayConfirm::AfterConsent
            && self.answerable.as_deref() == Some(id)
            && self.words_since(question.asked_after).is_some_and(|words| self.settings.consent.consents(words))
    }

    /// The question about one call that waits now, if nothing else does, here or in a delegate.
    pub(super) fn only_question(&self) -> Option<String> {
        let mut open = self.questions().into_iter().filter(Question::is_open);
        let (only, None) = (open.next()?, open.next()) else { return None };
        (only.open_calls().count() == 1).then_some(only.id)
    }

    /// The user's latest words, if they came after the context had this many messages.
    fn words_since(&self, length: usize) -> Option<&str> {
        let since = self.context.length().saturating_sub(length);
        self.context.latest().take(since).find_map(|message| match message {
            Message::Text(text) if text.role == Role::User => Some(text.text.as_str()),
            _ => None,
        })
    }
}
