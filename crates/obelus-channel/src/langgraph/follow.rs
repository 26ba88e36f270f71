//! Follows a run to its end.

use std::sync::Arc;

use obelus_kernel::session::{Refused, Reply};
use obelus_runtime::{EventBody, EventNumber, Language, SessionEvent};
use tokio::task::JoinHandle;

use super::begin::StartedRun;
use super::fold::{AddedMessage, Fold, RunEnd};
use super::ids::{IdKind, id_of};
use crate::ChannelError;
use crate::http::{Access, App, EventStream, StreamItem};
use crate::service::SessionSnapshot;

/// A run that is being followed.
pub(crate) struct FollowedRun {
    app: App,
    access: Access,
    pub(super) started: StartedRun,
    /// The session up to the last event.
    pub(super) fold: Fold,
    events: EventStream,
    /// Completes when no turn is running.
    rested: JoinHandle<Result<Option<Reply>, Refused>>,
    is_at_rest: bool,
}

/// The next item of a run.
pub(crate) enum RunItem {
    /// An event, and the messages it adds.
    Event(Arc<SessionEvent>, Vec<AddedMessage>),
    /// Nothing has happened for a while: send a keep-alive.
    Silence,
    /// The stream ends early; the client continues after the last id.
    Cut,
    /// The run has ended.
    End,
}

impl FollowedRun {
    /// Follows a run after an event, or from its beginning.
    pub(crate) async fn open(
        app: &App,
        access: &Access,
        started: &StartedRun,
        after: Option<EventNumber>,
    ) -> Result<Self, ChannelError> {
        let after = after.unwrap_or(started.after).max(started.after);
        let events = EventStream::open(app, access, &started.session, Some(&after.to_string()))
            .await
            .map_err(|failure| failure.0)?;
        let history = app.service().whole_history(&started.session).await?;
        let before = history.iter().map(AsRef::as_ref).filter(|event: &&SessionEvent| event.number <= after);
        let fold = Fold::of(&started.thread, before);
        let handle = app.service().open(&started.session).await?;
        let rested = tokio::spawn(async move { handle.rested().await });
        Ok(Self {
            app: app.clone(),
            access: access.clone(),
            started: started.clone(),
            fold,
            events,
            rested,
            is_at_rest: false,
        })
    }

    /// How the run ended, if it has. When the session rests, the run is over in any case.
    pub(crate) fn end(&self) -> Option<RunEnd> {
        self.fold.run(self.started.record).and_then(|run| run.end.clone())
    }

    /// The next item. It is cancel-safe.
    pub(crate) async fn next(&mut self) -> RunItem {
        if self.end().is_some() {
            return RunItem::End;
        }
        if self.is_at_rest {
            return match self.events.try_next() {
                Some(event) => self.apply(event),
                None => RunItem::End,
            };
        }
        tokio::select! {
            biased;
            next = self.events.next() => match next {
                StreamItem::Event(event) => self.apply(event),
                StreamItem::Silence => RunItem::Silence,
                StreamItem::End => RunItem::Cut,
            },
            _ = &mut self.rested => {
                self.is_at_rest = true;
                RunItem::Silence
            }
        }
    }

    /// Adds an event to the fold.
    fn apply(&mut self, event: Arc<SessionEvent>) -> RunItem {
        if matches!(event.body, EventBody::Missed) {
            return RunItem::Cut;
        }
        let added = self.fold.take(&event);
        RunItem::Event(event, added)
    }

    /// Waits for the end of the run; none if a keep-alive is due.
    pub(super) async fn ended(&mut self) -> Option<Option<RunEnd>> {
        loop {
            match self.next().await {
                RunItem::Event(..) => {}
                RunItem::Silence if self.is_at_rest => {}
                RunItem::Silence => return None,
                RunItem::Cut | RunItem::End => return Some(self.end()),
            }
        }
    }

    /// The current session.
    pub(crate) async fn snapshot(&self) -> Result<SessionSnapshot, ChannelError> {
        self.app.service().snapshot(&self.started.session, None, self.access.language).await
    }

    /// Notes that the client is shown the open questions.
    pub(super) fn note_shown(&self, now: &SessionSnapshot) {
        self.app.note_shown(&self.access, &now.questions);
    }

    /// The text of an error for the client.
    pub(super) fn words(&self, error: &ChannelError) -> String {
        error.words(self.access.language.unwrap_or(Language::English))
    }

    /// The id of the run.
    pub(super) fn run_id(&self) -> String {
        id_of(IdKind::Run, &self.started.session, self.started.record)
    }
}

impl Drop for FollowedRun {
    fn drop(&mut self) {
        self.rested.abort();
    }
}
