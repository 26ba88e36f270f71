//! The calls of a step as they were proposed.

use obelus_notebook::call_json::CallJson;
use serde::{Deserialize, Serialize};

use crate::call::StepOptions;

/// The proposed calls of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ProposedStep {
    pub(super) number: u32,
    #[serde(rename = "manner")]
    pub(super) options: StepOptions,
    pub(super) calls: Vec<CallJson>,
    /// The call of each job.
    pub(super) jobs: Vec<usize>,
}

impl ProposedStep {
    /// The call of a job.
    pub(super) fn of_job(&self, job: u32) -> Option<&CallJson> {
        self.calls.get(*self.jobs.get(usize::try_from(job).ok()?)?)
    }
}
