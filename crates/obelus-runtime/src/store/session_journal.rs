//! The journal of one session in a store, for its driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use obelus_kernel::Time;
use obelus_kernel::session::Input;

use super::{Record, Rest, SqliteStore, Store};
use crate::driver::{Durable, Journal};

/// The journal of one session in a store.
pub struct SessionJournal {
    store: SqliteStore,
    id: String,
    /// The last record; shared with what is still being written.
    last: Arc<AtomicU64>,
}

/// The number of the last record is not known yet.
const UNKNOWN: u64 = u64::MAX;

impl SessionJournal {
    /// The journal of a session that exists.
    pub fn new(store: SqliteStore, id: impl Into<String>) -> Self {
        let id = id.into();
        let last = store.records(&id).unwrap_or(UNKNOWN);
        Self { store, id, last: Arc::new(AtomicU64::new(last)) }
    }
}

impl Journal for SessionJournal {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Durable {
        let records = inputs.iter().map(|(at, input)| Record::new(*at, input.clone())).collect();
        let last = Arc::clone(&self.last);
        let appended = self.store.append(&self.id, last.load(Ordering::Acquire), records);
        Box::pin(async move {
            let seq = appended.await.map_err(|error| error.to_string())?;
            last.store(seq, Ordering::Release);
            Ok(())
        })
    }

    fn wants_snapshot(&self) -> bool {
        true
    }

    fn keep_snapshot(&mut self, state: String) {
        let rest = Rest { checkpoint: Some(state), questions: Vec::new() };
        self.store.keep_rest(&self.id, self.last.load(Ordering::Acquire), rest);
    }
}
