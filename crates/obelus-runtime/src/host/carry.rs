//! Sessions that begin where another one was, or come from another store.

use obelus_kernel::Time;
use obelus_kernel::session::Session;
use serde_json::Value;

use super::open::remake;
use super::{Host, HostError, Inner};
use crate::fork::fork;
use crate::restore::{RestoreError, back_to_rest};
use crate::spec::SessionSpec;
use crate::store::{Cut, Journaled, Record, StoreError};

/// A session as it leaves one store for another.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// Its name there.
    pub id: String,
    /// When it began.
    pub created: Time,
    /// What it was made of.
    pub genesis: Value,
    /// Its journal.
    pub records: Vec<Record>,
}

/// A session that began where another one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forked {
    /// The record of the other one after which it begins.
    pub at: u64,
    /// Whether the other one was at work there. The fork is paused then, until a person lets it go on.
    pub is_paused: bool,
}

impl Host {
    /// A session as it is kept, whole.
    pub fn export(&self, id: &str) -> Result<Export, HostError> {
        let store = self.inner.store()?;
        let genesis = store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
        let created = store.list()?.into_iter().find(|row| row.id == id).map(|row| row.created).unwrap_or_default();
        Ok(Export { id: id.to_owned(), created, genesis, records: self.inner.whole(id)? })
    }

    /// Takes in a session from elsewhere under this name; how many records it has. Under another name it is a copy,
    /// which does not do once more what the first one had begun.
    pub fn import(&self, id: &str, export: Export) -> Result<u64, HostError> {
        let (genesis, records) = match id == export.id {
            true => {
                self.inner.made(id, &export.genesis)?;
                (export.genesis, export.records)
            }
            false => {
                let genesis = self.inner.genesis_of_copy(id, export.genesis)?;
                let session = self.inner.made(id, &genesis)?;
                let by = format!("the import of `{}`", export.id);
                (genesis, fork(session, id, export.records, &[], &by)?)
            }
        };
        let count = records.len() as u64;
        self.inner.store()?.create(id, export.created, &genesis, records)?;
        Ok(count)
    }

    /// Begins a session where another one was after a record, or where it is now (DUR-6).
    pub fn fork(&self, id: &str, new: &str, at: Option<u64>) -> Result<Forked, HostError> {
        let store = self.inner.store()?;
        let genesis = store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
        let mut before = self.inner.whole(id)?;
        let records = before.len() as u64;
        let at = at.unwrap_or(records);
        if at > records {
            return Err(HostError::NoRecord { session: id.to_owned(), records, at });
        }
        let genesis = self.inner.genesis_of_copy(new, genesis)?;
        let after = before.split_off(usize::try_from(at).unwrap_or(usize::MAX));
        let session = self.inner.made(new, &genesis);
        let session = session.map_err(|error| RestoreError::Remake(id.to_owned(), error.to_string()))?;
        let journal = fork(session, new, before, &after, &format!("the fork of `{id}` at {at}"))?;
        let is_paused = journal.len() as u64 > at;
        store.create(new, (self.inner.clock)(), &genesis, journal)?;
        Ok(Forked { at, is_paused })
    }

    /// Takes a session back to its last rest, where this version makes something else of a later record (DUR-12); the
    /// record of that rest. A session that can be restored stays as it is.
    pub async fn back_to_rest(&self, id: &str) -> Result<Option<u64>, HostError> {
        self.passivate(id).await;
        let store = self.inner.store()?;
        let genesis = store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
        let spec = SessionSpec::from_genesis(genesis)?;
        let connections = self.inner.connector.resume(&spec, None)?;
        let _lock = store.lock(id)?;
        Ok(back_to_rest(store, id, &remake(id, &spec, &connections))?)
    }

    /// Removes a session and everything that is kept of it.
    pub async fn remove(&self, id: &str) -> Result<(), HostError> {
        self.passivate(id).await;
        Ok(self.inner.store()?.remove(id)?)
    }
}

impl Inner {
    /// What a copy of a session begins with: the same, and a key of its own.
    fn genesis_of_copy(&self, id: &str, mut genesis: Value) -> Result<Value, HostError> {
        if self.store()?.removed(id)? > 0 {
            return Err(StoreError::NameUsed(id.to_owned()).into());
        }
        genesis["key"] = (self.draw_key)().into();
        Ok(genesis)
    }

    /// A session as it is before its first input.
    fn made(&self, id: &str, genesis: &Value) -> Result<Session, HostError> {
        let spec = SessionSpec::from_genesis(genesis.clone())?;
        let connections = self.connector.resume(&spec, None)?;
        Ok(spec.session(id, &connections.activities)?)
    }

    /// A whole journal. A damaged end is an error here.
    fn whole(&self, id: &str) -> Result<Vec<Record>, HostError> {
        let Journaled { records, cut, .. } = self.store()?.load(id, 0, None)?;
        match cut {
            None => Ok(records),
            Some(Cut { seq, problem, .. }) => Err(StoreError::Damaged { session: id.to_owned(), seq, problem }.into()),
        }
    }
}
