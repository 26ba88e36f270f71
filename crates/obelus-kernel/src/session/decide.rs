//! Doing what people say.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::input::{AskedAgain, CallError, Decision, ElicitationAnswer, Ends, Outcome, Task};
use super::job::{Frozen, JobRef, Origin as By, Status};
use super::naming::Said;
use super::policy::Verdict;
use super::question::{About, Approved, Question, QuestionStatus};
use super::turn::{Phase, error_data};
use super::{Input, Refused, Session};
use crate::call::faults_of;
use crate::origin::{Origin, Origins};

impl Session {
    /// A person decided. What does not fit is refused, and the question stays.
    pub(super) fn decide(&mut self, id: &str, decision: Decision, by: &str) -> Result<(), Refused> {
        if let Some((job, rest)) = id.split_once('/') {
            return self.decide_in_child(job, Input::Decide { question: rest.to_owned(), decision, by: by.to_owned() });
        }
        let Some(question) = self.questions.get(id) else {
            return Err(Refused::new("unknown_question", format!("there is no question `{id}`")));
        };
        if !question.is_open() {
            let by = question.by.as_deref().unwrap_or("nobody");
            let status = serde_json::to_value(question.status).unwrap_or_default();
            let why = question.reason.as_deref().filter(|_| question.elicitation.is_some());
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let text = format!("the question `{id}` is {} already, by {by}{why}", status.as_str().unwrap_or_default());
            return Err(Refused::new("already_decided", text));
        }
        if question.expires_at <= self.now {
            let text = format!("the question `{id}` lapsed at {}: it is taken as a no", question.expires_at);
            return Err(Refused::new("expired", text));
        }
        if self.turn.stops() && matches!(decision, Decision::Approve { .. } | Decision::Edit { .. } | Decision::DidNot)
        {
            let text = "the turn is ending, and starts nothing more; answer again when it has come to rest";
            return Err(Refused::new("ending", text));
        }
        let unfit = |what: &str| {
            let about = serde_json::to_value(question.about).unwrap_or_default();
            Refused::new(
                "unfit_answer",
                format!("a question about `{}` cannot be answered by `{what}`", about.as_str().unwrap_or_default()),
            )
        };
        match (question.about, decision) {
            (About::Input, decision) if question.elicitation.is_some() => {
                return self.answer_elicitation(id, decision, by);
            }
            (About::Call, Decision::Approve { only }) => {
                let chosen = chosen(question, only)?;
                self.approve(id, &chosen, by);
            }
            (About::Call, Decision::DenySome { only, reason }) => {
                let chosen = chosen(question, Some(only))?;
                self.deny(id, &chosen, &reason, by);
            }
            (About::Call | About::Plan, Decision::Deny { reason }) => {
                let open: Vec<usize> = question.open_calls().collect();
                self.deny(id, &open, &reason, by);
            }
            (About::Call, Decision::Edit { params }) => self.edit(id, &params, by)?,
            (About::Plan, Decision::Approve { only: None }) => {
                let calls: Vec<Arc<Value>> = question.calls.iter().map(|asked| asked.call.clone()).collect();
                let manner = question.manner;
                let origin = By::Approved { by_person: true, before_reading: question.before_reading };
                self.questions.decided(id, QuestionStatus::Approved, self.now, by, None);
                self.reopen();
                self.start_step(&calls, origin, manner);
            }
            (About::InDoubt, Decision::Happened { result }) => {
                // A result that nobody knows is not written, and breaks no schema: the effect is there all the same.
                let outcome = if result.is_null() { Outcome::Messages(Vec::new()) } else { Outcome::Value(result) };
                self.settle_doubt(id, by, Some(outcome));
            }
            (About::InDoubt, Decision::DidNot | Decision::Approve { .. }) => self.settle_doubt(id, by, None),
            (About::InDoubt, Decision::Deny { reason }) => {
                let error = CallError::new("in_doubt", format!("nobody knows whether it happened: {reason}"));
                self.settle_doubt(id, by, Some(Outcome::Error(error)));
            }
            (About::Input, Decision::Value { value }) => {
                self.take_input(id, value)?;
                self.questions.decided(id, QuestionStatus::Answered, self.now, by, None);
                self.reopen();
            }
            (About::Input, Decision::Deny { reason }) => {
                self.questions.decided(id, QuestionStatus::Denied, self.now, by, Some(&reason));
                self.reopen();
            }
            (_, Decision::Approve { .. }) => return Err(unfit("approve")),
            (_, Decision::DenySome { .. }) => return Err(unfit("deny some")),
            (_, Decision::Edit { .. }) => return Err(unfit("edit")),
            (_, Decision::Value { .. }) => return Err(unfit("value")),
            (_, Decision::Happened { .. }) => return Err(unfit("happened")),
            (_, Decision::DidNot) => return Err(unfit("did-not")),
        }
        Ok(())
    }

    pub(super) fn approve(&mut self, id: &str, indexes: &[usize], by: &str) {
        let Some(question) = self.questions.get_mut(id) else { return };
        let mut released = Vec::new();
        for &index in indexes {
            let asked = &mut question.calls[index];
            released.push(asked.decide(true, self.now, None));
        }
        if question.open_calls().next().is_none() {
            self.questions.decided(id, QuestionStatus::Approved, self.now, by, None);
        }
        self.reopen();
        for (hash, jobs) in released {
            let Some((&primary, others)) = jobs.split_first() else { continue };
            self.questions.granted.insert(primary, hash.clone());
            self.questions.approved.insert(hash, Approved::Running(primary));
            if let Some(step) = self.steps.get_mut(&primary.step) {
                let job = &mut step.jobs[primary.job as usize];
                if let Some(frozen) = &mut job.frozen {
                    frozen.approved = true;
                }
            }
            self.make_ready(primary);
            for &other in others {
                self.join(other, primary);
            }
        }
    }

    pub(super) fn deny(&mut self, id: &str, indexes: &[usize], reason: &str, by: &str) {
        let Some(question) = self.questions.get_mut(id) else { return };
        let is_plan = question.about == About::Plan;
        let mut dropped = Vec::new();
        for &index in indexes {
            let asked = &mut question.calls[index];
            dropped.push(asked.decide(false, self.now, Some(reason)));
        }
        if question.open_calls().next().is_none() {
            self.questions.decided(id, QuestionStatus::Denied, self.now, by, Some(reason));
        }
        self.reopen();
        if is_plan {
            self.turn.tell_model(error_data(Value::Null, json!({"code": "plan_denied", "message": reason})));
        }
        for (hash, jobs) in dropped {
            for at in jobs {
                self.deny_job(at, &hash, reason);
            }
        }
    }

    pub(super) fn deny_job(&mut self, at: JobRef, hash: &str, reason: &str) {
        self.questions.denied.insert(hash.to_owned(), self.context.length());
        self.drop_denied(at, reason);
    }

    pub(super) fn drop_denied(&mut self, at: JobRef, reason: &str) {
        if let Some(step) = self.steps.get_mut(&at.step) {
            step.jobs[at.job as usize].error = Some(Box::new(json!({"code": "denied", "message": reason})));
        }
        self.close(at, Status::Denied);
    }

    /// The call with other parameters, checked again, and then let run.
    fn edit(&mut self, id: &str, params: &Map<String, Value>, by: &str) -> Result<(), Refused> {
        let Some((index, at, edited)) = self.edited(id, params)? else { return Ok(()) };
        let hash = self.hash_of(self.steps[&at.step].call(at.job as usize), &edited);
        let question = self.questions.get_mut(id).expect("looked up by the caller");
        question.calls[index].call = edited.call.clone();
        question.calls[index].hash = hash;
        let step = self.steps.get_mut(&at.step).expect("the job waits");
        step.jobs[at.job as usize].frozen = Some(edited);
        self.approve(id, &[index], by);
        Ok(())
    }

    /// The only open call of a question with other parameters, if it may run so: its index, its job, and what runs.
    pub(super) fn edited(
        &self,
        id: &str,
        params: &Map<String, Value>,
    ) -> Result<Option<(usize, JobRef, Frozen)>, Refused> {
        let Some(question) = self.questions.get(id) else { return Ok(None) };
        let open: Vec<usize> = question.open_calls().collect();
        let [index] = open[..] else {
            return Err(Refused::new("several_calls", "a question about several calls cannot be edited as one"));
        };
        let Some(&at) = question.calls[index].jobs.first() else { return Ok(None) };
        let call = self.steps[&at.step].call(at.job as usize);
        let (Some(tool), Some(frozen)) = (call.tool.clone(), self.frozen(at)) else { return Ok(None) };
        let mut edited = frozen.params(call);
        let mut whole = (*frozen.call).clone();
        for (name, value) in params {
            if name.starts_with('_') {
                return Err(Refused::new("bad_edit", format!("`{name}` is not a parameter")));
            }
            whole[name] = value.clone();
            edited[name] = value.clone();
        }
        if let Some(fault) = faults_of(tool.breaches(&edited)).into_iter().next() {
            return Err(Refused::new("bad_edit", fault.words()));
        }
        let by_person = |_: Option<&str>| Origins::of(Origin::User);
        if let Verdict::Refuse { reason, .. } =
            self.settings.policy.verdict(call, &tool, &edited, self.settings.mode, &by_person)
        {
            return Err(Refused::new("bad_edit", reason));
        }
        let edited = Frozen { call: Arc::new(whole), edited: Some(Arc::new(edited)), ..frozen.clone() };
        Ok(Some((index, at, edited)))
    }

    /// One job runs for both.
    pub(super) fn join(&mut self, at: JobRef, primary: JobRef) {
        self.set_status(at, Status::Waiting);
        self.questions.joined.entry(primary).or_default().push(at);
    }

    /// Whoever joined a job ends as it did; what a person approved and got is remembered.
    pub(super) fn close_joined(&mut self, at: JobRef, status: Status) {
        let granted = self.questions.granted.remove(&at);
        // The same call may have been granted anew in the meantime.
        if let Some(hash) = granted.filter(|hash| self.questions.approved.get(hash) == Some(&Approved::Running(at))) {
            match status {
                Status::Done => self.questions.approved.insert(hash, Approved::Done),
                // A yes is used up: to try again, a person is asked again.
                _ => self.questions.approved.remove(&hash),
            };
        }
        for other in self.questions.joined.remove(&at).unwrap_or_default() {
            self.close(other, status);
        }
    }

    /// What a person says sets a turn at rest to work again.
    pub(super) fn reopen(&mut self) {
        if let Phase::Rested(ends) = self.turn.phase {
            if ends == Ends::Limit {
                // The limit was for the agent; what a person lets run, runs.
                self.turn.calls = 0;
            }
            self.turn.said.clear();
            self.turn.named_end = None;
            self.turn.asks_model |= self.turn.asks_when_decided;
            self.turn.phase = Phase::Working;
        }
    }

    /// Whoever may answer is reminded of questions that will lapse.
    pub(super) fn remind(&mut self) {
        let is_due = |question: &&Question| question.remind_at.is_some_and(|at| at <= self.now);
        let due: Vec<String> = self.questions.open().filter(is_due).map(|question| question.id.clone()).collect();
        for id in due {
            if let Some(question) = self.questions.get_mut(&id) {
                question.remind_at = None;
            }
            self.tasks.push_back(Task::AskAgain { id, because: AskedAgain::ItWillLapse });
        }
    }

    /// Questions that nobody answered in time.
    pub(super) fn expire(&mut self) {
        let late: Vec<String> = self
            .questions
            .open()
            .filter(|question| question.expires_at <= self.now)
            .map(|question| question.id.clone())
            .collect();
        for id in late {
            match self.questions.get(&id).map(|question| question.about) {
                Some(About::InDoubt) => {
                    let error = CallError::new("in_doubt", "nobody said in time whether it happened");
                    self.settle_doubt(&id, "nobody", Some(Outcome::Error(error)));
                }
                Some(About::Input)
                    if self.questions.get(&id).is_some_and(|question| question.elicitation.is_some()) =>
                {
                    self.settle_elicitation(&id, QuestionStatus::Expired, "nobody", ElicitationAnswer::Gone);
                }
                Some(About::Input) => {
                    self.questions.decided(&id, QuestionStatus::Expired, self.now, "nobody", None);
                    self.reopen();
                }
                _ => {
                    let open: Vec<usize> = self.questions.get(&id).into_iter().flat_map(Question::open_calls).collect();
                    let reason = Said::Lapsed.words(self.settings.language.as_deref());
                    self.deny(&id, &open, reason, "nobody");
                }
            }
            if let Some(question) = self.questions.get_mut(&id) {
                question.status = QuestionStatus::Expired;
            }
        }
        let children: Vec<String> = self.children().map(|(id, _)| id).collect();
        for id in children {
            self.tell_child(&id, Input::Tick);
        }
    }
}

/// The calls of a question that a decision is about: those it names, or all that are still open.
fn chosen(question: &Question, only: Option<Vec<usize>>) -> Result<Vec<usize>, Refused> {
    let open: Vec<usize> = question.open_calls().collect();
    let chosen = only.unwrap_or_else(|| open.clone());
    match chosen.iter().find(|index| !open.contains(index)) {
        Some(index) => {
            Err(Refused::new("unknown_call", format!("the question `{}` has no open call {index}", question.id)))
        }
        None => Ok(chosen),
    }
}
