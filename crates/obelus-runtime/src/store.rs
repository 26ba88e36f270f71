//! Sessions that are kept: what a store must offer, and two engines that do.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `record` | what is kept of a session |
//! | `error` | what can go wrong |
//! | `sqlite` | sessions on disk, in one SQLite file |
//! | `memory` | sessions that end with the process |

mod error;
mod memory;
mod record;
mod sqlite;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use obelus_kernel::Time;
use serde_json::Value;

pub use error::{AppendError, StoreError};
pub use memory::MemoryStore;
pub use record::{Cut, Digest, InboxRow, InputId, Journaled, Record, Rest, SessionRow, Snapshot};
pub use sqlite::SqliteStore;

/// Ends when records are durable, with the number of the last one; or with the reason why they are not.
pub type Durable = Pin<Box<dyn Future<Output = Result<u64, AppendError>> + Send>>;

/// Where sessions are kept. A session is the fold of its journal (DUR-1); everything else only saves time.
pub trait Store: Send + Sync + 'static {
    /// Begins a session. A fork or an import brings its records along; it is kept whole or not at all.
    fn create(&self, id: &str, at: Time, genesis: &Value, records: Vec<Record>) -> Result<(), StoreError>;

    /// What a session was begun with; none where there is no such session.
    fn genesis(&self, id: &str) -> Result<Option<Value>, StoreError>;

    /// Makes the caller the only writer of a session for as long as it holds the lock (DUR-5).
    fn lock(&self, id: &str) -> Result<SessionLock, StoreError>;

    /// Appends records, all or none. `after` is the last record that the caller knows of: if the journal has gone on
    /// since, nothing is written.
    fn append(&self, id: &str, after: u64, records: Vec<Record>) -> Durable;

    /// The records after `after`, up to and including `upto`. A damaged end is left out and reported; damage before a
    /// sound record is an error.
    fn load(&self, id: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError>;

    /// The record with which a session took the input of this id, if it has (DUR-13).
    fn taken(&self, id: &str, input: &InputId) -> Result<Option<u64>, StoreError>;

    /// The latest checkpoint of a session; none where there is none that can be used.
    fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, StoreError>;

    /// Keeps what a session is at rest after its record `seq`. It is written when there is time for it, and may be lost
    /// without harm.
    fn keep_rest(&self, id: &str, seq: u64, rest: Rest);

    /// Every session, newest first.
    fn list(&self) -> Result<Vec<SessionRow>, StoreError>;

    /// Every session that has open questions, or of which that is not known without restoring it.
    fn inbox(&self) -> Result<Vec<InboxRow>, StoreError>;

    /// How many sessions of this name were removed. Their questions had ids that are not to be used again (ASK-1).
    fn removed(&self, id: &str) -> Result<u64, StoreError>;

    /// Removes a session and everything that is kept of it, but for the fact that there was one of this name.
    fn remove(&self, id: &str) -> Result<(), StoreError>;

    /// Removes the records from `from` on, so that the session goes on from before them.
    fn cut(&self, id: &str, from: u64) -> Result<(), StoreError>;

    /// Whether sessions outlive the process. Digests are of no use where they do not.
    fn is_durable(&self) -> bool {
        true
    }
}

/// The right to write a session. It ends when this is dropped.
pub struct SessionLock(Option<Box<dyn FnOnce() + Send + Sync>>);

impl SessionLock {
    /// A lock, and what gives it back.
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
        match self.names().insert(id.to_owned()) {
            true => Ok(SessionLock::new(move || {
                locks.names().remove(&name);
            })),
            false => Err(StoreError::Locked(id.to_owned())),
        }
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks the name of a session: it is part of file names.
pub fn check_name(id: &str) -> Result<(), StoreError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !id.is_empty() && id.len() <= 64 && id.chars().all(is_plain) {
        true => Ok(()),
        false => Err(StoreError::BadName(id.to_owned())),
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
