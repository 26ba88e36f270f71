//! Events that are no longer in memory, read from the journal.
//!
//! Reading them replays the journal. A page asks for several parts of one history within seconds, so the latest
//! histories are remembered for a short time: then only the records that came since are replayed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::{HostError, HostShared};
use crate::events::{EventBody, EventNumber, SessionEvent};
use crate::restore::{RecordEffects, Replica, count_replayed};
use crate::spec::SessionSpec;
use crate::store::{Record, Store};

/// The limit of remembered histories.
const MOST_REMEMBERED: usize = 4;

/// Longer histories are not remembered, to limit memory.
const MOST_EVENTS: usize = 50_000;

/// How long a history is remembered after its last use.
const REMEMBERED_FOR: Duration = Duration::from_secs(30);

impl HostShared {
    /// The events of a session between two numbers, without transient ones.
    pub(crate) fn history(
        &self,
        id: &str,
        after: EventNumber,
        upto: EventNumber,
    ) -> Result<Vec<Arc<SessionEvent>>, HostError> {
        let store = self.store()?;
        let genesis = self.genesis(id)?;
        // The record itself may have more events.
        let first = after.record.saturating_sub(1);
        let place = self.histories.place(id);
        // Other callers that ask for the same history wait here, so that it is replayed once.
        let mut remembered = lock(&place);
        let is_new = remembered.is_none();
        let usable = |history: &EventHistory| history.first <= first && history.genesis == genesis;
        let mut history = match remembered.take().filter(usable).filter(|history| history.is_in(store, id)) {
            Some(history) => history,
            None => {
                let spec = super::rules::with_later_names(SessionSpec::from_genesis(genesis.clone())?);
                let connections = self.options.connector.resume(&spec, None)?;
                let factory = super::open::session_factory(id, &spec, &connections);
                EventHistory::beginning(genesis, Replica::restore(store, id, &factory, Some(first))?, first)
            }
        };
        // If this version replays the journal differently, no events are returned and nothing is remembered (DUR-12).
        history.read_on(store, id)?;
        let events = history.between(after, upto);
        if history.events.len() <= MOST_EVENTS && (!is_new || forget_later(&place)) {
            *remembered = Some(history);
        }
        Ok(events)
    }
}

/// The place of a remembered history.
type HistorySlot = Arc<Mutex<Option<EventHistory>>>;

/// The latest histories, the most recent last.
#[derive(Default)]
pub(super) struct Histories(Mutex<VecDeque<(String, HistorySlot)>>);

impl Histories {
    /// The place of a session's history, which may be empty.
    fn place(&self, id: &str) -> HistorySlot {
        let mut places = lock(&self.0);
        let known = places.iter().position(|(name, _)| name == id).and_then(|index| places.remove(index));
        let (_, place) = known.unwrap_or_default();
        places.push_back((id.to_owned(), Arc::clone(&place)));
        while places.len() > MOST_REMEMBERED {
            places.pop_front();
        }
        place
    }
}

/// Empties a place when it was not used for a while. Returns false outside of a runtime: then nothing may be
/// remembered.
fn forget_later(place: &HistorySlot) -> bool {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return false };
    let place = Arc::downgrade(place);
    runtime.spawn(async move {
        loop {
            tokio::time::sleep(REMEMBERED_FOR).await;
            let Some(place) = place.upgrade() else { return };
            // A place that cannot be locked is in use.
            let Ok(mut remembered) = place.try_lock() else { continue };
            if remembered.as_ref().is_none_or(|history| history.used.elapsed() >= REMEMBERED_FOR) {
                *remembered = None;
                return;
            }
        }
    });
    true
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The events of a session after a record, and the session after the last one.
struct EventHistory {
    /// Identifies the session: another one of the same name has another key.
    genesis: Value,
    /// The record after which it begins.
    first: u64,
    session: Replica,
    /// The last record, with its number.
    last: (u64, Option<Record>),
    events: Vec<Arc<SessionEvent>>,
    used: Instant,
}

impl EventHistory {
    fn beginning(genesis: Value, session: Replica, first: u64) -> Self {
        Self { genesis, first, session, last: (first, None), events: Vec::new(), used: Instant::now() }
    }

    /// Whether the journal still has the last record: a session may have been taken back.
    fn is_in(&self, store: &Arc<dyn Store>, id: &str) -> bool {
        let (number, Some(record)) = &self.last else { return false };
        let found = store.load(id, number - 1, Some(*number));
        found.is_ok_and(|journaled| journaled.records.first() == Some(record))
    }

    /// Adds the events of the records that came since.
    fn read_on(&mut self, store: &Arc<dyn Store>, id: &str) -> Result<(), HostError> {
        let (last, _) = self.last;
        let records = store.load(id, last, None)?.records;
        count_replayed(records.len());
        for (record, number) in records.into_iter().zip(last + 1..) {
            let RecordEffects { tasks, changes_memory, is_refused } = self.session.apply(record.clone())?;
            if !is_refused {
                let Record { at, input, .. } = &record;
                let bodies = EventBody::of(self.session.session(), *at, input, changes_memory, &tasks);
                let event = |(part, body)| {
                    let number = EventNumber { record: number, part };
                    Arc::new(SessionEvent { number, at: *at, is_transient: false, body })
                };
                self.events.extend((1..).zip(bodies).map(event));
            }
            self.last = (number, Some(record));
        }
        self.used = Instant::now();
        Ok(())
    }

    /// The events between two numbers.
    fn between(&self, after: EventNumber, upto: EventNumber) -> Vec<Arc<SessionEvent>> {
        let from = self.events.partition_point(|event| event.number <= after);
        let to = self.events.partition_point(|event| event.number <= upto);
        self.events.get(from..to).unwrap_or_default().to_vec()
    }
}
