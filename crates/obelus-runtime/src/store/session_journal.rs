//! The journal of one session in a store, for whoever drives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use tokio::sync::oneshot;

use super::journal::{self, Record};
use super::writer::On;
use super::{Store, records, snapshot};
use crate::driver::{Durable, Journal};

/// The journal of one session in a store.
pub struct SessionJournal {
    store: Store,
    id: Arc<str>,
    /// The last record that this writer knows of; shared with what is still being written.
    last: Arc<Last>,
    /// Records since the latest snapshot, and their bytes.
    since: (u64, usize),
    /// The bytes of the latest snapshot.
    snapshot: usize,
}

/// The number of a record, once it is known.
struct Last(AtomicU64);

impl Last {
    const UNKNOWN: u64 = u64::MAX;

    fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Acquire)).filter(|last| *last != Self::UNKNOWN)
    }

    fn set(&self, last: u64) {
        self.0.store(last, Ordering::Release);
    }
}

/// A session is kept anew after so many records, which are read again in some milliseconds, and not before they take
/// twice as much room as what is kept: so keeping a session adds half to what is written at most, and taking it up
/// costs three times what its snapshot alone would at most.
const RECORDS_PER_SNAPSHOT: u64 = 1024;

impl SessionJournal {
    /// The journal of a session that exists.
    pub fn new(store: Store, id: impl Into<String>) -> Self {
        store.inner.journals.fetch_add(1, Ordering::Relaxed);
        let last = Arc::new(Last(AtomicU64::new(Last::UNKNOWN)));
        Self { store, id: Arc::from(id.into()), last, since: (0, 0), snapshot: 0 }
    }

    /// The same, known to have so many records, so many of them since the latest snapshot.
    #[must_use]
    pub fn after(mut self, records: u64, since: u64) -> Self {
        self.last.set(records);
        self.since.0 = since;
        self
    }
}

impl Drop for SessionJournal {
    fn drop(&mut self) {
        self.store.inner.journals.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Journal for SessionJournal {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Durable {
        let records = match records(&self.id, inputs) {
            Ok(records) => records,
            Err(error) => return Box::pin(std::future::ready(Err(error.to_string()))),
        };
        let bytes = records.iter().map(Record::bytes).sum();
        self.since.0 += records.len() as u64;
        self.since.1 += bytes;
        let (sender, mut receiver) = oneshot::channel();
        let (id, last, after) = (Arc::clone(&self.id), Arc::clone(&self.last), self.last.get());
        self.store.write(
            On::CallersAfter(self.store.inner.journals.load(Ordering::Relaxed)),
            bytes,
            move |conn| journal::append(conn, &id, after, &records),
            move |outcome| {
                let outcome = outcome.map(|seq| last.set(seq)).map_err(|error| error.to_string());
                let _ = sender.send(outcome);
            },
        );
        // It may be durable already.
        if let Ok(outcome) = receiver.try_recv() {
            return Box::pin(std::future::ready(outcome));
        }
        Box::pin(async move { receiver.await.unwrap_or_else(|_| Err("the store's writer has ended".to_owned())) })
    }

    fn wants_snapshot(&self) -> bool {
        self.since.0 >= RECORDS_PER_SNAPSHOT && (self.since.1 == 0 || self.since.1 >= 2 * self.snapshot)
    }

    fn keep_snapshot(&mut self, state: String) {
        let Some(seq) = self.last.get() else { return };
        let id = Arc::clone(&self.id);
        self.since = (0, 0);
        self.snapshot = state.len();
        // Nobody waits for it: without it the session is taken up from the one before.
        self.store.write(On::Writers, self.snapshot, move |conn| snapshot::keep(conn, &id, seq, &state), drop);
    }
}
