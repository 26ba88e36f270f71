//! Calls for every row of a list that the same step reads: when the rows become instances, the calls planned for them
//! are expanded.

use obelus_notebook::plan::{self, RunsFor};

use super::step::{ActiveStep, Job, Status, linked};
use super::{JobRef, Scheduler};
use crate::context::Context;

impl ActiveStep {
    /// Creates a job for each instance of every template call that has not begun. Returns whether there was one.
    fn expand(&mut self, context: &Context) -> bool {
        let runs_for = plan::runs_for(&self.calls, context);
        let instances = plan::instances_of(&self.calls, context);
        let is_new = |index: usize| self.runs_for[index] == RunsFor::Once && runs_for[index] == RunsFor::Each;
        let expands = |job: &Job| is_new(job.call) && job.status == Status::Blocked;
        if instances.is_empty() || !self.jobs.iter().any(&expands) {
            return false;
        }
        let (mut expanded, mut later) = (Vec::new(), Vec::new());
        let mut jobs = Vec::with_capacity(self.jobs.len() + instances.len());
        for mut job in std::mem::take(&mut self.jobs) {
            if !(is_new(job.call) && job.status == Status::Blocked) {
                jobs.push(job);
                continue;
            }
            let call = job.call;
            expanded.push(call);
            let mut each = instances.iter().map(|name| Job::new(call, Some((*name).clone())));
            // The existing job is the first one.
            job.instance = each.next().and_then(|first| first.instance);
            jobs.push(job);
            self.open += each.len();
            // In a sequence the jobs of a call are adjacent, and none after it has begun. Otherwise jobs keep their
            // indexes, because some of them may be running.
            let list = if self.sequential { &mut jobs } else { &mut later };
            list.extend(each);
        }
        jobs.append(&mut later);
        self.jobs = jobs;
        for call in expanded {
            self.runs_for[call] = RunsFor::Each;
        }
        self.relink();
        true
    }

    /// Links the jobs again, including ended ones.
    fn relink(&mut self) {
        let (graph, _) = linked(&self.calls, &self.jobs, self.sequential);
        self.graph = graph;
        for index in 0..self.jobs.len() {
            self.jobs[index].open_feeders = 0;
        }
        for index in (0..self.jobs.len()).filter(|index| !self.jobs[*index].status.is_final()).collect::<Vec<_>>() {
            for &fed in self.graph.fed_by(index) {
                self.jobs[fed].open_feeders += 1;
            }
        }
    }
}

impl Scheduler {
    /// Expands the calls of a step for rows that have just become instances, and queues them.
    pub(in crate::session) fn expand(&mut self, at: JobRef, context: &Context) {
        let Some(step) = self.steps.get_mut(&at.step) else { return };
        let expanded = step.expand(context);
        let blocked = step.jobs.iter().enumerate().filter(|(_, job)| job.status == Status::Blocked);
        let blocked = blocked.map(|(index, _)| JobRef::new(at.step, index)).filter(|_| expanded);
        let before = self.dirty.len();
        self.dirty.extend(blocked);
        self.changed.extend(self.dirty.iter().skip(before));
    }
}
