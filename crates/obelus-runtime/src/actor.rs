//! The actor of a session: one task that owns the kernel's [`Session`], journals its inputs, and performs its tasks.
//!
//! For each batch of inputs: the session takes them, its tasks are collected, the records become durable, and only
//! then is anything performed, published or answered (DUR-2, DUR-3). Only reads may start earlier, because they may be
//! repeated. If the records cannot be written, the session in memory is discarded and restored from its store.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `command` | commands from handles |
//! | `intake` | inputs on their way into the session and its journal |
//! | `perform` | performing tasks, and publishing events |
//! | `inputs` | inputs from people, and edits of the state file |
//! | `attached` | pictures for the next message |
//! | `recovery` | tasks that an earlier process left |
//! | `writing` | failures to store inputs |
//! | `lifetime` | when it checkpoints, and when it ends |
//! | `preview_refresh` | repeated reads of a question, for a person who decides late |
//! | `running` | running calls, model requests and file reads |
//! | `elicitations`, `parts` | questions from running calls, and partial answers of the model |
//! | `report` | events, the state file and the log |
//! | `waiters` | callers that wait for a rest |

mod attached;
mod command;
mod elicitations;
mod inputs;
mod intake;
mod lifetime;
mod parts;
mod perform;
mod preview_refresh;
mod recovery;
pub(crate) mod report;
mod running;
pub(crate) mod waiters;
mod writing;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::Time;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Input, Refused, Session, Task};
use tokio::sync::mpsc;

use crate::clock::{Clock, SessionClock};
use crate::connector::{Connections, Services};
use crate::events::{EventBody, Feed};
use crate::session_files::SessionFiles;
use crate::spec::SessionSpec;
use crate::store::InputId;
pub(crate) use attached::{Attached, SessionPictures};
pub(crate) use command::{ActorCommand, InputCommand, WaitFor};
use intake::Incoming;
pub(crate) use intake::Journal;
use lifetime::Lifetime;
use recovery::Recovery;
use report::Reporter;
use running::{RunningWork, WorkResult};
pub(crate) use waiters::Wait;
use waiters::Waiters;
use writing::WriteState;

/// The limit of outcomes in one batch: one commit serves them all, and none waits long.
const MOST_AT_ONCE: usize = 256;

/// After this many batches without a wait, the actor yields to other sessions.
const BATCHES_IN_A_ROW: u32 = 64;

/// The actor of one session.
pub(crate) struct Actor {
    session: Session,
    clock: SessionClock,
    /// The number of inputs taken.
    record: u64,
    journal: Option<Journal>,
    work: RunningWork,
    report: Reporter,
    commands: mpsc::UnboundedReceiver<ActorCommand>,
    waiters: Waiters,
    services: Option<Arc<dyn Services>>,
    pictures: SessionPictures,
    inputs: SentInputs,
    recovery: Recovery,
    writing: WriteState,
    lifetime: Lifetime,
    buffers: BatchBuffers,
}

/// Inputs from people and services.
#[derive(Default)]
struct SentInputs {
    /// Inputs that wait until an edit of the state file is processed.
    deferred: VecDeque<InputCommand>,
    /// Records of input ids, if there is no store.
    records_of_ids: BTreeMap<InputId, u64>,
    /// The latest time at which questions were due.
    latest_tick: Option<Time>,
}

/// The buffers of the latest batch, for reuse.
#[derive(Default)]
struct BatchBuffers {
    inputs: Vec<Incoming>,
    tasks: Vec<Task>,
}

/// The initial state of an actor.
pub(crate) struct ActorStart {
    pub(crate) session: Session,
    /// The number of records in its journal.
    pub(crate) record: u64,
    /// Tasks left by an earlier process.
    pub(crate) open: Vec<Task>,
    pub(crate) connections: Connections,
    pub(crate) clock: Clock,
    pub(crate) journal: Option<Journal>,
    pub(crate) files: Option<SessionFiles>,
    pub(crate) pictures: SessionPictures,
    pub(crate) feed: Arc<Feed>,
    pub(crate) idle_after: Option<Duration>,
}

/// Why an actor ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was idle for long; the session can be restored from its store.
    Idle,
    /// It was told to end, or no handle is left.
    Requested,
    /// The session cannot be restored.
    Broken,
}

/// What wakes a waiting actor.
enum Wake {
    Outcome(Input),
    Command(Option<ActorCommand>),
    Due,
    Retry,
    Checkpoint,
    Idle,
}

impl Actor {
    pub(crate) fn new(begin: ActorStart, spec: &SessionSpec, commands: mpsc::UnboundedReceiver<ActorCommand>) -> Self {
        let ActorStart { session, record, open, connections, clock, journal, files, pictures, feed, idle_after } =
            begin;
        pictures.attached.resume(record);
        Self {
            clock: SessionClock::new(clock),
            record,
            journal,
            work: RunningWork::new(&connections, spec.folder.clone(), spec.local.unattended),
            report: Reporter::new(feed, files, spec.language.as_deref()),
            commands,
            waiters: Waiters::default(),
            services: connections.services,
            pictures,
            inputs: SentInputs::default(),
            recovery: Recovery::new(&session, open),
            writing: WriteState::default(),
            lifetime: Lifetime::new(record, idle_after),
            buffers: BatchBuffers::default(),
            session,
        }
    }

    /// Runs until it is idle for long, told to end, or fails. `may_end` is asked before an idle actor ends, because a
    /// command may just have arrived.
    pub(crate) async fn run(&mut self, may_end: impl Fn(&mpsc::UnboundedReceiver<ActorCommand>) -> bool) -> End {
        let mut batches = 0;
        loop {
            while let Ok(command) = self.commands.try_recv() {
                if let Some(end) = self.handle_command(command).await {
                    return end;
                }
            }
            if self.session.is_at_rest()
                && let Some(command) = self.inputs.deferred.pop_front()
            {
                self.handle_input(command).await;
            } else if self.writing.failure().is_none() && self.work.has_outcomes() {
                self.take_outcomes(None).await;
            } else {
                match self.wait().await {
                    Wake::Outcome(first) => self.take_outcomes(Some(first)).await,
                    Wake::Command(Some(command)) => {
                        if let Some(end) = self.handle_command(command).await {
                            return end;
                        }
                    }
                    Wake::Command(None) => return End::Requested,
                    Wake::Due => self.tick().await,
                    Wake::Retry => self.writing.retry(),
                    Wake::Checkpoint => self.store_checkpoint(),
                    Wake::Idle if may_end(&self.commands) => return End::Idle,
                    Wake::Idle => {}
                }
            }
            if self.writing.is_broken() {
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

    /// Checkpoints the session, ends its services, and answers those who still wait.
    pub(crate) async fn end(mut self: Box<Self>) {
        self.store_checkpoint();
        let refused = self.writing.failure().map_or_else(ended_refusal, |failure| failure.refused.clone());
        self.waiters.refuse(&refused);
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            command.refuse(&refused);
        }
        self.inputs.deferred.drain(..).for_each(|command| command.answer(Err(refused.clone())));
        let services = self.services.take();
        drop(self);
        if let Some(services) = services {
            services.close().await;
        }
    }

    /// Waits for the next event or command. It is cancel-safe.
    async fn wait(&mut self) -> Wake {
        if let Some(failure) = self.writing.failure() {
            let mut retry = std::pin::pin!(tokio::time::sleep(failure.pause));
            loop {
                let result = tokio::select! {
                    biased;
                    command = self.commands.recv() => return Wake::Command(command),
                    () = &mut retry => return Wake::Retry,
                    result = self.work.next() => result,
                };
                // Running work continues meanwhile; its results are queued.
                let outcome = self.outcome(result);
                self.work.add_outcomes(outcome);
            }
        }
        let mut timer = std::pin::pin!(timer(self.next_timer()));
        loop {
            let result = tokio::select! {
                biased;
                result = self.work.next() => result,
                command = self.commands.recv() => return Wake::Command(command),
                wake = &mut timer => return wake,
            };
            if let Some(input) = self.outcome(result) {
                return Wake::Outcome(input);
            }
        }
    }

    /// The next timer, and how long until then.
    fn next_timer(&self) -> Option<(Duration, Wake)> {
        let due = self.due().map(|due| (self.clock.until(due), Wake::Due));
        let checkpoint = self.needs_checkpoint().then(|| (self.lifetime.until_checkpoint(), Wake::Checkpoint));
        let idle = self.lifetime.until_end().filter(|_| self.is_idle()).map(|idle| (idle, Wake::Idle));
        [due, checkpoint, idle].into_iter().flatten().min_by_key(|(after, _)| *after)
    }

    /// The input for the result of some work.
    fn outcome(&mut self, result: WorkResult) -> Option<Input> {
        match result {
            WorkResult::Outcome(input) => Some(input),
            WorkResult::Part(part) => self.take_part(part),
            WorkResult::Nothing => None,
        }
    }

    /// Carries out a command. Returns an end if it is told to.
    async fn handle_command(&mut self, command: ActorCommand) -> Option<End> {
        match command {
            ActorCommand::Inspect(read) => read(&self.session),
            ActorCommand::Attach { path, answer } => {
                let _ = answer.send(self.pictures.attach(&path));
            }
            ActorCommand::Services { answer } => {
                // Using services starts them, and nothing of a paused session starts (DUR-11).
                let _ = answer.send(self.services.clone().filter(|_| self.session.paused().is_none()));
            }
            ActorCommand::Activities { answer } => {
                let _ = answer.send(self.work.activities());
            }
            ActorCommand::Wait(waiter) => {
                self.wake().await;
                self.waiters.add(waiter);
            }
            ActorCommand::Input(command) => {
                self.lifetime.keep();
                self.take_command_input(*command).await;
            }
            ActorCommand::Unload => self.lifetime.unload(),
            ActorCommand::End => return Some(End::Requested),
        }
        self.answer_waiters();
        None
    }

    /// When questions expire, or people are reminded of them.
    fn due(&self) -> Option<Time> {
        self.due_later().filter(|due| self.recovery.is_awake() && self.inputs.latest_tick != Some(*due))
    }

    /// Like [`Self::due`], for a session that is about to be dropped from memory.
    pub(crate) fn due_later(&self) -> Option<Time> {
        self.session.timeout().filter(|_| self.session.paused().is_none())
    }

    /// Tells the session that time has passed.
    async fn tick(&mut self) {
        let due = self.session.timeout();
        if self.take_inputs([Input::Tick]).await.is_ok() {
            // A time that stays due is reported once.
            self.inputs.latest_tick = due;
        }
    }

    /// Resumes the tasks of an earlier process, and retries failed writes.
    async fn wake(&mut self) {
        self.recovery.wake();
        self.writing.retry();
        if self.recovery.must_report_loss() && !self.recovery.is_done() && self.session.paused().is_none() {
            // Callers that wait get the failure.
            let _ = self.take(Vec::new()).await;
        }
        self.ask_during_pause().await;
        self.resume_tasks();
        // Questions may have expired meanwhile.
        let now = self.clock.now();
        if self.due().is_some_and(|due| due <= now) {
            self.tick().await;
        }
    }

    /// Whether nothing runs and nobody waits.
    fn is_idle(&self) -> bool {
        self.is_still()
            && self.waiters.is_empty()
            && self.pictures.attached.is_empty()
            && self.writing.failure().is_none()
    }

    /// Whether nothing runs.
    fn is_still(&self) -> bool {
        let is_done = self.session.is_at_rest() || self.session.paused().is_some();
        is_done && self.work.is_empty() && self.inputs.deferred.is_empty()
    }

    /// Answers those who wait, if the session rests or has failed.
    fn answer_waiters(&mut self) {
        if self.waiters.is_empty() {
            return;
        }
        if let Some(failure) = self.writing.failure() {
            return self.waiters.refuse(&failure.refused);
        }
        let is_settling = self.recovery.is_settling(!self.work.is_empty());
        let is_busy = is_settling || self.work.has_outcomes() || !self.inputs.deferred.is_empty();
        let (session, is_still) = (&self.session, self.is_still());
        let is_at_rest = session.is_at_rest() && !is_busy;
        self.waiters.answer(session, |what| match what {
            WaitFor::Rest => is_at_rest,
            WaitFor::RestOrPause => is_at_rest || session.paused().is_some() && !session.is_at_rest(),
            WaitFor::Stillness => is_still,
        });
    }
}

/// Waits for a timer; for ever if there is none.
async fn timer(next: Option<(Duration, Wake)>) -> Wake {
    let Some((after, wake)) = next else { return std::future::pending().await };
    tokio::time::sleep(after).await;
    wake
}

/// The refusal if the session has ended.
pub(crate) fn ended_refusal() -> Refused {
    Refused::new(RefusalCode::Gone, "the session has ended its work meanwhile")
}
