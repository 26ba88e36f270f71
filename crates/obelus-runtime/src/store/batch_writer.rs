//! The hand that writes: batches of orders, each batch one transaction with one sync.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use super::room::Room;
use super::tail::Tail;
use super::{StoreError, schema};

/// Something to be written, and somebody who is told when it is durable.
pub(super) trait WriteJob: Send {
    /// Writes it. An order that is refused has not written anything: it looks first.
    fn write(&mut self, conn: &mut WriterConn) -> Result<(), StoreError>;

    /// How much there is to write, about.
    fn bytes(&self) -> usize;

    /// Says what became of it.
    fn tell(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// Orders that are done, and what became of each.
pub(super) type Done = Vec<(Box<dyn WriteJob>, Result<(), StoreError>)>;

/// The open file, and what the hand knows of it: nobody else writes.
pub(super) struct WriterConn {
    pub(super) connection: Connection,
    pub(super) tail: Tail,
    room: Room,
    /// The numbers of sessions that were written to lately.
    numbers: HashMap<Arc<str>, i64>,
}

/// Sessions whose numbers are known at once, at most.
const MOST_NUMBERS: usize = 4096;

impl WriterConn {
    fn open(connection: Connection, folder: &Path) -> Result<Self, StoreError> {
        let tail = Tail::read(&connection)?;
        let room = Room::new(&schema::log(folder));
        Ok(Self { connection, tail, room, numbers: HashMap::new() })
    }

    /// The number of a session of this name.
    pub(super) fn number(&mut self, id: &Arc<str>) -> Result<i64, StoreError> {
        if let Some(number) = self.numbers.get(id) {
            return Ok(*number);
        }
        let number = number(&self.connection, id)?;
        if self.numbers.len() >= MOST_NUMBERS {
            self.numbers.clear();
        }
        self.numbers.insert(Arc::clone(id), number);
        Ok(number)
    }

    /// Writes over what a commit that failed may have left at the end of the log: it looks whole, and the next process
    /// would take it for something that was kept. Whether this is durable does not matter: it says nothing.
    fn write_over(&self) {
        let _ = self.connection.execute_batch("ROLLBACK");
        // A value that stays the same is not written; one that is changed and changed back is.
        let nothing = "UPDATE registered SET upto = upto + 1; UPDATE registered SET upto = upto - 1";
        let _ = self.connection.execute_batch(&format!("BEGIN IMMEDIATE; {nothing}; COMMIT"));
    }

    /// A session is gone; its number may be given to another one.
    pub(super) fn forget(&mut self, id: &str) {
        self.numbers.remove(id);
    }
}

/// The number of a session of this name.
pub(super) fn number(connection: &Connection, id: &str) -> Result<i64, StoreError> {
    let found = connection
        .prepare_cached("SELECT number FROM session WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    found.ok_or_else(|| StoreError::Unknown(id.to_owned()))
}

/// Writes batches, and opens the file anew after a failure.
pub(super) struct BatchWriter {
    /// None after a failure: a sync that failed is never tried again, for the system may have dropped what it
    /// could not write and say yes the second time. The file is opened anew and read as it is.
    conn: Option<WriterConn>,
    folder: PathBuf,
    /// What the latest batch took.
    took: Duration,
    /// What it took of that to make it durable.
    synced: Duration,
}

impl BatchWriter {
    /// A hand at an open file. `folder` is where it opens it again when that fails.
    pub(super) fn new(connection: Connection, folder: PathBuf) -> Result<Self, StoreError> {
        let conn = Some(WriterConn::open(connection, &folder)?);
        Ok(Self { conn, folder, took: Duration::ZERO, synced: Duration::ZERO })
    }

    /// What the latest batch took.
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    /// What it took of that to make it durable: this hardly depends on how much it was.
    pub(super) fn synced(&self) -> Duration {
        self.synced
    }

    /// Lets go of a file that was left in the middle of something.
    pub(super) fn let_go(&mut self) {
        self.conn = None;
    }

    /// Writes a batch as one transaction with one sync.
    pub(super) fn commit(&mut self, mut batch: Vec<Box<dyn WriteJob>>) -> Done {
        let began = Instant::now();
        let written = self.write(&mut batch);
        self.took = began.elapsed();
        match written {
            Ok(outcomes) => batch.into_iter().zip(outcomes).collect(),
            Err(error) => {
                self.conn.take().inspect(WriterConn::write_over);
                let why = error.to_string();
                batch.into_iter().map(|order| (order, Err(StoreError::NotWritten(why.clone())))).collect()
            }
        }
    }

    /// Makes room for what comes next, once those whom the latest batch served have been told.
    pub(super) fn make_room(&mut self) {
        if let Some(conn) = &mut self.conn {
            conn.room.make();
        }
    }

    /// Gives the system back what is free in the file. All of it is written anew, beside what is there.
    pub(super) fn shrink(&mut self) -> Result<(), StoreError> {
        let shrunk = self.conn().and_then(|conn| {
            conn.connection.execute_batch("VACUUM")?;
            // The file gets shorter when the log has been carried over into it.
            conn.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(())
        });
        if shrunk.is_err() {
            self.conn = None;
        }
        shrunk
    }

    /// Leaves everything in the register, so that whoever opens the file next need not read its end. Nothing is lost
    /// where that fails.
    pub(super) fn close(&mut self) {
        if let Some(WriterConn { connection, tail, .. }) = &mut self.conn
            && !tail.is_empty()
            && let Ok(transaction) = connection.unchecked_transaction()
        {
            let _ = tail.register(&transaction).and_then(|()| Ok(transaction.commit()?));
        }
    }

    /// The open file.
    fn conn(&mut self) -> Result<&mut WriterConn, StoreError> {
        match &mut self.conn {
            Some(conn) => Ok(conn),
            closed => Ok(closed.insert(WriterConn::open(schema::open(&self.folder)?, &self.folder)?)),
        }
    }

    /// What became of each order; or why nothing was written at all.
    fn write(&mut self, batch: &mut [Box<dyn WriteJob>]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let conn = self.conn()?;
        conn.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut outcomes = Vec::with_capacity(batch.len());
        for order in batch {
            let before = conn.connection.total_changes();
            let outcome = order.write(conn);
            match outcome {
                Err(StoreError::Disk(error)) => return Err(StoreError::Disk(error)),
                // Nothing of it may stay, and what it wrote cannot be told from what the others did.
                Err(error) if conn.connection.total_changes() != before => return Err(error),
                outcome => outcomes.push(outcome),
            }
        }
        if conn.tail.is_long() {
            conn.tail.register(&conn.connection)?;
        }
        let began = Instant::now();
        conn.connection.prepare_cached("COMMIT")?.execute([])?;
        self.synced = began.elapsed();
        Ok(outcomes)
    }
}
