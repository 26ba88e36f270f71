//! Sessions on disk: one SQLite file in a folder.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `access` | who may write to it |
//! | `lock` | one process at a time |
//! | `schema` | the tables, their format, and migrations |
//! | `writer` | the writer thread, and its batches |
//! | `file` | commits, and recovery after failures |
//! | `reader` | concurrent reads |
//! | `sessions` | sessions by name |
//! | `journal` | records |
//! | `index` | the positions of a session's records |
//! | `checkpoint` | checkpoints and open questions |
//! | `checksum` | checksums |

mod access;
mod checkpoint;
mod checksum;
mod file;
mod index;
mod journal;
mod lock;
mod reader;
mod schema;
mod sessions;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    AppendError, CheckpointData, Durable, InboxRow, InputId, Journaled, Locks, Record, SessionLock, SessionRow,
    Snapshot, Store, StoreError, check_name,
};
use crate::summary::SessionSummary;
use access::StoreUse;
use file::OpenFile;
use index::RecordIndex;
use journal::{Encoded, number, signed};
pub use lock::Holder;
use reader::StoreReader;
pub(super) use schema::FORM;
use writer::StoreWriter;

/// Sessions in an SQLite file.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<OpenStore>,
}

struct OpenStore {
    reader: SharedReader,
    /// None if the store is read-only.
    writer: Option<StoreWriter>,
    locks: Locks,
    /// Whether a damaged index was rebuilt.
    is_rebuilt: AtomicBool,
    folder: PathBuf,
    /// The lock of the store. Dropped after the writer, which must finish first.
    _lock: Option<File>,
}

/// A separate connection for reads, which never waits for a sync. None after a failed sync, until the file is
/// reopened.
#[derive(Clone, Default)]
struct SharedReader(Arc<Mutex<Option<StoreReader>>>);

impl SharedReader {
    fn get(&self) -> MutexGuard<'_, Option<StoreReader>> {
        // Reads leave nothing half done after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SqliteStore {
    /// Opens the store in a folder, which is created if necessary. A store that other users can write is refused.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        access::create(folder)?;
        access::check(folder, StoreUse::Run)?;
        Self::open_insecure(folder)
    }

    /// Like [`Self::open`], without the permission check.
    pub fn open_insecure(folder: &Path) -> Result<Self, StoreError> {
        access::create(folder)?;
        let lock = lock::take(folder)?;
        let reader = SharedReader::default();
        let closed = reader.clone();
        let writer = StoreWriter::start(folder.to_owned(), move || *closed.get() = None)?;
        *reader.get() = Some(StoreReader::new(schema::open_read_only(folder)?));
        Ok(Self::of(folder, reader, Some(writer), Some(lock)))
    }

    /// Opens a store for reading only, also while another process holds it. A store that other users can write is
    /// refused; root may read the store of any user.
    pub fn open_read_only(folder: &Path) -> Result<Self, StoreError> {
        access::check(folder, StoreUse::Look)?;
        Self::open_read_only_insecure(folder)
    }

    /// Like [`Self::open_read_only`], without the permission check.
    pub fn open_read_only_insecure(folder: &Path) -> Result<Self, StoreError> {
        if !schema::exists(folder)? {
            let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no store here");
            return Err(StoreError::Folder(folder.to_owned(), missing));
        }
        let reader = SharedReader::default();
        *reader.get() = Some(StoreReader::new(schema::open_read_only(folder)?));
        Ok(Self::of(folder, reader, None, None))
    }

    /// Creates the folder of a store for files that commands keep there, unless other users can write to it.
    pub fn create_folder(folder: &Path) -> Result<(), StoreError> {
        access::create(folder)?;
        access::check(folder, StoreUse::Run)
    }

    /// Like [`Self::create_folder`], without the permission check.
    pub fn create_folder_insecure(folder: &Path) -> Result<(), StoreError> {
        access::create(folder)
    }

    /// Refuses the folder of a store that other users can write. A missing one is no error.
    pub fn check_folder(folder: &Path) -> Result<(), StoreError> {
        access::check(folder, StoreUse::Run)
    }

    fn of(folder: &Path, reader: SharedReader, writer: Option<StoreWriter>, lock: Option<File>) -> Self {
        let (folder, locks) = (folder.to_owned(), Locks::default());
        Self {
            inner: Arc::new(OpenStore {
                reader,
                writer,
                locks,
                is_rebuilt: AtomicBool::new(false),
                folder,
                _lock: lock,
            }),
        }
    }

    /// The store as a trait object.
    pub fn shared(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    /// The store's folder.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// Reads a consistent snapshot of the store. A damaged index is rebuilt, once.
    fn read<T>(&self, work: impl Fn(&Connection, &RecordIndex) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match self.read_once(&work) {
            Err(StoreError::DamagedIndex)
                if self.inner.writer.is_some() && !self.inner.is_rebuilt.swap(true, Ordering::Relaxed) =>
            {
                self.write(OpenFile::rebuild_index)?;
                self.read_once(&work)
            }
            read => read,
        }
    }

    fn read_once<T>(&self, work: impl Fn(&Connection, &RecordIndex) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut reader = self.inner.reader.get();
        match &mut *reader {
            Some(reader) => reader.read(work),
            closed => {
                if let Some(writer) = &self.inner.writer {
                    writer.reopen()?;
                }
                closed.insert(StoreReader::new(schema::open_read_only(&self.inner.folder)?)).read(work)
            }
        }
    }

    /// If records are missing after the index was rebuilt, the session is damaged and not the index.
    fn missing_records(&self, id: &str, error: StoreError) -> StoreError {
        match error {
            StoreError::DamagedIndex if self.inner.writer.is_some() => {
                let problem = "records of it are missing".to_owned();
                StoreError::Damaged { session: id.to_owned(), seq: 0, problem }
            }
            error => error,
        }
    }

    fn writer(&self) -> Result<&StoreWriter, StoreError> {
        self.inner.writer.as_ref().ok_or_else(|| StoreError::OnlyLooking(self.inner.folder.clone()))
    }

    /// Writes, and waits until it is durable.
    fn write(
        &self,
        work: impl FnOnce(&mut OpenFile) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let (sender, receiver) = mpsc::channel();
        let reply = Box::new(move |outcome| drop(sender.send(outcome)));
        self.writer()?.write(Box::new(move |file| work(file).map(|()| 0)), reply);
        let ended = || Err(StoreError::NotWritten(WRITER_ENDED.to_owned()));
        receiver.recv().unwrap_or_else(|_| ended()).map(drop)
    }

    /// Writes records of a session; the future completes when they are durable.
    fn append_after(&self, id: &str, after: Option<u64>, records: Vec<Record>) -> Result<Durable, StoreError> {
        let (writer, records) = (self.writer()?, Encoded::all(id, records)?);
        let (sender, receiver) = oneshot::channel();
        let id = id.to_owned();
        writer.write(
            Box::new(move |file| journal::append(file, &id, after, &records)),
            Box::new(move |outcome| drop(sender.send(outcome.map_err(AppendError::from)))),
        );
        let ended = || Err(AppendError::NotDurable(WRITER_ENDED.to_owned()));
        Ok(Box::pin(async move { receiver.await.unwrap_or_else(|_| ended()) }))
    }

    /// A session's journal, oldest first. A damaged end is an error here; [`Store::load`] leaves it out.
    pub fn journal(&self, id: &str) -> Result<Vec<Record>, StoreError> {
        self.load(id, 0, None)?.undamaged(id)
    }

    /// How many records a session's journal has.
    pub fn records(&self, id: &str) -> Result<u64, StoreError> {
        self.read(|connection, index| Ok(number(index.last(connection, sessions::number(connection, id)?)?)))
    }
}

const WRITER_ENDED: &str = "the store's writer has ended";

impl Store for SqliteStore {
    fn create(&self, id: &str, at: Time, genesis: &Value, records: Vec<Record>) -> Result<(), StoreError> {
        check_name(id)?;
        let records = Encoded::all(id, records)?;
        let (id, genesis) = (id.to_owned(), genesis.to_string());
        self.write(move |file| {
            sessions::insert(&file.connection, &id, at, &genesis)?;
            journal::append(file, &id, None, &records).map(drop)
        })
    }

    fn genesis(&self, id: &str) -> Result<Option<Value>, StoreError> {
        let damaged = |error: serde_json::Error| StoreError::Damaged {
            session: id.to_owned(),
            seq: 0,
            problem: error.to_string(),
        };
        let found = self.read(|connection, _| sessions::find(connection, id))?;
        found.map(|(_, text)| serde_json::from_str(&text).map_err(damaged)).transpose()
    }

    fn lock(&self, id: &str) -> Result<SessionLock, StoreError> {
        self.inner.locks.take(id)
    }

    fn append(&self, id: &str, after: u64, records: Vec<Record>) -> Durable {
        self.append_after(id, Some(after), records)
            .unwrap_or_else(|error| Box::pin(std::future::ready(Err(error.into()))))
    }

    fn load(&self, id: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError> {
        let loaded = self.read(|connection, index| journal::load(connection, index, id, after, upto));
        loaded.map_err(|error| self.missing_records(id, error))
    }

    fn taken(&self, id: &str, input: &InputId) -> Result<Option<u64>, StoreError> {
        self.read(|connection, _| journal::taken(connection, sessions::number(connection, id)?, input))
    }

    fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, StoreError> {
        let found = self.read(|connection, index| checkpoint::snapshot(connection, index, id));
        found.map_err(|error| self.missing_records(id, error))
    }

    fn store_checkpoint(&self, id: &str, seq: u64, rest: CheckpointData) {
        if let Some(writer) = &self.inner.writer {
            writer.defer_checkpoint(id, seq, rest);
        }
    }

    fn list(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.read(|connection, index| rows(connection, index, None, i64::MAX))
    }

    fn page(&self, after: Option<&str>, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection, index| rows(connection, index, after, limit))
    }

    fn summary(&self, id: &str) -> Result<Option<SessionSummary>, StoreError> {
        self.read(|connection, index| checkpoint::summary(connection, index, id))
    }

    fn inbox(&self) -> Result<Vec<InboxRow>, StoreError> {
        self.read(checkpoint::inbox)
    }

    fn last_turn_input(&self, id: &str) -> Result<Option<Input>, StoreError> {
        self.read(|connection, index| journal::last_turn_input(connection, index, id))
    }

    fn is_held_elsewhere(&self) -> bool {
        self.inner.writer.is_none() && lock::is_held(self.folder())
    }

    fn removed(&self, id: &str) -> Result<u64, StoreError> {
        self.read(|connection, _| sessions::removed(connection, id))
    }

    fn remove(&self, id: &str) -> Result<(), StoreError> {
        let name = id.to_owned();
        self.writer()?.forget(id);
        self.write(move |file| file.remove(&name))?;
        crate::session_files::SessionFiles::remove(self.folder(), id)
    }

    fn cut(&self, id: &str, from: u64, then: Vec<Record>) -> Result<(), StoreError> {
        let (name, then) = (id.to_owned(), Encoded::all(id, then)?);
        self.writer()?.forget(id);
        self.write(move |file| {
            let session = file.number(&name)?;
            file.cut(session, signed(from))?;
            journal::append(file, &name, None, &then).map(drop)
        })
    }

    /// The whole store is rewritten, which temporarily needs as much space again. Reads continue meanwhile, and writers
    /// wait.
    fn shrink(&self) -> Result<u64, StoreError> {
        let at = |error| StoreError::Folder(self.inner.folder.clone(), error);
        let writer = self.writer()?;
        let before = schema::bytes(&self.inner.folder).map_err(at)?;
        writer.shrink()?;
        Ok(before.saturating_sub(schema::bytes(&self.inner.folder).map_err(at)?))
    }
}

/// At most `limit` sessions after this one, newest first; all if none is named.
fn rows(
    connection: &Connection,
    index: &RecordIndex,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<SessionRow>, StoreError> {
    let before = match after.map(|id| sessions::number(connection, id)).transpose() {
        Err(StoreError::Unknown(_)) => return Ok(Vec::new()),
        number => number?.unwrap_or(i64::MAX),
    };
    let mut select = connection
        .prepare_cached("SELECT id, created, number FROM session WHERE number < ?1 ORDER BY number DESC LIMIT ?2")?;
    let mut rows = select.query([before, limit])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (last, last_at) = last_record(connection, index, row.get(2)?)?;
        all.push(SessionRow { id: row.get(0)?, created: Time(row.get(1)?), records: number(last), last_at });
    }
    Ok(all)
}

/// Number and time of the last record of a session.
fn last_record(connection: &Connection, index: &RecordIndex, session: i64) -> Result<(i64, Option<Time>), StoreError> {
    let found = match index.recent(session).last() {
        Some((seq, place)) => Some((*seq, *place)),
        None => connection
            .prepare_cached("SELECT seq, place FROM register WHERE session = ?1 ORDER BY seq DESC LIMIT 1")?
            .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?,
    };
    let Some((seq, place)) = found else { return Ok((0, None)) };
    let at = connection
        .prepare_cached("SELECT at FROM record WHERE place = ?1")?
        .query_row([place], |row| row.get(0))
        .optional()?;
    Ok((seq, at.map(Time)))
}

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod tests;
