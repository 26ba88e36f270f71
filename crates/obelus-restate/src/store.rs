//! The store of a host in front of a cluster: sessions are read by queries and changed by workers.

use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::Refused;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_runtime::engine::{
    AppendError, CheckpointData, Durable, Journaled, Record, SessionLock, Snapshot, WorkerInput, Workers,
    WorkersFuture, check_name,
};
use obelus_runtime::sessions::{InboxRow, InputId, SessionRow};
use obelus_runtime::{Store, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::{Cluster, ClusterError};
use crate::wire::{
    Answered, Checksum, Creation, Envelope, FORM, ImportPart, LATER_FORM, SESSION, SentParts, SessionHead,
    StoredCheckpoint, StoredRecord, TakenInput, key,
};

/// Sessions in a Restate cluster. It is the [`Store`] of a host, and its [`Workers`].
#[derive(Clone)]
pub struct RestateStore {
    cluster: Cluster,
    /// Whether it asks the object of a session before it says that there is none.
    pub(crate) asks_objects: bool,
}

/// The highest record number.
const MOST: u64 = 999_999_999_999;

/// The size of one part of an import, and the largest record. Restate takes messages of at most 32 MiB.
const PART: usize = 8 << 20;
const LARGEST: usize = 24 << 20;

/// Rows of a session's state, by key.
type StateRows = BTreeMap<String, String>;

impl RestateStore {
    /// The sessions of this cluster.
    pub fn new(cluster: Cluster) -> Self {
        Self { cluster, asks_objects: true }
    }

    /// The store of a worker, which does not ask objects.
    pub(crate) fn of_worker(cluster: Cluster) -> Self {
        Self { cluster, asks_objects: false }
    }

    /// The store, for a host.
    pub fn shared(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    /// The workers, for a host.
    pub fn workers(&self) -> Arc<dyn Workers> {
        Arc::new(self.clone())
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The rows of a session's state that match a condition.
    async fn rows(&self, session: &str, condition: &str) -> Result<StateRows, StoreError> {
        check_name(session)?;
        let sql = format!(
            "select key, value_utf8 from state where service_name = '{SESSION}' and service_key = '{session}' and {condition}"
        );
        let rows = self.cluster.query(sql).await?;
        Ok(rows.into_iter().filter_map(|row| Some((text(&row, "key")?, text(&row, "value_utf8")?))).collect())
    }

    /// The values of one key in all sessions.
    async fn all(&self, key: &str) -> Result<Vec<(String, String)>, StoreError> {
        let sql =
            format!("select service_key, value_utf8 from state where service_name = '{SESSION}' and key = '{key}'");
        let rows = self.cluster.query(sql).await?;
        Ok(rows.into_iter().filter_map(|row| Some((text(&row, "service_key")?, text(&row, "value_utf8")?))).collect())
    }

    pub(crate) async fn value<T: DeserializeOwned>(&self, session: &str, key: &str) -> Result<Option<T>, StoreError> {
        let mut rows = self.rows(session, &format!("key = '{}'", key.replace('\'', "''"))).await?;
        rows.remove(key).map(|text| parsed(session, 0, &text)).transpose()
    }

    /// The head of a session; none if there is no such session.
    pub(crate) async fn head(&self, session: &str) -> Result<Option<SessionHead>, StoreError> {
        let head: Option<SessionHead> = self.value(session, key::HEAD).await?;
        match head {
            Some(head) if head.form > FORM => Err(damaged(session, 0, LATER_FORM)),
            head => Ok(head),
        }
    }

    /// The stored records after one, up to and including another. Their sums are checked.
    pub(crate) async fn stored_records(
        &self,
        session: &str,
        after: u64,
        upto: u64,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        // The record before has the sum from which the first one continues.
        let range = format!("key >= '{}' and key <= '{}'", key::record(after.max(1)), key::record(upto.min(MOST)));
        let rows = self.rows(session, &range).await?;
        let mut sum = Checksum::default();
        let mut all = Vec::with_capacity(rows.len());
        for (seq, (name, text)) in (after.max(1)..).zip(rows) {
            let stored: StoredRecord = parsed(session, seq, &text)?;
            if name != key::record(seq) {
                return Err(damaged(session, seq, "a record is missing"));
            }
            if seq == after {
                sum = stored.sum;
                continue;
            }
            if !stored.fits(&sum) {
                return Err(damaged(session, seq, "its sum does not match"));
            }
            sum = stored.sum.clone();
            all.push(stored);
        }
        Ok(all)
    }

    /// The sum of the records up to one.
    pub(crate) async fn sum_at(&self, session: &str, seq: u64) -> Result<Checksum, StoreError> {
        let stored: Option<StoredRecord> = self.value(session, &key::record(seq)).await?;
        stored.map(|stored| stored.sum).ok_or_else(|| damaged(session, seq, "the record is missing"))
    }

    async fn loaded(&self, session: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError> {
        let head = self.known_head(session).await?;
        // Handlers write the record first: records beyond the head are not durable yet.
        let upto = upto.unwrap_or(head.seq).min(head.seq);
        let stored = if after < upto { self.stored_records(session, after, upto).await? } else { Vec::new() };
        if (stored.len() as u64) < upto.saturating_sub(after) {
            return Err(damaged(session, after + stored.len() as u64 + 1, "the record is missing"));
        }
        Ok(Journaled { after, records: records_of(session, after, &stored)?, cut: None })
    }

    /// Runs a request on a blocking thread.
    fn wait<T, F>(&self, work: impl FnOnce(Self) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.cluster.wait(work(self.clone()))?
    }

    /// Calls a handler of a session; returns the number of its latest record.
    fn change<A>(&self, session: &str, handler: &'static str, argument: A) -> Result<u64, StoreError>
    where
        A: Serialize + Send + Sync + 'static,
    {
        check_name(session)?;
        let id = session.to_owned();
        let answered =
            self.wait(|store| async move { Ok(store.cluster.call::<Answered>(&id, handler, &argument).await?) });
        match answered? {
            Answered::Taken(seq) => Ok(seq),
            Answered::Unknown => Err(StoreError::Unknown(session.to_owned())),
            Answered::Exists => Err(StoreError::Exists(session.to_owned())),
            Answered::Refused(Refused { code: RefusalCode::Unreadable, text, .. }) if handler == "create" => {
                let hint = "its agents must be at the same paths as here, or below its --agents";
                Err(StoreError::NotWritten(format!("on a worker: {text} ({hint})")))
            }
            Answered::Refused(Refused { text, .. }) => Err(StoreError::NotWritten(text)),
        }
    }
}

impl Store for RestateStore {
    fn create(&self, id: &str, at: Time, genesis: &Value, records: Vec<Record>) -> Result<(), StoreError> {
        let unwritable =
            |error: serde_json::Error| StoreError::Unwritable { session: id.to_owned(), problem: error.to_string() };
        let mut sum = Checksum::default();
        let mut parts = ImportParts::default();
        let begun = genesis.to_string().len();
        check_size(id, 0, begun)?;
        for (seq, record) in (1..).zip(&records) {
            let next = StoredRecord::after(&sum, record).map_err(unwritable)?;
            check_size(id, seq, next.record.get().len())?;
            sum = next.sum.clone();
            parts.add(next);
        }
        parts.make_room(begun);
        let import = uuid::Uuid::now_v7().simple().to_string();
        let sent = SentParts { import: import.clone(), count: parts.full.len() as u64 };
        for (number, records) in (0..).zip(parts.full) {
            self.change(id, "part", ImportPart { import: import.clone(), number, records })?;
        }
        let parts_sent = Some(sent).filter(|sent| sent.count > 0);
        let creation = Creation { at, genesis: genesis.clone(), records: parts.last, parts: parts_sent };
        self.change(id, "create", creation).map(drop)
    }

    fn genesis(&self, id: &str) -> Result<Option<Value>, StoreError> {
        // Even for an invalid name the store is asked, to see whether it answers.
        let id = id.to_owned();
        self.wait(|store| async move {
            let mut rows = store.rows(&id, &format!("key in ('{}', '{}')", key::HEAD, key::GENESIS)).await?;
            let (Some(head), Some(genesis)) = (rows.remove(key::HEAD), rows.remove(key::GENESIS)) else {
                return Ok(None);
            };
            let head: SessionHead = parsed(&id, 0, &head)?;
            if Checksum::of(&genesis) == head.genesis {
                parsed(&id, 0, &genesis).map(Some)
            } else {
                Err(damaged(&id, 0, "the sum of what it was begun with does not match"))
            }
        })
    }

    /// The object of a session has one writer at a time.
    fn lock(&self, _: &str) -> Result<SessionLock, StoreError> {
        Ok(SessionLock::new(|| ()))
    }

    fn append(&self, _: &str, _: u64, _: Vec<Record>) -> Durable {
        let why = "the workers write the journals of this store".to_owned();
        Box::pin(std::future::ready(Err(AppendError::NotDurable(why))))
    }

    fn load(&self, id: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError> {
        let id = id.to_owned();
        self.wait(|store| async move { store.loaded(&id, after, upto).await })
    }

    fn taken(&self, id: &str, input: &InputId) -> Result<Option<u64>, StoreError> {
        let (id, input) = (id.to_owned(), key::input(input.as_str()));
        let taken = self.wait(|store| async move { store.value::<TakenInput>(&id, &input).await });
        Ok(taken?.map(|taken| taken.seq))
    }

    fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, StoreError> {
        let id = id.to_owned();
        let rest = self.wait(|store| async move { store.value::<StoredCheckpoint>(&id, key::REST).await });
        Ok(rest?.map(|StoredCheckpoint { seq, state }| Snapshot { seq, state }))
    }

    /// Workers checkpoint by themselves.
    fn store_checkpoint(&self, _: &str, _: u64, _: CheckpointData) {}

    fn list(&self) -> Result<Vec<SessionRow>, StoreError> {
        let heads = self.wait(|store| async move { store.all(key::HEAD).await })?;
        let row = |(id, text): (String, String)| {
            let head: SessionHead = serde_json::from_str(&text).ok()?;
            Some(SessionRow { id, created: head.created, records: head.seq, last_at: head.last_at })
        };
        let mut rows: Vec<SessionRow> = heads.into_iter().filter_map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.created));
        Ok(rows)
    }

    fn inbox(&self) -> Result<Vec<InboxRow>, StoreError> {
        let all = self.wait(|store| async move { store.all(key::INBOX).await })?;
        let row = |(session, text): (String, String)| {
            let questions = serde_json::from_str(&text).ok();
            InboxRow { session, questions }
        };
        Ok(all.into_iter().map(row).collect())
    }

    fn removed(&self, id: &str) -> Result<u64, StoreError> {
        let id = id.to_owned();
        let removed = self.wait(|store| async move { store.value::<u64>(&id, key::REMOVED).await });
        Ok(removed?.unwrap_or_default())
    }

    fn remove(&self, id: &str) -> Result<(), StoreError> {
        self.change(id, "remove", json!(null)).map(drop)
    }

    fn cut(&self, id: &str, from: u64, then: Vec<Record>) -> Result<(), StoreError> {
        // Workers cannot do both in one step. No command needs it: only sessions of a local store are taken back.
        if !then.is_empty() {
            return Err(StoreError::NotWritten("the end of a session of a cluster cannot be replaced".to_owned()));
        }
        self.change(id, "cut", json!(from)).map(drop)
    }
}

impl Workers for RestateStore {
    fn send_input<'a>(&'a self, session: &'a str, input: WorkerInput) -> WorkersFuture<'a, Result<u64, Refused>> {
        let WorkerInput { input, id, at } = input;
        Box::pin(async move {
            let envelope = Envelope { at, inputs: vec![input], id, of: None };
            let answered: Result<Answered, _> = self.cluster.call(session, "input", &envelope).await;
            answered.map_err(refusal)?.taken(session)
        })
    }

    fn news<'a>(&'a self, session: &'a str, after: u64) -> WorkersFuture<'a, Result<(Vec<Record>, u64), StoreError>> {
        Box::pin(async move {
            // Usually nothing is new, which one query shows.
            let head = self.head_since(session, after).await?;
            if head.seq <= after {
                return Ok((Vec::new(), head.seq));
            }
            let stored = self.stored_records(session, after, head.seq).await?;
            Ok((records_of(session, after, &stored)?, head.seq))
        })
    }
}

/// Records of an import, divided into messages.
#[derive(Default)]
struct ImportParts {
    full: Vec<Vec<StoredRecord>>,
    last: Vec<StoredRecord>,
    /// The size of the last part.
    size: usize,
}

impl ImportParts {
    fn add(&mut self, record: StoredRecord) {
        let size = record.record.get().len();
        self.make_room(size);
        self.size += size;
        self.last.push(record);
    }

    /// Begins another part if this does not fit into the last one.
    fn make_room(&mut self, size: usize) {
        if self.size + size > PART && !self.last.is_empty() {
            self.full.push(std::mem::take(&mut self.last));
            self.size = 0;
        }
    }
}

/// Refuses what does not fit into a message.
fn check_size(session: &str, seq: u64, bytes: usize) -> Result<(), StoreError> {
    if bytes > LARGEST {
        let megabytes = [bytes, LARGEST].map(|bytes| bytes >> 20);
        Err(StoreError::TooLarge { session: session.to_owned(), seq, megabytes })
    } else {
        Ok(())
    }
}

/// The refusal for an error; it says whether the input may have been taken.
fn refusal(error: ClusterError) -> Refused {
    let code = match &error {
        // The request may have arrived, and only its answer was lost.
        ClusterError::NoAnswer(..) | ClusterError::Unreadable(_) => RefusalCode::OutcomeUnknown,
        _ => RefusalCode::Unreachable,
    };
    Refused::new(code, error.to_string())
}

pub(crate) fn records_of(session: &str, after: u64, stored: &[StoredRecord]) -> Result<Vec<Record>, StoreError> {
    let read = |(seq, stored): (u64, &StoredRecord)| {
        stored.record().map_err(|error| damaged(session, seq, &error.to_string()))
    };
    (after + 1..).zip(stored).map(read).collect()
}

fn text(row: &serde_json::Map<String, Value>, column: &str) -> Option<String> {
    row.get(column)?.as_str().map(str::to_owned)
}

fn parsed<T: DeserializeOwned>(session: &str, seq: u64, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged(session, seq, &error.to_string()))
}

fn damaged(session: &str, seq: u64, problem: &str) -> StoreError {
    StoreError::Damaged { session: session.to_owned(), seq, problem: problem.to_owned() }
}
