//! People's decisions and their effects.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ids::{JobRef, QuestionId, QuestionNumber, Routed};
use super::inbox::{About, Question, QuestionEnd, QuestionStatus, SessionReason};
use super::input::{CallError, Decision, Input, Outcome};
use super::output::{ElicitationAnswer, RepeatReason, Task};
use super::refusals::RefusalCode as Code;
use super::report_error::ReportError;
use super::scheduler::{Status, Trigger};
use super::sent_by::SentBy;
use super::{FailureCode, Refused, Session, error_data};
use crate::policy::{CallRefusal, Reason};
use obelus_notebook::call_json::CallJson;

impl Session {
    /// Takes a decision. An invalid one is refused, and the question stays open.
    pub(super) fn decide(
        &mut self,
        id: &QuestionId,
        decision: Decision,
        by: &str,
        digest: Option<&str>,
    ) -> Result<(), Refused> {
        let number = self.decidable(id, &decision)?;
        self.must_be_as_shown(number, &decision, digest)?;
        let Some(question) = self.inbox.get(number) else { return Ok(()) };
        let (steps, was_at_rest) = (self.inbox.steps_of(number), self.turn.is_at_rest());
        let is_edit = question.about == About::Plan && matches!(decision, Decision::Edit { .. });
        match question.about {
            _ if question.elicitation.is_some() => self.decide_elicitation(number, decision, by),
            About::Call | About::Plan => self.decide_about_calls(number, decision, by),
            About::InDoubt => self.decide_about_doubt(number, decision, by),
            About::Input => self.decide_about_input(number, decision, by),
        }?;
        // An edited plan is not decided yet: the model is asked after that.
        if !is_edit {
            self.note_decision(&steps, was_at_rest);
        }
        Ok(())
    }

    /// The number of a question that can be decided now.
    pub(super) fn decidable(&self, id: &QuestionId, decision: &Decision) -> Result<QuestionNumber, Refused> {
        let found = id.local().and_then(|number| Some((number, self.inbox.get(number)?)));
        let Some((number, question)) = found else {
            return Err(Refused::new(Code::UnknownQuestion, format!("there is no question `{id}`")));
        };
        if !question.is_open() {
            let by = question.by.as_deref().unwrap_or(SentBy::NOBODY);
            let tells_why = question.elicitation.is_some() || question.status == QuestionStatus::Expired;
            let why = question.reason.as_deref().filter(|_| tells_why);
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let text = match question.status {
                // It also ends if the agent's file no longer has the call's tool.
                QuestionStatus::Expired => format!("the question `{id}` is closed without an answer{why}"),
                other => format!("the question `{id}` is {} already, by {by}{why}", other.name()),
            };
            return Err(Refused::new(Code::AlreadyDecided, text));
        }
        if question.expires_at <= self.memory.now() {
            let text = format!("the question `{id}` lapsed at {}: it is taken as a no", question.expires_at);
            return Err(Refused::new(Code::Expired, text));
        }
        self.turn.must_not_be_ending(decision)?;
        Ok(number)
    }

    /// An answer with a digest counts only for what was shown (ASK-1). Before an edit, a person has seen the question
    /// as it is, or as edited.
    fn must_be_as_shown(
        &self,
        number: QuestionNumber,
        decision: &Decision,
        digest: Option<&str>,
    ) -> Result<(), Refused> {
        let (Some(shown), Some(question)) = (digest, self.inbox.get(number)) else { return Ok(()) };
        if question.digest() == shown {
            return Ok(());
        }
        if let (Decision::Edit { params }, About::Call) = (decision, question.about)
            && self.edit_of(number, params)?.is_some_and(|edit| edit.question.digest() == shown)
        {
            return Ok(());
        }
        let text = format!("the question `{}` has changed since it was shown; look again", question.id);
        Err(Refused::new(Code::QuestionChanged, text))
    }

    fn decide_about_calls(&mut self, number: QuestionNumber, decision: Decision, by: &str) -> Result<(), Refused> {
        let Some(question) = self.inbox.get(number) else { return Ok(()) };
        let is_plan = question.about == About::Plan;
        match decision {
            Decision::Approve { only } if is_plan => self.approve_plan(number, only, by)?,
            Decision::Edit { params } if is_plan => self.edit_plan(number, &params, by)?,
            Decision::Approve { only } => {
                let chosen = chosen(question, only)?;
                self.check_mode(question, &chosen)?;
                self.approve(number, &chosen, by);
            }
            Decision::Consent { terms, until } if !is_plan => self.consent(number, terms, until, by)?,
            Decision::DenySome { only, reason } if !is_plan => {
                let chosen = chosen(question, Some(only))?;
                self.deny(number, &chosen, &reason, by);
            }
            Decision::Deny { reason } => {
                let open: Vec<usize> = question.open_calls().collect();
                self.deny(number, &open, &reason, by);
            }
            Decision::Edit { params } => self.edit(number, &params, by)?,
            other => return Err(unfit(question, &other)),
        }
        Ok(())
    }

    /// An approval that the mode does not permit would be lost: it is refused, and the question stays open.
    pub(super) fn check_mode(&self, question: &Question, chosen: &[usize]) -> Result<(), Refused> {
        let tools = chosen.iter().filter_map(|index| {
            let name = question.calls.get(*index)?.call.tool()?;
            self.context().tool(name)
        });
        let mut refusals = tools.filter_map(|tool| self.gate().refusal_by_mode(tool));
        match refusals.next() {
            None => Ok(()),
            Some(CallRefusal { reason, .. }) => {
                let text = format!("{reason}: change the mode first; the question stays");
                Err(Refused::new(Code::NotInThisMode, text))
            }
        }
    }

    /// Starts a plan as approved. The calls that are left out are denied, so what needs them is skipped (PLAN-4).
    fn approve_plan(&mut self, number: QuestionNumber, only: Option<Vec<usize>>, by: &str) -> Result<(), Refused> {
        let Some(question) = self.inbox.get(number) else { return Ok(()) };
        let chosen: BTreeSet<usize> = chosen(question, only)?.into_iter().collect();
        if chosen.is_empty() {
            return Err(Refused::new(Code::UnfitAnswer, "a plan without calls does nothing: deny it instead"));
        }
        let left_out: Vec<usize> = question.open_calls().filter(|index| !chosen.contains(index)).collect();
        let calls: Vec<CallJson> = question.calls.iter().map(|asked| asked.call.clone()).collect();
        let options = question.options;
        let trigger = Trigger::Approved { by_person: true, before_reading: question.before_reading };
        let (at, reason) = (self.memory.now(), SessionReason::LeftOut.text(self.settings.language.as_deref()));
        let end = QuestionEnd { status: QuestionStatus::Denied, at, by, reason: Some(reason) };
        self.inbox.decide_calls(number, &left_out, false, end);
        self.end_question(number, QuestionStatus::Approved, by, None);
        let decision = if left_out.is_empty() { "approved" } else { "approved in part" };
        self.transcript.add_decision(json!({"about": "plan", "decision": decision}));
        let calls_where = |is_chosen: bool| -> Vec<CallJson> {
            let all = calls.iter().enumerate().filter(|(index, _)| chosen.contains(index) == is_chosen);
            all.map(|(_, call)| call.clone()).collect()
        };
        self.note_left_out(&calls_where(false));
        // Of two equal calls one may be chosen.
        self.forget_unwanted(&calls_where(true));
        self.turn.reopen();
        let step = self.scheduler.next_step();
        self.start_step(&calls, trigger, options);
        self.drop_left_out(step, &left_out, reason);
        Ok(())
    }

    /// The same calls are ignored from now on (ASK-3), and the same effects need a person.
    fn note_left_out(&mut self, calls: &[CallJson]) {
        for call in calls {
            self.inbox.note_denial(self.hash_of_proposal(call), self.context().length());
        }
        self.note_unwanted(calls);
    }

    /// Drops the open jobs of excluded calls, and those that read a partly denied value.
    fn drop_left_out(&mut self, step: u32, left_out: &[usize], reason: &str) {
        loop {
            let dropped = self.scheduler.left_out_of(step, left_out);
            if dropped.is_empty() {
                return;
            }
            dropped.into_iter().for_each(|at| self.drop_denied(at, reason));
        }
    }

    fn decide_about_doubt(&mut self, number: QuestionNumber, decision: Decision, by: &str) -> Result<(), Refused> {
        let outcome = match decision {
            // An unknown result is not written and not validated: the effect has happened.
            Decision::Happened { result: Value::Null } => {
                for at in self.inbox.get(number).into_iter().flat_map(Question::jobs) {
                    self.scheduler.note_unknown_result(at);
                }
                Some(Outcome::Messages(Vec::new()))
            }
            Decision::Happened { result } => {
                self.check_result(number, &result)?;
                Some(Outcome::Value(result))
            }
            Decision::DidNot => None,
            // An approval does not repeat an effect (ASK-8).
            other => {
                let text = format!(
                    "`{}` does not say whether it happened: answer `happened` if it did, or `did-not` to do it now",
                    other.name()
                );
                return Err(Refused::new(Code::UnfitAnswer, text));
            }
        };
        self.settle_doubt(number, by, outcome);
        Ok(())
    }

    /// A result that the tool cannot have returned is refused, and the question stays open.
    fn check_result(&self, number: QuestionNumber, result: &Value) -> Result<(), Refused> {
        let job = self.inbox.get(number).and_then(|question| question.jobs().next());
        let tool = job.and_then(|at| self.scheduler.call(at).tool.as_ref());
        match tool.and_then(|tool| tool.output_breaches(result).into_iter().next()) {
            Some(breach) => Err(Refused::breach(Code::BadAnswer, breach)),
            None => Ok(()),
        }
    }

    fn decide_about_input(&mut self, number: QuestionNumber, decision: Decision, by: &str) -> Result<(), Refused> {
        let Some(question) = self.inbox.get(number) else { return Ok(()) };
        match decision {
            Decision::Value { value } => {
                self.take_input(number, value.clone())?;
                self.transcript.add_decision(json!({"about": "question", "answer": value}));
                self.end_question(number, QuestionStatus::Answered, by, None);
            }
            Decision::Deny { reason } => {
                self.transcript.add_decision(json!({"about": "question", "decision": "declined", "reason": reason}));
                self.end_question(number, QuestionStatus::Denied, by, Some(&reason));
            }
            other => return Err(unfit(question, &other)),
        }
        self.turn.reopen();
        Ok(())
    }

    /// Lets calls of a question run, exactly as shown.
    pub(super) fn approve(&mut self, number: QuestionNumber, indexes: &[usize], by: &str) {
        let end = QuestionEnd { status: QuestionStatus::Approved, at: self.memory.now(), by, reason: None };
        let released = self.inbox.decide_calls(number, indexes, true, end);
        self.turn.reopen();
        for (hash, jobs) in released {
            let Some((&primary, others)) = jobs.split_first() else { continue };
            self.inbox.grant(hash, primary);
            self.forget_shared_denial(primary);
            self.scheduler.approve(primary);
            others.iter().for_each(|&other| self.join(other, primary));
        }
    }

    /// Denies calls of a question.
    pub(super) fn deny(&mut self, number: QuestionNumber, indexes: &[usize], reason: &str, by: &str) {
        let Some(is_plan) = self.inbox.get(number).map(|question| question.about == About::Plan) else { return };
        let end = QuestionEnd { status: QuestionStatus::Denied, at: self.memory.now(), by, reason: Some(reason) };
        let dropped = self.inbox.decide_calls(number, indexes, false, end);
        self.turn.reopen();
        let is_denied = |index: &usize| is_plan || indexes.contains(index);
        let calls = self.inbox.get(number).map(|question| question.calls.iter().enumerate()).into_iter().flatten();
        let denied = calls.filter(|(index, _)| is_denied(index)).map(|(_, asked)| asked.call.clone());
        self.note_unwanted(&denied.collect::<Vec<_>>());
        if is_plan {
            let error = ReportError::new(FailureCode::PlanDenied, reason);
            self.transcript.add_error(error_data(&Value::Null, &error));
            self.transcript.note_plan_denied(error);
        }
        for (hash, jobs) in dropped {
            for at in jobs {
                // The model of a delegate cannot speak for the user.
                if by != SentBy::AGENT_FOR_USER || self.constants.depth == 0 {
                    self.share_denial(at);
                }
                self.deny_job(at, &hash, reason);
            }
        }
    }

    /// Denies a call, and future identical ones.
    pub(super) fn deny_job(&mut self, at: JobRef, hash: &str, reason: &str) {
        self.inbox.note_denial(hash.to_owned(), self.context().length());
        self.drop_denied(at, reason);
    }

    pub(super) fn drop_denied(&mut self, at: JobRef, reason: &str) {
        self.close_with(at, Status::Denied, ReportError::new(FailureCode::Denied, reason));
    }

    /// Makes one job's result count for another one as well.
    pub(super) fn join(&mut self, at: JobRef, primary: JobRef) {
        self.scheduler.wait(at);
        self.inbox.join(at, primary);
    }

    /// Reminds people of questions that will expire.
    pub(super) fn remind(&mut self) {
        for number in self.inbox.take_reminders(self.memory.now()) {
            let id = Routed::own(number);
            self.tasks.push(Task::AskAgain { id, because: RepeatReason::ItWillLapse });
        }
    }

    /// Expires questions that were not answered in time.
    pub(super) fn expire(&mut self) {
        let now = self.memory.now();
        for number in self.inbox.open_where(|question| question.expires_at <= now) {
            self.expire_question(number);
            self.inbox.mark_expired(number);
        }
        self.give_to_delegates(&Input::Tick);
    }

    fn expire_question(&mut self, number: QuestionNumber) {
        let Some(question) = self.inbox.get(number) else { return };
        match question.about {
            About::InDoubt => {
                let job = question.jobs().next();
                if let Some(at) = job {
                    self.note_happened(at, Reason::MayHaveHappened);
                }
                let error = CallError::new(FailureCode::InDoubt, "nobody said in time whether it happened");
                self.settle_doubt(number, SentBy::NOBODY, Some(Outcome::Error(error)));
            }
            About::Input if question.elicitation.is_some() => {
                self.settle_elicitation(number, QuestionStatus::Expired, SentBy::NOBODY, ElicitationAnswer::Gone);
            }
            About::Input => {
                self.end_question(number, QuestionStatus::Expired, SentBy::NOBODY, None);
                self.turn.reopen();
            }
            About::Call | About::Plan => {
                let open: Vec<usize> = question.open_calls().collect();
                let reason = SessionReason::Lapsed.text(self.settings.language.as_deref());
                self.deny(number, &open, reason, SentBy::NOBODY);
            }
        }
    }
}

pub(super) fn unfit(question: &Question, decision: &Decision) -> Refused {
    let fit = match question.about {
        About::Call | About::Plan => "`approve`, `deny` or `edit`",
        About::Input => "`value` or `deny`",
        About::InDoubt => "`happened` or `did-not`",
    };
    let (about, name) = (question.about.name(), decision.name());
    let text = format!("a question about `{about}` cannot be answered by `{name}`: answer {fit}");
    Refused::new(Code::UnfitAnswer, text)
}

/// The calls that a decision concerns: those it names, or all open ones.
fn chosen(question: &Question, only: Option<Vec<usize>>) -> Result<Vec<usize>, Refused> {
    let open: Vec<usize> = question.open_calls().collect();
    let chosen = only.unwrap_or_else(|| open.clone());
    match chosen.iter().find(|index| open.binary_search(index).is_err()) {
        Some(index) => {
            let text = format!("the question `{}` has no open call with index {index}", question.id);
            Err(Refused::new(Code::UnknownCall, text))
        }
        None => Ok(chosen),
    }
}
