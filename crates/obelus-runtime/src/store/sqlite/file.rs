//! The file of the only writer: commits, and recovery after failures (DUR-9).

use std::collections::HashMap;
use std::path::PathBuf;

use obelus_words::Language;
use rusqlite::{Connection, ErrorCode, ffi};

use super::index::{self, RecordIndex};
use super::writer::{DeferredCheckpoint, WriteJob};
use super::{checkpoint, schema, sessions};
use crate::store::StoreError;
use crate::store::error::words_of;

/// The open file, and the writer's caches.
pub(super) struct OpenFile {
    pub(super) connection: Connection,
    pub(super) index: RecordIndex,
    /// The numbers of recently written sessions.
    numbers: HashMap<String, i64>,
}

/// The size of that cache.
const MOST_NUMBERS: usize = 4096;

impl OpenFile {
    fn new(connection: Connection) -> Result<Self, StoreError> {
        let index = RecordIndex::open(&connection)?;
        Ok(Self { connection, index, numbers: HashMap::new() })
    }

    /// The number of a session. A session with a damaged name or genesis is not written to.
    pub(super) fn number(&mut self, id: &str) -> Result<i64, StoreError> {
        if let Some(number) = self.numbers.get(id) {
            return Ok(*number);
        }
        let found = sessions::find(&self.connection, id)?;
        let (number, _) = found.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
        if self.numbers.len() >= MOST_NUMBERS {
            self.numbers.clear();
        }
        self.numbers.insert(id.to_owned(), number);
        Ok(number)
    }

    /// Removes the records of a session from `from` on, and the data stored after them.
    pub(super) fn cut(&mut self, session: i64, from: i64) -> Result<(), StoreError> {
        self.index.cut(&self.connection, session, from)?;
        checkpoint::cut(&self.connection, session, from)
    }

    /// Rebuilds the index.
    pub(super) fn rebuild_index(&mut self) -> Result<(), StoreError> {
        index::rebuild(&self.connection)?;
        self.index = RecordIndex::read(&self.connection)?;
        Ok(())
    }

    /// Removes a session. Its number may be reused.
    pub(super) fn remove(&mut self, id: &str) -> Result<(), StoreError> {
        // By name only, so that a damaged session can be removed too.
        let session = sessions::number(&self.connection, id)?;
        self.cut(session, 0)?;
        self.connection.execute("DELETE FROM session WHERE number = ?1", [session])?;
        sessions::note_removed(&self.connection, id)?;
        self.numbers.remove(id);
        Ok(())
    }

    /// Writes a batch within an open transaction.
    fn fill(
        &mut self,
        batch: Vec<WriteJob>,
        checkpoints: &[DeferredCheckpoint],
    ) -> Result<Vec<Result<u64, StoreError>>, StoreError> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut outcomes = Vec::with_capacity(batch.len());
        for write in batch {
            let before = self.connection.total_changes();
            match write(self) {
                Err(StoreError::Disk(error)) => return Err(StoreError::Disk(error)),
                // The changes of the failed write cannot be separated from those of the others.
                Err(error) if self.connection.total_changes() != before => return Err(error),
                outcome => outcomes.push(outcome),
            }
        }
        for deferred in checkpoints {
            checkpoint::write(self, deferred)?;
        }
        if self.index.is_long() {
            self.index.register(&self.connection)?;
        }
        Ok(outcomes)
    }
}

/// The file of a store. It is closed after a failed sync and reopened for the next commit.
pub(super) struct WriterFile {
    folder: PathBuf,
    open: Option<OpenFile>,
    /// Whether a commit had an unknown outcome, so that what the file shows may not be on the disk.
    is_in_doubt: bool,
}

impl WriterFile {
    pub(super) fn new(folder: PathBuf) -> Result<Self, StoreError> {
        let mut file = Self { folder, open: None, is_in_doubt: false };
        file.open()?;
        Ok(file)
    }

    /// The open file. Opening makes everything in it durable.
    pub(super) fn open(&mut self) -> Result<&mut OpenFile, StoreError> {
        match &mut self.open {
            Some(open) => Ok(open),
            closed => {
                let connection = schema::open(&self.folder)?;
                if self.is_in_doubt {
                    // Opening tolerates a full disk, but then a record of the failed commit is not durable (DUR-9).
                    schema::checkpoint_log(&connection)?;
                    self.is_in_doubt = false;
                }
                Ok(closed.insert(OpenFile::new(connection)?))
            }
        }
    }

    /// Closes the file, even within a transaction.
    pub(super) fn release(&mut self) {
        self.open = None;
    }

    /// Writes a batch as one transaction with one sync. Either everything that was not refused is durable, or nothing
    /// was written, or the result is unknown after a failed sync.
    pub(super) fn commit(
        &mut self,
        batch: Vec<WriteJob>,
        checkpoints: &[DeferredCheckpoint],
    ) -> Result<Vec<Result<u64, StoreError>>, StoreError> {
        let committed = self.open().and_then(|open| {
            let outcomes = open.fill(batch, checkpoints)?;
            match open.connection.prepare_cached("COMMIT")?.execute([]) {
                Ok(_) => Ok(outcomes),
                Err(error) if is_not_written(&error) => Err(StoreError::Disk(error)),
                Err(error) => Err(StoreError::OutcomeUnknown(words_of(&error, Language::English))),
            }
        });
        match &committed {
            Ok(_) => {}
            Err(StoreError::OutcomeUnknown(_)) => {
                self.is_in_doubt = true;
                self.release();
            }
            Err(_) => self.roll_back(),
        }
        committed
    }

    /// Rolls back, and rereads what differs in memory.
    fn roll_back(&mut self) {
        let rolled_back = self.open.as_mut().is_some_and(|OpenFile { connection, index, numbers }| {
            // Some failures have already rolled back.
            let _ = connection.execute_batch("ROLLBACK");
            numbers.clear();
            connection.is_autocommit() && RecordIndex::read(connection).map(|read| *index = read).is_ok()
        });
        if !rolled_back {
            self.release();
        }
    }

    /// Returns free space to the system by rewriting the file.
    pub(super) fn shrink(&mut self) -> Result<(), StoreError> {
        let shrunk = self.open().and_then(|open| {
            open.connection.execute_batch("VACUUM")?;
            // The file shrinks when the log has been checkpointed.
            schema::checkpoint_log(&open.connection)?;
            Ok(())
        });
        if shrunk.is_err() {
            self.release();
        }
        shrunk
    }

    /// Writes everything to the register, so that the next process need not read the end of the file. A failure does
    /// no harm.
    pub(super) fn close(&mut self) {
        if let Some(OpenFile { connection, index, .. }) = &mut self.open
            && !index.is_registered()
            && let Ok(transaction) = connection.unchecked_transaction()
        {
            let _ = index.register(&transaction).and_then(|()| Ok(transaction.commit()?));
        }
        self.release();
    }
}

/// Whether an error guarantees that nothing was written: the disk is full or read-only. After other errors of a
/// commit, such as a failed sync, it is unknown.
pub(super) fn is_not_written(error: &rusqlite::Error) -> bool {
    let Some(failure) = error.sqlite_error() else { return false };
    matches!(failure.code, ErrorCode::DiskFull | ErrorCode::ReadOnly | ErrorCode::DatabaseBusy)
        || failure.extended_code == ffi::SQLITE_IOERR_WRITE
}
