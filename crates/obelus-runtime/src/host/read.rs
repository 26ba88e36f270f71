//! Reading stored sessions, whether they are in memory or not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::policy::Why;
use obelus_kernel::session::{Input, Session};

use super::{Host, HostError};
use crate::events::{EventNumber, SessionEvent};
use crate::spec::SessionSpec;
use crate::store::{InboxRow, InputId, Journaled, SessionRow, StoreError};
use crate::summary::SessionSummary;

impl Host {
    /// The spec of a session; none if there is no such session.
    pub fn spec(&self, id: &str) -> Result<Option<SessionSpec>, HostError> {
        match self.inner.genesis(id) {
            Err(HostError::Store(StoreError::Unknown(_))) => Ok(None),
            genesis => Ok(Some(SessionSpec::from_genesis(genesis?)?)),
        }
    }

    /// Reads from the store, to see whether it answers.
    pub fn check_store(&self) -> Result<(), HostError> {
        Ok(self.inner.store()?.genesis("ready").map(drop)?)
    }

    /// Whether another process runs the stored sessions now.
    pub fn is_run_elsewhere(&self) -> bool {
        self.inner.is_run_elsewhere()
    }

    /// A copy of a session after a record, or as it is now, for reading only.
    pub fn view(&self, id: &str, at: Option<u64>) -> Result<Session, HostError> {
        self.inner.view(id, at)
    }

    /// A session as it will be when it is next opened: if no process runs it, effects in doubt are already questions.
    /// Nothing is written or resumed.
    pub fn view_interrupted(&self, id: &str) -> Result<Session, HostError> {
        Ok(self.inner.view_interrupted(id)?.0)
    }

    /// The folder for pictures, states and logs of sessions; none if no files are stored.
    pub fn folder(&self) -> Option<&Path> {
        self.inner.options.files.as_deref()
    }

    /// The folder for pictures and page notes of a session; none if no files are stored.
    pub fn pictures(&self, id: &str) -> Option<PathBuf> {
        self.inner.pictures(id)
    }

    /// All events of a session since its beginning.
    pub fn history(&self, id: &str) -> Result<Vec<Arc<SessionEvent>>, HostError> {
        self.inner.history(id, EventNumber::START, EventNumber::end_of(u64::MAX))
    }

    /// All events of a session after this one.
    pub fn history_after(&self, id: &str, after: EventNumber) -> Result<Vec<Arc<SessionEvent>>, HostError> {
        self.inner.history(id, after, EventNumber::end_of(u64::MAX))
    }

    /// The number of records that this process has replayed to read or restore sessions.
    pub fn replayed_records() -> u64 {
        crate::restore::replayed()
    }

    /// The records of a session after one, up to and including another. A damaged end is left out and reported.
    pub fn records(&self, id: &str, after: u64, upto: Option<u64>) -> Result<Journaled, HostError> {
        Ok(self.inner.store()?.load(id, after, upto)?)
    }

    /// The last input of a session that started a turn: start, a plan run, or a message of the user.
    pub fn last_turn_input(&self, id: &str) -> Result<Option<Input>, HostError> {
        Ok(self.inner.store()?.last_turn_input(id)?)
    }

    /// Names in the provenance of a value who edited the state, and from where: only the journal has it.
    pub fn name_editors(&self, id: &str, why: &mut Why) -> Result<(), HostError> {
        self.inner.name_editors(id, why)
    }

    /// The record of the input with this id, if the session has taken it (DUR-13).
    pub fn taken(&self, id: &str, input: &InputId) -> Result<Option<u64>, HostError> {
        Ok(self.inner.store()?.taken(id, input)?)
    }

    /// All stored sessions, newest first.
    pub fn list(&self) -> Result<Vec<SessionRow>, HostError> {
        Ok(self.inner.store()?.list()?)
    }

    /// A part of that list: at most `limit` sessions after this one, or from the newest on.
    pub fn page(&self, after: Option<&str>, limit: usize) -> Result<Vec<SessionRow>, HostError> {
        Ok(self.inner.store()?.page(after, limit)?)
    }

    /// The summary of a session that is not in memory. It is stored with a resting session; otherwise the
    /// session is restored.
    pub fn summary(&self, id: &str) -> Result<SessionSummary, HostError> {
        self.inner.summary(id)
    }

    /// All sessions with open questions, or with unfinished work of an earlier process, whose questions are unknown.
    pub fn inbox(&self) -> Result<Vec<InboxRow>, HostError> {
        Ok(self.inner.store()?.inbox()?)
    }
}
