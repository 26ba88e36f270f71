//! Who writes: a thread for all sessions, or whoever would wait for it anyway.
//!
//! Whatever has come while the last commit was under way is the next commit. Those that it served are about to come
//! again, so the next one waits for them a little. When all sessions that there are have come, the last of them writes
//! for all, on its own thread, as long as the disk is quick: two changes of threads for each commit are saved.
//!
//! Where it takes them longer to come again than it takes to commit, they are served by halves: one half works while
//! the other is written.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::StoreError;
use super::batch_writer::{BatchWriter, Done, WriteJob};

/// Orders in one commit at most, so that none waits long for the others.
const MOST_AT_ONCE: usize = 1024;

/// Bytes in one commit, about: what is long, such as snapshots of many sessions, is written bit by bit, and those who
/// wait for little are served in between.
const MOST_BYTES: usize = 1 << 20;

/// A commit that takes longer than this is slow: nobody who has other things to do should wait for one.
const QUICK: Duration = Duration::from_millis(2);

/// How long a commit is put off at most for others that are about to come; and never longer than the last one took.
const MOST_PATIENCE: Duration = Duration::from_millis(1);

/// On whose thread an order may be written. The writer's it is in any case while somebody else writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// The writer's only.
    Writers,
    /// The caller's, which waits anyway.
    Callers,
    /// The caller's, as long as the disk is quick, once so many orders are there: nobody else can come.
    CallersAfter(usize),
}

/// The way to the hand that writes.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    came: Condvar,
    /// Taken before the queue is emptied: so orders are written in the order in which they came.
    hand: Mutex<BatchWriter>,
}

struct Queue {
    orders: Vec<Box<dyn WriteJob>>,
    /// How many the next commit is for, if they come in time.
    expected: usize,
    /// How long they are waited for.
    until: Instant,
    returns: Returns,
    /// Whether one half is served while the other works.
    by_halves: bool,
    /// How many orders the thread sleeps for; none while it is awake, or has been woken.
    wanted: Option<usize>,
    is_closed: bool,
}

impl Queue {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            orders: Vec::new(),
            expected: 0,
            until: now,
            returns: Returns { served: 0, since: now, came: 0, each: Duration::ZERO },
            by_halves: false,
            wanted: None,
            is_closed: false,
        }
    }

    /// An order has come; how many there are.
    fn push(&mut self, order: Box<dyn WriteJob>) -> usize {
        self.orders.push(order);
        self.returns.count();
        self.orders.len()
    }

    /// A commit has ended. Those whom it served are likely to come again, those served before may be on their way, and
    /// whoever came meanwhile is there.
    fn served(&mut self, served: usize, hand: &BatchWriter) {
        let all = served + self.returns.out() + self.orders.len();
        self.by_halves = all > 1 && self.returns.of(all) > hand.synced();
        self.expected = if self.by_halves { all.div_ceil(2) } else { all };
        self.until = Instant::now() + hand.took().min(MOST_PATIENCE);
        self.returns.begin(served);
    }

    /// How many of the orders the next commit is for.
    fn next(&self) -> usize {
        let before = self.orders.iter().scan(0, |sum, order| {
            let before = *sum;
            *sum += order.bytes();
            Some(before)
        });
        before.take(MOST_AT_ONCE).take_while(|before| *before < MOST_BYTES).count()
    }

    /// The next batch.
    fn take(&mut self) -> Vec<Box<dyn WriteJob>> {
        let later = self.orders.split_off(self.next());
        std::mem::replace(&mut self.orders, later)
    }
}

/// How long it takes those who were served to come again.
struct Returns {
    served: usize,
    since: Instant,
    /// How many orders have come since.
    came: usize,
    /// What it took for each, when last all of them came.
    each: Duration,
}

impl Returns {
    fn begin(&mut self, served: usize) {
        (self.served, self.since, self.came) = (served, Instant::now(), 0);
    }

    fn count(&mut self) {
        self.came += 1;
        if self.came == self.served {
            self.each = self.since.elapsed() / u32::try_from(self.served).unwrap_or(u32::MAX);
        }
    }

    /// How many of them have not come yet.
    fn out(&self) -> usize {
        self.served.saturating_sub(self.came)
    }

    /// What it would take for so many.
    fn of(&self, all: usize) -> Duration {
        self.each * u32::try_from(all).unwrap_or(u32::MAX)
    }
}

impl Writer {
    /// Starts the thread on an open connection. `folder` is where it opens another one when that fails.
    pub(super) fn start(connection: Connection, folder: PathBuf) -> Result<Self, StoreError> {
        let hand = Mutex::new(BatchWriter::new(connection, folder.clone())?);
        let shared = Arc::new(Shared { queue: Mutex::new(Queue::new()), came: Condvar::new(), hand });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("store".to_owned()).spawn(move || own.serve());
        let thread = Some(thread.map_err(|error| StoreError::Folder(folder, error))?);
        Ok(Self { shared, thread })
    }

    /// Has something written in one piece with whatever else is waiting. It is told when it is durable, or when
    /// nothing of it was written.
    pub(super) fn order(&self, order: Box<dyn WriteJob>, on: On) {
        let shared = &*self.shared;
        let mut queue = shared.queue();
        let count = queue.push(order);
        let may = match on {
            On::Writers => false,
            On::Callers => true,
            On::CallersAfter(all) => count >= all && !queue.by_halves,
        };
        if may
            && queue.next() == count
            && let Some(hand) = shared.free_hand()
            && (on == On::Callers || hand.took() <= QUICK)
        {
            let batch = queue.take();
            drop(queue);
            return shared.write(hand, batch);
        }
        if queue.wanted.is_some_and(|wanted| count >= wanted) {
            queue.wanted = None;
            drop(queue);
            shared.came.notify_one();
        }
    }

    /// Gives the system back what is free in the file, once nobody writes.
    pub(super) fn shrink(&self) -> Result<(), StoreError> {
        self.shared.hand().shrink()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // What was ordered is still written: the thread ends when the last order is done.
        self.shared.queue().is_closed = true;
        self.shared.came.notify_one();
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing is half done in it at any time.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand(&self) -> MutexGuard<'_, BatchWriter> {
        // Whoever panicked has let go of the file.
        self.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free_hand(&self) -> Option<MutexGuard<'_, BatchWriter>> {
        match self.hand.try_lock() {
            Ok(hand) => Some(hand),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The thread's work.
    fn serve(&self) {
        while self.wait() {
            let hand = self.hand();
            let batch = self.queue().take();
            self.write(hand, batch);
        }
        self.hand().close();
    }

    /// Waits until something has come; false when nothing will come any more.
    fn wait(&self) -> bool {
        let mut queue = self.queue();
        loop {
            let left = queue.until.saturating_duration_since(Instant::now());
            let (now, wanted) = (queue.orders.len(), queue.expected);
            queue = if now == 0 && queue.is_closed {
                return false;
            } else if now == 0 {
                queue.wanted = Some(1);
                self.came.wait(queue).unwrap_or_else(PoisonError::into_inner)
            } else if now < wanted && !left.is_zero() && !queue.is_closed {
                queue.wanted = Some(wanted);
                self.came.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0
            } else {
                queue.wanted = None;
                return true;
            };
        }
    }

    /// Writes a batch and tells everybody in it.
    fn write(&self, mut hand: MutexGuard<'_, BatchWriter>, batch: Vec<Box<dyn WriteJob>>) {
        if batch.is_empty() {
            // Somebody has written it meanwhile.
            return;
        }
        let served = batch.len();
        // A mistake in the code of an order spoils its batch, and nothing that comes after. Whoever is not told
        // anything is told by that that nothing was written.
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| hand.commit(batch))).unwrap_or_else(|_| {
            hand.let_go();
            Done::new()
        });
        self.queue().served(served, &hand);
        done.into_iter().for_each(|(order, outcome)| order.tell(outcome));
        hand.make_room();
    }
}
