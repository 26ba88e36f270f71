//! A snapshot of a session, for channels with their own presentation.

use obelus_kernel::session::{Question, Session};
use obelus_runtime::sessions::{InputId, SessionRow, SessionStatus};
use obelus_runtime::{EventNumber, Language, SessionEvent, StoreError, system_clock};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::sessions::agent_in;
use super::{Service, check_id};
use crate::ChannelError;
use crate::types::QuestionRow;

/// A snapshot of a session.
pub(crate) struct SessionSnapshot {
    /// Its status.
    pub(crate) status: SessionStatus,
    /// Whether no turn is running.
    pub(crate) is_at_rest: bool,
    /// Its state.
    pub(crate) state: Value,
    /// Its open questions.
    pub(crate) questions: Vec<QuestionRow>,
}

impl Service {
    /// A session now, or after a record.
    pub(crate) async fn snapshot(
        &self,
        id: &str,
        at: Option<u64>,
        wanted: Option<Language>,
    ) -> Result<SessionSnapshot, ChannelError> {
        let (service, name, is_now) = (self.clone(), id.to_owned(), at.is_none());
        self.read_at(id, at, move |session: &Session| {
            let (language, now) = (service.language_of(session, wanted), system_clock());
            let waits = |question: &Question| question.is_open() && (!is_now || question.expires_at > now);
            let open = session.questions().into_iter().filter(waits);
            SessionSnapshot {
                status: SessionStatus::of(session),
                is_at_rest: session.is_at_rest(),
                state: session.state(),
                questions: open
                    .map(|question| service.question_row(session, &question, (&name, ""), language))
                    .collect(),
            }
        })
        .await
    }

    /// The record of the input with this id, if the session has taken it.
    pub(crate) async fn input_record(&self, id: &str, input_id: &str) -> Result<Option<u64>, ChannelError> {
        check_id(id)?;
        let (id, input_id) = (id.to_owned(), input_id.parse::<InputId>()?);
        self.blocking(move |host| Ok(host.taken(&id, &input_id)?)).await
    }

    /// A session as it was when the input with this id came, or as it is now: a repeated request means the same as
    /// the first time.
    pub(crate) async fn snapshot_for(
        &self,
        id: &str,
        input_id: Option<&str>,
        wanted: Option<Language>,
    ) -> Result<SessionSnapshot, ChannelError> {
        let taken = match input_id {
            Some(input_id) => self.input_record(id, input_id).await?,
            None => None,
        };
        self.snapshot(id, taken.map(|record| record.saturating_sub(1)), wanted).await
    }

    /// All events of a session.
    pub(crate) async fn whole_history(&self, id: &str) -> Result<Vec<Arc<SessionEvent>>, ChannelError> {
        check_id(id)?;
        let id = id.to_owned();
        self.blocking(move |host| Ok(host.history_after(&id, EventNumber::START)?)).await
    }

    /// All stored sessions, newest first.
    pub(crate) async fn session_rows(&self) -> Result<Vec<SessionRow>, ChannelError> {
        self.blocking(|host| Ok(host.list()?)).await
    }

    /// Sessions with open questions or running work: all others rest.
    pub(crate) async fn sessions_to_look_at(&self) -> Result<BTreeSet<String>, ChannelError> {
        self.blocking(|host| Ok(host.inbox()?.into_iter().map(|row| row.session).collect())).await
    }

    /// The agent of a session; none if there is no such session.
    pub(crate) async fn agent_of_session(&self, id: &str) -> Result<Option<String>, ChannelError> {
        check_id(id)?;
        let id = id.to_owned();
        let agent = self.blocking(move |host| Ok(host.spec(&id)?.map(|_| agent_in(host, &id)))).await;
        match agent {
            Err(ChannelError::Host(obelus_runtime::HostError::Store(StoreError::Unknown(_)))) => Ok(None),
            other => other,
        }
    }
}
