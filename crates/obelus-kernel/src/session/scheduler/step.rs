//! The active calls of one solution: a job for each call and instance, and the graph between them.

use std::sync::Arc;

use serde_json::Value;

use crate::call::{Call, Scope};
use crate::context::Context;
use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::fold::Method;
use crate::origin::Origins;
use crate::path::{Path, value_at};
use crate::session::ids::JobRef;
use crate::session::output::{CallReport, CallStatus};
use crate::session::proposed_step::ProposedStep;
use crate::session::report_error::ReportError;
use crate::time::Time;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::plan::{self, Graph, RunsFor, StepOptions};

/// The status of a job. The last five are final.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Status {
    /// A needed value is missing.
    #[default]
    Blocked,
    /// It may run as soon as there is room.
    Ready,
    /// It needs a person, and is asked about together with those of other instances.
    Asking,
    /// A person has been asked.
    Waiting,
    Running,
    Done,
    Failed,
    Skipped,
    Denied,
    Refused,
}

impl Status {
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Status::Done | Status::Failed | Status::Skipped | Status::Denied | Status::Refused)
    }
}

impl From<Status> for CallStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Blocked => CallStatus::Blocked,
            Status::Ready => CallStatus::Ready,
            Status::Asking | Status::Waiting => CallStatus::Waiting,
            Status::Running => CallStatus::Running,
            Status::Done => CallStatus::Done,
            Status::Failed => CallStatus::Failed,
            Status::Skipped => CallStatus::Skipped,
            Status::Denied => CallStatus::Denied,
            Status::Refused => CallStatus::Refused,
        }
    }
}

/// Why a step exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// A solution that runs as it is. `first`: the first answer of the turn.
    Eager { first: bool },
    /// A plan approved as a whole: by a person, or by the check alone.
    Approved { by_person: bool, before_reading: bool },
    /// A node of the agent's graph.
    Graph,
}

/// The active calls of one solution.
#[derive(Default)]
pub(crate) struct ActiveStep {
    pub(crate) calls: Vec<Arc<Call>>,
    pub(crate) runs_for: Vec<RunsFor>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) graph: Graph,
    pub(crate) sequential: bool,
    /// In a sequential step, all jobs before this one are final.
    first_open: usize,
    /// The number of jobs that are not final and are waited for.
    pub(crate) open: usize,
    /// Errors and their origins, held back until the step rests.
    pub(crate) errors: Vec<(Value, Origins)>,
    /// The origins of the proposals and their literals.
    pub(crate) literal: Origins,
    /// Whether it was planned before anything untrusted was shown to its planner.
    pub(crate) before_reading: bool,
    /// Whether a person runs it, or has approved it as a whole.
    pub(crate) is_by_person: bool,
}

/// One call for one instance, or for global data.
#[derive(Default)]
pub(crate) struct Job {
    pub(crate) call: usize,
    pub(crate) instance: Option<String>,
    pub(crate) status: Status,
    /// The number of calls that feed it and are not final.
    pub(crate) open_feeders: usize,
    /// The call with resolved references, once it is to run.
    pub(crate) frozen: Option<Frozen>,
    /// Whether the model itself carries it out, once it is to run.
    pub(crate) is_model_call: bool,
    /// The part of the context that the delegate or the model gets.
    pub(crate) scope: Vec<Value>,
    /// It runs and waits for a person: in its delegate, in doubt, or with a question.
    pub(crate) awaits_user: bool,
    /// The number of its open elicitations.
    pub(crate) elicitations: u32,
    pub(crate) attempt: u32,
    /// When the latest attempt was started.
    pub(crate) started: Time,
    pub(crate) error: Option<Box<ReportError>>,
    /// The origins of its result's inputs.
    pub(crate) origins: Origins,
    /// A result that was added to a value, and how.
    pub(crate) added: Option<Box<(Method, Value)>>,
    /// The paths it has written, if not all that its call declares.
    pub(crate) written: Option<Vec<Path>>,
    /// A person said that it happened, and did not give its result.
    pub(crate) is_result_unknown: bool,
    /// Whether a person approved it.
    pub(crate) is_approved: bool,
    /// The input that made it ready.
    pub(crate) ready_in: u64,
    /// Whether its doubt is known to all delegates.
    pub(crate) is_doubt_noted: bool,
}

/// How a job counts.
pub(super) struct JobCount {
    /// It is not final, and waited for.
    pub(super) is_open: bool,
    pub(super) is_running: bool,
    /// It runs, nothing waits for it, and it does not wait for a person.
    pub(super) is_detached: bool,
    /// It runs, and waits for a person.
    pub(super) awaits_user: bool,
}

/// A call with resolved references: what runs is what was shown.
#[derive(Clone, Debug)]
pub(crate) struct Frozen {
    /// The whole call.
    pub(crate) call: CallJson,
    /// Its parameters, if a person has edited them.
    pub(crate) edited: Option<Arc<Value>>,
}

impl Frozen {
    /// The parameters alone.
    pub(crate) fn params(&self, call: &Call) -> Value {
        let own = || {
            call.params.iter().filter_map(|(name, _)| Some((name.to_string(), self.call.get(name.as_str())?.clone())))
        };
        self.edited.as_deref().cloned().unwrap_or_else(|| Value::Object(own().collect()))
    }
}

/// Whether an expression has its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueState {
    Pending,
    /// A value that is not null.
    Present,
    Null,
    Dead,
}

impl ActiveStep {
    /// Parses the calls, expands them over instances and links them. Faults are returned with the call's index.
    pub(crate) fn new(
        proposals: &[CallJson],
        options: StepOptions,
        trigger: Trigger,
        literal: Origins,
        context: &Context,
    ) -> (Self, Vec<Fault>) {
        let StepOptions { sequential, keeps_results } = options;
        let mut faults = Vec::new();
        let mut calls = Vec::with_capacity(proposals.len());
        for (index, proposal) in proposals.iter().enumerate() {
            let (mut call, found) = Call::read(proposal, context);
            if keeps_results {
                call.keep_result();
            }
            faults.extend(found.into_iter().map(|fault| fault.in_call(index)));
            calls.push(Arc::new(call));
        }
        let runs_for = plan::runs_for(&calls, context);
        let instances = plan::instances_of(&calls, context);
        let mut jobs = Vec::with_capacity(calls.len());
        for (index, runs_for) in runs_for.iter().enumerate() {
            if *runs_for == RunsFor::Each && instances.is_empty() {
                let text = "the call is for every instance, and there is none";
                faults.push(Fault::new(Rule::Call3, text).in_call(index));
            }
            Job::add_all(&mut jobs, index, runs_for, &instances);
        }
        let (graph, fault) = linked(&calls, &jobs, sequential);
        faults.extend(fault);
        for (index, job) in jobs.iter_mut().enumerate() {
            job.open_feeders = graph.feeders(index);
        }
        if let Some(cycle) = graph.any_cycle() {
            faults.push(cycle.fault(|job| (jobs[job].call, calls[jobs[job].call].tool_name())));
        }
        let open = jobs.len();
        let mut step = Self { calls, runs_for, jobs, graph, sequential, open, literal, ..Self::default() };
        (step.is_by_person, step.before_reading) = match trigger {
            Trigger::Approved { by_person, before_reading } => (by_person, before_reading),
            Trigger::Eager { .. } | Trigger::Graph => (false, step.literal.is_trusted()),
        };
        (step, faults)
    }

    /// Its jobs. `number` is the step's own.
    pub(crate) fn places(&self, number: u32) -> impl Iterator<Item = JobRef> + use<> {
        (0..self.jobs.len()).map(move |job| JobRef::new(number, job))
    }

    /// Whether the result of a job is waited for.
    pub(crate) fn is_awaited(&self, job: usize) -> bool {
        self.call(job).output_path.is_some() || !self.graph.fed_by(job).is_empty()
    }

    /// How a job counts.
    pub(super) fn count_of(&self, job: usize) -> JobCount {
        let is_awaited = self.is_awaited(job);
        let Job { status, is_model_call, awaits_user, .. } = self.jobs[job];
        let is_running = status == Status::Running;
        let runs_alone = is_running && !is_model_call && !is_awaited;
        JobCount {
            is_open: !status.is_final() && !runs_alone,
            is_running,
            is_detached: runs_alone && !awaits_user,
            awaits_user: is_running && awaits_user,
        }
    }

    pub(crate) fn call(&self, job: usize) -> &Arc<Call> {
        &self.calls[self.jobs[job].call]
    }

    /// Whether the call of a job runs for every instance.
    pub(crate) fn is_for_each(&self, job: usize) -> bool {
        self.runs_for[self.jobs[job].call] == RunsFor::Each
    }

    /// Whether the previous call of a sequential step still holds this one back.
    pub(crate) fn is_held_back(&self, job: usize) -> bool {
        let call = self.jobs[job].call;
        let mut before = self.jobs[self.first_open..].iter().take_while(|before| before.call < call);
        self.sequential
            && before.any(|before| {
                !before.status.is_final()
                    // A call with an elicitation is still running: its follower waits for it.
                    && (!before.awaits_user || before.elicitations > 0)
                    && !matches!(before.status, Status::Asking | Status::Waiting)
                    && (before.status != Status::Running || self.calls[before.call].output_path.is_some())
            })
    }

    /// The jobs of a sequential step whose turn may have come: those of the first call that has not begun.
    pub(crate) fn next_in_order(&mut self) -> Vec<usize> {
        while self.jobs.get(self.first_open).is_some_and(|job| job.status.is_final()) {
            self.first_open += 1;
        }
        let rest = self.jobs.iter().enumerate().skip(self.first_open);
        let mut blocked = rest.filter(|(_, job)| job.status == Status::Blocked).peekable();
        let Some(call) = blocked.peek().map(|(_, job)| job.call) else { return Vec::new() };
        blocked.take_while(|(_, job)| job.call == call).map(|(index, _)| index).collect()
    }

    /// Whether an expression of a job has its value, may get it, or never will.
    pub(crate) fn settled(&self, job: usize, expr: &Expr, context: &Context) -> ValueState {
        match expr {
            Expr::Ref(path) => {
                if self.awaits(job, path) {
                    return ValueState::Pending;
                }
                if self.is_stale(job, path, context) {
                    return ValueState::Dead;
                }
                match context.read(path, self.jobs[job].instance.as_deref()) {
                    None => ValueState::Dead,
                    Some(value) if value.is_null() => ValueState::Null,
                    Some(_) => ValueState::Present,
                }
            }
            Expr::Any(terms) => {
                for (index, term) in terms.iter().enumerate() {
                    match self.settled(job, term, context) {
                        ValueState::Dead | ValueState::Null if index + 1 < terms.len() => {}
                        decided => return decided,
                    }
                }
                ValueState::Dead
            }
            Expr::All(terms) => {
                let states: Vec<_> = terms.iter().map(|term| self.settled(job, term, context)).collect();
                if states.iter().any(|state| matches!(state, ValueState::Dead | ValueState::Null)) {
                    ValueState::Dead
                } else if states.contains(&ValueState::Pending) {
                    ValueState::Pending
                } else {
                    ValueState::Present
                }
            }
        }
    }

    /// Whether calls of this step may write what a job reads, and none has: an earlier value does not count (PLAN-3).
    /// A call that reads above the written path reads the existing value.
    pub(crate) fn is_stale(&self, job: usize, path: &Path, context: &Context) -> bool {
        let mut awaits_input = false;
        for edge in self.graph.edges_by(job, path) {
            let feeder = &self.jobs[edge.from];
            let call = &self.calls[feeder.call];
            let has_written = match &feeder.written {
                Some(written) => written.iter().find(|written| written.covers(path)),
                None => call.all_writes().find(|written| written.covers(path)),
            };
            let is_result = |written: &Path| call.writes().any(|own| **own == *written);
            let is_whole = feeder.added.is_none();
            let serves = |written: &Path| is_whole || !is_result(written) || feeder.brought(written, path, context);
            if feeder.status == Status::Done && has_written.is_some_and(serves) {
                return false;
            }
            awaits_input |= has_written.is_some() || call.all_writes().any(|written| written.covers(path));
        }
        awaits_input
    }

    /// Whether the job reads a value of which a denied job would have written a part.
    pub(crate) fn reads_part_of_denied(&self, job: usize) -> bool {
        self.graph.edges_into(job).iter().any(|edge| {
            let feeder = &self.jobs[edge.from];
            let writes = |path| self.calls[feeder.call].all_writes().any(|written| written.covers(path));
            feeder.status == Status::Denied && !writes(&edge.path)
        })
    }

    /// Whether the job reads something that another call of this step has yet to bring, including scopes.
    pub(crate) fn awaits_input(&self, job: usize, context: &Context) -> bool {
        let call = self.call(job);
        let awaits = |scope: &Scope| matches!(scope, Scope::Path(path) if self.awaits(job, path));
        call.any_expr(|expr| self.settled(job, expr, context) == ValueState::Pending) || call.scopes.iter().any(awaits)
    }

    /// Whether a possible writer of a path that the job reads has not ended.
    fn awaits(&self, job: usize, path: &Path) -> bool {
        self.graph.edges_by(job, path).iter().any(|edge| !self.jobs[edge.from].status.is_final())
    }

    /// The scopes of a job's call with current values (PLAN-3).
    pub(crate) fn fresh_scopes(&self, job: usize, context: &Context) -> Vec<Scope> {
        let serves = |scope: &&Scope| !matches!(scope, Scope::Path(path) if self.is_stale(job, path, context));
        self.call(job).scopes.iter().filter(serves).cloned().collect()
    }

    /// The first expression without a value or a feeder, with its parameter.
    pub(crate) fn missing_input(&self, job: usize, context: &Context) -> Option<Fault> {
        let instance = self.jobs[job].instance.as_deref();
        let can = |path: &Path| !self.graph.edges_by(job, path).is_empty() || context.read(path, instance).is_some();
        if !self.call(job).any_expr(|expr| !expr.can_have(&can)) {
            return None;
        }
        let mut fault = None;
        self.call(job).each_expr(&mut |place, expr| {
            if fault.is_none() && !expr.can_have(&can) {
                let text = format!("{expr} has no value, and no call writes it");
                fault = Some(Fault::new(Rule::Plan4, text).at(&place.join(".")));
            }
        });
        fault
    }

    /// Its calls as proposed. `number` is the step's own.
    pub(in crate::session) fn proposed(&self, number: u32) -> ProposedStep {
        let keeps_results = self.calls.iter().any(|call| call.keeps_by_default);
        ProposedStep {
            number,
            options: StepOptions { sequential: self.sequential, keeps_results },
            calls: self.calls.iter().map(|call| call.raw.clone()).collect(),
            jobs: self.jobs.iter().map(|job| job.call).collect(),
        }
    }

    /// The report of each job. `number` is the step's own.
    pub(crate) fn report(&self, number: u32) -> impl Iterator<Item = CallReport> {
        self.jobs.iter().enumerate().map(move |(index, job)| self.report_of(JobRef::new(number, index), job))
    }

    /// The reports of calls as proposed, with references unresolved.
    pub(in crate::session) fn report_as_proposed(&self, number: u32) -> Vec<CallReport> {
        let plainly = |(report, job): (CallReport, &Job)| {
            let call = &self.calls[job.call];
            let is_trusted = job.has_trusted_error(call);
            CallReport {
                call: call.raw.for_instance(job.instance.as_deref()),
                error: report
                    .error
                    .map(|error| Box::new(if is_trusted { error.without_reason() } else { error.redacted() })),
                ..report
            }
        };
        self.report(number).zip(&self.jobs).map(plainly).collect()
    }

    /// The report of one of its jobs.
    pub(crate) fn report_of(&self, at: JobRef, job: &Job) -> CallReport {
        CallReport {
            place: (at.step, at.job),
            call: match &job.frozen {
                Some(frozen) => frozen.call.clone(),
                None => self.calls[job.call].raw.for_instance(job.instance.as_deref()),
            },
            status: job.status.into(),
            error: job.error.clone(),
        }
    }
}

/// The graph of feeders among the jobs of a step.
pub(super) fn linked(calls: &[Arc<Call>], jobs: &[Job], sequential: bool) -> (Graph, Option<Fault>) {
    let node = |job: &Job| plan::PlanNode {
        call: &calls[job.call],
        runs_for: job.instance.clone().map_or(RunsFor::Once, RunsFor::One),
    };
    let nodes: Vec<_> = jobs.iter().map(node).collect();
    // In a sequence a later write cannot be waited for: the earlier value is read.
    let may_feed = |from: usize, to: usize| !sequential || jobs[from].call < jobs[to].call;
    match Graph::with(&nodes, may_feed) {
        Ok(graph) => (graph, None),
        Err(plan::TooDense) => {
            let text = "the calls are too entangled: over 2,000,000 pairs of a write and a read";
            (Graph::with(&nodes, |_, _| false).unwrap_or_default(), Some(Fault::new(Rule::Plan2, text)))
        }
    }
}

impl Job {
    /// Whether the result at a written path has a value at a path below it. A replacing result is complete; of an
    /// added one, only the added part is new.
    fn brought(&self, written: &Path, path: &Path, context: &Context) -> bool {
        let rest = path.segments.get(written.segments.len()..).unwrap_or_default();
        let (Some(added), Some(first)) = (&self.added, rest.first()) else { return true };
        let (method, value) = &**added;
        match method {
            Method::Push | Method::Concat => {
                let added = if *method == Method::Push { 1 } else { value.as_array().map_or(1, Vec::len) };
                let now = context.read(written, self.instance.as_deref());
                let length = now.as_deref().and_then(Value::as_array).map_or(0, Vec::len);
                first.element(length).is_some_and(|index| index + added >= length)
            }
            _ => value_at(value, rest).is_some(),
        }
    }

    /// The whole call, if a person has edited its parameters.
    pub(crate) fn edited(&self) -> Option<&CallJson> {
        self.frozen.as_ref().filter(|frozen| frozen.edited.is_some()).map(|frozen| &frozen.call)
    }

    /// Whether the text of its error is trusted: a rule's about a call that has not run, or a trusted tool's. A rule's
    /// about a result may quote it.
    pub(in crate::session) fn has_trusted_error(&self, call: &Call) -> bool {
        let is_about_call = self.attempt == 0 && self.error.as_ref().is_some_and(|error| error.rule.is_some());
        let is_of_trusted_tool = || call.tool.as_ref().is_none_or(|tool| tool.error_origin().is_trusted());
        self.origins.is_trusted() && (is_about_call || is_of_trusted_tool())
    }

    /// Adds the jobs of a call: one, or one for each instance.
    fn add_all(jobs: &mut Vec<Self>, call: usize, runs_for: &RunsFor, instances: &[&String]) {
        match runs_for {
            RunsFor::One(name) => jobs.push(Self::new(call, Some(name.clone()))),
            RunsFor::Each if !instances.is_empty() => {
                jobs.extend(instances.iter().map(|name| Self::new(call, Some((*name).clone()))));
            }
            RunsFor::Once | RunsFor::Each => jobs.push(Self::new(call, None)),
        }
    }

    pub(super) fn new(call: usize, instance: Option<String>) -> Self {
        Self { call, instance, ..Self::default() }
    }
}
