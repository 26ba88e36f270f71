//! The store: the journals of sessions on one machine, in one SQLite file.
//!
//! A session is the fold of its journal: the inputs in order, each with its time. An input is durable when
//! [`Store::append`] returns. One process at a time holds a store; the lock ends with the process, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use crate::driver::Journal;

/// The form of the records. A store of a later form is refused, not guessed at.
const FORM: i64 = 1;

/// Journals of sessions.
#[derive(Clone)]
pub struct Store {
    connection: Arc<Mutex<Connection>>,
    /// Holds the lock as long as the store is open.
    _lock: Arc<File>,
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
    #[error("{folder}: the store is of form {found}, and this version knows forms up to {FORM}: use a newer obelus")]
    Newer {
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
    /// A name that is no name.
    #[error("`{0}` is no name for a session: letters, digits, `-` and `_`, at most 64")]
    BadName(String),
    /// The disk said no: full, read-only, or broken. Nothing was written.
    #[error("the store cannot be written or read: {0}")]
    Disk(#[from] rusqlite::Error),
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
        let at = |error| StoreError::Folder(folder.to_owned(), error);
        fs::create_dir_all(folder).map_err(at)?;
        let lock = lock(folder)?;
        let connection = Connection::open(folder.join("obelus.db"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // Every commit is on the disk before it is acknowledged.
        connection.pragma_update(None, "synchronous", "FULL")?;
        let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if found > FORM {
            return Err(StoreError::Newer { folder: folder.to_owned(), found });
        }
        // A rowid table with a unique index: without rowids, large values take several times the space.
        connection.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS session (
                 number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created INTEGER NOT NULL, genesis TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS record (
                 session INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, input TEXT NOT NULL,
                 UNIQUE (session, seq));
             PRAGMA user_version = {FORM};"
        ))?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), _lock: Arc::new(lock) })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic elsewhere cannot leave half a transaction: SQLite rolls it back.
        self.connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Begins a session: what it was begun with is its first record.
    pub fn create(&self, id: &str, at: Time, genesis: &Value) -> Result<(), StoreError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if id.is_empty() || id.len() > 64 || !id.chars().all(is_plain) {
            return Err(StoreError::BadName(id.to_owned()));
        }
        let made = self.connection().execute(
            "INSERT INTO session (id, created, genesis) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
            params![id, at.0, genesis.to_string()],
        )?;
        if made == 0 { Err(StoreError::Exists(id.to_owned())) } else { Ok(()) }
    }

    /// What a session was begun with.
    pub fn genesis(&self, id: &str) -> Result<Option<Value>, StoreError> {
        let found: Option<String> = self
            .connection()
            .query_row("SELECT genesis FROM session WHERE id = ?1", [id], |row| row.get(0))
            .optional()?;
        let damaged = |error: serde_json::Error| StoreError::Damaged {
            session: id.to_owned(),
            seq: 0,
            problem: error.to_string(),
        };
        found.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()
    }

    /// Appends inputs to a session's journal, all or none. They are durable when this returns.
    pub fn append(&self, id: &str, inputs: &[(Time, Input)]) -> Result<(), StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        {
            let number: Option<i64> = transaction
                .prepare_cached("SELECT number FROM session WHERE id = ?1")?
                .query_row([id], |row| row.get(0))
                .optional()?;
            let number = number.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
            let mut seq: i64 = transaction
                .prepare_cached("SELECT coalesce(max(seq), 0) FROM record WHERE session = ?1")?
                .query_row([number], |row| row.get(0))?;
            let mut insert =
                transaction.prepare_cached("INSERT INTO record (session, seq, at, input) VALUES (?1, ?2, ?3, ?4)")?;
            for (at, input) in inputs {
                seq += 1;
                let text = serde_json::to_string(input).map_err(|error| StoreError::Damaged {
                    session: id.to_owned(),
                    seq,
                    problem: error.to_string(),
                })?;
                insert.execute(params![number, seq, at.0, text])?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// A session's journal, oldest first.
    pub fn journal(&self, id: &str) -> Result<Vec<(Time, Input)>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT seq, at, input FROM record WHERE session = (SELECT number FROM session WHERE id = ?1) ORDER BY seq",
        )?;
        let rows = select
            .query_map([id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?)))?;
        let mut journal = Vec::new();
        for row in rows {
            let (seq, at, text) = row?;
            let damaged = |problem: String| StoreError::Damaged { session: id.to_owned(), seq, problem };
            if seq != i64::try_from(journal.len()).unwrap_or(i64::MAX) + 1 {
                return Err(damaged("a record before it is missing".to_owned()));
            }
            let input = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
            journal.push((Time(at), input));
        }
        Ok(journal)
    }

    /// Every session, newest first.
    pub fn list(&self) -> Result<Vec<SessionRow>, StoreError> {
        let connection = self.connection();
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

    /// Removes a session and its journal.
    pub fn remove(&self, id: &str) -> Result<(), StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        transaction.execute("DELETE FROM record WHERE session = (SELECT number FROM session WHERE id = ?1)", [id])?;
        let removed = transaction.execute("DELETE FROM session WHERE id = ?1", [id])?;
        transaction.commit()?;
        if removed == 0 { Err(StoreError::Unknown(id.to_owned())) } else { Ok(()) }
    }
}

/// The journal of one session in a store.
pub struct SessionJournal {
    store: Store,
    id: String,
}

impl SessionJournal {
    /// The journal of a session that exists.
    pub fn new(store: Store, id: impl Into<String>) -> Self {
        Self { store, id: id.into() }
    }
}

impl Journal for SessionJournal {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Result<(), String> {
        self.store.append(&self.id, inputs).map_err(|error| error.to_string())
    }
}

/// Takes the folder's lock, or says who has it. The operating system gives it back when the holder is gone.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let at = |error| StoreError::Folder(folder.to_owned(), error);
    let path = folder.join("lock");
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(at)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            let holder = obelus_kernel::visible(holder.trim());
            let holder = if holder.is_empty() { "another process".to_owned() } else { holder };
            return Err(StoreError::Held { folder: folder.to_owned(), holder });
        }
        Err(TryLockError::Error(error)) => return Err(at(error)),
    }
    let program = std::env::args().next().unwrap_or_default();
    let program = Path::new(&program).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    file.set_len(0).map_err(at)?;
    file.rewind().map_err(at)?;
    write!(file, "process {} ({program})", std::process::id()).map_err(at)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
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
        connection.pragma_update(None, "user_version", FORM + 1).unwrap();
        drop(connection);
        assert!(matches!(Store::open(&folder), Err(StoreError::Newer { found: 2, .. })));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn damage_in_one_journal_is_said_and_the_others_are_served() {
        let folder = folder("damage");
        let store = Store::open(&folder).unwrap();
        for id in ["a", "b"] {
            store.create(id, Time(0), &json!({})).unwrap();
            store.append(id, &[(Time(1), Input::Start), (Time(2), Input::Tick)]).unwrap();
        }
        store.connection().execute("UPDATE record SET input = '{' WHERE session = 1 AND seq = 2", []).unwrap();
        assert!(matches!(store.journal("a"), Err(StoreError::Damaged { seq: 2, .. })));
        store.connection().execute("DELETE FROM record WHERE session = 1 AND seq = 1", []).unwrap();
        assert!(matches!(store.journal("a"), Err(StoreError::Damaged { .. })));
        assert_eq!(store.journal("b").unwrap().len(), 2);
        fs::remove_dir_all(folder).unwrap();
    }
}
