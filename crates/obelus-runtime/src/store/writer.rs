//! One thread writes for all sessions: whatever has come while the last commit was under way is the next commit.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use super::{StoreError, schema};

/// Orders in one commit at most, so that none waits long for the others.
const MOST_AT_ONCE: usize = 1024;

type Work = Box<dyn FnOnce(&Connection) -> Result<(), StoreError> + Send>;
type Tell = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Something to be written, and who is told when it is durable.
struct Order {
    work: Work,
    tell: Tell,
}

/// The way to the thread that writes.
pub(super) struct Writer {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread on an open connection. `folder` is where it opens another one when that fails.
    pub(super) fn start(connection: Connection, folder: PathBuf) -> std::io::Result<Self> {
        let (orders, inbox) = channel();
        let hand = Hand { connection: Some(connection), folder };
        let thread = thread::Builder::new().name("store".to_owned()).spawn(move || hand.work(&inbox))?;
        Ok(Self { orders: Some(orders), thread: Some(thread) })
    }

    /// Has something written in one piece with whatever else is waiting. `tell` is called when it is durable, or
    /// when nothing of it was written.
    pub(super) fn order(
        &self,
        work: impl FnOnce(&Connection) -> Result<(), StoreError> + Send + 'static,
        tell: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) {
        let order = Order { work: Box::new(work), tell: Box::new(tell) };
        let refused = match &self.orders {
            Some(orders) => orders.send(order).map_err(|refused| refused.0).err(),
            None => Some(order),
        };
        if let Some(order) = refused {
            (order.tell)(Err(StoreError::NotWritten("the store's writer has ended".to_owned())));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // What was ordered is still written: the thread ends when the last order is done.
        drop(self.orders.take());
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

struct Hand {
    /// None after a failure: a sync that failed is never tried again, for the system may have dropped what it
    /// could not write and say yes the second time. The file is opened anew and read as it is.
    connection: Option<Connection>,
    folder: PathBuf,
}

impl Hand {
    fn work(mut self, inbox: &Receiver<Order>) {
        while let Ok(first) = inbox.recv() {
            let mut batch = vec![first];
            batch.extend(inbox.try_iter().take(MOST_AT_ONCE - 1));
            self.commit(batch);
        }
    }

    /// Writes a batch as one transaction with one sync.
    fn commit(&mut self, batch: Vec<Order>) {
        let (works, tells): (Vec<Work>, Vec<Tell>) = batch.into_iter().map(|order| (order.work, order.tell)).unzip();
        match self.write(works) {
            Ok(own) => tells.into_iter().zip(own).for_each(|(tell, own)| tell(own)),
            Err(error) => {
                self.connection = None;
                let why = error.to_string();
                tells.into_iter().for_each(|tell| tell(Err(StoreError::NotWritten(why.clone()))));
            }
        }
    }

    /// What became of each order; or why nothing was written at all.
    fn write(&mut self, works: Vec<Work>) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(schema::open(&self.folder)?),
        };
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let mut outcomes = Vec::with_capacity(works.len());
        for work in works {
            // An order that is refused leaves nothing behind, and does not spoil the others.
            transaction.prepare_cached("SAVEPOINT one")?.execute([])?;
            let outcome = work(&transaction);
            if let Err(StoreError::Disk(error)) = outcome {
                return Err(StoreError::Disk(error));
            }
            if outcome.is_err() {
                transaction.prepare_cached("ROLLBACK TO one")?.execute([])?;
            }
            transaction.prepare_cached("RELEASE one")?.execute([])?;
            outcomes.push(outcome);
        }
        transaction.commit()?;
        Ok(outcomes)
    }
}
