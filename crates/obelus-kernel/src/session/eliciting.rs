//! Elicitations: questions of running calls, and their answers.

use obelus_notebook::requested::fault_of_schema;
use serde_json::Value;

use super::ids::{CallId, JobRef, LocalCall, QuestionNumber, Routed};
use super::inbox::{About, AskedCall, Draft, Elicitation, ElicitationForm, Question, QuestionStatus, check_answer};
use super::input::{Decision, ElicitationRequest};
use super::output::ElicitationAnswer;
use super::sent_by::SentBy;
use super::{Refused, Session};

/// The limit of questions of one call.
const MOST_ELICITATIONS: usize = 20;

/// The reason with which the open elicitations of an ended call are closed.
const CALL_HAS_ENDED: &str = "the call that asked it is not at work any more";

impl Session {
    /// Takes a question of a running call.
    pub(super) fn elicit(&mut self, id: &CallId, key: String, text: String, schema: Value) {
        let asked = ElicitationRequest { key, text, schema };
        let (job, asked) = match id.local() {
            // No question is asked before the job of the call is known.
            Some(LocalCall::Early { request, index }) => {
                match self.calls_beside_steps.early.elicit((request, index), asked) {
                    None => return,
                    Some(found) => found,
                }
            }
            Some(LocalCall::Job(at)) => (self.scheduler.running_job(at), asked),
            Some(LocalCall::PreviewRead { .. }) | None => (None, asked),
        };
        match job {
            Some(at) => self.open_elicitation(at, id.clone(), asked),
            None => self.tasks.answer_elicitation(id.clone(), asked.key, ElicitationAnswer::Gone),
        }
    }

    /// Asks a person for a job, which the driver knows as `call`.
    pub(super) fn open_elicitation(&mut self, at: JobRef, call: CallId, asked: ElicitationRequest) {
        let ElicitationRequest { key, text, schema } = asked;
        let is_of_job = |question: &Question| question.elicitation.as_ref().is_some_and(|known| known.job == at);
        let is_same = |question: &Question| question.elicitation.as_ref().is_some_and(|known| known.key == key);
        // A repeated elicitation is ignored.
        if self.inbox.open().any(|question| is_of_job(question) && is_same(question)) {
            return;
        }
        let times = self.inbox.all().filter(|question| is_of_job(question)).count();
        let (job, asks) = (self.scheduler.job(at), self.scheduler.call(at));
        let is_in_doubt = job.awaits_user && job.elicitations == 0;
        let may_ask = !self.turn.is_ending() && !is_in_doubt;
        let Some(frozen) = job.frozen.as_ref().filter(|_| may_ask) else {
            return self.tasks.answer_elicitation(call, key, ElicitationAnswer::Gone);
        };
        let unfit = if times >= MOST_ELICITATIONS {
            Some(format!("one call may ask {MOST_ELICITATIONS} times"))
        } else {
            fault_of_schema(&schema)
        };
        if let Some(reason) = unfit {
            return self.tasks.answer_elicitation(call, key, ElicitationAnswer::Declined { reason });
        }
        let origins = self.settings.origin_of_error(asks);
        let form = ElicitationForm::new(&text, &schema, &origins);
        let description = form.describe(asks.tool_name(), &origins);
        let asked = AskedCall::new(frozen.call.clone(), String::new(), vec![at]);
        let draft = Draft::new(About::Input, vec![asked], description);
        let elicitation = Some(Elicitation { job: at, call, key, form: Some(form) });
        self.ask(Draft { schema: Some(schema), elicitation, ..draft });
        self.scheduler.open_elicitation(at);
    }

    /// Whether a running call waits for a person, here or in a delegate.
    pub fn has_elicitations(&self) -> bool {
        self.inbox.has_elicitations() || self.delegates.iter().any(|(_, child)| child.has_elicitations())
    }

    /// Takes a decision about an elicitation.
    pub(super) fn decide_elicitation(
        &mut self,
        number: QuestionNumber,
        decision: Decision,
        by: &str,
    ) -> Result<(), Refused> {
        let schema = self.inbox.get(number).and_then(|question| question.schema.clone()).unwrap_or_default();
        let answer = check_answer(decision, &schema)?;
        let status = match answer {
            ElicitationAnswer::Value(_) => QuestionStatus::Answered,
            ElicitationAnswer::Declined { .. } | ElicitationAnswer::Gone => QuestionStatus::Denied,
        };
        self.settle_elicitation(number, status, by, answer);
        Ok(())
    }

    /// Ends an elicitation, and answers the call.
    pub(super) fn settle_elicitation(
        &mut self,
        number: QuestionNumber,
        status: QuestionStatus,
        by: &str,
        answer: ElicitationAnswer,
    ) {
        let elicitation = self.inbox.get(number).and_then(|question| question.elicitation.clone());
        let Some(Elicitation { job, call, key, .. }) = elicitation else { return };
        let reason = if let ElicitationAnswer::Declined { reason } = &answer { Some(reason.as_str()) } else { None };
        self.end_question(number, status, by, reason);
        self.inbox.close_elicitation(job, number);
        self.scheduler.close_elicitation(job);
        self.turn.reopen();
        self.tasks.answer_elicitation(call, key, answer);
    }

    /// Closes the elicitations of a job that has ended or is restarted.
    pub(super) fn close_elicitations(&mut self, at: JobRef) {
        if !self.inbox.has_elicitations() {
            return;
        }
        let Some(open) = self.inbox.take_elicitations(at) else { return };
        for number in open {
            self.end_question(number, QuestionStatus::Expired, SentBy::NOBODY, Some(CALL_HAS_ENDED));
        }
        self.scheduler.close_elicitations(at);
        if self.turn.is_waiting() {
            self.turn.reopen();
        }
    }

    /// Drops all elicitations: the process that carried out the calls has ended.
    pub(super) fn drop_elicitations(&mut self) {
        self.inbox.eliciting_jobs().into_iter().for_each(|at| self.close_elicitations(at));
    }

    /// Drops the elicitations of an ended delegate, whose calls may still be running.
    pub(super) fn drop_elicitations_of(&mut self, at: JobRef, child: &Session) {
        for (call, key) in child.open_elicitations() {
            self.tasks.answer_elicitation(call.below(at), key, ElicitationAnswer::Gone);
        }
    }

    /// The calls that wait for an answer, here and in delegates, and the keys of their elicitations.
    fn open_elicitations(&self) -> Vec<(CallId, String)> {
        let own = self.inbox.open().filter_map(|question| question.elicitation.as_ref());
        let mut all: Vec<_> = own.map(|known| (known.call.clone(), known.key.clone())).collect();
        for (at, child) in self.delegates.iter() {
            all.extend(child.open_elicitations().into_iter().map(|(call, key)| (call.below(at), key)));
        }
        all
    }

    /// Drops early calls that no job has claimed, and their questions.
    pub(super) fn drop_early_calls(&mut self) {
        // They count even if the final answer omits them.
        (0..self.calls_beside_steps.early.unclaimed()).for_each(|_| self.count_call());
        for (call, key) in self.calls_beside_steps.early.drop_unclaimed() {
            self.tasks.answer_elicitation(Routed::own(call), key, ElicitationAnswer::Gone);
        }
    }
}
