//! Effects of which nobody knows whether they happened.

use super::input::Outcome;
use super::job::JobRef;
use super::question::{About, AskedCall, QuestionStatus};
use super::{Input, Session};

impl Session {
    /// A call was under way when its driver died.
    pub(super) fn doubt(&mut self, id: &str) {
        if let Some((job, rest)) = id.split_once('/') {
            return self.tell_child(job, Input::InDoubt { id: rest.to_owned() });
        }
        let Some(at) = self.in_hand(id) else { return };
        let step = &self.steps[&at.step];
        let (job, call) = (&step.jobs[at.job as usize], step.call(at.job as usize));
        let (Some(frozen), Some(tool), false) = (job.frozen.clone(), call.tool.clone(), job.resting) else { return };
        if tool.idempotent {
            return self.start_again(at);
        }
        let described = self.described(at, call, &frozen);
        let asked = AskedCall { call: frozen.call.clone(), hash: String::new(), decided: None, jobs: vec![at] };
        let reasons = vec!["the work was interrupted, and it is not known whether this happened".to_owned()];
        self.ask(About::InDoubt, vec![asked], described, reasons);
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
