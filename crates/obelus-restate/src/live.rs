//! Sessions in a worker's memory. This is only a cache that saves reading and replaying journals: each is checked
//! against the head of its session before it is used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use obelus_runtime::engine::{Replica, RestoreError, SessionFactory, session_factory, with_present_bindings};
use obelus_runtime::{Connections, Connector, HostError, SessionSpec, StoreError};
use serde_json::Value;
use tokio::sync::{OwnedMutexGuard, broadcast};

use crate::store::{RestateStore, records_of};
use crate::warnings::Warnings;
use crate::wire::{Checksum, FORM, LATER_FORM, SessionHead, StoredRecord};

/// The limit of sessions in memory.
const MOST: usize = 2_000;

/// The capacity of the channel of stops.
const STOPS: usize = 1_024;

/// A session in memory.
pub(crate) struct LiveSession {
    key: String,
    sum: Checksum,
    pub(crate) replica: Replica,
    pub(crate) spec: Arc<SessionSpec>,
    /// Shared with running effects.
    pub(crate) connections: Arc<Connections>,
}

impl LiveSession {
    fn is_at(&self, head: &SessionHead) -> bool {
        self.key == head.key && self.replica.last() == head.seq && self.sum == head.sum
    }

    /// Updates it to this head.
    pub(crate) fn advanced(&mut self, head: &SessionHead) {
        self.sum = head.sum.clone();
    }
}

/// Why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveError {
    /// This version cannot restore it, or its journal is damaged (DUR-12). A retry does not help.
    #[error("{0}")]
    Unrestorable(String),
    /// The cluster does not answer, or has an outdated state.
    #[error("{0}")]
    Unavailable(String),
}

impl From<StoreError> for LiveError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unreachable(_) => Self::Unavailable(error.to_string()),
            // A node that lags behind lacks the latest records.
            StoreError::Damaged { .. } | StoreError::Unknown(_) => Self::Unavailable(error.to_string()),
            error => Self::Unrestorable(error.to_string()),
        }
    }
}

impl From<RestoreError> for LiveError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Store(error) => error.into(),
            error => Self::Unrestorable(error.to_string()),
        }
    }
}

impl From<HostError> for LiveError {
    fn from(error: HostError) -> Self {
        Self::Unrestorable(error.to_string())
    }
}

/// Exclusive access to one session in this process.
pub(crate) type SessionGuard = OwnedMutexGuard<Option<LiveSession>>;

type SessionSlot = Arc<tokio::sync::Mutex<Option<LiveSession>>>;

/// The sessions in memory.
pub(crate) struct Sessions {
    store: RestateStore,
    connector: Arc<dyn Connector>,
    /// The folder of agents whose own path is missing on this machine.
    agents: Option<PathBuf>,
    slots: Mutex<SlotTable>,
    warnings: Warnings,
    /// Sessions whose turns were stopped here.
    pub(crate) stops: broadcast::Sender<String>,
}

#[derive(Default)]
struct SlotTable {
    /// With the number of the latest use.
    by_id: HashMap<String, (u64, SessionSlot)>,
    /// Counts uses, to find the least recently used.
    uses: u64,
}

impl Sessions {
    pub(crate) fn new(
        store: RestateStore,
        connector: Arc<dyn Connector>,
        agents: Option<PathBuf>,
        warnings: Warnings,
    ) -> Self {
        Self { store, connector, agents, slots: Mutex::default(), warnings, stops: broadcast::channel(STOPS).0 }
    }

    pub(crate) fn store(&self) -> &RestateStore {
        &self.store
    }

    fn slots(&self) -> MutexGuard<'_, SlotTable> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a session, which may be empty.
    pub(crate) async fn lock_session(&self, id: &str) -> SessionGuard {
        let place = {
            let mut slots = self.slots();
            slots.uses += 1;
            let uses = slots.uses;
            let entry = slots.by_id.entry(id.to_owned()).or_default();
            entry.0 = uses;
            let place = Arc::clone(&entry.1);
            slots.make_room();
            place
        };
        place.lock_owned().await
    }

    /// A session at a head.
    pub(crate) async fn at(&self, id: &str, head: &SessionHead) -> Result<SessionGuard, LiveError> {
        let mut place = self.lock_session(id).await;
        if let Some(live) = &mut *place {
            if live.is_at(head) {
                return Ok(place);
            }
            if self.catch_up(id, live, head).await? {
                return Ok(place);
            }
        }
        *place = None;
        *place = Some(self.restore(id, head).await.map_err(|error| self.warnings.report_once(id, error))?);
        Ok(place)
    }

    /// A session at a record or later; none if it no longer exists.
    pub(crate) async fn after(&self, id: &str, key: &str, seq: u64) -> Result<Option<SessionGuard>, LiveError> {
        let place = self.lock_session(id).await;
        if place.as_ref().is_some_and(|live| live.key == key && live.replica.last() >= seq) {
            return Ok(Some(place));
        }
        drop(place);
        let head = self.store.head(id).await?;
        // A node that lags behind may not have the session yet.
        if head.is_none() && !self.store.was_removed(id).await? {
            return Err(LiveError::Unavailable(format!("session {id} is not there yet")));
        }
        match head.filter(|head| head.key == key) {
            None => Ok(None),
            Some(head) if head.seq < seq => Err(LiveError::Unavailable(format!("record {seq} is not there yet"))),
            Some(head) => self.at(id, &head).await.map(Some),
        }
    }

    /// Applies the records that another worker has written; returns whether the session is then at the head.
    async fn catch_up(&self, id: &str, live: &mut LiveSession, head: &SessionHead) -> Result<bool, LiveError> {
        let last = live.replica.last();
        if live.key != head.key || last >= head.seq {
            return Ok(false);
        }
        let stored = self.store.stored_records(id, last, head.seq).await?;
        if !leads_to(&live.sum, &stored, head) {
            return Ok(false);
        }
        for record in records_of(id, last, &stored)? {
            live.replica.apply(record)?;
        }
        live.advanced(head);
        Ok(true)
    }

    async fn restore(&self, id: &str, head: &SessionHead) -> Result<LiveSession, LiveError> {
        if head.form > FORM {
            return Err(LiveError::Unrestorable(LATER_FORM.to_owned()));
        }
        let store = self.store.shared();
        let (name, seq) = (id.to_owned(), head.seq);
        let read = {
            let (store, name) = (Arc::clone(&store), name.clone());
            tokio::task::spawn_blocking(move || store.genesis(&name))
        };
        let genesis = read.await.map_err(|error| LiveError::Unavailable(error.to_string()))??;
        let genesis = genesis.ok_or_else(|| LiveError::Unavailable(format!("there is no session `{id}` any more")))?;
        let (spec, connections, session_factory) = self.connected(id, genesis)?;
        let (again, restored_name) = (Arc::clone(&session_factory), name.clone());
        let restored = tokio::task::spawn_blocking(move || Replica::restore(&store, &restored_name, &again, Some(seq)));
        let replica = restored.await.map_err(|error| LiveError::Unavailable(error.to_string()))??;
        let sum = match head.seq {
            0 => Checksum::default(),
            seq => self.store.sum_at(id, seq).await?,
        };
        if replica.last() != head.seq || sum != head.sum {
            return Err(LiveError::Unavailable("the journal that was read is not the latest one".to_owned()));
        }
        Ok(LiveSession { key: head.key.clone(), sum, replica, spec, connections })
    }

    /// A new session with these records.
    pub(crate) fn begin(
        &self,
        id: &str,
        genesis: Value,
        stored: &[StoredRecord],
        head: &SessionHead,
    ) -> Result<LiveSession, LiveError> {
        let begin = || {
            let (spec, connections, session_factory) = self.connected(id, genesis)?;
            let mut live = LiveSession {
                key: head.key.clone(),
                sum: Checksum::default(),
                replica: Replica::new(id, session_factory().map_err(LiveError::Unrestorable)?),
                spec,
                connections,
            };
            for record in records_of(id, 0, stored)? {
                live.replica.apply(record)?;
            }
            live.advanced(head);
            Ok(live)
        };
        begin().map_err(|error| self.warnings.report_once(id, error))
    }

    fn connected(
        &self,
        id: &str,
        genesis: Value,
    ) -> Result<(Arc<SessionSpec>, Arc<Connections>, SessionFactory), LiveError> {
        let spec = SessionSpec::from_genesis(genesis).map_err(HostError::from)?;
        let spec = match &self.agents {
            Some(agents) => found_below(agents, spec),
            None => spec,
        };
        let spec = with_present_bindings(spec);
        let connections = self.connector.resume(&spec, None).map_err(HostError::from)?;
        let session_factory = session_factory(id, &spec, &connections);
        Ok((Arc::new(spec), Arc::new(connections), session_factory))
    }
}

impl SlotTable {
    /// Drops the least recently used sessions, and ends their services.
    fn make_room(&mut self) {
        if self.by_id.len() <= MOST {
            return;
        }
        let mut uses: Vec<u64> = self.by_id.values().map(|(used, _)| *used).collect();
        uses.sort_unstable();
        let latest = uses[uses.len() / 4];
        self.by_id.retain(|_, (used, place)| {
            let Ok(mut live) = Arc::clone(place).try_lock_owned() else { return true };
            let is_in_use = live.as_ref().is_some_and(|live| Arc::strong_count(&live.connections) > 1);
            // This function holds a reference too.
            if *used > latest || is_in_use || Arc::strong_count(place) > 2 {
                return true;
            }
            if let Some(services) = live.take().and_then(|live| live.connections.services.clone()) {
                tokio::spawn(async move { services.close().await });
            }
            false
        });
    }
}

/// A spec whose agent is in another folder on this machine: below `agents`, under the same name.
fn found_below(agents: &Path, mut spec: SessionSpec) -> SessionSpec {
    let there = spec.folder.file_name().map(|name| agents.join(name));
    let Some(there) = there.filter(|there| there.is_dir() && !spec.folder.exists()) else { return spec };
    let here = std::mem::replace(&mut spec.folder, there.clone());
    let move_there = |folder: &mut PathBuf| {
        if let Ok(below) = folder.strip_prefix(&here) {
            *folder = there.join(below);
        }
    };
    spec.activities.iter_mut().for_each(|bound| move_there(&mut bound.folder));
    spec.model.iter_mut().for_each(|model| move_there(&mut model.folder));
    spec.mcp.iter_mut().for_each(|mcp| move_there(&mut mcp.folder));
    spec
}

/// Whether records continue from a sum and lead to a head.
fn leads_to(from: &Checksum, stored: &[StoredRecord], head: &SessionHead) -> bool {
    let mut sum = from.clone();
    stored.iter().all(|stored| {
        let fits = stored.fits(&sum);
        sum = stored.sum.clone();
        fits
    }) && sum == head.sum
}

#[cfg(test)]
mod tests {
    use obelus_runtime::specs::BoundActivities;

    use super::*;

    #[test]
    fn an_agent_with_a_missing_path_is_found_in_the_agents_folder() {
        let agents = std::env::temp_dir().join(format!("obelus-restate-agents-{}", std::process::id()));
        std::fs::create_dir_all(agents.join("notes")).unwrap();
        let elsewhere = PathBuf::from("/nowhere/agents/notes");
        let bound = |folder: &Path| vec![BoundActivities { folder: folder.join("tools"), bound: Default::default() }];
        let spec = SessionSpec { activities: bound(&elsewhere), folder: elsewhere.clone(), ..SessionSpec::default() };
        let found = found_below(&agents, spec.clone());
        assert_eq!((&found.folder, found.activities), (&agents.join("notes"), bound(&agents.join("notes"))));
        let other = SessionSpec { folder: "/nowhere/agents/others".into(), ..spec };
        assert_eq!(found_below(&agents, other.clone()).folder, other.folder);
        std::fs::remove_dir_all(agents).unwrap();
    }
}
