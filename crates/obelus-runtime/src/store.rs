//! Stored sessions: the interface of a store, and two engines.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `record` | the stored data of a session |
//! | `error` | errors |
//! | `sqlite` | sessions on disk, in one SQLite file |
//! | `memory` | sessions in memory |

mod error;
mod memory;
mod record;
mod sqlite;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use serde_json::Value;

use crate::summary::SessionSummary;

pub use error::{AppendError, StoreError};
pub use memory::MemoryStore;
pub use record::{CheckpointData, DamagedTail, Digest, InboxRow, InputId, Journaled, Record, SessionRow, Snapshot};
pub use sqlite::{Holder, SqliteStore};

/// Completes when records are durable, with the number of the last one; or with an error.
pub type Durable = Pin<Box<dyn Future<Output = Result<u64, AppendError>> + Send>>;

/// Stores sessions. A session is the fold of its journal (DUR-1); everything else only saves time.
pub trait Store: Send + Sync + 'static {
    /// Creates a session. A fork or an import has records; it is stored whole or not at all.
    fn create(&self, id: &str, at: Time, genesis: &Value, records: Vec<Record>) -> Result<(), StoreError>;

    /// The genesis of a session; none if there is no such session.
    fn genesis(&self, id: &str) -> Result<Option<Value>, StoreError>;

    /// Makes the caller the only writer of a session for as long as it holds the lock (DUR-5).
    fn lock(&self, id: &str) -> Result<SessionLock, StoreError>;

    /// Appends records, all or none. `after` is the last record that the caller knows: if the journal has more,
    /// nothing is written.
    fn append(&self, id: &str, after: u64, records: Vec<Record>) -> Durable;

    /// The records after `after`, up to and including `upto`. A damaged end is left out and reported; damage before a
    /// sound record is an error.
    fn load(&self, id: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError>;

    /// The record of the input with this id, if the session has taken it (DUR-13).
    fn taken(&self, id: &str, input: &InputId) -> Result<Option<u64>, StoreError>;

    /// The latest usable checkpoint of a session.
    fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, StoreError>;

    /// Stores a resting session after its record `seq`. It is written when the store is idle, and may be lost without
    /// harm.
    fn store_checkpoint(&self, id: &str, seq: u64, rest: CheckpointData);

    /// Every session, newest first.
    fn list(&self) -> Result<Vec<SessionRow>, StoreError>;

    /// A part of the list: at most `limit` sessions after this one, or from the newest on.
    fn page(&self, after: Option<&str>, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        let all = self.list()?;
        let from = match after {
            Some(after) => all.iter().position(|row| row.id == after).map_or(all.len(), |at| at + 1),
            None => 0,
        };
        Ok(all.into_iter().skip(from).take(limit).collect())
    }

    /// The summary of a resting session. None if it has continued since it was stored: restore it to know.
    fn summary(&self, _id: &str) -> Result<Option<SessionSummary>, StoreError> {
        Ok(None)
    }

    /// All sessions with open questions, or whose questions are unknown without restoring them.
    fn inbox(&self) -> Result<Vec<InboxRow>, StoreError>;

    /// The last input that started a turn: start, a plan run, or a message of the user.
    fn last_turn_input(&self, id: &str) -> Result<Option<Input>, StoreError> {
        let records = self.load(id, 0, None)?.records;
        let input = records.into_iter().rev().map(|record| record.input).find(|input| starts_turn(input));
        Ok(input.map(Arc::unwrap_or_clone))
    }

    /// Whether another process runs the sessions of this store now.
    fn is_held_elsewhere(&self) -> bool {
        false
    }

    /// How many sessions of this name were removed. The ids of their questions must not be reused (ASK-1).
    fn removed(&self, id: &str) -> Result<u64, StoreError>;

    /// Removes a session and all its data, except that its name was used.
    fn remove(&self, id: &str) -> Result<(), StoreError>;

    /// Removes the records from `from` on, so that the session continues from before them, and appends these in their
    /// place. A crash leaves both done or neither.
    fn cut(&self, id: &str, from: u64, then: Vec<Record>) -> Result<(), StoreError>;

    /// Returns the space of removed data to the system; returns its size in bytes.
    fn shrink(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// Whether an input starts a turn.
fn starts_turn(input: &Input) -> bool {
    matches!(input, Input::Start | Input::RunPlan | Input::User { .. })
}

/// The right to write a session, released on drop.
pub struct SessionLock(Option<Box<dyn FnOnce() + Send + Sync>>);

impl SessionLock {
    /// A lock, and its release function.
    pub fn new(release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(release)))
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

/// Sessions that have a writer in this process.
#[derive(Clone, Default)]
struct Locks(Arc<Mutex<BTreeSet<String>>>);

impl Locks {
    fn take(&self, id: &str) -> Result<SessionLock, StoreError> {
        let (locks, name) = (self.clone(), id.to_owned());
        if self.names().insert(id.to_owned()) {
            Ok(SessionLock::new(move || {
                locks.names().remove(&name);
            }))
        } else {
            Err(StoreError::Locked(id.to_owned()))
        }
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks the name of a session: it is part of file names.
pub fn check_name(id: &str) -> Result<(), StoreError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !id.is_empty() && id.len() <= 64 && id.chars().all(is_plain) {
        Ok(())
    } else {
        Err(StoreError::BadName(id.to_owned()))
    }
}

/// Checks that no two records to be written have the same id.
fn check_ids(session: &str, records: &[Record]) -> Result<(), StoreError> {
    let mut ids = BTreeSet::new();
    match records.iter().filter_map(|record| record.id.as_ref()).find(|id| !ids.insert(*id)) {
        None => Ok(()),
        Some(id) => Err(StoreError::TwoOfOneId { session: session.to_owned(), input: id.to_string() }),
    }
}

#[cfg(test)]
mod tests;
