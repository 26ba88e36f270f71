//! The actor of a session: one task that owns the kernel's [`Session`], keeps what it is told, and performs what it
//! wants done.
//!
//! For each batch of inputs: the session takes them, what it hands out is collected, the records become durable, and
//! only then is anything performed, published or answered (DUR-2, DUR-3). If the records cannot be kept, the session
//! in memory is thrown away and restored from its store.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `command` | what handles say |
//! | `intake` | inputs on their way into the session and its journal |
//! | `perform` | what the session hands out, and what is told of it |
//! | `tell` | what people say, and edits of the state's file |
//! | `running` | calls, requests and files under way |
//! | `elicitations`, `parts` | what calls ask people, and answers that are still being written |
//! | `report` | events, the state's file and the log |
//! | `waiters` | who waits for a rest |

mod command;
mod elicitations;
mod intake;
mod parts;
mod perform;
pub(crate) mod report;
mod running;
mod second_look;
mod tell;
pub(crate) mod waiters;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Refused, Session, Task};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::connector::{Connections, Services};
use crate::events::{EventBody, Feed};
use crate::images::ImageStore;
use crate::session_files::SessionFiles;
use crate::spec::SessionSpec;
use crate::store::InputId;
pub(crate) use command::{Command, Tell, WaitFor};
use intake::Incoming;
pub(crate) use intake::Journal;
use report::Report;
use running::{News, RunningWork};
use waiters::Waiters;

/// The code of a refusal because the journal could not be written: nothing was kept, and nothing has happened.
pub const NOT_DURABLE: &str = "not_durable";

/// The code of a refusal because a sync failed: whether the input was kept is known when the store is opened anew.
pub const OUTCOME_UNKNOWN: &str = "outcome_unknown";

/// The code of a refusal because an earlier part of the session, which was needed, cannot be read.
pub const DAMAGED: &str = "damaged";

/// The code of a refusal because the id of an input was used for another one (DUR-13).
const ID_REUSED: &str = "id_reused";

/// The code of a refusal because the session is not there any more.
pub const GONE: &str = "gone";

/// Outcomes taken in at once at most, so that one commit serves them all and none waits long.
const MOST_AT_ONCE: usize = 256;

/// Batches after which other sessions have a turn, where this one never waits.
const BATCHES_IN_A_ROW: u32 = 64;

/// How long a session is at rest before it is kept: the next turn may follow at once, and a checkpoint is as long as the
/// memory of the session.
const KEPT_AFTER: Duration = Duration::from_millis(20);

/// A session at rest is kept at once after so many records, so that restoring it never replays many more.
const MOST_RECORDS: u64 = 1024;

/// How long after a failure it is tried again whether records can be kept: at first, and at most.
const RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// The actor of one session.
pub(crate) struct Actor {
    session: Session,
    clock: Clock,
    /// When the latest input was taken.
    latest: Time,
    /// How many inputs the session has taken.
    record: u64,
    /// How many it had taken when it was last kept at rest, or opened.
    kept: u64,
    journal: Option<Journal>,
    work: RunningWork,
    report: Report,
    commands: mpsc::UnboundedReceiver<Command>,
    waiters: Waiters,
    services: Option<Arc<dyn Services>>,
    images: ImageStore,
    /// Pictures that go with the next words.
    attached: Vec<Input>,
    /// What people said while an edit of the state's file is at work: it comes after that.
    deferred: VecDeque<Tell>,
    /// What an earlier process had under way. It goes on when somebody says something or waits.
    held: Vec<Task>,
    is_awake: bool,
    /// Whether what an earlier process had under way is being settled: until the turn rests, or nothing is at work.
    is_settling: bool,
    /// Whether the session believes in something that only an earlier process knew.
    forgets: bool,
    /// Ids of inputs that were taken and their records, where no store knows them.
    taken: BTreeMap<InputId, u64>,
    /// The latest moment at which questions were due.
    ticked: Option<Time>,
    failure: Option<Failure>,
    /// Failures since something was last kept.
    failures: u32,
    /// How long it may be idle before it ends; for ever where there is none.
    idle_after: Option<Duration>,
    /// Whether it is to end as soon as it is idle.
    lets_go: bool,
    /// The room of the latest batch, for the next one.
    room: Vec<Incoming>,
    /// What is to be performed of the latest batch.
    tasks: Vec<Task>,
}

/// Outcomes could not be kept.
struct Failure {
    refused: Refused,
    pause: Duration,
    /// Whether the session cannot be restored either.
    is_final: bool,
}

/// What an actor begins with.
pub(crate) struct Begin {
    pub(crate) session: Session,
    /// How many records its journal has.
    pub(crate) record: u64,
    /// What an earlier process had under way.
    pub(crate) open: Vec<Task>,
    pub(crate) connections: Connections,
    pub(crate) clock: Clock,
    pub(crate) journal: Option<Journal>,
    pub(crate) files: Option<SessionFiles>,
    pub(crate) images: ImageStore,
    pub(crate) feed: Arc<Feed>,
    pub(crate) idle_after: Option<Duration>,
}

/// Why an actor ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It has been idle for long: the session can be restored from its store.
    Idle,
    /// Somebody wants it to end, or nobody can reach it any more.
    Requested,
    /// The session cannot be restored.
    Broken,
}

/// What an actor that waits is woken by.
enum Wake {
    Outcome(Input),
    Command(Option<Command>),
    Due,
    Retry,
    Keep,
    Idle,
}

impl Actor {
    pub(crate) fn new(begin: Begin, spec: &SessionSpec, commands: mpsc::UnboundedReceiver<Command>) -> Self {
        let Begin { session, record, open, connections, clock, journal, files, images, feed, idle_after } = begin;
        let work = RunningWork::new(&connections, spec.folder.clone(), spec.local.unattended);
        let forgets = session.has_observations() || session.has_elicitations();
        Self {
            latest: Time::default(),
            record,
            kept: record,
            journal,
            work,
            report: Report::new(feed, files, spec.language.as_deref()),
            commands,
            waiters: Waiters::default(),
            services: connections.services,
            images,
            attached: Vec::new(),
            deferred: VecDeque::new(),
            held: open,
            is_awake: false,
            is_settling: false,
            forgets,
            taken: BTreeMap::new(),
            ticked: None,
            failure: None,
            failures: 0,
            idle_after,
            lets_go: false,
            room: Vec::new(),
            tasks: Vec::new(),
            session,
            clock,
        }
    }

    /// Lives until it is idle for long, told to end, or cannot go on. `may_end` is asked before an idle one ends: not
    /// if somebody has just said something.
    pub(crate) async fn live(&mut self, may_end: impl Fn(&mpsc::UnboundedReceiver<Command>) -> bool) -> End {
        let mut batches = 0;
        loop {
            while let Ok(command) = self.commands.try_recv() {
                if let Some(end) = self.obey(command).await {
                    return end;
                }
            }
            if self.session.is_at_rest()
                && let Some(tell) = self.deferred.pop_front()
            {
                self.tell(tell).await;
            } else if self.failure.is_none() && self.work.has_outcomes() {
                self.take_outcomes(None).await;
            } else {
                match self.wait().await {
                    Wake::Outcome(first) => self.take_outcomes(Some(first)).await,
                    Wake::Command(Some(command)) => {
                        if let Some(end) = self.obey(command).await {
                            return end;
                        }
                    }
                    Wake::Command(None) => return End::Requested,
                    Wake::Due => self.tick().await,
                    Wake::Retry => self.failure = None,
                    Wake::Keep => self.keep_rest(),
                    Wake::Idle if may_end(&self.commands) => return End::Idle,
                    Wake::Idle => {}
                }
            }
            if self.is_broken() {
                return End::Broken;
            }
            self.answer_waiters();
            batches += 1;
            if batches >= BATCHES_IN_A_ROW {
                batches = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    /// Keeps the session, ends what was started for it, and tells whoever still waits.
    pub(crate) async fn end(mut self) {
        self.keep_rest();
        let refused = match self.failure.take() {
            Some(failure) => failure.refused,
            None => gone(),
        };
        self.waiters.refuse(&refused);
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            command.refuse(&refused);
        }
        self.deferred.drain(..).for_each(|tell| tell.answer(Err(refused.clone())));
        let services = self.services.take();
        drop(self);
        if let Some(services) = services {
            services.close().await;
        }
    }

    /// Waits for the next thing that was done or said. Nothing is lost if the waiting is given up.
    async fn wait(&mut self) -> Wake {
        if let Some(failure) = &self.failure {
            let mut retry = std::pin::pin!(tokio::time::sleep(failure.pause));
            loop {
                let news = tokio::select! {
                    biased;
                    command = self.commands.recv() => return Wake::Command(command),
                    () = &mut retry => return Wake::Retry,
                    news = self.work.next() => news,
                };
                // Work goes on meanwhile; what comes of it waits with the rest.
                let outcome = self.outcome(news);
                self.work.add_outcomes(outcome);
            }
        }
        let mut timer = std::pin::pin!(timer(self.next_timer()));
        loop {
            let news = tokio::select! {
                biased;
                news = self.work.next() => news,
                command = self.commands.recv() => return Wake::Command(command),
                wake = &mut timer => return wake,
            };
            if let Some(input) = self.outcome(news) {
                return Wake::Outcome(input);
            }
        }
    }

    /// What is to be done first if nothing happens, and after how long.
    fn next_timer(&self) -> Option<(Duration, Wake)> {
        let until =
            |Time(due): Time| Duration::from_millis(u64::try_from(due.saturating_sub((self.clock)().0)).unwrap_or(0));
        let due = self.due().map(|due| (until(due), Wake::Due));
        let keep = self.is_unkept().then_some((KEPT_AFTER, Wake::Keep));
        let idle = self.idle_after.filter(|_| self.is_idle());
        let idle = idle.map(|idle| (if self.lets_go { Duration::ZERO } else { idle }, Wake::Idle));
        [due, keep, idle].into_iter().flatten().min_by_key(|(after, _)| *after)
    }

    /// What the session is to be told of something that came of its work.
    fn outcome(&mut self, news: News) -> Option<Input> {
        match news {
            News::Outcome(input) => Some(input),
            News::Part(part) => self.take_part(part),
            News::Nothing => None,
        }
    }

    /// Does what a handle wants. An end is returned.
    async fn obey(&mut self, command: Command) -> Option<End> {
        match command {
            Command::Inspect(look) => look(&self.session),
            Command::Attach { path, answer } => {
                let _ = answer.send(self.attach(&path));
            }
            Command::Services { answer } => {
                let _ = answer.send(self.services.clone());
            }
            Command::Activities { answer } => {
                let _ = answer.send(self.work.activities());
            }
            Command::Wait { what, answer } => {
                self.wake().await;
                self.waiters.add(what, answer);
            }
            Command::Tell(tell) => {
                self.lets_go = false;
                self.hear(*tell).await;
            }
            Command::LetGo => self.lets_go = true,
            Command::End => return Some(End::Requested),
        }
        self.answer_waiters();
        None
    }

    /// When questions lapse, or people are reminded of them.
    fn due(&self) -> Option<Time> {
        let may = self.is_awake && self.session.paused().is_none();
        self.session.timeout().filter(|due| may && self.ticked != Some(*due))
    }

    /// The same for a session that is about to be dropped from memory.
    pub(crate) fn due_later(&self) -> Option<Time> {
        self.session.timeout().filter(|_| self.session.paused().is_none())
    }

    /// Tells the session that time has passed.
    async fn tick(&mut self) {
        let due = self.session.timeout();
        if self.take_inputs([Input::Tick]).await.is_ok() {
            // A moment that stays due is told once.
            self.ticked = due;
        }
    }

    /// Goes on with what an earlier process had under way, and tries again what could not be kept.
    async fn wake(&mut self) {
        self.is_awake = true;
        self.failure = None;
        if self.forgets && !self.held.is_empty() && self.session.paused().is_none() {
            // A failure is told to whoever waits.
            let _ = self.take(Vec::new()).await;
        }
        self.start_held();
        // Questions may have lapsed while nobody looked.
        let now = self.now();
        if self.due().is_some_and(|due| due <= now) {
            self.tick().await;
        }
    }

    /// Whether nothing is under way and nobody waits for anything.
    fn is_idle(&self) -> bool {
        self.is_still() && self.waiters.is_empty() && self.attached.is_empty() && self.failure.is_none()
    }

    /// Whether nothing moves by itself any more.
    fn is_still(&self) -> bool {
        let is_done = self.session.is_at_rest() || self.session.paused().is_some();
        is_done && self.work.is_empty() && self.deferred.is_empty()
    }

    fn is_broken(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_final)
    }

    /// Tells those who wait for a rest, if there is one, or why there is none.
    fn answer_waiters(&mut self) {
        if self.waiters.is_empty() {
            return;
        }
        if let Some(failure) = &self.failure {
            return self.waiters.refuse(&failure.refused);
        }
        self.is_settling &= !self.work.is_empty();
        let is_busy = self.is_settling || self.work.has_outcomes() || !self.deferred.is_empty();
        let (session, is_still) = (&self.session, self.is_still());
        let is_at_rest = session.is_at_rest() && !is_busy;
        if !is_at_rest && !is_still {
            return;
        }
        self.waiters.answer(|what| match what {
            WaitFor::Rest => is_at_rest.then(|| session.reply()),
            WaitFor::Stillness => is_still.then(|| session.reply()),
        });
    }
}

/// Waits for a timer; for ever where there is none.
async fn timer(next: Option<(Duration, Wake)>) -> Wake {
    let Some((after, wake)) = next else { return std::future::pending().await };
    tokio::time::sleep(after).await;
    wake
}

/// The refusal of whatever is said to a session that is not there any more.
pub(crate) fn gone() -> Refused {
    Refused::new(GONE, "the session has ended its work meanwhile")
}
