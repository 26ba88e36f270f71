//! Who writes: a thread for all sessions, or whoever waits anyway while nobody else writes.
//!
//! Whatever has come while the last commit was under way is the next commit.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::StoreError;
use super::hand::{Done, Hand, Order};

/// Orders in one commit at most, so that none waits long for the others.
const MOST_AT_ONCE: usize = 1024;

/// A commit that takes longer than this is slow: nobody who has other things to do should wait for one.
const QUICK: Duration = Duration::from_millis(2);

/// On whose thread an order is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// The writer's, together with whatever else has come.
    Writers,
    /// The caller's, which waits anyway: two changes of threads are saved. The writer's, while somebody writes.
    Callers,
    /// The same, as long as the disk is quick.
    CallersIfQuick,
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
    hand: Mutex<Hand>,
}

#[derive(Default)]
struct Queue {
    orders: Vec<Box<dyn Order>>,
    /// Whether the thread sleeps and nobody has woken it.
    is_asleep: bool,
    is_closed: bool,
}

impl Writer {
    /// Starts the thread on an open connection. `folder` is where it opens another one when that fails.
    pub(super) fn start(connection: Connection, folder: PathBuf) -> Result<Self, StoreError> {
        let hand = Mutex::new(Hand::new(connection, folder.clone())?);
        let shared = Arc::new(Shared { queue: Mutex::default(), came: Condvar::new(), hand });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("store".to_owned()).spawn(move || own.serve());
        let thread = Some(thread.map_err(|error| StoreError::Folder(folder, error))?);
        Ok(Self { shared, thread })
    }

    /// Has something written in one piece with whatever else is waiting. It is told when it is durable, or when
    /// nothing of it was written.
    pub(super) fn order(&self, order: Box<dyn Order>, on: On) {
        let shared = &*self.shared;
        let mut queue = shared.queue();
        if on != On::Writers
            && queue.orders.is_empty()
            && let Some(hand) = shared.free_hand()
            && (on == On::Callers || hand.took() <= QUICK)
        {
            drop(queue);
            return tell(write(hand, vec![order]));
        }
        queue.orders.push(order);
        if std::mem::take(&mut queue.is_asleep) {
            drop(queue);
            shared.came.notify_one();
        }
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

    fn hand(&self) -> MutexGuard<'_, Hand> {
        // Whoever panicked has let go of the file.
        self.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free_hand(&self) -> Option<MutexGuard<'_, Hand>> {
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
            let mut queue = self.queue();
            let most = queue.orders.len().min(MOST_AT_ONCE);
            let later = queue.orders.split_off(most);
            let batch = std::mem::replace(&mut queue.orders, later);
            drop(queue);
            tell(write(hand, batch));
        }
    }

    /// Waits until something has come; false when nothing will come any more.
    fn wait(&self) -> bool {
        let mut queue = self.queue();
        while queue.orders.is_empty() {
            if queue.is_closed {
                return false;
            }
            queue.is_asleep = true;
            queue = self.came.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.is_asleep = false;
        true
    }
}

/// Writes a batch. A mistake in the code of an order spoils its batch, and nothing that comes after.
fn write(mut hand: MutexGuard<'_, Hand>, batch: Vec<Box<dyn Order>>) -> Done {
    // Whoever is not told anything is told by that that nothing was written.
    std::panic::catch_unwind(AssertUnwindSafe(|| hand.commit(batch))).unwrap_or_else(|_| {
        hand.let_go();
        Done::new()
    })
}

fn tell(done: Done) {
    done.into_iter().for_each(|(order, outcome)| order.tell(outcome));
}
