//! The host: opens, creates, finds and lists sessions, and lets those go that are idle.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `slot` | where a session is reached, whether it is in memory or not |
//! | `open` | creating and restoring sessions |
//! | `history` | events that are not held in memory any more |
//! | `news` | what happens in all sessions that are kept |
//! | `rules` | what the agent's file says now |
//! | `carry` | sessions that begin where another one was, or come from another store |

mod carry;
mod history;
mod news;
mod open;
mod rules;
mod slot;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use obelus_kernel::session::{Input, Mode, Refused, Session};
use obelus_words::{Language, fill};
use tokio::task::JoinSet;

use crate::actor::Command;
use crate::clock::{Clock, system_clock};
use crate::connector::{ConnectError, Connector};
use crate::events::{EventNumber, SessionEvent};
use crate::follower::Workers;
use crate::handle::SessionHandle;
use crate::restore::RestoreError;
use crate::spec::{SessionSpec, SpecError};
use crate::store::{InboxRow, InputId, Record, SessionRow, Store, StoreError};
pub use carry::{Export, ForkForecast, Forked, ForkedCall};
pub(crate) use news::NewsSender;
pub use news::{HostNews, NewsFeed};
pub use open::remake;
pub use rules::{RulesChange, with_present_bindings};
pub use slot::Reopened;
pub(crate) use slot::Slot;

/// Events of a live session that are held for those who come later.
const EVENTS: usize = 1024;

/// How long an actor that was told to end is waited for, before it is looked whether another one has begun.
const ENDS_WITHIN: Duration = Duration::from_millis(200);

/// How long a session may be idle before it is dropped from memory.
const IDLE_AFTER: Duration = Duration::from_secs(300);

/// So many sessions are held in memory. With more, those that have been idle for longest are dropped.
const MOST_LIVE: usize = 512;

/// Opens sessions and holds those that are in memory. Clones are the same host.
///
/// When the last clone is dropped, its sessions end where they are; what they had under way is taken up by whoever
/// opens them next. [`Host::close`] ends them in good order.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

/// What a host is made of.
pub struct HostBuilder {
    connector: Arc<dyn Connector>,
    store: Option<Arc<dyn Store>>,
    workers: Option<Arc<dyn Workers>>,
    files: Option<PathBuf>,
    clock: Clock,
    draw_key: fn() -> String,
    idle_after: Option<Duration>,
    most_live: usize,
    events: usize,
}

pub(crate) struct Inner {
    connector: Arc<dyn Connector>,
    store: Option<Arc<dyn Store>>,
    /// Who works at the sessions of the store, if this process does not.
    workers: Option<Arc<dyn Workers>>,
    /// Where pictures, states and logs of sessions go.
    files: Option<PathBuf>,
    clock: Clock,
    draw_key: fn() -> String,
    idle_after: Option<Duration>,
    most_live: usize,
    /// How many sessions that are kept are in memory.
    live: AtomicUsize,
    events: usize,
    /// Every session that somebody holds or that is in memory.
    slots: Mutex<BTreeMap<String, Weak<Slot>>>,
    /// Sessions that are kept nowhere.
    temporary: Mutex<Vec<Weak<Slot>>>,
    news: NewsSender,
    /// The actors.
    tasks: Mutex<JoinSet<()>>,
    /// Those who wait until a question of an idle session is due: for days, if need be.
    sleepers: Mutex<JoinSet<()>>,
}

/// Why a session cannot be opened or made.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The store cannot give or take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be restored.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// What it is to be made of does not make a session.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// What it needs cannot be connected.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// What it is to begin with is refused.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The file of its agent has errors, so that nobody knows under which rules it would go on.
    #[error("{0}")]
    Agent(String),
    /// The journal is shorter.
    #[error("{}", fill(Language::English.words().store.no_record, &[session, &records.to_string(), &at.to_string()]))]
    NoRecord {
        /// The session.
        session: String,
        /// How many records it has.
        records: u64,
        /// The record that was asked for.
        at: u64,
    },
    /// The host keeps no sessions.
    #[error("{}", Language::English.words().store.no_store)]
    NoStore,
}

impl HostBuilder {
    /// Keeps sessions in this store.
    #[must_use]
    pub fn store(self, store: Arc<dyn Store>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Leaves the work at kept sessions to other processes: here they are followed and told things.
    #[must_use]
    pub fn workers(self, workers: Arc<dyn Workers>) -> Self {
        Self { workers: Some(workers), ..self }
    }

    /// Keeps pictures, and the states and logs of agents, as files in this folder: that of the store.
    #[must_use]
    pub fn files(self, folder: impl Into<PathBuf>) -> Self {
        Self { files: Some(folder.into()), ..self }
    }

    /// Takes the time from here.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Takes the keys of new sessions from here (DUR-14). No two sessions may have the same; tests pass their own.
    #[must_use]
    pub fn keys(self, draw_key: fn() -> String) -> Self {
        Self { draw_key, ..self }
    }

    /// Drops sessions from memory that have been idle for so long; none never.
    #[must_use]
    pub fn idle_after(self, idle_after: Option<Duration>) -> Self {
        Self { idle_after, ..self }
    }

    /// Holds so many sessions in memory, unless more are at work. With more, those that have been idle for longest are
    /// dropped.
    #[must_use]
    pub fn most_live(self, most_live: usize) -> Self {
        Self { most_live, ..self }
    }

    /// Holds so many events of each session that is in memory and that somebody has subscribed to.
    #[must_use]
    pub fn events(self, events: usize) -> Self {
        Self { events, ..self }
    }

    /// The host.
    pub fn build(self) -> Host {
        let Self { connector, store, workers, files, clock, draw_key, idle_after, most_live, events } = self;
        let (slots, temporary) = (Mutex::default(), Mutex::default());
        Host {
            inner: Arc::new(Inner {
                connector,
                store,
                workers,
                files,
                clock,
                draw_key,
                idle_after,
                most_live,
                live: AtomicUsize::new(0),
                events,
                slots,
                temporary,
                news: NewsSender::default(),
                tasks: Mutex::default(),
                sleepers: Mutex::default(),
            }),
        }
    }
}

impl Host {
    /// A host of sessions that are connected by this connector and kept nowhere.
    pub fn new(connector: impl Connector) -> Self {
        Self::builder(connector).build()
    }

    /// A host that is to know more than its connector.
    pub fn builder(connector: impl Connector) -> HostBuilder {
        HostBuilder {
            connector: Arc::new(connector),
            store: None,
            workers: None,
            files: None,
            clock: system_clock,
            draw_key: open::drawn_key,
            idle_after: Some(IDLE_AFTER),
            most_live: MOST_LIVE,
            events: EVENTS,
        }
    }

    /// Begins a session that is kept under this name.
    pub async fn create(&self, id: &str, spec: SessionSpec) -> Result<SessionHandle, HostError> {
        self.inner.create(id, spec, Vec::new()).await
    }

    /// The same, in this mode or the agent's.
    pub async fn create_in(&self, id: &str, spec: SessionSpec, mode: Option<Mode>) -> Result<SessionHandle, HostError> {
        self.inner.create(id, spec, mode.map(|mode| Input::Mode { mode }).into_iter().collect()).await
    }

    /// Begins a session that is kept, with a state from elsewhere, in this mode or the agent's. If it does not fit, nothing
    /// is kept.
    pub async fn adopt(
        &self,
        id: &str,
        spec: SessionSpec,
        state: serde_json::Value,
        mode: Option<Mode>,
        by: &str,
    ) -> Result<SessionHandle, HostError> {
        let mode = mode.map(|mode| Input::Mode { mode });
        let state = Input::State { state, by: by.to_owned(), is_whole: false };
        self.inner.create(id, spec, mode.into_iter().chain([state]).collect()).await
    }

    /// Begins a session that is kept nowhere: it ends with the last handle to it.
    pub async fn create_temporary(&self, id: &str, spec: SessionSpec) -> Result<SessionHandle, HostError> {
        self.inner.create_temporary(id, spec).await
    }

    /// Opens a session that is kept. What it had under way goes on when somebody says something to it, or waits for
    /// it to come to rest.
    pub async fn open(&self, id: &str) -> Result<SessionHandle, HostError> {
        let slot = self.inner.slot(id);
        self.inner.ensure(&slot, None).await?;
        Ok(SessionHandle::new(slot))
    }

    /// Opens a session with another spec than the one that was kept: another model, for example. It holds as long as
    /// the session is in memory.
    pub async fn open_with(&self, id: &str, spec: SessionSpec) -> Result<SessionHandle, HostError> {
        let slot = self.inner.slot(id);
        self.inner.ensure(&slot, Some(spec)).await?;
        Ok(SessionHandle::new(slot))
    }

    /// A session to be watched: its events are told once it is opened, and it is not opened for this.
    pub async fn watch(&self, id: &str) -> Result<SessionHandle, HostError> {
        let slot = self.inner.slot(id);
        self.inner.watch(&slot).await?;
        Ok(SessionHandle::new(slot))
    }

    /// The session of this name, if it is in memory.
    pub fn find(&self, id: &str) -> Option<SessionHandle> {
        let slot = self.inner.slots().get(id).and_then(Weak::upgrade)?;
        slot.is_live().then(|| SessionHandle::new(slot))
    }

    /// What a session was made of; none where there is no such session.
    pub fn spec(&self, id: &str) -> Result<Option<SessionSpec>, HostError> {
        let genesis = self.inner.store()?.genesis(id)?;
        Ok(genesis.map(SessionSpec::from_genesis).transpose()?)
    }

    /// A session as it was after a record, or as it is now, to look at. Nothing of it goes on.
    pub fn look(&self, id: &str, at: Option<u64>) -> Result<Session, HostError> {
        self.inner.look(id, at)
    }

    /// A session as it will be when it is opened next, where the process that worked at it has ended: effects in doubt
    /// are asked about already. Nothing is written, and nothing goes on.
    pub fn look_interrupted(&self, id: &str) -> Result<Session, HostError> {
        self.inner.look_interrupted(id)
    }

    /// The folder for pictures of what a session sees, and for notes of pages; none where no files are kept.
    pub fn pictures(&self, id: &str) -> Option<PathBuf> {
        self.inner.pictures(id)
    }

    /// What happened in a session from its beginning on, as it was told when it happened.
    pub fn history(&self, id: &str) -> Result<Vec<Arc<SessionEvent>>, HostError> {
        self.inner.history(id, EventNumber::START, EventNumber::end_of(u64::MAX))
    }

    /// The same, after an event that was seen before.
    pub fn history_after(&self, id: &str, after: EventNumber) -> Result<Vec<Arc<SessionEvent>>, HostError> {
        self.inner.history(id, after, EventNumber::end_of(u64::MAX))
    }

    /// The records of a session's journal after one, up to and including another. A damaged end is left out.
    pub fn records(&self, id: &str, after: u64, upto: u64) -> Result<Vec<Record>, HostError> {
        Ok(self.inner.store()?.load(id, after, Some(upto))?.records)
    }

    /// The record with which a session took the input of this id, if it has (DUR-13).
    pub fn taken(&self, id: &str, input: &InputId) -> Result<Option<u64>, HostError> {
        Ok(self.inner.store()?.taken(id, input)?)
    }

    /// Every session that is kept, newest first.
    pub fn list(&self) -> Result<Vec<SessionRow>, HostError> {
        Ok(self.inner.store()?.list()?)
    }

    /// Every session with open questions, or with work that an earlier process left: its questions are not known then.
    pub fn inbox(&self) -> Result<Vec<InboxRow>, HostError> {
        Ok(self.inner.store()?.inbox()?)
    }

    /// Waits until nothing is under way in any session that is in memory now.
    pub async fn settled(&self) {
        let slots: Vec<Arc<Slot>> = self.inner.slots().values().filter_map(Weak::upgrade).collect();
        for slot in slots.into_iter().filter(|slot| slot.is_live()) {
            // Whoever opens the session next hears of a failure.
            let _ = SessionHandle::new(slot).finished().await;
        }
    }

    /// Drops a session from memory. What it has under way is taken up when it is opened next.
    pub async fn passivate(&self, id: &str) {
        let slot = self.inner.slots().get(id).and_then(Weak::upgrade);
        if let Some(slot) = slot {
            slot.end().await;
        }
    }

    /// Ends every session that is in memory, and waits for that.
    pub async fn close(&self) {
        // Whoever waits for a question to be due would open its session again.
        let mut sleepers = std::mem::take(&mut *self.inner.sleepers());
        sleepers.shutdown().await;
        let mut tasks = std::mem::take(&mut *self.inner.tasks());
        loop {
            let kept: Vec<Arc<Slot>> = self.inner.slots().values().filter_map(Weak::upgrade).collect();
            let temporary = std::mem::take(&mut *self.inner.temporary());
            for slot in kept.into_iter().chain(temporary.iter().filter_map(Weak::upgrade)) {
                slot.end().await;
            }
            // Whoever was about to open a session may have done so meanwhile: it is ended with the next round.
            let joined = async { while tasks.join_next().await.is_some() {} };
            if tokio::time::timeout(ENDS_WITHIN, joined).await.is_ok() {
                tasks = std::mem::take(&mut *self.inner.tasks());
                if tasks.is_empty() {
                    return;
                }
            }
        }
    }
}

impl Inner {
    fn store(&self) -> Result<&Arc<dyn Store>, HostError> {
        self.store.as_ref().ok_or(HostError::NoStore)
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<String, Weak<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn temporary(&self) -> MutexGuard<'_, Vec<Weak<Slot>>> {
        self.temporary.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleepers(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a session is reached. It need not be in memory, nor exist.
    fn slot(self: &Arc<Self>, id: &str) -> Arc<Slot> {
        let mut slots = self.slots();
        if let Some(slot) = slots.get(id).and_then(Weak::upgrade) {
            return slot;
        }
        let slot = Arc::new(Slot::kept(id, self));
        slots.insert(id.to_owned(), Arc::downgrade(&slot));
        slot
    }

    /// Lets those go that have been idle for longest, if there are more in memory than there should be.
    fn let_some_go(&self) {
        if self.live.load(Ordering::Relaxed) <= self.most_live {
            return;
        }
        let slots: Vec<Arc<Slot>> = self.slots().values().filter_map(Weak::upgrade).collect();
        let mut live: Vec<_> = slots.iter().filter_map(|slot| Some((slot.touched()?, slot))).collect();
        live.sort_by_key(|(touched, _)| *touched);
        // Some more than must be, so that this is not done for each session that is opened.
        let more = live.len().saturating_sub(self.most_live).saturating_add(self.most_live / 8);
        for (_, slot) in live.into_iter().take(more) {
            // One that has ended meanwhile is gone already.
            let _ = slot.send_live(Command::LetGo);
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Has a task wait for its time. It ends with the host.
    fn spawn_sleeper(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut sleepers = self.sleepers();
        while sleepers.try_join_next().is_some() {}
        sleepers.spawn(task);
    }
}
