//! Calls for every row of a list that the same step reads: the rows become instances while the step is at work, and the
//! calls that were planned for them are expanded then.

use obelus_notebook::plan::{self, Who};

use super::step::{Job, Status, Step, linked};
use super::{JobRef, Scheduler};
use crate::context::Context;

impl Step {
    /// Makes a job for each instance of every call that turns out to be a template and has not begun. Says whether there
    /// was one.
    fn expand(&mut self, context: &Context) -> bool {
        let who = plan::who_runs(&self.calls, context);
        let instances = plan::instances_of(&self.calls, context);
        let is_new = |index: usize| self.who[index] == Who::Once && who[index] == Who::Each;
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
            expanded.push(job.call);
            let mut each = Job::all(job.call, &Who::Each, &instances).into_iter();
            // The job that is there already is the first one.
            job.instance = each.next().and_then(|first| first.instance);
            jobs.push(job);
            self.open += each.len();
            // In a sequence the jobs of a call stand together, and none after it has begun. Elsewhere jobs keep their
            // places, because some of them may be at work.
            match self.sequential {
                true => jobs.extend(each),
                false => later.extend(each),
            }
        }
        jobs.append(&mut later);
        self.jobs = jobs;
        for call in expanded {
            self.who[call] = Who::Each;
        }
        self.link_again();
        true
    }

    /// Links the jobs anew, whatever has ended already.
    fn link_again(&mut self) {
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
    /// Expands the calls of a step that wait for rows which have just become instances, and has them looked at.
    pub(in crate::session) fn expand(&mut self, at: JobRef, context: &Context) {
        let Some(step) = self.steps.get_mut(at.step) else { return };
        let expanded = step.expand(context);
        let blocked = step.jobs.iter().enumerate().filter(|(_, job)| job.status == Status::Blocked);
        let blocked: Vec<usize> = blocked.map(|(index, _)| index).filter(|_| expanded).collect();
        self.dirty.extend(blocked.into_iter().map(|job| JobRef::new(at.step, job)));
    }
}
