//! The thread that writes for all sessions. Whatever has come while the last commit was under way is the next commit.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use super::file::{OpenFile, WriterFile};
use crate::store::{Rest, StoreError};

/// Writes in one commit at most, so that none waits long for the others.
const MOST_AT_ONCE: usize = 1024;

/// Bytes of checkpoints in one commit, about.
const MOST_BYTES: usize = 1 << 20;

/// A store that nobody has written to for so long has time for checkpoints.
const IDLE: Duration = Duration::from_millis(20);

/// A checkpoint is put off while the store is busy, but not for more records of its session than this.
const MOST_RECORDS: u64 = 1024;

/// Something to write in the transaction of a batch. It returns what its caller is told; where it refuses, it has not
/// written anything.
pub(super) type WriteJob = Box<dyn FnOnce(&mut OpenFile) -> Result<u64, StoreError> + Send>;

/// Tells the caller what became of it.
type Acknowledge = Box<dyn FnOnce(Result<u64, StoreError>) + Send>;

/// What a session was when it last came to rest, until there is time to write it.
pub(super) struct PutOff {
    pub(super) id: String,
    /// The record after which the first of those rests was that this one replaces.
    first: u64,
    /// The checkpoint, and the record after which it was made.
    pub(super) checkpoint: Option<(u64, String)>,
    /// The open questions, and the record after which they are open.
    pub(super) questions: (u64, Vec<Value>),
}

impl PutOff {
    fn is_due(&self) -> bool {
        self.questions.0 >= self.first + MOST_RECORDS
    }

    fn bytes(&self) -> usize {
        self.checkpoint.as_ref().map_or(0, |(_, state)| state.len())
    }
}

/// The way to the thread.
pub(super) struct StoreWriter {
    shared: Arc<WriterShared>,
    thread: Option<JoinHandle<()>>,
}

struct WriterShared {
    queue: Mutex<WriteQueue>,
    came: Condvar,
    file: Mutex<WriterFile>,
    /// Closes the connection that reads. After a failed sync nobody may have the file open when it is opened again, and
    /// at the end the connection that closes last carries the log over.
    close_reader: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct WriteQueue {
    jobs: Vec<(WriteJob, Acknowledge)>,
    rests: BTreeMap<String, PutOff>,
    is_asleep: bool,
    is_closed: bool,
}

/// What is written by one commit.
struct CommitBatch {
    jobs: Vec<(WriteJob, Acknowledge)>,
    rests: Vec<PutOff>,
}

impl WriteQueue {
    /// The next commit. Checkpoints are part of it if they are due, or all of them if there is time.
    fn take(&mut self, has_time: bool) -> CommitBatch {
        let jobs = self.jobs.drain(..self.jobs.len().min(MOST_AT_ONCE)).collect();
        let mut bytes = 0;
        let is_next = |_: &String, rest: &mut PutOff| {
            let is_next = (has_time || rest.is_due()) && bytes < MOST_BYTES;
            bytes += if is_next { rest.bytes() } else { 0 };
            is_next
        };
        let rests = self.rests.extract_if(.., is_next).map(|(_, rest)| rest).collect();
        CommitBatch { jobs, rests }
    }
}

impl StoreWriter {
    /// Opens the file in a folder and starts the thread.
    pub(super) fn start(folder: PathBuf, close_reader: impl Fn() + Send + Sync + 'static) -> Result<Self, StoreError> {
        let file = Mutex::new(WriterFile::new(folder.clone())?);
        let (queue, came, close_reader) = (Mutex::default(), Condvar::new(), Box::new(close_reader));
        let shared = Arc::new(WriterShared { queue, came, file, close_reader });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("store".to_owned()).spawn(move || own.serve());
        let thread = Some(thread.map_err(|error| StoreError::Folder(folder, error))?);
        Ok(Self { shared, thread })
    }

    /// Has something written. The caller is told when it is durable, or why it is not.
    pub(super) fn write(&self, write: WriteJob, tell: Acknowledge) {
        self.shared.change(|queue| queue.jobs.push((write, tell)));
    }

    /// Has a rest written when there is time.
    pub(super) fn put_off(&self, id: &str, seq: u64, rest: Rest) {
        self.shared.change(|queue| {
            let new = || PutOff { id: id.to_owned(), first: seq, checkpoint: None, questions: (0, Vec::new()) };
            let put_off = queue.rests.entry(id.to_owned()).or_insert_with(new);
            put_off.questions = (seq, rest.questions);
            put_off.checkpoint = rest.checkpoint.map(|state| (seq, state)).or(put_off.checkpoint.take());
        });
    }

    /// Drops what was put off for a session whose records are about to be removed.
    pub(super) fn forget(&self, id: &str) {
        self.shared.queue().rests.remove(id);
    }

    /// Gives the system back what is free in the file, once nobody writes.
    pub(super) fn shrink(&self) -> Result<(), StoreError> {
        self.shared.file().shrink()
    }

    /// Opens the file if a failure has closed it.
    pub(super) fn reopen(&self) -> Result<(), StoreError> {
        self.shared.file().open().map(drop)
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        // Whatever was handed in is still written.
        self.shared.change(|queue| queue.is_closed = true);
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl WriterShared {
    fn queue(&self) -> MutexGuard<'_, WriteQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self) -> MutexGuard<'_, WriterFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the queue, and wakes the thread if it sleeps.
    fn change(&self, change: impl FnOnce(&mut WriteQueue)) {
        let mut queue = self.queue();
        change(&mut queue);
        if std::mem::take(&mut queue.is_asleep) {
            drop(queue);
            self.came.notify_one();
        }
    }

    /// The thread's work.
    fn serve(&self) {
        while let Some(CommitBatch { jobs, rests }) = self.next() {
            let (writes, tells): (Vec<WriteJob>, Vec<Acknowledge>) = jobs.into_iter().unzip();
            let mut file = self.file();
            // A mistake in one write spoils its batch, and nothing that comes after.
            let committed = std::panic::catch_unwind(AssertUnwindSafe(|| file.commit(writes, &rests)));
            let committed = committed.unwrap_or_else(|_| {
                file.let_go();
                Err(StoreError::NotWritten("there is a mistake in the program".to_owned()))
            });
            drop(file);
            self.tell(tells, committed);
        }
        (self.close_reader)();
        self.file().close();
    }

    fn tell(&self, tells: Vec<Acknowledge>, committed: Result<Vec<Result<u64, StoreError>>, StoreError>) {
        match committed {
            Ok(outcomes) => tells.into_iter().zip(outcomes).for_each(|(tell, outcome)| tell(outcome)),
            Err(StoreError::OutcomeUnknown(why)) => {
                (self.close_reader)();
                tells.into_iter().for_each(|tell| tell(Err(StoreError::OutcomeUnknown(why.clone()))));
            }
            Err(error) => {
                let why = error.to_string();
                tells.into_iter().for_each(|tell| tell(Err(StoreError::NotWritten(why.clone()))));
            }
        }
    }

    /// Waits for the next batch; none when nothing will come any more.
    fn next(&self) -> Option<CommitBatch> {
        let mut queue = self.queue();
        let mut is_idle = false;
        loop {
            if !queue.jobs.is_empty() {
                return Some(queue.take(false));
            }
            if !queue.rests.is_empty() && (is_idle || queue.is_closed) {
                return Some(queue.take(true));
            }
            if queue.is_closed {
                return None;
            }
            queue.is_asleep = true;
            queue = match queue.rests.is_empty() {
                true => self.came.wait(queue).unwrap_or_else(PoisonError::into_inner),
                false => {
                    let (queue, waited) = self.came.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
                    is_idle = waited.timed_out();
                    queue
                }
            };
        }
    }
}
