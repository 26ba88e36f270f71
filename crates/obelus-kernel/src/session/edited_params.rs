//! Which parameters of an executed call a person changed. It is not stored: it is
//! computed from the proposal and the call that ran.

use serde_json::Value;

use super::Session;
use super::inbox::{About, QuestionStatus, each_text};
use crate::expr::Expr;
use crate::message::Message;
use crate::policy::{CallParam, ValueWrite, WhyBuilder};
use obelus_notebook::call_json::CallJson;

impl Session {
    /// Marks the parameters of a write that a person changed. `call` is the call that wrote it.
    pub(super) fn mark_edits(&self, write: &mut ValueWrite, call: &CallJson) {
        let is_asked = self.inbox.all().any(|question| {
            let is_approved = question.about == About::Call && question.status == QuestionStatus::Approved;
            is_approved && question.calls.iter().any(|asked| asked.call == *call)
        });
        if !is_asked {
            return;
        }
        let earlier = self.context().messages()[..write.message].iter().filter_map(|message| match message {
            Message::Plan(plan) => Some(&plan.calls),
            _ => None,
        });
        let proposals = earlier.flatten().filter(|proposal| proposal.tool() == call.tool());
        let unchanged = |proposal: &CallJson| {
            write.params.iter().filter(|given| proposal.get(&given.name) == Some(&given.value)).count()
        };
        // Of several proposals, the one with the most values of the call; of those, the latest.
        let Some(proposal) = proposals.max_by_key(|proposal| unchanged(proposal)) else { return };
        for given in &mut write.params {
            given.is_edited = is_edited(given, proposal, self.inbox.texts_by_people());
            // The call that ran has the values of its references; the proposal has the references.
            if let Some(value) = proposal.get(&given.name).filter(|_| !given.is_edited && given.from.is_empty()) {
                given.from = WhyBuilder::of_writes(self.context(), None).behind(value, write.message);
                if !given.from.is_empty() {
                    given.value = value.clone();
                    given.grounded.clear();
                }
            }
        }
    }
}

/// Whether a person changed a parameter of a proposal.
fn is_edited(given: &CallParam, proposal: &Value, texts_by_people: &[String]) -> bool {
    let is_ref = |value: &Value| value.as_str().is_some_and(|text| Expr::parse(text).is_ok());
    match proposal.get(&given.name) {
        Some(value) if *value == given.value => false,
        Some(value) if !is_ref(value) => true,
        // The call that ran has the value of a reference, or of a default: unless a person wrote it.
        _ => {
            let (mut has_text, mut is_written) = (false, true);
            each_text(&given.value, &mut |text| {
                has_text = true;
                is_written &= texts_by_people.iter().any(|written| written == text);
            });
            has_text && is_written
        }
    }
}
