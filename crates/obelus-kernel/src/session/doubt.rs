//! DUR-4: effects of which nobody knows whether they happened.

use super::input::{CallError, Outcome};
use super::job::JobRef;
use super::question::{About, AskedCall, QuestionStatus};
use super::{Input, Session};

/// Why a call is in doubt when nothing more is known.
pub(super) const INTERRUPTED: &str = "the work was interrupted, and it is not known whether this happened";

/// A read whose answer gets lost is tried this often in all; then it is an error.
const MOST_READS: u32 = 3;

/// A call that did not happen is started this often in all: one that brings its driver down must not do so for ever.
const MOST_ATTEMPTS: u32 = 10;

impl Session {
    /// Whether a call happened is not known, after a crash: what is harmless is done again, else a person is asked.
    pub(super) fn doubt(&mut self, id: &str, why: &str) {
        if let Some((job, rest)) = id.split_once('/') {
            return self.tell_child(job, Input::InDoubt { id: rest.to_owned() });
        }
        if self.look_again(id) || self.doubt_early(id, why) {
            return;
        }
        let Some(at) = self.in_hand(id) else { return };
        if self.is_harmless(at) {
            return self.start_again(at);
        }
        self.ask_about_doubt(at, why.to_owned());
    }

    /// A call went out and its answer was lost. Unlike after a crash, whatever loses it may go on losing it.
    pub(super) fn lose(&mut self, at: JobRef, message: &str) {
        if !self.is_harmless(at) {
            let why = format!("its answer was lost, and it is not known whether this happened: {message}");
            return self.ask_about_doubt(at, crate::visible(&why));
        }
        if self.may_try_again(at, MOST_READS) {
            return self.start_again(at);
        }
        let error = CallError::new("lost", format!("its answer was lost: {message}"));
        self.finish(at, Outcome::Error(error));
    }

    /// Somebody looked, and this attempt had no effect. Word of an earlier attempt says nothing about the latest.
    pub(super) fn did_not(&mut self, id: &str, attempt: u32) {
        if let Some((job, rest)) = id.split_once('/') {
            return self.tell_child(job, Input::DidNot { id: rest.to_owned(), attempt });
        }
        let Some(at) = self.in_hand(id) else { return };
        let job = &self.steps[&at.step].jobs[at.job as usize];
        if job.attempt != attempt {
            return;
        }
        let again = self.may_try_again(at, MOST_ATTEMPTS);
        let failed = || Outcome::Error(CallError::new("lost", "its answer was lost, and it has not happened"));
        match self.doubt_about(at) {
            Some(question) => self.settle_doubt(&question, "a look", if again { None } else { Some(failed()) }),
            None if again => self.start_again(at),
            None => self.finish(at, failed()),
        }
    }

    fn is_harmless(&self, at: JobRef) -> bool {
        self.steps[&at.step].call(at.job as usize).tool.as_deref().is_some_and(|tool| tool.idempotent)
    }

    fn may_try_again(&self, at: JobRef, most: u32) -> bool {
        self.steps[&at.step].jobs[at.job as usize].attempt < most && !self.turn.stops()
    }

    /// Asks a person whether a call has happened; once, however often the doubt is told.
    fn ask_about_doubt(&mut self, at: JobRef, why: String) {
        self.close_elicitations(at);
        let step = &self.steps[&at.step];
        let (job, call) = (&step.jobs[at.job as usize], step.call(at.job as usize));
        let (Some(frozen), false) = (job.frozen.clone(), job.resting) else { return };
        let described = self.described(at, call, &frozen);
        let asked = AskedCall::new(frozen.call.clone(), String::new(), vec![at]);
        self.ask(About::InDoubt, vec![asked], described, vec![why]);
        self.set_resting(at, true);
    }

    /// The open question whether this job's effect has happened.
    pub(super) fn doubt_about(&self, at: JobRef) -> Option<String> {
        let mut doubts = self.questions.open().filter(|question| question.about == About::InDoubt);
        doubts
            .find(|question| question.calls.iter().any(|asked| asked.jobs == [at]))
            .map(|question| question.id.clone())
    }

    pub(super) fn settle_doubt(&mut self, id: &str, by: &str, outcome: Option<Outcome>) {
        let Some(at) = self.questions.get(id).and_then(|question| question.calls.first()?.jobs.first().copied()) else {
            return;
        };
        self.questions.decided(id, QuestionStatus::Answered, self.now, by, None);
        self.set_resting(at, false);
        self.reopen();
        match outcome {
            Some(outcome) => self.finish(at, outcome),
            None => self.start_again(at),
        }
    }
}
