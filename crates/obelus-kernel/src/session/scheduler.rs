//! The scheduler: which calls are active, which may run, and how many do.
//!
//! It owns the steps and their jobs. The session asks it what comes next, does that, and reports the
//! result. It decides when a call may run; whether it may run at all is the policy's decision.

mod changes;
mod expand;
mod missing;
mod step;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::ids::{JobRef, LocalCall, RequestId, RequestNumber, Routed};
use super::output::CallReport;
use super::proposed_step::ProposedStep;
use crate::call::identity::identity;
use crate::call::{Call, Scope};
use crate::context::Context;
use crate::origin::Origins;
use crate::time::Time;
use step::ValueState;
pub(crate) use step::{ActiveStep, Frozen, Job, Status, Trigger};

/// The active calls.
#[derive(Default)]
pub(super) struct Scheduler {
    /// By number.
    steps: BTreeMap<u32, ActiveStep>,
    next_step: u32,
    /// Jobs to be checked again, because something they need has changed.
    dirty: VecDeque<JobRef>,
    /// Jobs that may run as soon as there is room.
    ready: VecDeque<JobRef>,
    /// How many jobs run.
    running: RunningJobs,
    /// The jobs of model requests other than the turn's own.
    model_calls: BTreeMap<u64, JobRef>,
    next_request: u64,
    /// The number of inputs so far.
    round: u64,
    /// Jobs that are new or have a new status since the last [`Scheduler::take_changed`].
    changed: Vec<JobRef>,
}

/// The numbers of running jobs.
#[derive(Clone, Copy, Default)]
struct RunningJobs {
    /// All of them, including detached ones.
    all: u32,
    /// Those that are detached and do not wait for a person.
    detached: u32,
    /// Those that wait for a person.
    awaiting_user: u32,
}

/// Whether a blocked job may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// A needed value may still come.
    NotYet,
    /// All values are available.
    Now,
    /// A needed value can no longer come.
    Never,
}

/// The numbers that a checkpoint has.
#[derive(Clone, Copy)]
pub(super) struct Counters {
    pub(super) next_step: u32,
    pub(super) next_request: u64,
}

impl Scheduler {
    /// Adds a step; returns its number.
    pub(super) fn add(&mut self, step: ActiveStep) -> u32 {
        let number = self.next_step;
        self.next_step += 1;
        self.changed.extend(step.places(number));
        self.steps.insert(number, step);
        number
    }

    /// The number that the next step will have.
    pub(super) fn next_step(&self) -> u32 {
        self.next_step
    }

    pub(super) fn step(&self, number: u32) -> Option<&ActiveStep> {
        self.steps.get(&number)
    }

    /// The step of an active job.
    pub(super) fn step_of(&self, at: JobRef) -> &ActiveStep {
        &self.steps[&at.step]
    }

    /// The jobs of a step.
    pub(super) fn places(&self, number: u32) -> Vec<JobRef> {
        self.steps.get(&number).into_iter().flat_map(|step| step.places(number)).collect()
    }

    /// The open jobs of excluded calls of a step, and those that read a partly denied value.
    pub(super) fn left_out_of(&self, number: u32, left_out: &[usize]) -> Vec<JobRef> {
        let Some(step) = self.steps.get(&number) else { return Vec::new() };
        let is_left_out = |at: &JobRef| {
            let job = &step.jobs[at.index()];
            let is_named = left_out.binary_search(&job.call).is_ok();
            !job.status.is_final() && (is_named || step.reads_part_of_denied(at.index()))
        };
        step.places(number).filter(is_left_out).collect()
    }

    /// The active steps, by number.
    pub(super) fn steps(&self) -> impl Iterator<Item = (u32, &ActiveStep)> {
        self.steps.iter().map(|(number, step)| (*number, step))
    }

    /// The active jobs, step by step.
    pub(super) fn jobs(&self) -> impl Iterator<Item = (JobRef, &Job)> {
        self.steps().flat_map(|(number, step)| step.places(number).zip(&step.jobs))
    }

    /// An active job.
    pub(super) fn job(&self, at: JobRef) -> &Job {
        &self.steps[&at.step].jobs[at.index()]
    }

    /// A job, if it still exists.
    pub(super) fn find(&self, at: JobRef) -> Option<&Job> {
        self.steps.get(&at.step)?.jobs.get(at.index())
    }

    /// The call of an active job.
    pub(super) fn call(&self, at: JobRef) -> &Arc<Call> {
        self.steps[&at.step].call(at.index())
    }

    /// The resolved call of a job.
    pub(super) fn frozen(&self, at: JobRef) -> Option<&Frozen> {
        self.find(at)?.frozen.as_ref()
    }

    /// The identity of a job's call, without remarks.
    pub(super) fn identity(&self, at: JobRef) -> String {
        let call = self.call(at);
        identity(&call.raw.for_instance(self.job(at).instance.as_deref()), |name| call.is_control_field(name))
    }

    /// Changes the status of a job, or whether it waits for a person. All counters follow from these.
    fn change_state(&mut self, at: JobRef, change: impl FnOnce(&mut Job)) {
        let Some(step) = self.steps.get_mut(&at.step) else { return };
        let before = step.count_of(at.index());
        change(&mut step.jobs[at.index()]);
        let after = step.count_of(at.index());
        step.open = step.open + usize::from(after.is_open) - usize::from(before.is_open);
        let RunningJobs { all, detached, awaiting_user } = &mut self.running;
        *all = *all + u32::from(after.is_running) - u32::from(before.is_running);
        *detached = *detached + u32::from(after.is_detached) - u32::from(before.is_detached);
        *awaiting_user = *awaiting_user + u32::from(after.awaits_user) - u32::from(before.awaits_user);
    }

    fn set_status(&mut self, at: JobRef, status: Status) {
        self.change_state(at, |job| job.status = status);
        self.changed.push(at);
    }

    /// A job needs a person, and is asked about together with those of other instances.
    pub(super) fn ask_later(&mut self, at: JobRef) {
        self.set_waiting(at, Status::Asking);
    }

    /// A job waits for a person, or for another job with the same call.
    pub(super) fn wait(&mut self, at: JobRef) {
        self.set_waiting(at, Status::Waiting);
    }

    /// In a sequence the next job does not wait for a person.
    fn set_waiting(&mut self, at: JobRef, status: Status) {
        let begins = self.find(at).is_some_and(|job| matches!(job.status, Status::Blocked | Status::Ready));
        self.set_status(at, status);
        if begins {
            self.wake_followers(at);
        }
    }

    /// Jobs that are new or have a new status since the last time.
    pub(super) fn take_changed(&mut self) -> impl ExactSizeIterator<Item = JobRef> {
        self.changed.drain(..)
    }

    /// The job of a call that is running in an activity.
    pub(super) fn running_job(&self, at: JobRef) -> Option<JobRef> {
        let step = self.steps.get(&at.step)?;
        let job = step.jobs.get(at.index())?;
        let by_activity = !job.is_model_call && step.calls[job.call].delegate.is_none();
        (job.status == Status::Running && by_activity).then_some(at)
    }

    /// Queues a job to be checked again.
    pub(super) fn recheck(&mut self, at: JobRef) {
        self.dirty.push_back(at);
    }

    /// The next job to check.
    pub(super) fn next_to_check(&mut self) -> Option<JobRef> {
        self.dirty.pop_front()
    }

    /// The next job that may start.
    pub(super) fn next_ready(&mut self) -> Option<JobRef> {
        self.ready.pop_front()
    }

    /// The number of running jobs. Those that wait for a person do not count.
    pub(super) fn running(&self) -> u32 {
        self.running.all - self.running.awaiting_user
    }

    /// Whether one more job may run.
    pub(super) fn has_room(&self, most: u32) -> bool {
        self.running() < most.max(1)
    }

    /// Another input is taken.
    pub(super) fn begin_round(&mut self) {
        self.round += 1;
    }

    /// Whether a job was ready before the present input.
    pub(super) fn has_waited(&self, at: JobRef) -> bool {
        self.job(at).ready_in != self.round
    }

    pub(super) fn make_ready(&mut self, at: JobRef) {
        let round = self.round;
        self.set_status(at, Status::Ready);
        self.change(at, |job| job.ready_in = round);
        self.ready.push_back(at);
    }

    /// Requeues a job that could not start.
    pub(super) fn requeue(&mut self, at: JobRef) {
        self.ready.push_front(at);
    }

    /// Whether a blocked job may run.
    pub(super) fn readiness(&self, at: JobRef, context: &Context) -> Readiness {
        let Some(step) = self.steps.get(&at.step) else { return Readiness::NotYet };
        let index = at.index();
        if step.jobs[index].status != Status::Blocked || step.is_held_back(index) {
            return Readiness::NotYet;
        }
        // When all its feeders have ended, available values are final; reading shows the rest.
        if step.jobs[index].open_feeders == 0 {
            return Readiness::Now;
        }
        let call = step.call(index);
        // With open plain references it must wait.
        if !call.has_choice() {
            return Readiness::NotYet;
        }
        let (mut pending, mut dead) = (false, false);
        call.exprs(&mut |expr| match step.settled(index, expr, context) {
            ValueState::Pending => pending = true,
            ValueState::Dead => dead = true,
            ValueState::Present | ValueState::Null => {}
        });
        // Scopes need no value, but their feeders run first.
        let open = |edge: &obelus_notebook::plan::Edge| !step.jobs[edge.from].status.is_final();
        pending |= call.scopes.iter().any(|scope| match scope {
            Scope::Path(path) => step.graph.edges_by(index, path).iter().any(open),
            Scope::Kind(_) => false,
        });
        match (dead, pending) {
            (true, _) => Readiness::Never,
            (false, true) => Readiness::NotYet,
            (false, false) => Readiness::Now,
        }
    }

    /// Marks a job as running. If nothing waits for it, it is detached and no longer checked.
    pub(super) fn run(&mut self, at: JobRef, now: Time) {
        self.set_status(at, Status::Running);
        self.run_again(at, now);
        if !self.step_of(at).is_awaited(at.index()) {
            self.wake_followers(at);
        }
    }

    /// Asks the model for the result of a job; returns the request.
    pub(super) fn run_model_call(&mut self, at: JobRef, scope: Vec<Value>) -> RequestId {
        let id = self.number_request();
        self.set_scope(at, scope);
        self.model_calls.insert(id, at);
        self.begin_model_call(at);
        Routed::own(RequestNumber(id))
    }

    /// Marks a model call as running, with or without its result.
    pub(super) fn begin_model_call(&mut self, at: JobRef) {
        self.set_status(at, Status::Running);
    }

    /// The job of a model call's request.
    pub(super) fn model_call(&self, request: u64) -> Option<JobRef> {
        self.model_calls.get(&request).copied()
    }

    /// Removes it once answered.
    pub(super) fn take_model_call(&mut self, request: u64) -> Option<JobRef> {
        self.model_calls.remove(&request)
    }

    pub(super) fn number_request(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request
    }

    /// Sets whether a running job waits for a person.
    pub(super) fn set_awaits_user(&mut self, at: JobRef, awaits: bool) {
        let is_new = self.find(at).is_some_and(|job| job.awaits_user != awaits);
        self.change_state(at, |job| job.awaits_user = awaits);
        if is_new && awaits {
            self.wake_followers(at);
        }
    }

    /// Sets a job's final status, and queues those that waited for it. Returns whether it was open.
    pub(super) fn close(&mut self, at: JobRef, status: Status) -> bool {
        if self.find(at).is_none_or(|job| job.status.is_final()) {
            return false;
        }
        self.set_status(at, status);
        if let Some(step) = self.steps.get_mut(&at.step) {
            for &fed in step.graph.fed_by(at.index()) {
                let follower = &mut step.jobs[fed];
                follower.open_feeders = follower.open_feeders.saturating_sub(1);
                if follower.status == Status::Blocked {
                    self.dirty.push_back(JobRef::new(at.step, fed));
                }
            }
        }
        self.wake_followers(at);
        true
    }

    /// In a sequential step the next job only waits for its turn.
    fn wake_followers(&mut self, at: JobRef) {
        let Some(step) = self.steps.get_mut(&at.step).filter(|step| step.sequential) else { return };
        let next = step.next_in_order();
        self.dirty.extend(next.into_iter().map(|job| JobRef::new(at.step, job)));
    }

    /// Clears the queues; returns the jobs that have not begun.
    pub(super) fn drop_open(&mut self) -> Vec<JobRef> {
        self.clear_queues();
        let is_open = |job: &Job| matches!(job.status, Status::Blocked | Status::Ready | Status::Asking);
        self.jobs().filter(|(_, job)| is_open(job)).map(|(at, _)| at).collect()
    }

    pub(super) fn clear_queues(&mut self) {
        self.dirty.clear();
        self.ready.clear();
    }

    /// Whether a job is ready and only waits for a free slot.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether a job runs that the turn waits for.
    pub(super) fn is_running(&self) -> bool {
        self.running.all > self.running.detached + self.running.awaiting_user
    }

    pub(super) fn has_detached(&self) -> bool {
        self.running.detached > 0
    }

    pub(super) fn awaits_user(&self) -> bool {
        self.running.awaiting_user > 0
    }

    /// Whether nothing is active.
    pub(super) fn is_idle(&self) -> bool {
        self.steps.is_empty() && self.model_calls.is_empty()
    }

    /// Whether a step with this number or a later one is active.
    pub(super) fn has_steps_since(&self, number: u32) -> bool {
        self.steps.range(number..).next().is_some()
    }

    /// Takes the errors of all steps, each with its origins.
    pub(super) fn take_errors(&mut self) -> Vec<(Value, Origins)> {
        self.steps.values_mut().flat_map(|step| std::mem::take(&mut step.errors)).collect()
    }

    /// Removes the steps whose jobs have all ended.
    pub(super) fn take_ended(&mut self) -> Vec<(u32, ActiveStep)> {
        let is_running = |job: &Job| job.status == Status::Running;
        let is_over = |step: &ActiveStep| step.open == 0 && !step.jobs.iter().any(is_running);
        let ended: Vec<u32> = self.steps().filter(|(_, step)| is_over(step)).map(|(number, _)| number).collect();
        ended.into_iter().filter_map(|number| self.steps.remove_entry(&number)).collect()
    }

    /// The reports of the active calls.
    pub(super) fn reports(&self) -> impl Iterator<Item = CallReport> {
        self.steps().flat_map(|(number, step)| step.report(number))
    }

    /// The active steps, as proposed.
    pub(super) fn proposed(&self) -> Vec<ProposedStep> {
        self.steps().map(|(number, step)| step.proposed(number)).collect()
    }

    /// The origins of the inputs of all active calls.
    pub(super) fn origins(&self) -> impl Iterator<Item = &Origins> {
        self.jobs().map(|(_, job)| &job.origins)
    }

    pub(super) fn counters(&self) -> Counters {
        Counters { next_step: self.next_step, next_request: self.next_request }
    }

    pub(super) fn restore(&mut self, counters: Counters) {
        self.next_step = counters.next_step;
        self.next_request = counters.next_request;
    }
}

/// The driver's id of a job.
pub(super) fn call_id(at: JobRef) -> super::CallId {
    Routed::own(LocalCall::Job(at))
}
