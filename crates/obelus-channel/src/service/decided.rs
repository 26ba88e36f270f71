//! Questions that were decided: what was decided, by whom, when, and the values as they were shown.

use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Decision, Question, QuestionStatus};
use obelus_runtime::people::{AnswerKind, QuestionView};
use obelus_runtime::{EventBody, EventNumber, Language};
use obelus_words::fill;

use super::Service;
use super::questions::{parts, text_of};
use crate::ChannelError;
use crate::types::QuestionRow;
use crate::who::who;

impl Service {
    /// A question with its decision. An edited question is shown as the person who edited it saw it.
    pub(super) async fn with_decision(
        &self,
        mut row: QuestionRow,
        wanted: Option<Language>,
    ) -> Result<QuestionRow, ChannelError> {
        if matches!(row.status, QuestionStatus::Requested | QuestionStatus::Expired) {
            return Ok(row);
        }
        let (session, number) = parts(&row.id)?;
        let (service, id, pages) = (self.clone(), session.to_owned(), self.host.pictures(session));
        let whole = row.id.clone();
        let found = self.blocking(move |host| {
            let events = host.history_after(&id, EventNumber::START)?;
            let decided = events.iter().rev().find_map(|event| match &event.body {
                EventBody::QuestionDecided { question, decision, .. } if *question == number => {
                    Some((decision.clone(), event.number.record))
                }
                _ => None,
            });
            let Some((decision, record)) = decided else { return Ok(None) };
            let kind = AnswerKind::of(&decision);
            let Decision::Edit { params } = &decision else { return Ok(Some((kind, None))) };
            // The question as it was before the record that decided it.
            let before = host.view(&id, Some(record.saturating_sub(1)))?;
            let language = service.language_of(&before, wanted);
            let view = QuestionView::edited(&before, &number, params, pages, language).ok();
            Ok(Some((kind, view.map(|view| QuestionView { picture: None, ..view.under(&whole) }))))
        });
        let Some((kind, edited)) = found.await? else { return Ok(row) };
        row.decision = Some(kind);
        let view = edited.unwrap_or_else(|| row.view.clone());
        let head = head_of(row.status, kind, &row, view.language).unwrap_or_else(|| row.view.head.clone());
        row.view = QuestionView { head, answers: Vec::new(), ..view };
        row.text = text_of(&row.view);
        Ok(row)
    }
}

/// The header of a closed question: the decision, the person and the time; none while it is open.
pub(super) fn decided_head(question: &Question, decision: Option<AnswerKind>, language: Language) -> Option<String> {
    if question.status == QuestionStatus::Requested {
        return None;
    }
    let at = question.decided_at.unwrap_or(question.expires_at).to_string();
    Some(head(question.status, decision, question.by.as_deref(), &at, language))
}

fn head_of(status: QuestionStatus, decision: AnswerKind, row: &QuestionRow, language: Language) -> Option<String> {
    Some(head(status, Some(decision), row.by.as_deref(), row.decided_at.as_deref()?, language))
}

fn head(
    status: QuestionStatus,
    decision: Option<AnswerKind>,
    by: Option<&str>,
    at: &str,
    language: Language,
) -> String {
    let words = &language.words().questions;
    let phrase = match (status, decision) {
        (QuestionStatus::Approved, Some(AnswerKind::Edit)) => words.was_edited,
        (QuestionStatus::Approved, Some(AnswerKind::Consent)) => words.was_consented,
        (QuestionStatus::Approved, _) => words.was_approved,
        (QuestionStatus::Denied, _) => words.was_denied,
        (QuestionStatus::Expired, _) => words.was_expired,
        _ => words.was_answered,
    };
    fill(phrase, &[&who(by.unwrap_or(SentBy::NOBODY), language), at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_question_shows_the_decision() {
        let of = |status, decision| head(status, decision, Some("api:anna"), "2026-01-01T00:00:00Z", Language::English);
        assert_eq!(
            of(QuestionStatus::Approved, Some(AnswerKind::Edit)),
            "Approved with changes (anna in API, 2026-01-01T00:00:00Z)"
        );
        assert_eq!(of(QuestionStatus::Approved, None), "Approved (anna in API, 2026-01-01T00:00:00Z)");
        assert_eq!(of(QuestionStatus::Denied, Some(AnswerKind::Deny)), "Denied (anna in API, 2026-01-01T00:00:00Z)");
        assert_eq!(
            of(QuestionStatus::Answered, Some(AnswerKind::Value)),
            "Answered (anna in API, 2026-01-01T00:00:00Z)"
        );
    }
}
