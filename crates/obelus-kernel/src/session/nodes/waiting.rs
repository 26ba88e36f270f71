//! Messages while a node waits for a person.

use serde_json::Value;

use crate::origin::{Origin, Origins};
use crate::schema::first_breach;
use crate::session::ids::QuestionNumber;
use crate::session::inbox::{About, Question, QuestionStatus, SessionReason};
use crate::session::output::ElicitationAnswer;
use crate::session::refusals::RefusalCode as Code;
use crate::session::sent_by::SentBy;
use crate::session::settings::ModelMayConfirm;
use crate::session::{Refused, Session};
use obelus_notebook::steps::StepNode;

impl Session {
    /// Takes the user's message as an answer, if it is one. Other messages begin a turn.
    pub(in crate::session) fn take_as_answer(&mut self, text: &str, by: Option<&str>) -> bool {
        self.turn.is_waiting() && (self.take_as_value(text, by) || self.take_as_consent(text, by))
    }

    /// While a node waits only for a value, the message is that value: as text, or as JSON, such as a number or a list.
    fn take_as_value(&mut self, text: &str, by: Option<&str>) -> bool {
        let open: Vec<QuestionNumber> = self.inbox.open().map(Question::number).collect();
        let is_of_node = |number| self.graph.as_ref().is_some_and(|run| run.has_asked(number));
        let [number] = open[..] else { return false };
        let is_taken = is_of_node(number)
            && (self.take_input(number, text.into()).is_ok()
                || serde_json::from_str(text.trim()).is_ok_and(|value| self.take_input(number, value).is_ok()));
        if is_taken {
            self.add_user_message(text, by);
            self.end_question(number, QuestionStatus::Answered, &self.pending.latest_sender(), None);
            self.turn.reopen();
        }
        is_taken
    }

    /// While the call of a node waits for approval, a consenting message approves. Without a graph, a yes answers a
    /// question that needs a direct answer, if it was shown last (ASK-6).
    fn take_as_consent(&mut self, text: &str, by: Option<&str>) -> bool {
        if self.settings.model_may_confirm != ModelMayConfirm::AfterConsent {
            return false;
        }
        let asked = self.only_question().and_then(|id| self.inbox.get(id.local()?));
        let is_due = |asked: &&Question| {
            let is_in_time = asked.about == About::Call && asked.expires_at > self.memory.now();
            let is_last_shown = || self.memory.user_text_since(asked.asked_after).is_none();
            let is_for_words = self.graph.is_some() || (asked.needs_direct_answer() && is_last_shown());
            is_in_time && is_for_words && asked.is_consent(&self.settings.consent, text)
        };
        let Some(asked) = asked.filter(is_due) else { return false };
        let (number, calls): (QuestionNumber, Vec<usize>) = (asked.number(), asked.open_calls().collect());
        self.add_user_message(text, by);
        let steps = self.inbox.steps_of(number);
        self.approve(number, &calls, &self.pending.latest_sender());
        self.note_decision(&steps, true);
        true
    }

    /// Takes the value that a node asked for.
    pub(in crate::session) fn take_input(&mut self, number: QuestionNumber, value: Value) -> Result<(), Refused> {
        let Some(run) = self.graph.as_ref().filter(|run| run.has_asked(number)) else { return Ok(()) };
        let Some(StepNode::Ask { ask, output_path, .. }) = run.current().cloned() else { return Ok(()) };
        if let Some(breach) = ask.schema.as_ref().and_then(|schema| first_breach(schema, &value)) {
            return Err(Refused::breach(Code::BadAnswer, breach));
        }
        self.write_for_node(output_path.as_deref(), value, &Origins::of(Origin::User))
            .map_err(|fault| Refused::new(Code::BadAnswer, fault.words()))
    }

    /// Withdraws the questions of a node that the turn leaves, because a graph is at one node at a time. Questions
    /// about effects in doubt stay open.
    pub(in crate::session) fn withdraw_questions(&mut self, why: SessionReason) {
        let why = why.text(self.settings.language.as_deref());
        for number in self.inbox.open_where(|question| question.elicitation.is_some()) {
            let answer = ElicitationAnswer::Declined { reason: why.to_owned() };
            self.settle_elicitation(number, QuestionStatus::Denied, SentBy::CONVERSATION, answer);
        }
        let is_call = |question: &Question| matches!(question.about, About::Call | About::Plan);
        let is_of_node = |question: &Question| self.graph.as_ref().is_some_and(|run| run.has_asked(question.number()));
        for number in self.inbox.open_where(|question| is_call(question) || is_of_node(question)) {
            let Some(question) = self.inbox.get(number) else { continue };
            match is_call(question).then(|| question.open_calls().collect::<Vec<_>>()) {
                Some(calls) => self.deny(number, &calls, why, SentBy::CONVERSATION),
                None => self.end_question(number, QuestionStatus::Denied, SentBy::CONVERSATION, Some(why)),
            }
        }
        self.report_errors();
    }
}
