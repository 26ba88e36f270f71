//! The host: opens, creates, finds and lists sessions, and unloads idle ones.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `slot` | the place of a session, whether it is in memory or not |
//! | `open` | creating and restoring sessions |
//! | `editors` | who edited the state |
//! | `history` | events that are no longer in memory |
//! | `list` | summaries of sessions that are not in memory |
//! | `news` | events of all stored sessions |
//! | `read` | reading stored sessions |
//! | `rules` | changes of the agent's file |
//! | `transfer` | forks, exports and imports |

mod editors;
mod history;
mod list;
mod news;
mod open;
mod read;
mod rules;
mod slot;
mod transfer;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use obelus_kernel::session::{Input, Mode, Refused};
use obelus_words::{Language, fill};
use tokio::task::JoinSet;

use crate::actor::ActorCommand;
use crate::clock::{Clock, system_clock};
use crate::connector::{ConnectError, Connector};
use crate::follower::Workers;
use crate::handle::SessionHandle;
use crate::restore::RestoreError;
use crate::spec::{SessionSpec, SpecError};
use crate::store::{Store, StoreError};
pub(crate) use news::NewsSender;
pub use news::{HostNews, NewsFeed};
pub use open::session_factory;
pub use rules::{RulesChange, with_present_bindings};
pub use slot::Reopened;
pub(crate) use slot::Slot;
pub use transfer::{Export, ForkForecast, Forked, ForkedCall};

/// The number of events kept for each live session.
const EVENTS: usize = 1024;

/// How long to wait for an ending actor before checking whether another one has begun.
const ENDS_WITHIN: Duration = Duration::from_millis(200);

/// How long a session may be idle before it is unloaded.
const IDLE_AFTER: Duration = Duration::from_secs(300);

/// The limit of sessions in memory. Beyond it, those idle for longest are unloaded.
const MOST_LIVE: usize = 512;

/// Opens sessions and keeps the live ones. Clones are the same host.
///
/// When the last clone is dropped, its sessions end at once; running work is resumed when they are next opened.
/// [`Host::close`] ends them in an orderly way.
#[derive(Clone)]
pub struct Host {
    inner: Arc<HostShared>,
}

/// Builds a host.
pub struct HostBuilder(HostOptions);

/// The options of a host.
struct HostOptions {
    connector: Arc<dyn Connector>,
    store: Option<Arc<dyn Store>>,
    /// The processes that run the sessions, if this one does not.
    workers: Option<Arc<dyn Workers>>,
    /// Whether the stored sessions are copies of sessions that another process runs.
    has_copies: bool,
    /// The folder for pictures, states and logs of sessions.
    files: Option<PathBuf>,
    clock: Clock,
    draw_key: fn() -> String,
    idle_after: Option<Duration>,
    most_live: usize,
    /// The number of events that a session keeps in memory.
    events: usize,
}

pub(crate) struct HostShared {
    options: HostOptions,
    /// The number of stored sessions in memory.
    live: AtomicUsize,
    /// How often a session was restored from the store.
    restored: AtomicU64,
    /// Every session that has a handle or is in memory.
    slots: Mutex<BTreeMap<String, Weak<Slot>>>,
    /// Sessions that are not stored.
    temporary: Mutex<Vec<Weak<Slot>>>,
    news: NewsSender,
    /// Histories that were read lately.
    histories: history::Histories,
    /// The actors.
    tasks: Mutex<JoinSet<()>>,
    /// Tasks that wait until a question of an unloaded session is due, possibly for days.
    sleepers: Mutex<JoinSet<()>>,
}

/// Why a session cannot be opened or created.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be restored.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The spec is invalid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The session cannot be connected.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The initial input is refused.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The agent's file has errors, so its current rules are unknown.
    #[error("{0}")]
    Agent(String),
    /// The journal is shorter.
    #[error("{}", fill(Language::English.words().store.no_record, &[session, &records.to_string(), &at.to_string()]))]
    NoRecord {
        /// The session.
        session: String,
        /// The number of its records.
        records: u64,
        /// The requested record.
        at: u64,
    },
    /// The host has no store.
    #[error("{}", Language::English.words().store.no_store)]
    NoStore,
}

impl HostBuilder {
    /// Stores sessions in this store.
    #[must_use]
    pub fn store(self, store: Arc<dyn Store>) -> Self {
        Self(HostOptions { store: Some(store), ..self.0 })
    }

    /// Leaves running of stored sessions to other processes: here they are followed and given inputs.
    #[must_use]
    pub fn workers(self, workers: Arc<dyn Workers>) -> Self {
        Self(HostOptions { workers: Some(workers), ..self.0 })
    }

    /// The stored sessions are copies of sessions that another process runs: they are only read here.
    #[must_use]
    pub fn copies(self) -> Self {
        Self(HostOptions { has_copies: true, ..self.0 })
    }

    /// Stores pictures, states and logs of agents as files in this folder, which is the store's.
    #[must_use]
    pub fn files(self, folder: impl Into<PathBuf>) -> Self {
        Self(HostOptions { files: Some(folder.into()), ..self.0 })
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self(HostOptions { clock, ..self.0 })
    }

    /// Sets the generator of session keys (DUR-14), which must be unique; tests pass their own.
    #[must_use]
    pub fn keys(self, draw_key: fn() -> String) -> Self {
        Self(HostOptions { draw_key, ..self.0 })
    }

    /// Unloads sessions that have been idle for so long; none means never.
    #[must_use]
    pub fn idle_after(self, idle_after: Option<Duration>) -> Self {
        Self(HostOptions { idle_after, ..self.0 })
    }

    /// Sets the limit of sessions in memory. Beyond it, those idle for longest are unloaded, but none that has
    /// running work.
    #[must_use]
    pub fn most_live(self, most_live: usize) -> Self {
        Self(HostOptions { most_live, ..self.0 })
    }

    /// Sets the number of events kept for each live session that has been subscribed to.
    #[must_use]
    pub fn events(self, events: usize) -> Self {
        Self(HostOptions { events, ..self.0 })
    }

    /// Builds the host.
    pub fn build(self) -> Host {
        Host {
            inner: Arc::new(HostShared {
                options: self.0,
                live: AtomicUsize::new(0),
                restored: AtomicU64::new(0),
                slots: Mutex::default(),
                temporary: Mutex::default(),
                news: NewsSender::default(),
                histories: history::Histories::default(),
                tasks: Mutex::default(),
                sleepers: Mutex::default(),
            }),
        }
    }
}

impl Host {
    /// A host with this connector and without a store.
    pub fn new(connector: impl Connector) -> Self {
        Self::builder(connector).build()
    }

    /// A builder with this connector.
    pub fn builder(connector: impl Connector) -> HostBuilder {
        HostBuilder(HostOptions {
            connector: Arc::new(connector),
            store: None,
            workers: None,
            has_copies: false,
            files: None,
            clock: system_clock,
            draw_key: open::drawn_key,
            idle_after: Some(IDLE_AFTER),
            most_live: MOST_LIVE,
            events: EVENTS,
        })
    }

    /// Creates a stored session with this name.
    pub async fn create(&self, id: &str, spec: SessionSpec) -> Result<SessionHandle, HostError> {
        self.create_in(id, spec, None).await
    }

    /// Like [`Self::create`], in this mode; by default in the agent's. The mode of the agent's file stays known, so
    /// that the session follows a change of it (POL-9).
    pub async fn create_in(&self, id: &str, spec: SessionSpec, mode: Option<Mode>) -> Result<SessionHandle, HostError> {
        self.inner.create(id, spec, mode, None).await
    }

    /// Creates a stored session with an existing state, in this mode or the agent's. If the state does not fit,
    /// nothing is stored.
    pub async fn adopt(
        &self,
        id: &str,
        spec: SessionSpec,
        state: serde_json::Value,
        mode: Option<Mode>,
        by: &str,
    ) -> Result<SessionHandle, HostError> {
        let state = Input::State { state, by: by.to_owned(), is_whole: false };
        self.inner.create(id, spec, mode, Some(state)).await
    }

    /// Creates a session that is not stored: it ends with its last handle.
    pub async fn create_temporary(&self, id: &str, spec: SessionSpec) -> Result<SessionHandle, HostError> {
        self.inner.create_temporary(id, spec).await
    }

    /// Opens a stored session. Its running work is resumed when an input arrives or a client waits for it to rest.
    pub async fn open(&self, id: &str) -> Result<SessionHandle, HostError> {
        let slot = self.inner.slot(id);
        self.inner.ensure(&slot, None).await?;
        Ok(SessionHandle::new(slot))
    }

    /// Opens a stored session with another spec, for example with another model, for as long as it is in memory.
    pub async fn open_with(&self, id: &str, spec: SessionSpec) -> Result<SessionHandle, HostError> {
        let slot = self.inner.slot(id);
        self.inner.ensure(&slot, Some(spec)).await?;
        Ok(SessionHandle::new(slot))
    }

    /// A handle to watch a session without opening it: events arrive once another handle opens it.
    pub async fn watch(&self, id: &str) -> Result<SessionHandle, HostError> {
        let slot = self.inner.slot(id);
        self.inner.watch(&slot).await?;
        Ok(SessionHandle::new(slot))
    }

    /// The session with this name, if it is in memory.
    pub fn find(&self, id: &str) -> Option<SessionHandle> {
        let slot = self.inner.slots().get(id).and_then(Weak::upgrade)?;
        slot.is_live().then(|| SessionHandle::new(slot))
    }

    /// How often this host has restored a session from the store, to open it or to read it.
    pub fn restored(&self) -> u64 {
        self.inner.restored.load(Ordering::Relaxed)
    }

    /// Returns the space of removed sessions to the system; returns its size in bytes.
    pub fn shrink_store(&self) -> Result<u64, HostError> {
        Ok(self.inner.store()?.shrink()?)
    }

    /// Waits until nothing runs in any session that is now in memory.
    pub async fn settled(&self) {
        let slots: Vec<Arc<Slot>> = self.inner.slots().values().filter_map(Weak::upgrade).collect();
        for slot in slots.into_iter().filter(|slot| slot.is_live()) {
            // A failure is reported when the session is next opened.
            let _ = SessionHandle::new(slot).finished().await;
        }
    }

    /// Unloads a session. Its running work is resumed when it is next opened.
    pub async fn passivate(&self, id: &str) {
        let slot = self.inner.slots().get(id).and_then(Weak::upgrade);
        if let Some(slot) = slot {
            slot.end().await;
        }
    }

    /// Ends all sessions in memory, and waits for that.
    pub async fn close(&self) {
        // A task that waits for a due question would open its session again.
        let mut sleepers = std::mem::take(&mut *self.inner.sleepers());
        sleepers.shutdown().await;
        let mut tasks = std::mem::take(&mut *self.inner.tasks());
        loop {
            let loaded: Vec<Arc<Slot>> = self.inner.slots().values().filter_map(Weak::upgrade).collect();
            let temporary = std::mem::take(&mut *self.inner.temporary());
            for slot in loaded.into_iter().chain(temporary.iter().filter_map(Weak::upgrade)) {
                slot.end().await;
            }
            // A session may be opened meanwhile; the next round ends it.
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

impl HostShared {
    fn is_run_elsewhere(&self) -> bool {
        let HostOptions { workers, has_copies, store, .. } = &self.options;
        workers.is_some() || *has_copies || store.as_ref().is_some_and(|store| store.is_held_elsewhere())
    }

    fn store(&self) -> Result<&Arc<dyn Store>, HostError> {
        self.options.store.as_ref().ok_or(HostError::NoStore)
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

    /// The slot of a session, which need not be in memory, or exist.
    fn slot(self: &Arc<Self>, id: &str) -> Arc<Slot> {
        let mut slots = self.slots();
        if let Some(slot) = slots.get(id).and_then(Weak::upgrade) {
            return slot;
        }
        let slot = Arc::new(Slot::stored(id, self));
        slots.insert(id.to_owned(), Arc::downgrade(&slot));
        slot
    }

    /// Unloads the sessions that have been idle for longest, if there are too many.
    fn unload_idle(&self) {
        if self.live.load(Ordering::Relaxed) <= self.options.most_live {
            return;
        }
        let slots: Vec<Arc<Slot>> = self.slots().values().filter_map(Weak::upgrade).collect();
        let mut live: Vec<_> = slots.iter().filter_map(|slot| Some((slot.touched()?, slot))).collect();
        live.sort_by_key(|(touched, _)| *touched);
        // A few more than necessary, so that this is not repeated for each opened session.
        let more = live.len().saturating_sub(self.options.most_live).saturating_add(self.options.most_live / 8);
        for (_, slot) in live.into_iter().take(more) {
            // It may have ended meanwhile.
            let _ = slot.send_live(ActorCommand::Unload);
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Spawns a task that waits for its time. It ends with the host.
    fn spawn_sleeper(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut sleepers = self.sleepers();
        while sleepers.try_join_next().is_some() {}
        sleepers.spawn(task);
    }
}
