//! Sessions in memory, which end with the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use obelus_kernel::Time;
use serde_json::Value;

use super::{
    CheckpointData, Durable, InboxRow, InputId, Journaled, Locks, Record, SessionLock, SessionRow, Snapshot, Store,
    StoreError, check_ids, check_name,
};
use crate::summary::SessionSummary;

/// Sessions in memory.
#[derive(Default)]
pub struct MemoryStore {
    sessions: Mutex<BTreeMap<String, MemorySession>>,
    /// How many sessions of each name were removed.
    removed: Mutex<BTreeMap<String, u64>>,
    locks: Locks,
}

/// One session.
#[derive(Clone)]
struct MemorySession {
    created: Time,
    genesis: Value,
    records: Vec<Record>,
    /// The records of inputs from outside.
    taken: BTreeMap<InputId, u64>,
    checkpoint: Option<Snapshot>,
    /// Open questions, and the record after which they were stored.
    questions: Option<(u64, Vec<Value>)>,
    /// The summary for lists, stored with the questions.
    summary: Option<SessionSummary>,
}

impl MemorySession {
    fn last(&self) -> u64 {
        self.records.len() as u64
    }

    fn append(&mut self, session: &str, records: Vec<Record>) -> Result<(), StoreError> {
        check_ids(session, &records)?;
        if let Some((id, seq)) = records.iter().find_map(|record| self.taken.get_key_value(record.id.as_ref()?)) {
            return Err(StoreError::Taken { session: session.to_owned(), input: id.to_string(), seq: *seq });
        }
        for record in records {
            self.records.push(record);
            let seq = self.last();
            if let Some(id) = self.records.last().and_then(|record| record.id.clone()) {
                self.taken.insert(id, seq);
            }
        }
        Ok(())
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, MemorySession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        id: &str,
        work: impl FnOnce(&mut MemorySession) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.sessions().get_mut(id).ok_or_else(|| StoreError::Unknown(id.to_owned())).and_then(work)
    }
}

impl Store for MemoryStore {
    fn create(&self, id: &str, at: Time, genesis: &Value, records: Vec<Record>) -> Result<(), StoreError> {
        check_name(id)?;
        let mut sessions = self.sessions();
        if sessions.contains_key(id) {
            return Err(StoreError::Exists(id.to_owned()));
        }
        let mut stored = MemorySession {
            created: at,
            genesis: genesis.clone(),
            records: Vec::new(),
            taken: BTreeMap::new(),
            checkpoint: None,
            questions: None,
            summary: None,
        };
        stored.append(id, records)?;
        sessions.insert(id.to_owned(), stored);
        Ok(())
    }

    fn genesis(&self, id: &str) -> Result<Option<Value>, StoreError> {
        Ok(self.sessions().get(id).map(|stored| stored.genesis.clone()))
    }

    fn lock(&self, id: &str) -> Result<SessionLock, StoreError> {
        self.locks.take(id)
    }

    fn append(&self, id: &str, after: u64, records: Vec<Record>) -> Durable {
        let appended = self.with(id, |stored| {
            if stored.last() != after {
                return Err(StoreError::MovedOn { session: id.to_owned(), after, found: stored.last() });
            }
            stored.append(id, records)?;
            Ok(stored.last())
        });
        Box::pin(std::future::ready(appended.map_err(Into::into)))
    }

    fn load(&self, id: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError> {
        self.with(id, |stored| {
            let index =
                |seq: u64| usize::try_from(seq).map_or(stored.records.len(), |seq| seq.min(stored.records.len()));
            let end = upto.map_or(stored.records.len(), index);
            let records = stored.records.get(index(after)..end).unwrap_or_default().to_vec();
            Ok(Journaled { after, records, cut: None })
        })
    }

    fn taken(&self, id: &str, input: &InputId) -> Result<Option<u64>, StoreError> {
        self.with(id, |stored| Ok(stored.taken.get(input).copied()))
    }

    fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, StoreError> {
        self.with(id, |stored| Ok(stored.checkpoint.clone()))
    }

    fn store_checkpoint(&self, id: &str, seq: u64, rest: CheckpointData) {
        let _ = self.with(id, |stored| {
            if let Some(state) = rest.checkpoint {
                stored.checkpoint = Some(Snapshot { seq, state });
            }
            if stored.questions.as_ref().is_none_or(|(known, _)| *known <= seq) {
                stored.questions = Some((seq, rest.questions));
                stored.summary = rest.summary;
            }
            Ok(())
        });
    }

    fn list(&self) -> Result<Vec<SessionRow>, StoreError> {
        let row = |(id, stored): (&String, &MemorySession)| SessionRow {
            id: id.clone(),
            created: stored.created,
            records: stored.last(),
            last_at: stored.records.last().map(|record| record.at),
        };
        let mut rows: Vec<SessionRow> = self.sessions().iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.created));
        Ok(rows)
    }

    fn summary(&self, id: &str) -> Result<Option<SessionSummary>, StoreError> {
        self.with(id, |stored| {
            let is_current = stored.questions.as_ref().is_some_and(|(seq, _)| *seq == stored.last());
            Ok(stored.summary.clone().filter(|_| is_current))
        })
    }

    fn inbox(&self) -> Result<Vec<InboxRow>, StoreError> {
        let row = |(id, stored): (&String, &MemorySession)| {
            let current = stored.questions.as_ref().filter(|(seq, _)| *seq == stored.last());
            // A session without records has no questions.
            let new = (stored.last() == 0).then(Vec::new);
            InboxRow { session: id.clone(), questions: current.map(|(_, questions)| questions.clone()).or(new) }
        };
        let is_news = |row: &InboxRow| row.questions.as_ref().is_none_or(|questions| !questions.is_empty());
        Ok(self.sessions().iter().map(row).filter(is_news).collect())
    }

    fn removed(&self, id: &str) -> Result<u64, StoreError> {
        Ok(self.removed.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied().unwrap_or_default())
    }

    fn remove(&self, id: &str) -> Result<(), StoreError> {
        self.sessions().remove(id).ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
        *self.removed.lock().unwrap_or_else(PoisonError::into_inner).entry(id.to_owned()).or_default() += 1;
        Ok(())
    }

    fn cut(&self, id: &str, from: u64, then: Vec<Record>) -> Result<(), StoreError> {
        self.with(id, |stored| {
            let mut kept = stored.clone();
            kept.records.truncate(usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX));
            kept.taken.retain(|_, seq| *seq < from);
            kept.checkpoint = kept.checkpoint.take().filter(|checkpoint| checkpoint.seq < from);
            kept.questions = kept.questions.take().filter(|(seq, _)| *seq < from);
            kept.append(id, then)?;
            *stored = kept;
            Ok(())
        })
    }
}
