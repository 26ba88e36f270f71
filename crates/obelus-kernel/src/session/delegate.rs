//! Delegates: sessions that carry out calls and see only what they are given.

use std::sync::Arc;

use serde_json::{Value, json};

use super::ids::{CallId, JobRef, LocalCall, QuestionId};
use super::input::{CallError, Decision, Input, Outcome};
use super::output::{CallReport, Reply, Task, TurnEnd};
use super::refusals::RefusalCode as Code;
use super::scheduler::{Status, call_id};
use super::settings::Planning;
use super::task_queue::TaskQueue;
use super::{FailureCode, Refused, Session};
use crate::context::Context;
use crate::fault::Rule;
use crate::message::Message;
use crate::origin::{Origin, Origins};
use crate::time::Time;

impl Session {
    /// Starts the delegate of a call, or requests its file.
    pub(super) fn start_delegate(&mut self, at: JobRef, delegate: &str, scope: Vec<Value>) {
        self.scheduler.set_scope(at, scope);
        if delegate == "anonymous" {
            return self.start_child(at, Value::Null);
        }
        if let Err(why) = obelus_notebook::request_place::may_be_read(delegate, &self.settings.delegates) {
            let error =
                CallError::new(FailureCode::Rule(Rule::Del1), format!("the delegate `{delegate}` is refused: {why}"));
            return self.finish(at, Outcome::Error(error));
        }
        self.tasks.push(Task::Load { id: call_id(at), path: delegate.to_owned() });
    }

    /// Takes the saved request of a delegate, or the error.
    pub(super) fn take_loaded(&mut self, call: LocalCall, request: Result<Value, String>) {
        let LocalCall::Job(at) = call else { return };
        let Some(job) = self.scheduler.find(at) else { return };
        let is_expected = job.status == Status::Running
            && self.delegates.get(at).is_none()
            && self.scheduler.call(at).delegate.is_some();
        if !is_expected {
            return;
        }
        match request {
            Ok(request) => self.start_child(at, request),
            Err(why) => self.finish(at, Outcome::Error(CallError::new(FailureCode::DelegateUnreadable, why))),
        }
    }

    fn start_child(&mut self, at: JobRef, request: Value) {
        match self.make_child(at, request) {
            Err(error) => self.finish(at, Outcome::Error(error)),
            Ok(child) => {
                self.delegates.add(at, child);
                self.give_to_delegate(at, Input::Start);
            }
        }
    }

    /// The child's context: the saved request's own, then the scopes, then the parameters as input.
    fn make_child(&self, at: JobRef, request: Value) -> Result<Session, CallError> {
        if self.constants.depth >= self.settings.max_depth {
            let text = format!("delegates are nested deeper than {} levels", self.settings.max_depth);
            return Err(CallError::new(FailureCode::TooDeep, text));
        }
        let (job, call) = (self.scheduler.job(at), self.scheduler.call(at));
        let (Some(frozen), Some(tool)) = (&job.frozen, &call.tool) else {
            return Err(CallError::new(FailureCode::DelegateUnreadable, "the call is not there any more"));
        };
        let mut messages = match request.get("context") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(messages)) => messages.clone(),
            Some(_) => return Err(CallError::new(FailureCode::DelegateUnreadable, "its `context` is not an array")),
        };
        // If plans are made before reading, a delegate that reads untrusted data has no tools.
        let reads_only = self.settings.plans_before_reading() && !job.origins.is_trusted();
        let is_tool = |message: &Value| message["type"] == "tool";
        messages.retain(|message| !(reads_only && is_tool(message)));
        let expected =
            messages.iter().find(|message| message["type"] == "input").and_then(|message| message.get("schema"));
        let declares_input = expected.is_some();
        let input = json!({"type": "input", "schema": expected.unwrap_or(tool.params()), "data": frozen.params(call)});
        let scope = job.scope.iter().filter(|message| !(reads_only && is_tool(message))).cloned();
        let given = labelled(scope.chain([input]), &job.origins).map_err(unreadable)?;
        let mut context = Context::from_value(Value::Array(messages)).map_err(unreadable)?;
        context.append(given).map_err(unreadable)?;
        if declares_input && let Some(fault) = context.breaches("input", true).into_iter().next() {
            let text = format!("the parameters do not fit the input of its delegate: {}", fault.words());
            return Err(CallError::new(FailureCode::Rule(Rule::Del2), text));
        }
        let schema = request.get("schema").filter(|schema| !schema.is_null()).or(tool.output()).cloned();
        let mut settings = self.settings.for_delegate();
        if reads_only {
            settings.planning = Planning::WhileReading;
        }
        let id = format!("{}/{at}", self.constants.id);
        let child = Session::new(id, context, schema, Arc::new(settings)).map_err(unreadable)?;
        Ok(child.into_delegate_of(self))
    }

    /// Makes a new session a delegate.
    fn into_delegate_of(mut self, caller: &Session) -> Self {
        self.constants.depth = caller.constants.depth + 1;
        self.constants.root = Some(caller.constants.root_id().to_owned());
        if let Some(by) = caller.paused() {
            self.tasks.pause(by.to_owned());
        }
        self.with_questions_after(caller.inbox.before_first())
    }

    /// The context of a question's calls: the delegate's that asks, or the session's own.
    pub fn context_of(&self, id: &QuestionId) -> &Context {
        self.owner_of(id).context()
    }

    /// The delegate that carries out a call, while it is at work.
    pub fn delegate(&self, id: &CallId) -> Option<&Session> {
        match self.owner(id)? {
            (owner, LocalCall::Job(at)) => owner.delegates.get(at),
            _ => None,
        }
    }

    /// The report of a call of the turn, also of a delegate that is at work.
    pub fn report_of(&self, id: &CallId) -> Option<CallReport> {
        match self.owner(id)? {
            (owner, LocalCall::Job(at)) => owner.call_report((at.step, at.job)),
            _ => None,
        }
    }

    /// The session that asks a question: a delegate, or the session itself.
    pub(super) fn owner_of(&self, id: &QuestionId) -> &Session {
        self.owner(id).map_or(self, |(owner, _)| owner)
    }

    /// Passes an input to the delegate of a job. If the delegate is gone it is ignored, unless an answer is expected.
    pub(super) fn pass_to_delegate(&mut self, at: JobRef, input: Input) -> Result<(), Refused> {
        let elicited = match &input {
            Input::Elicit { id, key, .. } => Some((id.clone().below(at), key.clone())),
            _ => None,
        };
        let is_decision = matches!(input, Input::Decide { .. });
        if let Input::Decide { decision, .. } = &input {
            self.turn.must_not_be_ending(decision)?;
            // Nobody would see it, or could revoke it.
            if matches!(decision, Decision::Consent { .. }) && self.delegates.get(at).is_some() {
                let text = "a question of a delegate takes no standing consent; a plain yes approves the call";
                return Err(Refused::new(Code::ConsentInDelegate, text));
            }
        }
        let was_at_rest = self.turn.is_at_rest();
        match (self.with_child(at, input), elicited) {
            (Some(answer), _) => {
                if is_decision && answer.is_ok() {
                    self.note_decision(&[at.step], was_at_rest);
                }
                answer
            }
            (None, Some((id, key))) => {
                self.tasks.answer_elicitation(id, key, super::ElicitationAnswer::Gone);
                Ok(())
            }
            (None, None) if is_decision => {
                Err(Refused::new(Code::UnknownQuestion, format!("there is no question below `{at}` any more")))
            }
            (None, None) => Ok(()),
        }
    }

    /// Gives the delegate of a job an input that it cannot refuse.
    pub(super) fn give_to_delegate(&mut self, at: JobRef, input: Input) {
        let _ = self.with_child(at, input);
    }

    /// Gives an input to every delegate.
    pub(super) fn give_to_delegates(&mut self, input: &Input) {
        for at in self.delegates.jobs() {
            self.give_to_delegate(at, input.clone());
        }
    }

    /// Gives a delegate an input, and collects its tasks. None if there is no such delegate.
    fn with_child(&mut self, at: JobRef, input: Input) -> Option<Result<(), Refused>> {
        self.run_child(at, matches!(input, Input::Decide { .. }), |child, now| child.handle(now, input))
    }

    /// Lets a delegate start calls that waited.
    pub(super) fn wake_delegate(&mut self, at: JobRef) {
        self.run_child(at, false, |child, now| {
            child.wake(now);
            Ok(())
        });
    }

    /// Starts calls that waited for a place, here and below.
    fn wake(&mut self, now: Time) {
        self.memory.set_now(now);
        self.scheduler.begin_round();
        self.proceed();
        self.wake_delegates();
    }

    fn run_child(
        &mut self,
        at: JobRef,
        is_decision: bool,
        act: impl FnOnce(&mut Session, Time) -> Result<(), Refused>,
    ) -> Option<Result<(), Refused>> {
        let now = self.memory.now();
        self.give_allowance(at, is_decision);
        let child = self.delegates.get_mut(at)?;
        let was_waiting = child.turn.is_waiting();
        child.call_rules.past.share_of(&self.call_rules.past);
        let answer = act(child, now);
        self.call_rules.past.share_of(&child.call_rules.past);
        let is_waiting = child.turn.is_waiting();
        let reply = take_tasks(child, at, &mut self.tasks);
        self.count_calls_of(at);
        if answer.is_ok() && is_waiting != was_waiting {
            self.scheduler.set_awaits_user(at, is_waiting);
            if was_waiting {
                self.turn.reopen();
            }
        }
        if let Some(reply) = reply {
            self.take_reply(at, *reply, was_waiting);
        }
        Some(answer)
    }

    /// A delegate has come to rest.
    fn take_reply(&mut self, at: JobRef, reply: Reply, was_waiting: bool) {
        let shown =
            self.delegates.get(at).map(|child| child.transcript.shown().clone().joined(&child.output_origins()));
        self.scheduler.add_origins(at, &shown.unwrap_or_default().joined(&Origins::of(Origin::Model)));
        match reply.ends {
            // A question was answered there, and another is still open.
            TurnEnd::Waiting if was_waiting => self.turn.reopen(),
            TurnEnd::Waiting => {}
            TurnEnd::Output => self.finish(at, Outcome::Value(reply.output)),
            TurnEnd::Degraded | TurnEnd::Limit | TurnEnd::Stopped => {
                // The reason may quote results that the delegate's plans were not made of.
                if let Some(child) = self.delegates.get(at) {
                    self.scheduler.add_origins(at, &child.visible_origins());
                }
                let why =
                    reply.reason.unwrap_or_else(|| CallError::new(FailureCode::Ended, "it ended without a result"));
                let code = FailureCode::of_delegate(why.code);
                self.finish(at, Outcome::Error(CallError::new(code, crate::wording::short(&why.message))));
            }
        }
    }
}

/// Passes the tasks of the delegate of a job on; returns its reply, if it has come to rest. It speaks to its caller by
/// its output alone.
fn take_tasks(child: &mut Session, at: JobRef, tasks: &mut TaskQueue) -> Option<Box<Reply>> {
    let mut reply = None;
    while let Some(task) = child.poll() {
        match task {
            Task::Say(_) => {}
            Task::Rest(rest) => reply = Some(rest),
            task => tasks.push(task.below(at)),
        }
    }
    reply
}

fn unreadable(fault: crate::Fault) -> CallError {
    CallError::new(FailureCode::DelegateUnreadable, fault.to_string())
}

/// Messages for a delegate. What the parent did not trust, the delegate does not trust either.
fn labelled(messages: impl Iterator<Item = Value>, origins: &Origins) -> Result<Vec<Message>, crate::Fault> {
    let read = |message| {
        let mut message = Message::from_value(message)?.message;
        if let Message::Data(data) = &mut message {
            data.origins = Some(origins.clone());
        }
        Ok(message)
    };
    messages.map(read).collect()
}
