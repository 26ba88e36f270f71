//! Effects in doubt: it is unknown whether they happened (DUR-4).

use super::ids::{JobRef, LocalCall, QuestionNumber};
use super::inbox::{About, AskedCall, Draft, QuestionStatus};
use super::input::{CallError, Outcome};
use super::sent_by::SentBy;
use super::{FailureCode, Session};
use crate::policy::Reason;

/// The number of attempts at a read whose answers are lost; then it is an error.
const MOST_READS: u32 = 3;

/// The limit of attempts at a call that did not happen, so that one that crashes its driver is not retried for ever.
const MOST_ATTEMPTS: u32 = 10;

impl Session {
    /// After a crash: idempotent calls are repeated, and a person is asked about others.
    pub(super) fn take_doubt(&mut self, call: LocalCall) {
        let at = match call {
            LocalCall::PreviewRead { question, call } => return self.repeat_preview_read(question, call),
            // An early call is started like any other, later.
            LocalCall::Early { request, index } => match self.calls_beside_steps.early.drop_call((request, index)) {
                Some(at) => at,
                None => return,
            },
            LocalCall::Job(at) => at,
        };
        let Some(at) = self.scheduler.running_job(at) else { return };
        if self.scheduler.call(at).is_idempotent() {
            self.start_again(at);
        } else {
            self.ask_about_doubt(at, Reason::Interrupted);
        }
    }

    /// Handles a lost answer. Unlike after a crash, the cause may recur.
    pub(super) fn take_lost_answer(&mut self, at: JobRef, message: &str) {
        if !self.scheduler.call(at).is_idempotent() {
            return self.ask_about_doubt(at, Reason::AnswerLost(crate::visible(message)));
        }
        if self.may_try_again(at, MOST_READS) {
            return self.start_again(at);
        }
        let error = CallError::new(FailureCode::Lost, format!("its answer was lost: {message}"));
        self.finish(at, Outcome::Error(error));
    }

    /// A reconciliation found that this attempt had no effect. A report on an earlier attempt is ignored.
    pub(super) fn take_not_done(&mut self, call: LocalCall, attempt: u32) {
        let LocalCall::Job(at) = call else { return };
        let Some(at) = self.scheduler.running_job(at).filter(|at| self.scheduler.job(*at).attempt == attempt) else {
            return;
        };
        let again = self.may_try_again(at, MOST_ATTEMPTS);
        let failed =
            || Outcome::Error(CallError::new(FailureCode::Lost, "its answer was lost, and it has not happened"));
        match self.inbox.doubt_about(at) {
            Some(question) => self.settle_doubt(question, SentBy::CHECK, if again { None } else { Some(failed()) }),
            None if again => self.start_again(at),
            None => self.finish(at, failed()),
        }
    }

    /// The pause ends: calls that were to start again do so.
    pub(super) fn start_held(&mut self) {
        for at in self.take_held() {
            self.start_again(at);
        }
    }

    /// A stop during a pause: calls that were to start again do not.
    pub(super) fn drop_held(&mut self) {
        for at in self.take_held() {
            let error = CallError::new(FailureCode::NotStarted, "the turn was stopped before it could start again");
            self.finish(at, Outcome::Error(error));
        }
    }

    /// The calls that a pause held back, without those that have ended or are in doubt again.
    fn take_held(&mut self) -> Vec<JobRef> {
        let held = self.tasks.take_held().into_iter();
        held.filter(|at| self.scheduler.running_job(*at).is_some_and(|at| !self.scheduler.job(at).awaits_user))
            .collect()
    }

    fn may_try_again(&self, at: JobRef, most: u32) -> bool {
        self.scheduler.job(at).attempt < most && !self.turn.is_ending()
    }

    /// Asks a person whether a call has happened, once.
    fn ask_about_doubt(&mut self, at: JobRef, known: Reason) {
        self.close_elicitations(at);
        let (job, call) = (self.scheduler.job(at), self.scheduler.call(at));
        let (Some(frozen), false) = (&job.frozen, job.awaits_user) else { return };
        let described = self.described(at, call, &frozen.call);
        let started = Reason::Started(job.started);
        let asked =
            AskedCall { marks: described.marks, ..AskedCall::new(frozen.call.clone(), String::new(), vec![at]) };
        self.ask(Draft::new(About::InDoubt, vec![asked], described.text).because(vec![known, started]));
        self.scheduler.set_awaits_user(at, true);
        self.note_doubt(at);
    }

    /// The job whose effect is in doubt and has exactly this call.
    pub(super) fn job_in_doubt(&self, hash: &str) -> Option<JobRef> {
        let doubts = self.inbox.open().filter(|question| question.about == About::InDoubt);
        doubts.filter_map(|question| question.jobs().next()).find(|at| {
            let frozen = self.scheduler.frozen(*at);
            frozen.is_some_and(|frozen| self.hash_of(self.scheduler.call(*at), &frozen.call) == hash)
        })
    }

    /// Resolves a doubt: the effect happened with this outcome, or is carried out now.
    pub(super) fn settle_doubt(&mut self, number: QuestionNumber, by: &str, outcome: Option<Outcome>) {
        let job = self.inbox.get(number).and_then(|question| question.calls.first()?.jobs.first().copied());
        let Some(at) = job else { return };
        self.end_question(number, QuestionStatus::Answered, by, None);
        self.scheduler.set_awaits_user(at, false);
        self.forget_doubt(at);
        self.turn.reopen();
        match outcome {
            Some(outcome) => self.finish(at, outcome),
            None => self.start_again(at),
        }
    }
}
