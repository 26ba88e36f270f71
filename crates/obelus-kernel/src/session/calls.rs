//! A call from blocked to running, and its end.

use std::sync::Arc;

use serde_json::{Value, json};

use super::early_calls::Claimed;
use super::ids::{CallId, JobRef, LocalCall, Routed};
use super::input::{CallError, Outcome};
use super::judge::Judged;
use super::output::{Start, Task};
use super::report_error::{Lack, ReportError};
use super::scheduler::{Readiness, Status, call_id};
use super::sent_by::SentBy;
use super::turn::Phase;
use super::{FailureCode, Session};
use crate::call::Call;
use crate::call::freeze::{add_metas, fit, frozen_call, frozen_fields, whole_proposal, with_fields};
use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::message::PlanMode;
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::policy::Proposal;
use crate::tool::{Effect, Tool};
use obelus_notebook::call_json::CallJson;
use obelus_notebook::plan::{RunsFor, runs_for};
use obelus_notebook::steps::StepNode;

impl Session {
    /// Processes every job that has changed, and starts what may run.
    pub(super) fn advance(&mut self) {
        loop {
            if let Some(at) = self.scheduler.next_to_check() {
                self.check_job(at);
            } else if self.may_start()
                && let Some(at) = self.scheduler.next_ready()
            {
                self.start(at);
            } else {
                return;
            }
        }
    }

    fn may_start(&self) -> bool {
        !self.turn.is_ending()
            && !self.tasks.is_paused()
            && self.scheduler.has_room(self.settings.max_parallel)
            && self.free_places() > 0
    }

    fn check_job(&mut self, at: JobRef) {
        if self.turn.is_ending() {
            return;
        }
        match self.scheduler.readiness(at, self.context()) {
            Readiness::NotYet => {}
            Readiness::Never => self.skip(at),
            Readiness::Now => self.prepare(at),
        }
    }

    /// All values are available: resolves and validates the call, and decides who runs it and whether it may.
    fn prepare(&mut self, at: JobRef) {
        let call = Arc::clone(self.scheduler.call(at));
        let Some(tool) = &call.tool else { return self.close(at, Status::Failed) };
        self.catch_up_grounds(at);
        let (step, instance) = (self.scheduler.step_of(at), self.scheduler.job(at).instance.as_deref());
        let read = |path: &Path| {
            let is_stale = step.is_stale(at.index(), path, self.context());
            if is_stale { None } else { self.context().read(path, instance) }
        };
        let whole = whole_proposal(&call, instance);
        let Some(mut fields) = frozen_fields(&call, whole, &read) else {
            let missing = call.params.iter().find_map(|(_, template)| template.resolve(&read).err());
            return self.end_without_value(at, missing.map(|missing| missing.0));
        };
        let origins = self.provenance(at).of_call(&call);
        if call.has_refs()
            && let Err(fault) = fit(fields.to_mut(), call.params.len(), tool, self.context())
        {
            // A fault quotes the value, so its text has the value's origins.
            self.scheduler.add_origins(at, &origins);
            return self.fail_by(at, &fault);
        }
        if whole.is_none() {
            add_metas(fields.to_mut(), &call, instance);
        }
        let is_model_call = self.settings.is_model_call(&call, tool);
        self.scheduler.freeze(at, with_fields(&call, fields), origins, is_model_call);
        if is_model_call {
            self.prepare_model_call(at, &call);
        } else {
            self.judge(at, &call);
        }
    }

    /// A reference has a value that does not fit, such as an object in a text (CTX-13).
    fn end_without_value(&mut self, at: JobRef, expr: Option<Expr>) {
        let step = self.scheduler.step_of(at);
        let mut awaits_input = false;
        if let Some(expr) = &expr {
            expr.each_ref(&mut |path| awaits_input |= !step.graph.edges_by(at.index(), path).is_empty());
        }
        // If no value came at all, the call that should have brought it is named.
        let is_missing = awaits_input && step.missing(at.index(), self.context()).is_some();
        let Some(expr) = expr.filter(|_| !is_missing) else { return self.skip(at) };
        let text = format!("{expr} has no value that can stand in a text");
        if !awaits_input {
            return self.fail_by(at, &Fault::new(Rule::Plan4, format!("{text}, and no call writes it")));
        }
        let lacks = Some(Lack::Value(expr.to_string()));
        let error = ReportError { rule: Some(Rule::Plan4), lacks, ..ReportError::new(FailureCode::NoValue, text) };
        self.close_with(at, Status::Skipped, error);
    }

    /// Skips a job whose needed value never came: its report says which.
    fn skip(&mut self, at: JobRef) {
        match self.scheduler.step_of(at).missing(at.index(), self.context()) {
            Some(missing) => self.close_with(at, Status::Skipped, missing),
            None => self.close(at, Status::Skipped),
        }
    }

    /// A model call has its result, or the model is asked for it.
    fn prepare_model_call(&mut self, at: JobRef, call: &Call) {
        let Some(output) = call.output.as_ref().filter(|_| call.has_output()) else {
            return self.scheduler.make_ready(at);
        };
        self.scheduler.begin_model_call(at);
        // The result may depend on everything that the model was shown.
        let shown = self.scheduler.step_of(at).literal.clone();
        self.scheduler.add_origins(at, &shown);
        self.finish_model_call(at, (**output).clone(), None);
    }

    fn start(&mut self, at: JobRef) {
        let Some(job) = self.scheduler.find(at).filter(|job| job.status == Status::Ready) else { return };
        if job.is_model_call {
            let scope = self.scope_of(at);
            let id = self.scheduler.run_model_call(at, scope);
            return self.tasks.push(Task::AskModel { id });
        }
        let call = Arc::clone(self.scheduler.call(at));
        if let Some(refusal) = self.current_refusal(at) {
            return self.refuse(at, refusal);
        }
        if self.judge_again(at, &call) != Judged::Allowed {
            return;
        }
        // Calls that a person runs or has approved as a whole are limited by their own number (LOOP-2).
        let is_bounded = !self.scheduler.step_of(at).is_by_person;
        if let Some(limit) = self.limit_of_calls(at).filter(|_| is_bounded) {
            self.scheduler.requeue(at);
            return self.turn.must_end_at(limit);
        }
        if is_bounded {
            self.count_call();
        }
        // Do not wait for calls without an output path: their start is progress.
        if call.output_path.is_none() {
            self.turn.note_progress();
        }
        self.scheduler.run(at, self.memory.now());
        if let Some(delegate) = &call.delegate {
            let scope = self.scope_of(at);
            return self.start_delegate(at, delegate, scope);
        }
        if !self.claim_early_call(at) {
            self.send_to_driver(at);
        }
    }

    /// Starts the same call again, with the same key.
    pub(super) fn start_again(&mut self, at: JobRef) {
        self.close_elicitations(at);
        // Held calls are judged when the session resumes.
        if self.tasks.is_paused() {
            return self.tasks.hold(at);
        }
        if let Some(refusal) = self.current_refusal(at) {
            let error = CallError::new(FailureCode::Rule(refusal.rule()), refusal.reason.to_string());
            return self.finish(at, Outcome::Error(error));
        }
        self.scheduler.run_again(at, self.memory.now());
        self.send_to_driver(at);
    }

    /// The current values of a call's scopes. Its result depends on them too, and memory may have changed since it
    /// was judged.
    fn scope_of(&mut self, at: JobRef) -> Vec<Value> {
        let call = self.scheduler.call(at);
        if call.scopes.is_empty() {
            return Vec::new();
        }
        let fresh = self.scheduler.step_of(at).fresh_scopes(at.index(), self.context());
        let scope = self.memory.scope_messages(&fresh, self.scheduler.job(at).instance.as_deref());
        let origins = self.provenance(at).of_scopes(call);
        self.scheduler.add_origins(at, &origins);
        scope
    }

    fn send_to_driver(&mut self, at: JobRef) {
        let scope = self.scope_of(at);
        let (job, call) = (self.scheduler.job(at), self.scheduler.call(at));
        let (Some(frozen), Some(tool)) = (&job.frozen, &call.tool) else { return };
        let mut start = self.start_of(call_id(at), tool, call.activity.as_deref(), frozen.call.clone());
        (start.scope, start.attempt) = (scope, job.attempt);
        start.consent = self.consent_of((at.step, at.job)).map(|consent| consent.number);
        self.tasks.push(Task::Call(Box::new(start)));
    }

    /// A call for a driver: the first attempt, without scope.
    pub(super) fn start_of(&self, id: CallId, tool: &Arc<Tool>, named: Option<&str>, call: CallJson) -> Start {
        Start {
            key: [&self.constants.id, ":", &id.to_string()].concat(),
            id,
            named: self.settings.known_activity(named).map(str::to_owned),
            call,
            tool: Arc::clone(tool),
            scope: Vec::new(),
            attempt: 1,
            seconds: self.settings.call_seconds,
            consent: None,
        }
    }

    /// Takes the outcome of a call. Outcomes of ended calls are ignored.
    pub(super) fn take_outcome(&mut self, call: LocalCall, outcome: Outcome) {
        match call {
            LocalCall::PreviewRead { question, call } => self.take_preview_read(question, call, &outcome),
            LocalCall::Early { request, index } => {
                if let Some((at, outcome)) = self.calls_beside_steps.early.end((request, index), outcome) {
                    self.end_job(at, outcome);
                }
            }
            LocalCall::Job(at) => self.end_job(at, outcome),
        }
    }

    fn end_job(&mut self, at: JobRef, outcome: Outcome) {
        let Some(at) = self.scheduler.running_job(at) else { return };
        if let Outcome::Lost { message } = &outcome {
            return self.take_lost_answer(at, message);
        }
        match self.scheduler.job(at).awaits_user.then(|| self.inbox.doubt_about(at)).flatten() {
            Some(question) => self.settle_doubt(question, SentBy::CALL, Some(outcome)),
            None => self.finish(at, outcome),
        }
    }

    /// Ends a job whose call is invalid: the model can correct it.
    pub(super) fn fail_by(&mut self, at: JobRef, fault: &Fault) {
        self.turn.note_fault();
        self.record_error(at, fault.into(), true);
        self.close(at, Status::Failed);
    }

    /// Ends a job whose activity failed.
    pub(super) fn fail_with(&mut self, at: JobRef, error: &CallError) {
        self.record_error(at, error.into(), true);
        self.close(at, Status::Failed);
    }

    /// `has_run`: whether the text may be that of the tool. A refused call has never run.
    pub(super) fn record_error(&mut self, at: JobRef, error: ReportError, has_run: bool) {
        if self.scheduler.find(at).is_none() {
            return;
        }
        let own = if has_run { self.settings.origin_of_error(self.scheduler.call(at)) } else { Origins::default() };
        let name = self.scheduler.identity(at);
        let text = json!(error).to_string();
        self.scheduler.record_error(at, error, &own);
        // The graph's own counters and limit decide how often its nodes may fail.
        if !matches!(self.graph.as_ref().and_then(super::GraphRun::current), Some(StepNode::Call { .. })) {
            self.turn.note_failure(&name, &text);
        }
    }

    /// Ends a job, with an error for its report alone.
    pub(super) fn close_with(&mut self, at: JobRef, status: Status, error: ReportError) {
        self.scheduler.set_error(at, error);
        self.close(at, status);
    }

    /// Sets a job's final status, and updates everything that depends on it.
    pub(super) fn close(&mut self, at: JobRef, status: Status) {
        if !self.scheduler.close(at, status) {
            return;
        }
        self.transcribe_call(at, status);
        let is_read = || self.scheduler.call(at).tool.as_ref().is_some_and(|tool| tool.effect == Effect::Read);
        if status == Status::Failed || (status == Status::Done && is_read()) {
            self.transcript.note_news();
        }
        if status == Status::Failed {
            self.turn.note_progress();
        }
        for other in self.inbox.close_job(at, status == Status::Done) {
            self.close(other, status);
        }
        if let Some(child) = self.delegates.remove(at) {
            self.note_abandoned(&child);
            self.drop_elicitations_of(at, &child);
        }
    }

    /// At the end of a turn that must stop, skips calls that have not begun. Calls that wait for a person stay.
    pub(super) fn drop_open_jobs(&mut self) {
        for at in self.scheduler.drop_open() {
            let error = ReportError::new(FailureCode::NotStarted, "the turn ended before it could start");
            self.close_with(at, Status::Skipped, error);
        }
        self.scheduler.clear_queues();
    }

    /// Whether a complete call of an incomplete answer may start now. If so, send
    /// [`Input::Partial`](super::Input::Partial).
    pub fn may_start_early(&self, id: &super::RequestId, index: u32, call: &CallJson) -> bool {
        self.owner(id).is_some_and(|(owner, number)| owner.early_call(number.0, index, call).is_some())
    }

    /// Whether a request is for the solution of the session's own turn, whose text is for the user.
    pub fn is_solving(&self, id: &super::RequestId) -> bool {
        id.local().is_some_and(|number| self.turn.phase() == Phase::Asking(number.0))
    }

    /// Starts a complete call of an incomplete answer.
    pub(super) fn start_early(&mut self, request: u64, index: u32, call: &CallJson) {
        let Some(start) = self.early_call(request, index, call) else { return };
        self.calls_beside_steps.early.add((request, index), start.call.clone());
        self.tasks.push(Task::Call(Box::new(start)));
    }

    /// The call to start early, if it may: a read by an activity, without references, allowed by the gate and without
    /// earlier decisions about it.
    fn early_call(&self, request: u64, index: u32, call: &CallJson) -> Option<Start> {
        let is_time = self.turn.phase() == Phase::Asking(request)
            && self.plan_mode() == PlanMode::Eager
            && self.graph.is_none()
            && !self.tasks.is_paused()
            && !self.turn.is_ending()
            && !self.calls_beside_steps.early.contains((request, index));
        let early = self.calls_beside_steps.early.unclaimed();
        let has_room = self.scheduler.running().saturating_add(early) < self.settings.max_parallel
            && early < self.free_places()
            && early < self.calls_left().0;
        if !is_time || !has_room || crate::message::depth(call) >= crate::path::MAX_DEPTH {
            return None;
        }
        let (call, faults) = Call::read(&Arc::new(call.clone()), self.context());
        let tool = call.tool.clone()?;
        let is_plain = faults.is_empty()
            && tool.effect == Effect::Read
            && call.delegate.is_none()
            && call.scopes.is_empty()
            && !call.has_control_fields()
            && !call.has_refs()
            && call.output_path.as_ref().is_none_or(|path| path.alternatives.len() == 1)
            && runs_for(&[&call], self.context()) == [RunsFor::Once];
        self.settings.activity_of(&tool, call.activity.as_deref()).filter(|_| is_plain)?;
        let params = call.params.iter().map(|(name, value)| Some((name.to_string(), value.resolve(&|_| None).ok()?)));
        let params = Value::Object(params.collect::<Option<_>>()?);
        let frozen = frozen_call(&call, params.clone(), None);
        let literal = self.transcript.shown().clone().joined(&Origins::of(Origin::Model));
        let provenance = self.provenance_of(&call, None, &literal);
        // Only reads start early, so that nothing of the past requires a person.
        let verdict = self.settings.gate().judge(&Proposal {
            grounding: provenance.grounding.as_ref(),
            ..Proposal::new(&call, &tool, &|| params.clone(), &|place| provenance.of(&call, place), &literal)
        });
        let is_decided =
            self.inbox.knows(&self.hash_of(&call, &frozen)) || self.denied_elsewhere(&call, &frozen).is_some();
        if !verdict.is_allowed() || is_decided {
            return None;
        }
        let id = Routed::own(LocalCall::Early { request, index });
        Some(self.start_of(id, &tool, call.activity.as_deref(), frozen))
    }

    /// Uses the early start of a job's call, running or ended, if there is one.
    fn claim_early_call(&mut self, at: JobRef) -> bool {
        let Some(call) = self.scheduler.frozen(at).map(|frozen| frozen.call.clone()) else { return false };
        match self.calls_beside_steps.early.claim(at, &call) {
            None => return false,
            Some(Claimed::Ended(outcome)) => self.end_job(at, outcome),
            Some(Claimed::Running(call, asked)) => {
                asked.into_iter().for_each(|asked| self.open_elicitation(at, Routed::own(call), asked));
            }
        }
        true
    }
}
