//! Changes of single jobs: what the session has learned about them.

use serde_json::Value;

use super::step::{Frozen, Job};
use super::{JobRef, Scheduler};
use crate::fold::Method;
use crate::origin::Origins;
use crate::path::Path;
use crate::policy::Reason;
use crate::session::report_error::{ReportError, error_data};
use crate::time::Time;
use obelus_notebook::call_json::CallJson;

impl Scheduler {
    pub(super) fn job_mut(&mut self, at: JobRef) -> Option<&mut Job> {
        self.steps.get_mut(&at.step)?.jobs.get_mut(at.index())
    }

    pub(super) fn change(&mut self, at: JobRef, change: impl FnOnce(&mut Job)) {
        if let Some(job) = self.job_mut(at) {
            change(job);
        }
    }

    /// The call has its values, with these origins.
    pub(in crate::session) fn freeze(&mut self, at: JobRef, call: CallJson, origins: Origins, is_model_call: bool) {
        let frozen = Some(Frozen { call, edited: None });
        self.change(at, |job| (job.frozen, job.origins, job.is_model_call) = (frozen, origins, is_model_call));
    }

    /// A person has changed the call.
    pub(in crate::session) fn replace_frozen(&mut self, at: JobRef, frozen: Frozen) {
        self.change(at, |job| job.frozen = Some(frozen));
    }

    /// A person has approved the call.
    pub(in crate::session) fn approve(&mut self, at: JobRef) {
        self.change(at, |job| job.is_approved = true);
        self.make_ready(at);
    }

    /// The approval does not cover the call any more.
    pub(in crate::session) fn withdraw_approval(&mut self, at: JobRef) {
        self.change(at, |job| job.is_approved = false);
    }

    /// The delegate or the model gets this part of the context.
    pub(in crate::session) fn set_scope(&mut self, at: JobRef, scope: Vec<Value>) {
        self.change(at, |job| job.scope = scope);
    }

    /// The same call runs again.
    pub(in crate::session) fn run_again(&mut self, at: JobRef, now: Time) {
        self.change(at, |job| (job.attempt, job.started) = (job.attempt + 1, now));
    }

    /// Adds origins to the result.
    pub(in crate::session) fn add_origins(&mut self, at: JobRef, more: &Origins) {
        self.change(at, |job| job.origins.join(more));
    }

    /// Stores an added result, if another call of the step reads it: the earlier value does not count.
    pub(in crate::session) fn note_added(&mut self, at: JobRef, value: &Value) {
        let Some(step) = self.steps.get_mut(&at.step) else { return };
        let (call, method) = (step.call(at.index()), step.call(at.index()).output_method);
        // A reference to `†results` reads the whole list.
        let is_read = !call.keeps_by_default && !step.graph.fed_by(at.index()).is_empty();
        if method != Method::Set && is_read {
            step.jobs[at.index()].added = Some(Box::new((method, value.clone())));
        }
    }

    /// The paths that the call has written. Those noted first count: side writes are noted with the result's paths.
    pub(in crate::session) fn note_written(&mut self, at: JobRef, paths: Vec<Path>) {
        self.change(at, |job| _ = job.written.get_or_insert(paths));
    }

    /// A person said that it happened, and did not give its result.
    pub(in crate::session) fn note_unknown_result(&mut self, at: JobRef) {
        self.change(at, |job| job.is_result_unknown = true);
    }

    /// All delegates know that the call is in doubt.
    pub(in crate::session) fn note_doubt(&mut self, at: JobRef) {
        self.change(at, |job| job.is_doubt_noted = true);
    }

    /// Its doubt is settled. Returns whether it was noted.
    pub(in crate::session) fn forget_doubt(&mut self, at: JobRef) -> bool {
        self.job_mut(at).is_some_and(|job| std::mem::take(&mut job.is_doubt_noted))
    }

    /// The running call asks a person.
    pub(in crate::session) fn open_elicitation(&mut self, at: JobRef) {
        self.change(at, |job| job.elicitations += 1);
        self.set_awaits_user(at, true);
    }

    /// One of its elicitations has ended.
    pub(in crate::session) fn close_elicitation(&mut self, at: JobRef) {
        let Some(job) = self.job_mut(at) else { return };
        job.elicitations = job.elicitations.saturating_sub(1);
        if job.elicitations == 0 {
            self.set_awaits_user(at, false);
        }
    }

    /// All of its elicitations have ended.
    pub(in crate::session) fn close_elicitations(&mut self, at: JobRef) {
        self.change(at, |job| job.elicitations = 0);
        self.set_awaits_user(at, false);
    }

    /// The error of its report. The model is not told of it otherwise.
    pub(in crate::session) fn set_error(&mut self, at: JobRef, error: ReportError) {
        self.change(at, |job| job.error = Some(Box::new(error)));
    }

    /// The error of its report, which the model sees when the step rests. `own`: the origins of the error's text.
    pub(in crate::session) fn record_error(&mut self, at: JobRef, error: ReportError, own: &Origins) {
        let Some(step) = self.steps.get_mut(&at.step) else { return };
        let job = &step.jobs[at.index()];
        let call = step.call(at.index()).raw.for_instance(job.instance.as_deref());
        let origins = job.origins.clone().joined(own);
        step.errors.push((error_data(&call, &error), origins));
        self.set_error(at, error);
    }

    /// Adds the reason of a refusal to the error of its report, and the sources that it depends on. The model does not
    /// see them.
    pub(in crate::session) fn explain_refusal(&mut self, at: JobRef, reason: Option<Reason>, sources: Option<Reason>) {
        if let Some(error) = self.job_mut(at).and_then(|job| job.error.as_deref_mut()) {
            error.reason = reason.map(Box::new);
            error.origins = sources.map(Box::new);
        }
    }

    /// Adds an error that the model sees when the step rests.
    pub(in crate::session) fn add_error(&mut self, step: u32, error: Value, origins: Origins) {
        if let Some(step) = self.steps.get_mut(&step) {
            step.errors.push((error, origins));
        }
    }
}
