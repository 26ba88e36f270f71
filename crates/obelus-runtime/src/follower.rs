//! Sessions that other processes run: they are followed by their records, and get inputs through [`Workers`].
//!
//! A follower replaces the actor of a session. It takes the same commands and publishes the same numbered events,
//! because both follow from the same records. It polls for new records while somebody waits or subscribes.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::Time;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Input, Refused};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::actor::report::Reporter;
use crate::actor::waiters::Waiters;
use crate::actor::{ActorCommand, InputCommand, WaitFor, ended_refusal};
use crate::clock::Clock;
use crate::events::{EventBody, Feed};
use crate::images::ImageError;
use crate::restore::{Replica, SessionFactory};
use crate::secret::without_secrets_of;
use crate::store::{InputId, Record, Store, StoreError};

/// The polling interval: at first, and after a time without news.
const PAUSE: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// How often it checks for subscribers.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// How long the workers may be unreachable before those who wait are told.
const PATIENCE: Duration = Duration::from_secs(30);

/// The future of [`Workers`].
pub type WorkersFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Processes that run sessions, and a store that they share with this one.
pub trait Workers: Send + Sync + 'static {
    /// Gives a session an input; returns the number of its record. It is durable then.
    fn send_input<'a>(&'a self, session: &'a str, input: WorkerInput) -> WorkersFuture<'a, Result<u64, Refused>>;

    /// The records of a session after one, and the number of the last record.
    fn news<'a>(&'a self, session: &'a str, after: u64) -> WorkersFuture<'a, Result<(Vec<Record>, u64), StoreError>>;
}

/// An input for a session.
#[derive(Clone, Debug)]
pub struct WorkerInput {
    /// The input.
    pub input: Input,
    /// An input with the same id is taken once (DUR-13).
    pub id: Option<InputId>,
    /// Its time.
    pub at: Time,
}

/// Follows one session.
pub(crate) struct Follower {
    id: String,
    replica: Replica,
    session_factory: SessionFactory,
    workers: Arc<dyn Workers>,
    clock: Clock,
    report: Reporter,
    feed: Arc<Feed>,
    commands: mpsc::UnboundedReceiver<ActorCommand>,
    waiters: Waiters,
    idle_after: Option<Duration>,
    /// The latest record that is known to be durable.
    reached: u64,
    pause: Duration,
    /// Since when the workers are unreachable, and why.
    failure: Option<(Instant, Refused)>,
}

/// The initial state of a follower.
pub(crate) struct FollowerStart {
    pub(crate) replica: Replica,
    pub(crate) session_factory: SessionFactory,
    pub(crate) workers: Arc<dyn Workers>,
    pub(crate) clock: Clock,
    pub(crate) feed: Arc<Feed>,
    pub(crate) commands: mpsc::UnboundedReceiver<ActorCommand>,
    pub(crate) idle_after: Option<Duration>,
}

impl Follower {
    /// Follows a session. `language` is that of its steps.
    pub(crate) fn new(begin: FollowerStart, language: Option<&str>) -> Self {
        let FollowerStart { replica, session_factory, workers, clock, feed, commands, idle_after } = begin;
        Self {
            id: replica.id().to_owned(),
            reached: replica.last(),
            replica,
            session_factory,
            workers,
            clock,
            report: Reporter::new(Arc::clone(&feed), None, language),
            feed,
            commands,
            waiters: Waiters::default(),
            idle_after,
            pause: PAUSE[0],
            failure: None,
        }
    }

    /// Runs until it is idle for long or told to end.
    pub(crate) async fn run(
        &mut self,
        store: &Arc<dyn Store>,
        may_end: impl Fn(&mpsc::UnboundedReceiver<ActorCommand>) -> bool,
    ) {
        let mut idle_since = Instant::now();
        loop {
            let is_wanted = !self.waiters.is_empty() || self.feed.is_watched();
            if is_wanted {
                idle_since = Instant::now();
            }
            let pause = if is_wanted { self.pause } else { CHECK_INTERVAL };
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    None | Some(ActorCommand::End) => return,
                    Some(command) => {
                        idle_since = Instant::now();
                        self.handle_command(command, store).await;
                    }
                },
                () = tokio::time::sleep(pause) => {
                    if is_wanted {
                        self.refresh(store).await;
                    }
                }
            }
            self.answer_waiters();
            let is_idle = self.idle_after.is_some_and(|idle| idle_since.elapsed() >= idle);
            if is_idle && may_end(&self.commands) {
                return;
            }
        }
    }

    /// Tells those who still wait that it has ended.
    pub(crate) fn end(mut self) {
        self.waiters.refuse(&ended_refusal());
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            command.refuse(&ended_refusal());
        }
    }

    async fn handle_command(&mut self, command: ActorCommand, store: &Arc<dyn Store>) {
        match command {
            ActorCommand::Inspect(read) => {
                self.refresh(store).await;
                read(self.replica.session());
            }
            ActorCommand::Wait(waiter) => {
                self.refresh(store).await;
                self.waiters.add(waiter);
                self.pause = PAUSE[0];
            }
            ActorCommand::Input(command) => self.handle_input(*command).await,
            ActorCommand::Attach { path, answer } => {
                let error = std::io::Error::other("this engine keeps no pictures");
                let _ = answer.send(Err(ImageError::Unreadable { path, error }));
            }
            ActorCommand::Services { answer } => {
                let _ = answer.send(None);
            }
            // Workers carry out the calls.
            ActorCommand::Activities { answer } => {
                let _ = answer.send(Arc::default());
            }
            ActorCommand::Unload | ActorCommand::End => {}
        }
    }

    async fn handle_input(&mut self, command: InputCommand) {
        let input = WorkerInput {
            input: without_secrets_of(command.input.clone()),
            id: command.id.clone(),
            at: (self.clock)(),
        };
        let recorded = self.workers.send_input(&self.id, input).await;
        if let Ok(record) = recorded {
            self.reached = self.reached.max(record);
        }
        self.pause = PAUSE[0];
        command.answer(recorded);
    }

    /// Reads new records.
    async fn refresh(&mut self, store: &Arc<dyn Store>) {
        let found = self.workers.news(&self.id, self.replica.last()).await;
        let applied = found.map_err(|error| Refused::new(RefusalCode::Unreachable, error.to_string())).and_then(
            |(records, last)| {
                if last < self.replica.last() {
                    // The session was taken back to its last rest.
                    self.restore(store, last)
                } else {
                    self.apply_records(records)
                }
            },
        );
        match applied {
            Ok(()) => self.failure = None,
            Err(refused) => {
                let since = self.failure.take().map_or_else(Instant::now, |(since, _)| since);
                self.failure = Some((since, refused));
            }
        }
    }

    fn restore(&mut self, store: &Arc<dyn Store>, last: u64) -> Result<(), Refused> {
        let restored = Replica::restore(store, &self.id, &self.session_factory, None);
        self.replica = restored.map_err(|error| Refused::new(RefusalCode::Damaged, error.to_string()))?;
        self.reached = last;
        self.feed.resume_at(self.replica.last());
        Ok(())
    }

    fn apply_records(&mut self, records: Vec<Record>) -> Result<(), Refused> {
        let Some(at) = records.last().map(|record| record.at) else {
            self.pause = (self.pause * 2).min(PAUSE[1]);
            return Ok(());
        };
        self.pause = PAUSE[0];
        for record in records {
            let (at, input) = (record.at, Arc::clone(&record.input));
            let effects =
                self.replica.apply(record).map_err(|error| Refused::new(RefusalCode::Damaged, error.to_string()))?;
            let last = self.replica.last();
            if !self.feed.skip_record(last) {
                let events = EventBody::of(self.replica.session(), at, &input, effects.changes_memory, &effects.tasks);
                self.feed.publish(last, at, events);
            }
        }
        self.reached = self.reached.max(self.replica.last());
        let session = self.replica.session_mut();
        if self.feed.is_watched() {
            self.feed.publish_transient(at, [self.report.progress(session)]);
        } else {
            self.report.skip(session);
        }
        Ok(())
    }

    /// Answers those who wait, if the session rests or has failed.
    fn answer_waiters(&mut self) {
        if let Some((since, refused)) = &self.failure {
            if since.elapsed() > PATIENCE || refused.code == RefusalCode::Damaged {
                self.waiters.refuse(refused);
            }
            return;
        }
        // The latest input has not arrived here yet.
        if self.waiters.is_empty() || self.replica.last() < self.reached {
            return;
        }
        let (session, is_still) = (self.replica.session(), self.replica.is_still());
        self.waiters.answer(session, |what| match what {
            WaitFor::Rest => session.is_at_rest(),
            WaitFor::RestOrPause => session.is_at_rest() || session.paused().is_some(),
            WaitFor::Stillness => is_still,
        });
    }
}
