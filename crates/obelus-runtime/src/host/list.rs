//! Summaries of sessions that are not in memory.

use obelus_kernel::session::Question;

use super::{HostError, HostShared};
use crate::spec::SessionSpec;
use crate::store::CheckpointData;
use crate::summary::SessionSummary;

impl HostShared {
    /// The stored summary of a session. If there is none, as in stores of older versions, it is made, and stored for
    /// the next time if the session rests.
    pub(super) fn summary(&self, id: &str) -> Result<SessionSummary, HostError> {
        let store = self.store()?;
        if let Some(summary) = store.summary(id)? {
            return Ok(summary);
        }
        let spec = SessionSpec::from_genesis(self.genesis(id)?)?;
        let first = store.load(id, 0, Some(1))?;
        if first.records.is_empty() && first.cut.is_none() {
            let summary = SessionSummary::of_new(&spec);
            let rest = CheckpointData { summary: Some(summary.clone()), ..CheckpointData::default() };
            store.store_checkpoint(id, 0, rest);
            return Ok(summary);
        }
        let (session, rests_after) = self.view_interrupted(id)?;
        let summary = SessionSummary::of(&session, &spec.catalogue_name());
        if let Some(seq) = rests_after {
            let open = session.questions().into_iter().filter(Question::is_open);
            let questions = open.map(|question| question.to_json()).collect();
            let rest = CheckpointData { checkpoint: None, questions, summary: Some(summary.clone()) };
            store.store_checkpoint(id, seq, rest);
        }
        Ok(summary)
    }
}
