//! Repeats the reads of a question for a person who decides late, and when the person approves. The results are stored
//! only if an approval finds other values than those shown.

use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Change, Decision, Input, Outcome, Question, QuestionId, Refused, Session, Start};
use obelus_kernel::visible;

use super::{ActorCommand, InputCommand};
use crate::activity::{Activities, Work};
use crate::edit_check;
use crate::elicitor::Elicitor;
use crate::handle::SessionHandle;

/// How long an approval waits for the reads before it counts.
const AT_DECISION: Duration = Duration::from_secs(5);

impl SessionHandle {
    /// Reads again the records that an open question would change: the changes of each call, by index, against the
    /// current record. Calls whose record cannot be read are left out. None if no call says how to read its record, or
    /// the session is paused.
    pub async fn refresh_preview(&self, question: &QuestionId) -> Result<Option<Vec<(usize, Vec<Change>)>>, Refused> {
        let reads = self.preview_reads(question).await?;
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

impl SessionHandle {
    /// Checks an edit, and reads the records again that an approval would change. If a value is not what the question shows, the question
    /// gets the values of now, and the approval is refused (ASK-1). Without a result in time, it counts. Calls that were
    /// decided before are not read: they have changed their records themselves.
    pub(crate) async fn must_be_current(&self, input: &Input) -> Result<(), Refused> {
        let Input::Decide { question, decision, .. } = input else { return Ok(()) };
        if let Decision::Edit { params } = decision {
            let (id, params) = (question.clone(), params.clone());
            self.inspect(move |session| edit_check::check(session, &id, &params)).await??;
        }
        let only = match decision {
            Decision::Approve { only } => only.clone(),
            Decision::Consent { .. } | Decision::Edit { .. } => None,
            _ => return Ok(()),
        };
        let id = question.clone();
        let asked = self.inspect(move |session| session.question(&id)).await?;
        let Some(Question { changes: shown, calls, .. }) = asked else { return Ok(()) };
        let is_open = |index: usize| calls.get(index).is_some_and(|call| call.decided.is_none());
        let is_chosen = |index: usize| is_open(index) && only.as_ref().is_none_or(|only| only.contains(&index));
        let is_shown = |index: usize| shown.iter().any(|change| change.call == index) && is_chosen(index);
        if !shown.iter().any(|change| is_chosen(change.call)) {
            return Ok(());
        }
        let mut differing = Vec::new();
        let read = self.read_differing(question, &shown, &is_shown, &mut differing);
        // What was not read in time counts as unchanged.
        drop(tokio::time::timeout(AT_DECISION, read).await);
        if differing.is_empty() {
            return Ok(());
        }
        let mut fields = Vec::new();
        for (outcome, changed) in differing {
            self.ask(|answer| {
                ActorCommand::Input(Box::new(InputCommand { input: outcome, id: None, is_first: true, answer }))
            })
            .await??;
            fields.extend(changed);
        }
        let text = format!("the record has changed since it was shown ({}); look again", fields.join(", "));
        Err(Refused::new(RefusalCode::QuestionChanged, text))
    }

    /// The reads of a question, each with the index of its call; none if the session is paused.
    async fn preview_reads(&self, question: &QuestionId) -> Result<Vec<(usize, Start)>, Refused> {
        let id = question.clone();
        let reads = move |session: &Session| match session.paused() {
            None => session.fresh_preview_reads(&id),
            Some(_) => Vec::new(),
        };
        self.inspect(reads).await
    }

    /// Adds the reads whose values differ from those shown, each as an input, with the names of the fields.
    async fn read_differing(
        &self,
        question: &QuestionId,
        shown: &[Change],
        is_shown: &(dyn Fn(usize) -> bool + Sync),
        differing: &mut Vec<(Input, Vec<String>)>,
    ) -> Result<(), Refused> {
        let reads = self.preview_reads(question).await?;
        let activities = self.ask(|answer| ActorCommand::Activities { answer }).await?;
        for (index, start) in reads.into_iter().filter(|(index, _)| is_shown(*index)) {
            let call = start.id.clone();
            let Some(result) = read(&activities, start).await else { continue };
            let (id, value) = (question.clone(), result.clone());
            let now = self.inspect(move |session| session.fresh_changes(&id, index, &value)).await?;
            let differs = |now: &&Change| {
                let is_same = |shown: &&Change| (shown.call, &shown.field) == (now.call, &now.field);
                shown.iter().find(is_same).is_some_and(|shown| shown.before != now.before)
            };
            let fields: Vec<String> = now.iter().filter(differs).map(|change| visible(&change.field)).collect();
            if !fields.is_empty() {
                differing.push((Input::Ended { id: call, outcome: Outcome::Value(result) }, fields));
            }
        }
        Ok(())
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
