//! Updates of questions that have been asked.

use super::{Change, Inbox, Question, QuestionStatus};
use crate::policy::Reason;
use crate::session::ids::QuestionNumber;
use crate::time::Time;
use obelus_notebook::call_texts::Named;

/// The date and the headline of an imported question, if it has them.
#[derive(Default)]
pub(in crate::session) struct ImportedTerms {
    pub(in crate::session) requested_at: Option<Time>,
    pub(in crate::session) headline: Option<String>,
}

impl Inbox {
    /// An imported question keeps its date and headline. It expires by the time of the import, not of the other program.
    pub(in crate::session) fn keep_imported(&mut self, number: QuestionNumber, terms: ImportedTerms) {
        let Some(question) = self.get_mut(number) else { return };
        question.requested_at = terms.requested_at.unwrap_or(question.requested_at);
        if let Some(headline) = terms.headline {
            question.set_headline(&headline);
        }
    }

    /// Replaces a question by its edited form.
    pub(in crate::session) fn replace(&mut self, edited: Question) {
        self.all.insert(edited.number().0, edited);
    }

    /// Updates the names of the values in a question. Other known names stay.
    pub(in crate::session) fn update_names(&mut self, number: QuestionNumber, names: Vec<Named>) {
        let Some(question) = self.get_mut(number) else { return };
        let known = std::mem::replace(&mut question.names, names);
        known.into_iter().for_each(|named| question.add_name(named));
    }

    /// Adds what a preview read of a call has shown: its changes, and the name of the record.
    pub(in crate::session) fn note_changes(
        &mut self,
        number: QuestionNumber,
        call: usize,
        changes: Vec<Change>,
        name: Option<Named>,
    ) {
        let Some(question) = self.get_mut(number) else { return };
        name.into_iter().for_each(|name| question.add_name(name));
        question.changes.retain(|change| change.call != call);
        question.changes.extend(changes);
        question.changes.sort_by_key(|change| change.call);
    }

    /// Updates the reasons of a question with those for which an approval would repeat an effect now.
    pub(in crate::session) fn note_repetitions(&mut self, number: QuestionNumber, earlier: Vec<Reason>) {
        let Some(question) = self.get_mut(number) else { return };
        let is_settled = question.may_repeat() && !earlier.contains(&Reason::MayHaveHappened);
        if is_settled {
            question.reasons.retain(|why| *why != Reason::MayHaveHappened);
        }
        let more = earlier.into_iter().chain(is_settled.then_some(Reason::WasInDoubt));
        more.for_each(|why| question.add_reason(why));
    }

    /// A question that ended without a person's decision has expired.
    pub(in crate::session) fn mark_expired(&mut self, number: QuestionNumber) {
        if let Some(question) = self.get_mut(number).filter(|question| !question.is_open()) {
            question.status = QuestionStatus::Expired;
        }
    }
}
