//! Forks, exports and imports of sessions.

use std::collections::BTreeMap;

use obelus_kernel::CallJson;
use obelus_kernel::Time;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{CallId, Input, Outcome, Session};
use serde::Serialize;
use serde_json::Value;

use super::open::session_factory;
use super::{Host, HostError, HostShared, rules};
use crate::events::EventBody;
use crate::fork::{fork, given_results, paused_by, with_pause};
use crate::restore::{RestoreError, rest_before_fault, rewind_to_rest};
use crate::spec::SessionSpec;
use crate::store::{Digest, InputId, Record, StoreError};

/// An exported session.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// Its name.
    pub id: String,
    /// Its creation time.
    pub created: Time,
    /// Its spec, as stored.
    pub genesis: Value,
    /// Its journal.
    pub records: Vec<Record>,
}

impl Export {
    /// The form of its lines.
    pub const FORM: u32 = 1;

    /// It as JSON lines: a head, and a line for each record.
    pub fn to_lines(&self) -> serde_json::Result<String> {
        let Self { id, created, genesis, records } = self;
        let head = ExportHead { obelus_session: Self::FORM, id, created: *created, records: records.len(), genesis };
        let mut text = serde_json::to_string(&head)? + "\n";
        for (seq, Record { at, input, id, digest }) in (1_u64..).zip(records) {
            text += &serde_json::to_string(&ExportLine { seq, at: *at, input, id, digest })?;
            text.push('\n');
        }
        Ok(text)
    }
}

/// The first line of an export.
#[derive(Serialize)]
struct ExportHead<'a> {
    obelus_session: u32,
    id: &'a str,
    created: Time,
    records: usize,
    genesis: &'a Value,
}

/// Each line after it.
#[derive(Serialize)]
struct ExportLine<'a> {
    seq: u64,
    at: Time,
    input: &'a Input,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: &'a Option<InputId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: &'a Option<Digest>,
}

/// A session that began where another one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forked {
    /// The record of the original after which it begins.
    pub at: u64,
    /// Whether the fork is paused: the original was within a turn there, or is paused.
    pub is_paused: bool,
}

/// The forecast of a fork: what it would do with each call of the original.
#[derive(Clone, Debug, Default)]
pub struct ForkForecast {
    /// The record after which it would begin.
    pub at: u64,
    /// The number of records of the original.
    pub records: u64,
    /// Whether it would be paused.
    pub is_paused: bool,
    /// Calls that had ended: not repeated.
    pub done: Vec<ForkedCall>,
    /// Running calls whose outcome the original knows: taken over.
    pub known: Vec<ForkedCall>,
    /// Running calls that are harmless: repeated.
    pub again: Vec<ForkedCall>,
    /// Running calls with unknown outcome: a person is asked.
    pub in_doubt: Vec<ForkedCall>,
    /// Calls that the original began later. Their effects remain; the fork does not know of them.
    pub later: Vec<ForkedCall>,
}

/// A call in a fork's forecast.
#[derive(Clone, Debug)]
pub struct ForkedCall {
    /// Its id.
    pub id: CallId,
    /// The record with which it began.
    pub record: u64,
    /// Its time.
    pub at: Time,
    /// The call.
    pub call: CallJson,
    /// Its outcome, if it has ended.
    pub outcome: Option<Outcome>,
}

impl Host {
    /// The forecast of a fork at a record: which calls it would repeat (DUR-6). Nothing is created.
    pub fn fork_forecast(&self, id: &str, at: Option<u64>) -> Result<ForkForecast, HostError> {
        let records = self.inner.whole_journal(id)?;
        let count = records.len() as u64;
        let at = at.unwrap_or(count);
        if at > count {
            return Err(HostError::NoRecord { session: id.to_owned(), records: count, at });
        }
        let session = self.view(id, Some(at))?;
        let mut forecast = ForkForecast { at, records: count, ..ForkForecast::default() };
        let mut all: BTreeMap<CallId, (ForkedCall, Option<u64>)> = BTreeMap::new();
        for event in self.history(id)? {
            match &event.body {
                EventBody::CallBegan { id, call, .. } => {
                    let call = call.clone();
                    let record = event.number.record;
                    all.entry(id.clone())
                        .or_insert((ForkedCall { id: id.clone(), record, at: event.at, call, outcome: None }, None));
                }
                EventBody::CallEnded { id, outcome } => {
                    if let Some((call, ended)) = all.get_mut(id) {
                        call.outcome = Some(outcome.clone());
                        *ended = Some(event.number.record);
                    }
                }
                _ => {}
            }
        }
        let mut calls: Vec<_> = all.into_values().collect();
        calls.sort_by_key(|(call, _)| call.record);
        for (call, ended) in calls {
            let tool = call.call.tool().and_then(|name| session.context().tool(name));
            let place = match ended {
                _ if call.record > at => &mut forecast.later,
                Some(ended) if ended <= at => &mut forecast.done,
                Some(_) if !matches!(call.outcome, Some(Outcome::Lost { .. })) => &mut forecast.known,
                _ if tool.is_some_and(|tool| tool.idempotent) => &mut forecast.again,
                _ => &mut forecast.in_doubt,
            };
            place.push(call);
        }
        let is_open = !(forecast.known.is_empty() && forecast.again.is_empty() && forecast.in_doubt.is_empty());
        forecast.is_paused = is_open || !session.is_at_rest() || paused_by(&records).is_some();
        Ok(forecast)
    }

    /// Exports a session.
    pub fn export(&self, id: &str) -> Result<Export, HostError> {
        self.exported(id, self.inner.whole_journal(id)?)
    }

    /// Exports what can be read of a session whose end is damaged, or the whole of another one.
    pub fn export_readable(&self, id: &str) -> Result<Export, HostError> {
        let records = self.inner.store()?.load(id, 0, None)?.records;
        self.exported(id, records)
    }

    fn exported(&self, id: &str, records: Vec<Record>) -> Result<Export, HostError> {
        let genesis = self.inner.genesis(id)?;
        let rows = self.inner.store()?.list()?;
        let created = rows.into_iter().find(|row| row.id == id).map(|row| row.created).unwrap_or_default();
        Ok(Export { id: id.to_owned(), created, genesis, records })
    }

    /// Imports a session under this name; returns the number of its records. Under another name it is a copy, which
    /// does not repeat what the original had begun.
    ///
    /// An export names programs and addresses, and may come from anybody: with `is_paused` nothing of the session starts
    /// until a person resumes it.
    pub fn import(&self, id: &str, export: Export, is_paused: bool) -> Result<u64, HostError> {
        let by = SentBy::ImportOf(&format!("`{}`", export.id)).to_string();
        let (genesis, mut records) = if id == export.id {
            self.inner.new_session(id, &export.genesis)?;
            (export.genesis, export.records)
        } else {
            let genesis = self.inner.genesis_of_copy(id, export.genesis)?;
            let session = self.inner.new_session(id, &genesis)?;
            (genesis, fork(session, id, export.records, &[], &BTreeMap::new(), &by)?)
        };
        if is_paused {
            records = with_pause(self.inner.new_session(id, &genesis)?, id, records, &by)?;
        }
        let count = records.len() as u64;
        self.inner.store()?.create(id, export.created, &genesis, records)?;
        self.inner.notify_created(id);
        Ok(count)
    }

    /// Forks a session after a record, or as it is now (DUR-6). The fork of a paused session is paused too, wherever it
    /// begins: otherwise it would start what the pause holds back.
    pub fn fork(&self, id: &str, new: &str, at: Option<u64>) -> Result<Forked, HostError> {
        let store = self.inner.store()?;
        let genesis = self.inner.genesis(id)?;
        let mut before = self.inner.whole_journal(id)?;
        let records = before.len() as u64;
        let at = at.unwrap_or(records);
        if at > records {
            return Err(HostError::NoRecord { session: id.to_owned(), records, at });
        }
        let paused = paused_by(&before);
        let genesis = self.inner.genesis_of_copy(new, genesis)?;
        let after = before.split_off(usize::try_from(at).unwrap_or(usize::MAX));
        let given = self.view(id, None).map(|original| given_results(&original, &after)).unwrap_or_default();
        let session = self.inner.new_session(new, &genesis);
        let session = session.map_err(|error| RestoreError::SessionFactory(id.to_owned(), error.to_string()))?;
        let by = paused.clone().unwrap_or_else(|| SentBy::ForkOf { session: id, at }.to_string());
        let mut journal = fork(session, new, before, &after, &given, &by)?;
        // The fork may begin at an earlier pause, by somebody else.
        if paused.is_some() && paused_by(&journal) != paused {
            journal = with_pause(self.inner.new_session(new, &genesis)?, new, journal, &by)?;
        }
        let is_paused = paused_by(&journal).is_some();
        store.create(new, (self.inner.options.clock)(), &genesis, journal)?;
        self.inner.notify_created(new);
        Ok(Forked { at, is_paused })
    }

    /// The last rest of a session that cannot be restored: a later record is damaged (DUR-14), or this version replays
    /// it differently (DUR-12).
    pub fn rest_before_fault(&self, id: &str) -> Result<Option<u64>, HostError> {
        let (spec, connections) = self.inner.stored_parts(id)?;
        Ok(rest_before_fault(self.inner.store()?, id, &session_factory(id, &spec, &connections))?)
    }

    /// Takes a session that cannot be restored back to its last rest; returns the record of that rest. A paused session
    /// stays paused, as does one whose end cannot be read. Any other session is unchanged.
    pub async fn rewind_to_rest(&self, id: &str) -> Result<Option<u64>, HostError> {
        self.passivate(id).await;
        let store = self.inner.store()?;
        let (spec, connections) = self.inner.stored_parts(id)?;
        let _lock = store.lock(id)?;
        Ok(rewind_to_rest(store, id, &session_factory(id, &spec, &connections))?)
    }

    /// Removes a session and all its data.
    pub async fn remove(&self, id: &str) -> Result<(), HostError> {
        self.passivate(id).await;
        self.inner.store()?.remove(id)?;
        self.inner.notify_removed(id);
        Ok(())
    }
}

impl HostShared {
    /// The genesis of a copy, with a new key.
    fn genesis_of_copy(&self, id: &str, genesis: Value) -> Result<Value, HostError> {
        if self.store()?.removed(id)? > 0 {
            return Err(StoreError::NameUsed(id.to_owned()).into());
        }
        Ok(SessionSpec::with_key(genesis, (self.options.draw_key)()))
    }

    /// A session before its first input.
    fn new_session(&self, id: &str, genesis: &Value) -> Result<Session, HostError> {
        let spec = rules::with_later_names(SessionSpec::from_genesis(genesis.clone())?);
        let connections = self.options.connector.resume(&spec, None)?;
        Ok(spec.session(id, &connections.activities)?)
    }

    /// A whole journal. A damaged end is an error.
    fn whole_journal(&self, id: &str) -> Result<Vec<Record>, HostError> {
        Ok(self.store()?.load(id, 0, None)?.undamaged(id)?)
    }
}
