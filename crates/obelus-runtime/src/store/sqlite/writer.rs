//! The writer thread of all sessions. Writes that arrive during a commit form the next one.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::file::{OpenFile, WriterFile};
use crate::store::{CheckpointData, StoreError};
use crate::summary::SessionSummary;

/// The limit of writes in one commit, so that none waits long.
const MOST_AT_ONCE: usize = 1024;

/// The longest wait for more writes before a commit.
const MOST_DELAY: Duration = Duration::from_millis(1);

/// The approximate size of checkpoints in one commit.
const MOST_BYTES: usize = 1 << 20;

/// After this long without writes, the store has time for checkpoints.
const IDLE: Duration = Duration::from_millis(20);

/// The limit of records for which a checkpoint is delayed while the store is busy.
const MOST_RECORDS: u64 = 1024;

/// A write within a batch's transaction. It returns its result for the caller; if it fails, it has written nothing.
pub(super) type WriteJob = Box<dyn FnOnce(&mut OpenFile) -> Result<u64, StoreError> + Send>;

/// Reports the result to the caller.
type Acknowledge = Box<dyn FnOnce(Result<u64, StoreError>) + Send>;

/// A resting session whose data are not yet written.
pub(super) struct DeferredCheckpoint {
    pub(super) id: String,
    /// The record of the first rest that this one replaces.
    first: u64,
    /// The checkpoint, and its record.
    pub(super) checkpoint: Option<(u64, String)>,
    /// The record of the open questions and the summary.
    pub(super) seq: u64,
    pub(super) questions: Vec<Value>,
    pub(super) summary: Option<SessionSummary>,
}

impl DeferredCheckpoint {
    fn is_due(&self) -> bool {
        self.seq >= self.first + MOST_RECORDS
    }

    fn bytes(&self) -> usize {
        self.checkpoint.as_ref().map_or(0, |(_, state)| state.len())
    }
}

/// The interface to the writer thread.
pub(super) struct StoreWriter {
    shared: Arc<WriterShared>,
    thread: Option<JoinHandle<()>>,
}

struct WriterShared {
    queue: Mutex<WriteQueue>,
    work_available: Condvar,
    file: Mutex<WriterFile>,
    /// Closes the reading connection. After a failed sync the file must have no open connection when it is reopened,
    /// and at the end the last connection to close checkpoints the log.
    close_reader: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct WriteQueue {
    jobs: Vec<(WriteJob, Acknowledge)>,
    checkpoints: BTreeMap<String, DeferredCheckpoint>,
    /// Set while the thread waits: it is woken when the queue has this many jobs. 0: by any change.
    wake_threshold: Option<usize>,
    is_closed: bool,
}

/// The writes of one commit.
struct CommitBatch {
    jobs: Vec<(WriteJob, Acknowledge)>,
    checkpoints: Vec<DeferredCheckpoint>,
}

impl WriteQueue {
    /// Removes the jobs of the next commit, with checkpoints that are due, or all if there is time.
    fn take_batch(&mut self, has_time: bool) -> CommitBatch {
        let jobs = self.jobs.drain(..self.jobs.len().min(MOST_AT_ONCE)).collect();
        let mut bytes = 0;
        let is_next = |_: &String, checkpoint: &mut DeferredCheckpoint| {
            let is_next = (has_time || checkpoint.is_due()) && bytes < MOST_BYTES;
            bytes += if is_next { checkpoint.bytes() } else { 0 };
            is_next
        };
        let checkpoints = self.checkpoints.extract_if(.., is_next).map(|(_, checkpoint)| checkpoint).collect();
        CommitBatch { jobs, checkpoints }
    }
}

impl StoreWriter {
    /// Opens the file in a folder and starts the thread.
    pub(super) fn start(folder: PathBuf, close_reader: impl Fn() + Send + Sync + 'static) -> Result<Self, StoreError> {
        let file = Mutex::new(WriterFile::new(folder.clone())?);
        let (queue, work_available, close_reader) = (Mutex::default(), Condvar::new(), Box::new(close_reader));
        let shared = Arc::new(WriterShared { queue, work_available, file, close_reader });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("store".to_owned()).spawn(move || own.serve());
        let thread = Some(thread.map_err(|error| StoreError::Folder(folder, error))?);
        Ok(Self { shared, thread })
    }

    /// Queues a write. The caller is told when it is durable, or why not.
    pub(super) fn write(&self, write: WriteJob, ack: Acknowledge) {
        self.shared.change(|queue| queue.jobs.push((write, ack)));
    }

    /// Queues the data of a resting session until there is time.
    pub(super) fn defer_checkpoint(&self, id: &str, seq: u64, rest: CheckpointData) {
        self.shared.change(|queue| {
            let new = || DeferredCheckpoint {
                id: id.to_owned(),
                first: seq,
                checkpoint: None,
                seq,
                questions: Vec::new(),
                summary: None,
            };
            let deferred = queue.checkpoints.entry(id.to_owned()).or_insert_with(new);
            // A reader may have seen an earlier rest.
            if seq < deferred.seq {
                return;
            }
            (deferred.seq, deferred.questions, deferred.summary) = (seq, rest.questions, rest.summary);
            deferred.checkpoint = rest.checkpoint.map(|state| (seq, state)).or(deferred.checkpoint.take());
        });
    }

    /// Drops the queued data of a session whose records are about to be removed.
    pub(super) fn forget(&self, id: &str) {
        self.shared.queue().checkpoints.remove(id);
    }

    /// Returns free space to the system, once there are no writes.
    pub(super) fn shrink(&self) -> Result<(), StoreError> {
        self.shared.file().shrink()
    }

    /// Reopens the file if a failure has closed it.
    pub(super) fn reopen(&self) -> Result<(), StoreError> {
        self.shared.file().open().map(drop)
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        // Queued writes are still completed.
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

    /// Changes the queue, and wakes the thread if it waits for that.
    fn change(&self, change: impl FnOnce(&mut WriteQueue)) {
        let mut queue = self.queue();
        change(&mut queue);
        if queue.wake_threshold.is_some_and(|writes| queue.jobs.len() >= writes || queue.is_closed) {
            queue.wake_threshold = None;
            drop(queue);
            self.work_available.notify_one();
        }
    }

    /// The thread's loop.
    fn serve(&self) {
        let mut writers = 0;
        while let Some(CommitBatch { jobs, checkpoints }) = self.next(writers) {
            let count = jobs.len();
            let (writes, acks): (Vec<WriteJob>, Vec<Acknowledge>) = jobs.into_iter().unzip();
            let mut file = self.file();
            // A panic in one write fails its batch, but no later one.
            let committed = std::panic::catch_unwind(AssertUnwindSafe(|| file.commit(writes, &checkpoints)));
            let committed = committed.unwrap_or_else(|_| {
                file.release();
                Err(StoreError::NotWritten("there is a mistake in the program".to_owned()))
            });
            drop(file);
            writers = count + self.queue().jobs.len();
            self.acknowledge(acks, committed);
        }
        (self.close_reader)();
        self.file().close();
    }

    /// Reports the result of a commit to the callers of its writes.
    fn acknowledge(&self, acks: Vec<Acknowledge>, committed: Result<Vec<Result<u64, StoreError>>, StoreError>) {
        match committed {
            Ok(outcomes) => acks.into_iter().zip(outcomes).for_each(|(ack, outcome)| ack(outcome)),
            Err(StoreError::OutcomeUnknown(why)) => {
                (self.close_reader)();
                acks.into_iter().for_each(|ack| ack(Err(StoreError::OutcomeUnknown(why.clone()))));
            }
            Err(error) => {
                let why = error.to_string();
                acks.into_iter().for_each(|ack| ack(Err(StoreError::NotWritten(why.clone()))));
            }
        }
    }

    /// Waits for the next batch; none at the end. `writers` is how many writes the last commit had, with those that
    /// came meanwhile.
    fn next(&self, writers: usize) -> Option<CommitBatch> {
        let mut queue = self.queue();
        let mut is_idle = false;
        loop {
            if !queue.jobs.is_empty() {
                return Some(self.gather(queue, writers).take_batch(false));
            }
            if !queue.checkpoints.is_empty() && (is_idle || queue.is_closed) {
                return Some(queue.take_batch(true));
            }
            if queue.is_closed {
                return None;
            }
            queue.wake_threshold = Some(0);
            if queue.checkpoints.is_empty() {
                queue = self.work_available.wait(queue).unwrap_or_else(PoisonError::into_inner);
            } else {
                let waited = self.work_available.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
                is_idle = waited.1.timed_out();
                queue = waited.0;
            }
        }
    }

    /// Waits a short time until half of the sessions that write have written again. One sync then serves many of them,
    /// and the others compute meanwhile. A session that writes alone never waits.
    fn gather<'a>(&self, mut queue: MutexGuard<'a, WriteQueue>, writers: usize) -> MutexGuard<'a, WriteQueue> {
        let (writes, end) = (writers.div_ceil(2), Instant::now() + MOST_DELAY);
        while queue.jobs.len() < writes && !queue.is_closed {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            queue.wake_threshold = Some(writes);
            queue = self.work_available.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.wake_threshold = None;
        queue
    }
}
