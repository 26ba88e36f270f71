//! Sessions on disk: an SQLite file with a journal for each.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `lock` | one process at a time |
//! | `schema` | the tables and their form |
//! | `writer` | who writes, and when |
//! | `batch_writer` | how a batch is written: one transaction, one sync |
//! | `room` | room in SQLite's log, made before it is needed |
//! | `reader` | reading beside it |
//! | `tail` | where the records of a session lie |
//! | `journal` | records, written and read |
//! | `sum` | how damage to them is found |
//! | `snapshot` | sessions at rest as they are kept |
//! | `session_journal` | the journal of one session, for its driver |
//! | `error` | what can go wrong |

mod batch_writer;
mod error;
mod journal;
mod lock;
mod reader;
mod room;
mod schema;
mod session_journal;
mod snapshot;
mod sum;
mod tail;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use batch_writer::{WriteJob, WriterConn};
pub use error::StoreError;
use journal::Record;
pub use journal::{Cut, Journaled};
use reader::Reader;
pub use session_journal::SessionJournal;
pub use snapshot::Snapshot;
use tail::Tail;
use writer::{On, Writer};

/// Journals of sessions.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    /// Reads go their own way, and never wait for a sync.
    reader: Mutex<Reader>,
    /// None where the store is only looked at.
    writer: Option<Writer>,
    /// How many sessions have their journal here now.
    journals: AtomicUsize,
    folder: PathBuf,
    /// Holds the lock as long as the store is open; after the writer, which must be done first.
    _lock: Option<File>,
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
        let reader = schema::look(folder)?;
        let writer = Writer::start(connection, folder.to_owned())?;
        Ok(Self::of(folder, reader, Some(writer), Some(lock)))
    }

    /// Opens a store to look at it only, beside whoever holds it.
    pub fn look(folder: &Path) -> Result<Self, StoreError> {
        if !schema::exists(folder) {
            let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no store here");
            return Err(StoreError::Folder(folder.to_owned(), missing));
        }
        Ok(Self::of(folder, schema::look(folder)?, None, None))
    }

    fn of(folder: &Path, reader: Connection, writer: Option<Writer>, lock: Option<File>) -> Self {
        let (reader, folder) = (Mutex::new(Reader::new(reader)), folder.to_owned());
        Self { inner: Arc::new(Inner { reader, writer, journals: AtomicUsize::new(0), folder, _lock: lock }) }
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    fn reader(&self) -> MutexGuard<'_, Reader> {
        // A panic elsewhere leaves nothing half done: it only reads.
        self.inner.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the store as it is at one moment.
    fn read<T>(&self, work: impl FnOnce(&Connection, &Tail) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.reader().read(work)
    }

    /// Has something of about so many bytes written, and tells when it is durable.
    fn write<T: Send + 'static>(
        &self,
        on: On,
        bytes: usize,
        work: impl FnOnce(&mut WriterConn) -> Result<T, StoreError> + Send + 'static,
        tell: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        match &self.inner.writer {
            Some(writer) => writer.order(Box::new(Job { work: Some(work), bytes, made: None, tell }), on),
            None => tell(Err(StoreError::OnlyLooking(self.inner.folder.clone()))),
        }
    }

    /// The same, and waits for it.
    fn write_now<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriterConn) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = mpsc::channel();
        // Somebody waits for it: it is not put off because it is long.
        self.write(On::Callers, 0, work, move |outcome| drop(sender.send(outcome)));
        receiver.recv().unwrap_or_else(|_| Err(StoreError::NotWritten("the store's writer has ended".to_owned())))
    }

    /// Begins a session: what it was begun with is its first record.
    pub fn create(&self, id: &str, at: Time, genesis: &Value) -> Result<(), StoreError> {
        check_name(id)?;
        let (id, genesis) = (id.to_owned(), genesis.to_string());
        self.write_now(move |conn| begin(&conn.connection, &id, at, &genesis))
    }

    /// What a session was begun with.
    pub fn genesis(&self, id: &str) -> Result<Option<Value>, StoreError> {
        let found: Option<String> = self
            .reader()
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
        let records = records(id, inputs)?;
        let id = Arc::from(id);
        self.write_now(move |conn| journal::append(conn, &id, None, &records)).map(drop)
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
        self.read(|connection, tail| journal::read(connection, tail, id, after, upto))
    }

    /// What a session was last told to do: to start, to run its plan, or words of the user.
    pub fn last_word(&self, id: &str) -> Result<Option<Input>, StoreError> {
        self.read(|connection, tail| journal::last_word(connection, tail, id))
    }

    /// Begins a session that has a journal already: all of it, or nothing.
    pub fn adopt(&self, id: &str, at: Time, genesis: &Value, inputs: &[(Time, Input)]) -> Result<(), StoreError> {
        check_name(id)?;
        let records = records(id, inputs)?;
        let (id, genesis) = (Arc::from(id), genesis.to_string());
        self.write_now(move |conn| {
            begin(&conn.connection, &id, at, &genesis)?;
            journal::append(conn, &id, None, &records).map(drop)
        })
    }

    /// How many records a session's journal has.
    pub fn records(&self, id: &str) -> Result<u64, StoreError> {
        let last = self.read(|connection, tail| tail.last(connection, batch_writer::number(connection, id)?))?;
        Ok(u64::try_from(last).unwrap_or_default())
    }

    /// When the last record of a session came; none while it has none.
    pub fn last_at(&self, id: &str) -> Result<Option<Time>, StoreError> {
        self.read(|connection, tail| journal::last_at(connection, tail, id))
    }

    /// Takes the damaged end of a journal away, so that the session can go on from before it.
    pub fn cut(&self, id: &str, from: u64) -> Result<(), StoreError> {
        let id = Arc::from(id);
        self.write_now(move |conn| {
            let session = conn.number(&id)?;
            journal::cut(conn, session, from)
        })
    }

    /// Every session, newest first.
    pub fn list(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.read(|connection, tail| {
            let mut select = connection.prepare(
                "SELECT id, created, number, (SELECT coalesce(max(seq), 0) FROM register WHERE session = number)
                 FROM session ORDER BY number DESC",
            )?;
            let rows = select.query_map([], |row| {
                let registered: i64 = row.get(3)?;
                let last = tail.of(row.get(2)?).last().map_or(registered, |(seq, _)| *seq);
                Ok(SessionRow {
                    id: row.get(0)?,
                    created: Time(row.get(1)?),
                    records: u64::try_from(last).unwrap_or(0),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Removes a session and its journal, and the files that were kept for people.
    pub fn remove(&self, id: &str) -> Result<(), StoreError> {
        let name = Arc::from(id);
        self.write_now(move |conn| {
            let session = conn.number(&name)?;
            journal::cut(conn, session, 0)?;
            conn.connection.execute("DELETE FROM session WHERE number = ?1", [session])?;
            conn.forget(&name);
            Ok(())
        })?;
        crate::SessionFiles::remove(self.folder(), id)
    }

    /// Gives the system back the room of what was removed, and says how many bytes that was. The whole store is written
    /// anew for it, which needs as much room again until it is done; others can read meanwhile, and writers wait.
    pub fn shrink(&self) -> Result<u64, StoreError> {
        let at = |error| StoreError::Folder(self.inner.folder.clone(), error);
        let Some(writer) = &self.inner.writer else {
            return Err(StoreError::OnlyLooking(self.inner.folder.clone()));
        };
        let before = schema::bytes(&self.inner.folder).map_err(at)?;
        writer.shrink()?;
        Ok(before.saturating_sub(schema::bytes(&self.inner.folder).map_err(at)?))
    }
}

/// An order made of two pieces of code: one that writes and makes something, and one that is told of it.
struct Job<W, T, F> {
    work: Option<W>,
    bytes: usize,
    made: Option<T>,
    tell: F,
}

impl<W, T, F> WriteJob for Job<W, T, F>
where
    W: FnOnce(&mut WriterConn) -> Result<T, StoreError> + Send,
    T: Send,
    F: FnOnce(Result<T, StoreError>) + Send,
{
    fn write(&mut self, conn: &mut WriterConn) -> Result<(), StoreError> {
        self.made = self.work.take().map(|work| work(conn)).transpose()?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn tell(self: Box<Self>, outcome: Result<(), StoreError>) {
        let nothing = || StoreError::NotWritten("nobody has written it".to_owned());
        let Self { made, tell, .. } = *self;
        tell(outcome.and_then(|()| made.ok_or_else(nothing)));
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

#[cfg(test)]
mod tests;
