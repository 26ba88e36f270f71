//! A call's way from blocked to running.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Session;
use super::freeze::{add_metas, filled, refilled, whole_proposal};
use super::input::{CallError, Ends, Outcome, Start, Task};
use super::job::{Frozen, JobRef, Settled, Status, split_at_sign, with_instance};
use super::partial::early_place;
use super::policy::{Verdict, outside_mode};
use super::turn::{error_data, fault_data};
use crate::call::{Call, Scope, faults_of};
use crate::context::Context;
use crate::fault::{Fault, Rule};
use crate::message::Message;
use crate::path::Path;
use crate::tool::{Effect, Tool};

impl Session {
    /// Looks at every job that something has changed for, and starts what may run.
    pub(super) fn advance(&mut self) {
        loop {
            if let Some(at) = self.dirty.pop_front() {
                self.look_at(at);
            } else if self.may_start()
                && let Some(at) = self.ready.pop_front()
            {
                self.start(at);
            } else {
                return;
            }
        }
    }

    fn may_start(&self) -> bool {
        // What waits for a person takes no room.
        !self.turn.stops() && self.paused.is_none() && self.running - self.resting < self.settings.max_parallel.max(1)
    }

    fn status(&self, at: JobRef) -> Option<Status> {
        Some(self.steps.get(&at.step)?.jobs.get(at.job as usize)?.status)
    }

    pub(super) fn set_status(&mut self, at: JobRef, status: Status) {
        if let Some(step) = self.steps.get_mut(&at.step) {
            step.jobs[at.job as usize].status = status;
        }
    }

    fn look_at(&mut self, at: JobRef) {
        if self.turn.stops() || self.status(at) != Some(Status::Blocked) {
            return;
        }
        let step = &self.steps[&at.step];
        let job = at.job as usize;
        if step.is_held_back(job) {
            return;
        }
        let call = step.call(job);
        // What is there when all that feeds it has ended is there for good: it shows when it is read.
        if step.jobs[job].open_feeders == 0 {
            return self.prepare(at, &Arc::clone(call));
        }
        // While plain references are open there is nothing to find out.
        if !call.has_choice() {
            return;
        }
        let mut pending = false;
        let mut dead = false;
        call.exprs(&mut |expr| match step.settled(job, expr, &self.context) {
            Settled::Pending => pending = true,
            Settled::Dead => dead = true,
            Settled::Present | Settled::Null => {}
        });
        // Scopes need no value, but what feeds them comes first.
        let open = |edge: &crate::plan::Edge| !step.jobs[edge.from].status.is_final();
        pending |= call.scopes.iter().any(|scope| match scope {
            Scope::Path(path) => step.graph.edges_by(job, path).iter().any(open),
            Scope::Kind(_) => false,
        });
        if dead {
            self.close(at, Status::Skipped);
        } else if !pending {
            self.prepare(at, &Arc::clone(call));
        }
    }

    /// Everything is there: resolve, validate, and see who runs it and whether it may.
    fn prepare(&mut self, at: JobRef, call: &Arc<Call>) {
        let Some(tool) = &call.tool else { return self.close(at, Status::Failed) };
        let instance = self.steps[&at.step].jobs[at.job as usize].instance.as_deref();
        let read = |path: &Path| self.context.read(path, instance);
        let whole = whole_proposal(call, instance);
        let filled = match whole {
            Some(raw) => refilled(raw, call, &read),
            None => filled(call, &read),
        };
        let Some(mut fields) = filled else { return self.close(at, Status::Skipped) };
        let origins = self.sources(at).of_call(call);
        let params = fields.iter().skip(1).take(call.params.len());
        if call.has_refs() && !tool.surely_takes(params.clone()) {
            let params = params.map(|(name, value)| (name.clone(), value.clone())).collect();
            if let Some(fault) = faults_of(tool.breaches(&Value::Object(params))).into_iter().next() {
                // A fault quotes what it finds fault with, so its words carry that too.
                self.add_origins(at, &origins);
                return self.fail_by(at, &fault);
            }
        }
        if whole.is_none() {
            add_metas(&mut fields, call, instance);
        }
        let frozen = Frozen { call: Arc::new(Value::Object(fields)), edited: None, approved: false };
        let latent = self.thinks(call, tool);
        let step = self.steps.get_mut(&at.step).expect("the job was just looked at");
        let job = &mut step.jobs[at.job as usize];
        job.frozen = Some(frozen);
        job.origins = origins;
        job.latent = latent;
        if latent {
            return self.think(at, call);
        }
        self.judge(at, call);
    }

    /// Whether the model itself carries out this call.
    pub(super) fn thinks(&self, call: &Call, tool: &Tool) -> bool {
        call.delegate.is_none() && self.activity_of(tool, call.activity.as_deref()).is_none()
    }

    /// A latent call: the model has brought its result, or is asked for it.
    fn think(&mut self, at: JobRef, call: &Call) {
        match &call.output {
            Some(output)
                if !output.is_null()
                    || call.tool.as_deref().is_some_and(|t| t.output().is_some_and(crate::schema::admits_null)) =>
            {
                self.set_status(at, Status::Running);
                self.running += 1;
                // It was thought up with everything in view that the model had been shown.
                let shown = self.steps[&at.step].literal.clone();
                self.add_origins(at, &shown);
                self.finish_thought(at, (**output).clone());
            }
            _ => self.make_ready(at),
        }
    }

    /// The model is asked for the result of a latent call.
    fn start_thought(&mut self, at: JobRef) {
        let id = self.number_request();
        let scope = self.shows(at);
        if let Some(step) = self.steps.get_mut(&at.step) {
            step.jobs[at.job as usize].scope = scope;
        }
        self.sub_requests.insert(id, at);
        self.set_status(at, Status::Running);
        self.running += 1;
        self.tasks.push_back(Task::AskModel { id: id.to_string() });
    }

    /// Whether a call that acts may run: the mode, the policy, and what people have said of it before.
    pub(super) fn judge(&mut self, at: JobRef, call: &Arc<Call>) {
        let Some(tool) = &call.tool else { return };
        if self.settle_by_earlier_word(at, call) {
            return;
        }
        let doubts = self.doubts_about_origins(at, call, tool);
        let origins = |path: Option<&str>| match path {
            Some(path) => self.sources(at).of_path(call, path).unwrap_or_default(),
            None => self.sources(at).of_call(call),
        };
        let policy = &self.settings.policy;
        let looked_at = self.frozen(at).filter(|_| policy.looks_at_params(tool));
        let params = looked_at.map(|frozen| frozen.params(call)).unwrap_or_default();
        let verdict = policy.verdict(call, tool, &params, self.settings.mode, &origins);
        if verdict == Verdict::Allow && doubts.is_empty() {
            return self.make_ready(at);
        }
        let Some(frozen) = self.frozen(at).cloned() else { return };
        match verdict {
            Verdict::Allow => self.ask_about_call(at, call, &frozen, doubts),
            Verdict::Confirm(mut reasons) => {
                reasons.extend(doubts);
                self.ask_about_call(at, call, &frozen, reasons);
            }
            // What was asked elsewhere waits here in every mode; the mode is looked at again before it runs.
            Verdict::Refuse { by_mode: true, reason } if self.was_asked_elsewhere(call, &frozen) => {
                self.ask_about_call(at, call, &frozen, vec![reason]);
            }
            Verdict::Refuse { by_mode, reason } => {
                self.refuse(at, if by_mode { Rule::Pol1 } else { Rule::Pol2 }, reason);
            }
        }
    }

    fn refuse(&mut self, at: JobRef, rule: Rule, reason: String) {
        let data = fault_data(&Fault::new(rule, reason));
        self.record_error(at, data);
        self.close(at, Status::Refused);
    }

    pub(super) fn make_ready(&mut self, at: JobRef) {
        self.set_status(at, Status::Ready);
        self.ready.push_back(at);
    }

    pub(super) fn frozen(&self, at: JobRef) -> Option<&Frozen> {
        self.steps.get(&at.step)?.jobs.get(at.job as usize)?.frozen.as_ref()
    }

    fn start(&mut self, at: JobRef) {
        if self.status(at) != Some(Status::Ready) {
            return;
        }
        let step = &self.steps[&at.step];
        let call = step.call(at.job as usize);
        let (delegate, is_waited_for) = (call.delegate.clone(), call.output_path.is_some());
        if step.jobs[at.job as usize].latent {
            return self.start_thought(at);
        }
        // The mode may have been lowered since the call was judged.
        let verdict = call.tool.as_deref().and_then(|tool| outside_mode(self.settings.mode, tool.effect));
        if let Some(reason) = verdict {
            return self.refuse(at, Rule::Pol1, reason);
        }
        if self.turn.calls >= self.settings.max_calls {
            self.ready.push_front(at);
            let text = format!("{} calls in one turn", self.settings.max_calls);
            return self.turn.must_end(Ends::Limit, "limit", text);
        }
        self.turn.calls += 1;
        self.running += 1;
        let step = self.steps.get_mut(&at.step).expect("the job is there");
        let job = &mut step.jobs[at.job as usize];
        job.status = Status::Running;
        job.attempt += 1;
        if !is_waited_for {
            // Started and not waited for: whoever comes next does not look at it any more.
            self.forgotten += 1;
            step.open -= 1;
            self.wake_followers(at);
        }
        if let Some(delegate) = delegate {
            let scope = self.shows(at);
            return self.start_delegate(at, &delegate, scope);
        }
        if !self.join_early(at) {
            self.hand_out(at);
        }
    }

    /// The same call once more, under the same key.
    pub(super) fn start_again(&mut self, at: JobRef) {
        self.close_elicitations(at);
        // The mode may have been lowered since it was started.
        let effect = self.steps.get(&at.step).and_then(|step| Some(step.call(at.job as usize).tool.as_ref()?.effect));
        if let Some(reason) = effect.and_then(|effect| outside_mode(self.settings.mode, effect)) {
            return self.finish(at, Outcome::Error(CallError::new(Rule::Pol1.name(), reason)));
        }
        if let Some(step) = self.steps.get_mut(&at.step) {
            step.jobs[at.job as usize].attempt += 1;
        }
        self.hand_out(at);
    }

    /// What a call's scopes show now. Its result is made of that too, and memory may have changed since the call
    /// was judged.
    fn shows(&mut self, at: JobRef) -> Vec<Value> {
        let step = &self.steps[&at.step];
        if step.call(at.job as usize).scopes.is_empty() {
            return Vec::new();
        }
        let call = step.call(at.job as usize).clone();
        let scope = scope_messages(&self.context, &call.scopes, step.jobs[at.job as usize].instance.as_deref());
        let origins = self.sources(at).of_scopes(&call);
        self.add_origins(at, &origins);
        scope
    }

    fn hand_out(&mut self, at: JobRef) {
        let scope = self.shows(at);
        let step = &self.steps[&at.step];
        let (job, call) = (&step.jobs[at.job as usize], step.call(at.job as usize));
        let (Some(frozen), Some(tool)) = (&job.frozen, &call.tool) else { return };
        // What the model does not carry out itself has an activity, by the name in the call or by the tool's.
        let named = self.known_activity(call.activity.as_deref());
        let id = at.id();
        let mut key = String::with_capacity(self.id.len() + 1 + id.len());
        key.push_str(&self.id);
        key.push(':');
        key.push_str(&id);
        let start = Start {
            id,
            named: named.map(str::to_owned),
            call: frozen.call.clone(),
            tool: tool.clone(),
            scope,
            key,
            attempt: job.attempt,
            seconds: self.settings.call_seconds,
        };
        self.tasks.push_back(Task::Call(Box::new(start)));
    }

    /// A call that runs has come to its end.
    pub(super) fn take_outcome(&mut self, id: &str, outcome: Outcome) {
        if let Some((job, rest)) = split_at_sign(id, b'/') {
            return self.tell_child(job, super::Input::Ended { id: rest.to_owned(), outcome });
        }
        if self.take_look(id, &outcome) {
            return;
        }
        if let Some(place) = early_place(id) {
            return self.take_early_outcome(place, outcome);
        }
        // A second word about the same call is no news, nor is one about a call that was never handed out.
        let Some(at) = self.in_hand(id) else { return };
        if let Outcome::Lost { message } = &outcome {
            return self.lose(at, message);
        }
        let rests = self.steps[&at.step].jobs[at.job as usize].resting;
        match rests.then(|| self.doubt_about(at)).flatten() {
            Some(question) => self.settle_doubt(&question, "the call itself", Some(outcome)),
            None => self.finish(at, outcome),
        }
    }

    /// The job of this id, if an activity has it in hand.
    pub(super) fn in_hand(&self, id: &str) -> Option<JobRef> {
        let at = self.find(id)?;
        let step = &self.steps[&at.step];
        let job = &step.jobs[at.job as usize];
        (job.status == Status::Running && !job.latent && step.calls[job.call].delegate.is_none()).then_some(at)
    }

    /// A job that runs waits for a person from now on, or no more.
    pub(super) fn set_resting(&mut self, at: JobRef, resting: bool) {
        let Some(step) = self.steps.get_mut(&at.step) else { return };
        let job = &mut step.jobs[at.job as usize];
        if job.resting == resting {
            return;
        }
        job.resting = resting;
        let is_forgotten = u32::from(step.calls[job.call].output_path.is_none());
        if resting {
            self.resting += 1;
            self.forgotten -= is_forgotten;
            self.wake_followers(at);
        } else {
            self.resting -= 1;
            self.forgotten += is_forgotten;
        }
    }

    /// Ends a job with an error of its own making.
    pub(super) fn fail_by(&mut self, at: JobRef, fault: &Fault) {
        let data = fault_data(fault);
        self.turn.faulty = true;
        self.record_error(at, data);
        self.close(at, Status::Failed);
    }

    pub(super) fn fail_with(&mut self, at: JobRef, error: &CallError) {
        let data = json!({"code": error.code, "message": error.message});
        self.record_error(at, data);
        self.close(at, Status::Failed);
    }

    pub(super) fn record_error(&mut self, at: JobRef, error: Value) {
        let Some(step) = self.steps.get(&at.step) else { return };
        let own = self.origin_of_error(step.call(at.job as usize));
        let Some(step) = self.steps.get_mut(&at.step) else { return };
        let name = step.identity(at.job as usize);
        let raw = step.call(at.job as usize).raw.clone();
        let job = &mut step.jobs[at.job as usize];
        let call = with_instance(&raw, job.instance.as_deref());
        job.error = Some(Box::new(error.clone()));
        let words = error.to_string();
        let origins = job.origins.clone().joined(&own);
        step.errors.push((error_data((*call).clone(), error), origins));
        // How often a node of a graph may fail is for the graph to say, by its counters and its limit.
        let node = self.walk.as_ref().and_then(super::Walk::current);
        if node.is_none_or(|node| node.call.is_none()) {
            self.note_failure(&name, &words);
        }
    }

    /// Brings a job to a final state, and lets those look again that waited for it.
    pub(super) fn close(&mut self, at: JobRef, status: Status) {
        let Some(step) = self.steps.get_mut(&at.step) else { return };
        let index = at.job as usize;
        let job = &mut step.jobs[index];
        if job.status.is_final() {
            return;
        }
        let is_forgotten = job.status == Status::Running
            && step.calls[job.call].output_path.is_none()
            && job.frozen.as_ref().is_some_and(|_| job.attempt > 0);
        job.status = status;
        let child = job.child.take();
        let is_read = || step.calls[job.call].tool.as_ref().is_some_and(|tool| tool.effect == Effect::Read);
        self.turn.unseen |= status == Status::Failed || (status == Status::Done && is_read());
        if !is_forgotten {
            step.open -= 1;
        }
        for &fed in step.graph.fed_by(index) {
            let follower = &mut step.jobs[fed];
            follower.open_feeders = follower.open_feeders.saturating_sub(1);
            if follower.status == Status::Blocked {
                self.dirty.push_back(JobRef { job: u32::try_from(fed).unwrap_or(u32::MAX), ..at });
            }
        }
        self.wake_followers(at);
        self.close_joined(at, status);
        if let Some(child) = child {
            self.tell_orphans(at, &child);
        }
    }

    /// In a sequential step the next one waits for nothing but its turn.
    pub(super) fn wake_followers(&mut self, at: JobRef) {
        let Some(step) = self.steps.get_mut(&at.step).filter(|step| step.sequential) else { return };
        let next = step.next_in_order().into_iter();
        self.dirty.extend(next.map(|job| JobRef { job: u32::try_from(job).unwrap_or(u32::MAX), ..at }));
    }

    /// At the end of a turn that must stop, what has not begun never does. What waits for a person still waits.
    pub(super) fn drop_open_jobs(&mut self) {
        self.dirty.clear();
        self.ready.clear();
        let open: Vec<JobRef> = self
            .steps
            .iter()
            .flat_map(|(step, jobs)| {
                let open = jobs.jobs.iter().enumerate();
                let open =
                    open.filter(|(_, job)| matches!(job.status, Status::Blocked | Status::Ready | Status::Asking));
                open.map(|(job, _)| JobRef { step: *step, job: u32::try_from(job).unwrap_or(u32::MAX) })
                    .collect::<Vec<_>>()
            })
            .collect();
        for at in open {
            self.close(at, Status::Skipped);
        }
        self.dirty.clear();
    }
}

/// The messages that a call's scopes name, narrowed to its instance.
fn scope_messages(context: &Context, scopes: &[Scope], instance: Option<&str>) -> Vec<Value> {
    let mut messages = Vec::new();
    for scope in scopes {
        match scope {
            Scope::Kind(kind) if kind == "text" => {
                let texts = context.messages().iter().filter(|message| matches!(message, Message::Text(_)));
                messages.extend(texts.map(Message::to_json));
            }
            Scope::Kind(kind) if kind == "tool" => {
                let tools: Map<String, Value> =
                    context.tools().map(|tool| (tool.name.clone(), tool.schema.clone())).collect();
                messages.push(json!({"type": "tool", "tool": tools}));
            }
            Scope::Kind(kind) => {
                let Some(view) = context.view(kind) else { continue };
                let Some(value) = view.read(&[], instance) else { continue };
                let mut data = crate::Data::plain(kind.as_str(), value.into_owned());
                data.schema = view.schema(instance).map(|schema| Box::new(schema.clone()));
                data.description = view.description(instance).map(str::to_owned);
                messages.push(Message::Data(Box::new(data)).to_json());
            }
            Scope::Path(path) => {
                let Some(value) = context.read(path, instance) else { continue };
                let data = crate::Data::plain(path.kind.as_str(), path.spell(value.into_owned()));
                messages.push(Message::Data(Box::new(data)).to_json());
            }
        }
    }
    messages
}
