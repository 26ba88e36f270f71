//! Sessions on disk: an SQLite file with a journal for each.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `lock` | one process at a time |
//! | `schema` | the tables and their form |
//! | `writer` | the thread that writes for all sessions |
//! | `journal` | records, written and read |
//! | `snapshot` | sessions at rest as they are kept |

mod journal;
mod lock;
mod schema;
mod snapshot;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::driver::{Journal, Kept};
use journal::Record;
pub use journal::{Cut, Journaled};
pub use snapshot::Snapshot;
use writer::Writer;

/// Journals of sessions.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    /// Reads go their own way, and never wait for a sync.
    reader: Mutex<Connection>,
    /// None where the store is only looked at.
    writer: Option<Writer>,
    folder: PathBuf,
    /// Holds the lock as long as the store is open; after the writer, which must be done first.
    _lock: Option<File>,
}

/// Why a store cannot be used, or something in it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error("{folder}: the store is in use by {holder}; end it first, or answer there")]
    Held {
        /// The store's folder.
        folder: PathBuf,
        /// Who has it.
        holder: String,
    },
    /// It was written by a later version.
    #[error(
        "{folder}: the store is of form {found}, and this version knows forms up to {}: use a newer obelus",
        schema::FORM
    )]
    Newer {
        /// The store's folder.
        folder: PathBuf,
        /// Its form.
        found: i64,
    },
    /// It was written by an earlier version, and can be looked at once somebody has opened it to write.
    #[error(
        "{folder}: the store is of the older form {found}: run a session in it once to bring it to form {}",
        schema::FORM
    )]
    Older {
        /// The store's folder.
        folder: PathBuf,
        /// Its form.
        found: i64,
    },
    /// A session of that name exists.
    #[error("there is a session `{0}` already")]
    Exists(String),
    /// There is no session of that name.
    #[error("there is no session `{0}`")]
    Unknown(String),
    /// A record cannot be read: that session is refused, the others are served.
    #[error("session `{session}`, record {seq}: {problem}")]
    Damaged {
        /// The session.
        session: String,
        /// The record's number.
        seq: i64,
        /// What is wrong with it.
        problem: String,
    },
    /// An input has no written form.
    #[error("session `{session}`: an input cannot be written down: {problem}")]
    Unwritable {
        /// The session.
        session: String,
        /// Why.
        problem: String,
    },
    /// Somebody else has written to the session meanwhile.
    #[error(
        "session `{session}`: its journal has {found} records, and not {after}: somebody else writes it; take it up again"
    )]
    MovedOn {
        /// The session.
        session: String,
        /// The last record that the writer knew of.
        after: u64,
        /// The last record there is.
        found: u64,
    },
    /// A name that is no name.
    #[error("`{0}` is no name for a session: letters, digits, `-` and `_`, at most 64")]
    BadName(String),
    /// The disk said no: full, read-only, or broken. Nothing was written.
    #[error("the store cannot be written or read: {0}")]
    Disk(#[from] rusqlite::Error),
    /// The same, told to all that waited for one commit.
    #[error("nothing was written: {0}")]
    NotWritten(String),
    /// It was opened to look only.
    #[error("{0}: the store was opened to look at it only")]
    OnlyLooking(PathBuf),
    /// The folder cannot be used.
    #[error("{0}: {1}")]
    Folder(PathBuf, std::io::Error),
}

/// One session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its name.
    pub id: String,
    /// When it began.
    pub created: Time,
    /// How many records its journal has.
    pub records: u64,
}

impl Store {
    /// Opens the store in a folder, which is made if it is not there.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let lock = lock::take(folder)?;
        let connection = schema::open(folder)?;
        let reader = Mutex::new(schema::look(folder)?);
        let at = |error| StoreError::Folder(folder.to_owned(), error);
        let writer = Some(Writer::start(connection, folder.to_owned()).map_err(at)?);
        Ok(Self { inner: Arc::new(Inner { reader, writer, folder: folder.to_owned(), _lock: Some(lock) }) })
    }

    /// Opens a store to look at it only, beside whoever holds it.
    pub fn look(folder: &Path) -> Result<Self, StoreError> {
        if !schema::exists(folder) {
            let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no store here");
            return Err(StoreError::Folder(folder.to_owned(), missing));
        }
        let reader = Mutex::new(schema::look(folder)?);
        Ok(Self { inner: Arc::new(Inner { reader, writer: None, folder: folder.to_owned(), _lock: None }) })
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        // A panic elsewhere leaves nothing half done: this connection only reads.
        self.inner.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Has something written, and tells when it is durable.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        tell: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        let Some(writer) = &self.inner.writer else {
            return tell(Err(StoreError::OnlyLooking(self.inner.folder.clone())));
        };
        let made = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&made);
        let keep = move |value| *slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(value);
        writer.order(
            move |connection| work(connection).map(keep),
            move |outcome| {
                let made = made.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
                let nothing = || StoreError::NotWritten("the store's writer has ended".to_owned());
                tell(outcome.and_then(|()| made.ok_or_else(nothing)));
            },
        );
    }

    /// The same, and waits for it.
    fn write_now<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = mpsc::channel();
        self.write(work, move |outcome| drop(sender.send(outcome)));
        receiver.recv().unwrap_or_else(|_| Err(StoreError::NotWritten("the store's writer has ended".to_owned())))
    }

    /// Begins a session: what it was begun with is its first record.
    pub fn create(&self, id: &str, at: Time, genesis: &Value) -> Result<(), StoreError> {
        check_name(id)?;
        let (id, genesis) = (id.to_owned(), genesis.to_string());
        self.write_now(move |connection| begin(connection, &id, at, &genesis))
    }

    /// What a session was begun with.
    pub fn genesis(&self, id: &str) -> Result<Option<Value>, StoreError> {
        let found: Option<String> =
            self.reader().query_row("SELECT genesis FROM session WHERE id = ?1", [id], |row| row.get(0)).optional()?;
        let damaged = |error: serde_json::Error| StoreError::Damaged {
            session: id.to_owned(),
            seq: 0,
            problem: error.to_string(),
        };
        found.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()
    }

    /// Appends inputs to a session's journal, all or none. They are durable when this returns.
    pub fn append(&self, id: &str, inputs: &[(Time, Input)]) -> Result<(), StoreError> {
        let records = records(id, inputs)?;
        let id = id.to_owned();
        self.write_now(move |connection| journal::append(connection, &id, None, &records)).map(drop)
    }

    /// A session's journal, oldest first. A damaged end is an error here; [`Store::read_journal`] leaves it out.
    pub fn journal(&self, id: &str) -> Result<Vec<(Time, Input)>, StoreError> {
        let Journaled { inputs, cut } = self.read_journal(id, 0, None)?;
        match cut {
            None => Ok(inputs),
            Some(Cut { seq, problem, .. }) => {
                let seq = i64::try_from(seq).unwrap_or(i64::MAX);
                Err(StoreError::Damaged { session: id.to_owned(), seq, problem })
            }
        }
    }

    /// The records of a session after one and up to another. A damaged end is left out and said; damage in the
    /// middle is an error.
    pub fn read_journal(&self, id: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError> {
        journal::read(&self.reader(), id, after, upto)
    }

    /// What a session was last told to do: to start, to run its plan, or words of the user.
    pub fn last_word(&self, id: &str) -> Result<Option<Input>, StoreError> {
        journal::last_word(&self.reader(), id)
    }

    /// Begins a session that has a journal already: all of it, or nothing.
    pub fn adopt(&self, id: &str, at: Time, genesis: &Value, inputs: &[(Time, Input)]) -> Result<(), StoreError> {
        check_name(id)?;
        let records = records(id, inputs)?;
        let (id, genesis) = (id.to_owned(), genesis.to_string());
        self.write_now(move |connection| {
            begin(connection, &id, at, &genesis)?;
            journal::append(connection, &id, Some(0), &records).map(drop)
        })
    }

    /// How many records a session's journal has.
    pub fn records(&self, id: &str) -> Result<u64, StoreError> {
        let connection = self.reader();
        let last = journal::last(&connection, journal::number(&connection, id)?)?;
        Ok(u64::try_from(last).unwrap_or_default())
    }

    /// When the last record of a session came; none while it has none.
    pub fn last_at(&self, id: &str) -> Result<Option<Time>, StoreError> {
        let connection = self.reader();
        let number = journal::number(&connection, id)?;
        let found = connection
            .prepare_cached("SELECT at FROM record WHERE session = ?1 ORDER BY seq DESC LIMIT 1")?
            .query_row([number], |row| row.get(0))
            .optional()?;
        Ok(found.map(Time))
    }

    /// Takes the damaged end of a journal away, so that the session can go on from before it.
    pub fn cut(&self, id: &str, from: u64) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write_now(move |connection| journal::cut(connection, &id, from))
    }

    /// Every session, newest first.
    pub fn list(&self) -> Result<Vec<SessionRow>, StoreError> {
        let connection = self.reader();
        let mut select = connection.prepare(
            "SELECT id, created, (SELECT coalesce(max(seq), 0) FROM record WHERE session = number)
             FROM session ORDER BY number DESC",
        )?;
        let rows = select.query_map([], |row| {
            let records: i64 = row.get(2)?;
            Ok(SessionRow { id: row.get(0)?, created: Time(row.get(1)?), records: u64::try_from(records).unwrap_or(0) })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Removes a session and its journal, and the files that were kept for people.
    pub fn remove(&self, id: &str) -> Result<(), StoreError> {
        let name = id.to_owned();
        self.write_now(move |connection| {
            let number = journal::number(connection, &name)?;
            for table in ["record", "snapshot"] {
                connection.execute(&format!("DELETE FROM {table} WHERE session = ?1"), [number])?;
            }
            connection.execute("DELETE FROM session WHERE number = ?1", [number])?;
            Ok(())
        })?;
        crate::SessionFiles::remove(self.folder(), id)
    }
}

fn begin(connection: &Connection, id: &str, at: Time, genesis: &str) -> Result<(), StoreError> {
    let made = connection
        .prepare_cached("INSERT INTO session (id, created, genesis) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING")?
        .execute(params![id, at.0, genesis])?;
    if made == 0 { Err(StoreError::Exists(id.to_owned())) } else { Ok(()) }
}

pub(crate) fn check_name(id: &str) -> Result<(), StoreError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !id.is_empty() && id.len() <= 64 && id.chars().all(is_plain) {
        true => Ok(()),
        false => Err(StoreError::BadName(id.to_owned())),
    }
}

fn records(id: &str, inputs: &[(Time, Input)]) -> Result<Vec<Record>, StoreError> {
    inputs.iter().map(|(at, input)| Record::of(id, *at, input)).collect()
}

/// The journal of one session in a store.
pub struct SessionJournal {
    store: Store,
    id: String,
    /// The last record that this writer knows of; shared with what is still being written.
    last: Arc<Mutex<Option<u64>>>,
    /// Records since the latest snapshot, and their bytes.
    since: (u64, usize),
    /// The bytes of the latest snapshot.
    snapshot: usize,
}

/// A session is kept anew after so many records, and not before they take as much room as what is kept: so keeping
/// it at most doubles what is written.
const RECORDS_PER_SNAPSHOT: u64 = 256;

impl SessionJournal {
    /// The journal of a session that exists.
    pub fn new(store: Store, id: impl Into<String>) -> Self {
        Self { store, id: id.into(), last: Arc::default(), since: (0, 0), snapshot: 0 }
    }

    /// The same, known to have so many records, so many of them since the latest snapshot.
    #[must_use]
    pub fn after(mut self, records: u64, since: u64) -> Self {
        self.last = Arc::new(Mutex::new(Some(records)));
        self.since.0 = since;
        self
    }
}

impl Journal for SessionJournal {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Kept {
        let records = match records(&self.id, inputs) {
            Ok(records) => records,
            Err(error) => return Box::pin(std::future::ready(Err(error.to_string()))),
        };
        self.since.0 += records.len() as u64;
        self.since.1 += records.iter().map(Record::bytes).sum::<usize>();
        let (sender, receiver) = oneshot::channel();
        let (id, last) = (self.id.clone(), Arc::clone(&self.last));
        let after = *last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.store.write(
            move |connection| journal::append(connection, &id, after, &records),
            move |outcome| {
                if let Ok(seq) = &outcome {
                    *last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(*seq);
                }
                let _ = sender.send(outcome.map(drop));
            },
        );
        Box::pin(async move {
            match receiver.await {
                Ok(outcome) => outcome.map_err(|error| error.to_string()),
                Err(_) => Err("the store's writer has ended".to_owned()),
            }
        })
    }

    fn wants_snapshot(&self) -> bool {
        self.since.0 >= RECORDS_PER_SNAPSHOT && (self.since.1 == 0 || self.since.1 >= self.snapshot)
    }

    fn keep_snapshot(&mut self, state: &Value) {
        let Some(seq) = *self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) else { return };
        let (id, state) = (self.id.clone(), state.to_string());
        self.since = (0, 0);
        self.snapshot = state.len();
        // Nobody waits for it: without it the session is taken up from the one before.
        self.store.write(move |connection| snapshot::keep(connection, &id, seq, &state), drop);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use serde_json::json;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("obelus-store-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn a_journal_is_read_as_it_was_written() {
        let folder = folder("journal");
        let inputs = vec![(Time(1), Input::Start), (Time(2), Input::User { text: "да".to_owned() })];
        {
            let store = Store::open(&folder).unwrap();
            store.create("s-1", Time(0), &json!({"a": 1})).unwrap();
            store.append("s-1", &inputs[..1]).unwrap();
            store.append("s-1", &inputs[1..]).unwrap();
            assert!(matches!(store.create("s-1", Time(0), &json!({})), Err(StoreError::Exists(_))));
            assert!(matches!(store.append("s-2", &inputs), Err(StoreError::Unknown(_))));
            assert!(matches!(store.create("../x", Time(0), &json!({})), Err(StoreError::BadName(_))));
        }
        let store = Store::open(&folder).unwrap();
        assert_eq!(store.journal("s-1").unwrap(), inputs);
        assert_eq!(store.genesis("s-1").unwrap(), Some(json!({"a": 1})));
        assert_eq!(store.list().unwrap(), [SessionRow { id: "s-1".to_owned(), created: Time(0), records: 2 }]);
        store.remove("s-1").unwrap();
        assert!(store.list().unwrap().is_empty());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_second_opener_is_told_who_holds_the_store() {
        let folder = folder("lock");
        let first = Store::open(&folder).unwrap();
        let Err(StoreError::Held { holder, .. }) = Store::open(&folder) else { panic!("it was opened twice") };
        assert!(holder.contains(&std::process::id().to_string()));
        drop(first);
        assert!(Store::open(&folder).is_ok());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_store_of_a_later_form_is_refused() {
        let folder = folder("form");
        drop(Store::open(&folder).unwrap());
        let connection = Connection::open(folder.join("obelus.db")).unwrap();
        connection.pragma_update(None, "user_version", schema::FORM + 1).unwrap();
        drop(connection);
        assert!(matches!(Store::open(&folder), Err(StoreError::Newer { found, .. }) if found == schema::FORM + 1));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_kept_is_for_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder("owner");
        let store = Store::open(&folder).unwrap();
        let rights = fs::metadata(folder.join("obelus.db")).unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o600);
        drop(store);
        fs::remove_dir_all(folder).unwrap();
    }

    fn spoil(folder: &Path, sql: &str) {
        Connection::open(folder.join("obelus.db")).unwrap().execute(sql, []).unwrap();
    }

    #[test]
    fn damage_in_the_middle_of_one_journal_is_said_and_the_others_are_served() {
        let folder = folder("damage");
        let store = Store::open(&folder).unwrap();
        for id in ["a", "b"] {
            store.create(id, Time(0), &json!({})).unwrap();
            store.append(id, &[(Time(1), Input::Start), (Time(2), Input::Tick), (Time(3), Input::Stop)]).unwrap();
        }
        // Words that can be read, and are not those that were written.
        spoil(&folder, "UPDATE record SET input = '\"stop\"' WHERE session = 1 AND seq = 2");
        assert!(matches!(store.read_journal("a", 0, None), Err(StoreError::Damaged { seq: 2, .. })));
        spoil(&folder, "DELETE FROM record WHERE session = 1 AND seq = 1");
        assert!(matches!(store.read_journal("a", 0, None), Err(StoreError::Damaged { .. })));
        assert_eq!(store.journal("b").unwrap().len(), 3);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_end_is_left_out_and_said_and_the_journal_goes_on_before_it() {
        let folder = folder("tail");
        let store = Store::open(&folder).unwrap();
        store.create("a", Time(0), &json!({})).unwrap();
        store.append("a", &[(Time(1), Input::Start), (Time(2), Input::Tick), (Time(3), Input::Tick)]).unwrap();
        spoil(&folder, "UPDATE record SET input = '{' WHERE seq = 2");
        spoil(&folder, "UPDATE record SET input = x'ff' WHERE seq = 3");
        let read = store.read_journal("a", 0, None).unwrap();
        let cut = read.cut.unwrap();
        assert_eq!((read.inputs.len(), cut.seq, cut.records), (1, 2, 2));
        assert!(store.journal("a").is_err(), "nothing is left out without saying so");
        store.cut("a", cut.seq).unwrap();
        store.append("a", &[(Time(4), Input::Stop)]).unwrap();
        assert_eq!(store.journal("a").unwrap(), [(Time(1), Input::Start), (Time(4), Input::Stop)]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn sessions_written_at_once_share_commits_and_a_refused_order_spoils_no_other() {
        let folder = folder("group");
        let store = Store::open(&folder).unwrap();
        let mut all = Vec::new();
        for i in 0..64 {
            let id = format!("s-{i}");
            if i % 2 == 0 {
                store.create(&id, Time(0), &json!({})).unwrap();
            }
            let mut journal = SessionJournal::new(store.clone(), id);
            all.push(journal.append(&[(Time(1), Input::Start), (Time(2), Input::Tick)]));
        }
        for (i, kept) in all.into_iter().enumerate() {
            assert_eq!(kept.await.is_ok(), i % 2 == 0, "{i}");
        }
        assert!(store.list().unwrap().iter().all(|row| row.records == 2));
        fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_second_writer_of_a_session_is_refused() {
        let folder = folder("fence");
        let store = Store::open(&folder).unwrap();
        store.create("s", Time(0), &json!({})).unwrap();
        let mut first = SessionJournal::new(store.clone(), "s");
        first.append(&[(Time(1), Input::Start)]).await.unwrap();
        store.append("s", &[(Time(2), Input::Tick)]).unwrap();
        let refused = first.append(&[(Time(3), Input::Tick)]).await.unwrap_err();
        assert!(refused.contains("somebody else writes it"), "{refused}");
        assert_eq!(store.journal("s").unwrap().len(), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn who_only_looks_needs_no_lock_and_writes_nothing() {
        let folder = folder("look");
        assert!(matches!(Store::look(&folder), Err(StoreError::Folder(..))));
        let store = Store::open(&folder).unwrap();
        store.create("s", Time(0), &json!({})).unwrap();
        let beside = Store::look(&folder).unwrap();
        store.append("s", &[(Time(1), Input::Start)]).unwrap();
        assert_eq!(beside.journal("s").unwrap().len(), 1);
        assert!(matches!(beside.append("s", &[]), Err(StoreError::OnlyLooking(_))));
        fs::remove_dir_all(folder).unwrap();
    }
}
