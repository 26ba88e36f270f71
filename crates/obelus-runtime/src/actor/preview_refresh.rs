//! Repeats the reads of a question for a person who decides late. The results are not stored.

use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::session::{Change, Outcome, QuestionId, Refused, Session, Start};

use super::ActorCommand;
use crate::activity::{Activities, Work};
use crate::elicitor::Elicitor;
use crate::handle::SessionHandle;

impl SessionHandle {
    /// Reads again the records that an open question would change: the changes of each call, by index, against the
    /// current record. Calls whose record cannot be read are left out. None if no call says how to read its record, or
    /// the session is paused.
    pub async fn refresh_preview(&self, question: &QuestionId) -> Result<Option<Vec<(usize, Vec<Change>)>>, Refused> {
        let id = question.clone();
        let reads = move |session: &Session| match session.paused() {
            None => session.fresh_preview_reads(&id),
            Some(_) => Vec::new(),
        };
        let reads = self.inspect(reads).await?;
        if reads.is_empty() {
            return Ok(None);
        }
        let activities = self.ask(|answer| ActorCommand::Activities { answer }).await?;
        let mut found = Vec::new();
        for (index, start) in reads {
            let Some(result) = read(&activities, start).await else { continue };
            let id = question.clone();
            found.push((index, self.inspect(move |session| session.fresh_changes(&id, index, &result)).await?));
        }
        Ok(Some(found))
    }
}

/// Carries out a read; its result, if it succeeds in time.
async fn read(activities: &Activities, start: Start) -> Option<serde_json::Value> {
    let activity = activities.get(start.activity())?;
    let limit = activity.time_limit().unwrap_or(Duration::from_secs(start.seconds));
    let work = activity.run(Work::new(start, Elicitor::nobody(), Arc::default()));
    match tokio::time::timeout(limit, work).await {
        Ok(Outcome::Value(value)) => Some(value),
        _ => None,
    }
}
