//! Creating and restoring sessions.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use obelus_kernel::Time;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Input, Mode, Refused, Session, Start, Task};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::{HostError, HostShared, Reopened, RulesChange, Slot, rules};
use crate::actor::{Actor, ActorStart, End, Journal, SessionPictures};
use crate::connector::Connections;
use crate::effect::needs_person;
use crate::follower::{Follower, FollowerStart};
use crate::handle::SessionHandle;
use crate::images::ImageStore;
use crate::restore::{Replica, Restored, SessionFactory, TurnStates, restore, view_interrupted};
use crate::secret::without_secrets_of;
use crate::session_files::SessionFiles;
use crate::spec::SessionSpec;
use crate::store::StoreError;

/// The number of question ids reserved for each session of one name: more than a session asks.
const QUESTIONS_OF_A_SESSION: u64 = 10_000;

/// A session about to become live.
struct Opened {
    session: Session,
    last: u64,
    open: Vec<Task>,
    /// Its states during its latest turn.
    states: TurnStates,
    journal: Option<Journal>,
    /// Whether its state was imported.
    is_replaced: bool,
    /// Changes of its agent's file.
    rules: Option<RulesChange>,
}

impl Opened {
    fn restored(restored: Restored, journal: Journal) -> Self {
        let Restored { session, last, open, states, .. } = restored;
        Self { session, last, open, states, journal: Some(journal), is_replaced: false, rules: None }
    }
}

impl HostShared {
    pub(super) async fn create_temporary(
        self: &Arc<Self>,
        id: &str,
        mut spec: SessionSpec,
    ) -> Result<SessionHandle, HostError> {
        let slot = Arc::new(Slot::temporary(id, self));
        spec.key = (self.options.draw_key)();
        let connections = self.options.connector.begin(&mut spec, None).await?;
        spec.mask_secrets();
        let made = spec.check_names().and_then(|()| spec.session(id, &connections.activities));
        let session = match made {
            Ok(session) => session,
            Err(error) => return Err(close_services(&connections, error.into()).await),
        };
        let opened = Opened {
            session,
            last: 0,
            open: Vec::new(),
            states: TurnStates::default(),
            journal: None,
            is_replaced: false,
            rules: None,
        };
        self.begin(&slot, &spec, connections, opened)?;
        let mut temporary = self.temporary();
        temporary.retain(|slot| slot.strong_count() > 0);
        temporary.push(Arc::downgrade(&slot));
        drop(temporary);
        Ok(SessionHandle::new(slot))
    }

    /// Creates a stored session, in this mode or the agent's, with this state. If they are refused, nothing is stored.
    pub(super) async fn create(
        self: &Arc<Self>,
        id: &str,
        mut spec: SessionSpec,
        mode: Option<Mode>,
        state: Option<Input>,
    ) -> Result<SessionHandle, HostError> {
        let store = self.store()?;
        self.check_workers(&spec)?;
        let slot = self.slot(id);
        let _opening = slot.opening.lock().await;
        if slot.is_live() || store.genesis(id)?.is_some() {
            return Err(StoreError::Exists(id.to_owned()).into());
        }
        spec.key = (self.options.draw_key)();
        spec.questions_after = store.removed(id)?.saturating_mul(QUESTIONS_OF_A_SESSION);
        spec.local.mode = mode;
        let connections = self.options.connector.begin(&mut spec, self.pictures(id).as_deref()).await?;
        // Its servers may have brought tools.
        if let Err(error) = self.check_workers(&spec) {
            return Err(close_services(&connections, error).await);
        }
        spec.mask_secrets();
        let is_replaced = state.is_some();
        let first = mode.map(|mode| Input::Mode { mode }).into_iter().chain(state).map(without_secrets_of).collect();
        let created = self.store_new(id, &spec, &connections, first);
        let created = created.and_then(|()| match &self.options.workers {
            Some(_) => self.follow(&slot, &spec, connections.clone()).map(drop),
            None => {
                let opened = Opened { is_replaced, ..self.restore(id, &spec, &connections)? };
                self.begin(&slot, &spec, connections.clone(), opened)
            }
        });
        match created {
            Ok(()) => {
                self.notify_created(id);
                Ok(SessionHandle::new(Arc::clone(&slot)))
            }
            Err(error) => Err(close_services(&connections, error).await),
        }
    }

    /// Refuses sessions with observations, because they exist only in one process's memory.
    fn check_workers(&self, spec: &SessionSpec) -> Result<(), HostError> {
        if self.options.workers.is_none() {
            return Ok(());
        }
        let browser = spec.mcp.as_ref().and_then(|mcp| mcp.browser.as_ref()).map(|_| "browser");
        let shown = || spec.context.tools().find(|tool| tool.keeps_digest).map(|tool| tool.name.as_str());
        match browser.or_else(shown) {
            None => Ok(()),
            Some(name) => Err(Refused::new(
                RefusalCode::NotSupported,
                format!(
                    "`{name}` brings something to look at (`x-keep: digest`), as a browser does: such an agent works in \
                     one process. Run it with the embedded engine"
                ),
            )
            .into()),
        }
    }

    /// Stores a new session, if it can be created and accepts its initial inputs.
    fn store_new(
        &self,
        id: &str,
        spec: &SessionSpec,
        connections: &Connections,
        first: Vec<Input>,
    ) -> Result<(), HostError> {
        spec.check_names()?;
        let mut replica = Replica::new(id, spec.session(id, &connections.activities)?);
        let now = (self.options.clock)();
        let mut records = Vec::new();
        for input in first {
            let (record, _) = replica.take(now, input)?;
            records.push(record);
        }
        Ok(self.store()?.create(id, now, &spec.genesis()?, records)?)
    }

    /// Loads the session into memory, if necessary.
    pub(super) async fn ensure(self: &Arc<Self>, slot: &Arc<Slot>, spec: Option<SessionSpec>) -> Result<(), HostError> {
        let _opening = slot.opening.lock().await;
        if slot.is_live() {
            return Ok(());
        }
        // An ending actor still has the session.
        slot.ended().await;
        let id = slot.id();
        let stored = SessionSpec::from_genesis(self.genesis(id)?)?;
        let of_genesis = rules::bound_names(&stored);
        let spec = match spec {
            Some(spec) => SessionSpec { key: stored.key, questions_after: stored.questions_after, ..spec },
            None => stored,
        };
        let mut spec = rules::with_present_bindings(spec);
        // The spec of a command may have bindings of its own.
        if !spec.agent.is_empty() {
            let names = rules::bound_names(&spec);
            spec.local.later_activities = names.difference(&of_genesis).cloned().collect();
        }
        self.restored.fetch_add(1, Ordering::Relaxed);
        let connections = self.options.connector.resume(&spec, self.pictures(id).as_deref())?;
        let begun = match &self.options.workers {
            Some(_) => self.follow(slot, &spec, connections.clone()),
            None => self.restore(id, &spec, &connections).and_then(|mut opened| {
                let (input, change) = rules::change_since_opened(&spec, &opened.session, &connections.activities)?;
                opened.rules = Some(change).filter(|change| *change != RulesChange::default());
                self.begin(slot, &spec, connections.clone(), opened).map(|()| input)
            }),
        };
        match begun {
            Ok(None) => Ok(()),
            Ok(Some(input)) => rules::send_input(slot, input).await,
            Err(error) => Err(close_services(&connections, error).await),
        }
    }

    /// Watches a session that is not in memory: events are numbered from the end of its journal.
    pub(super) async fn watch(self: &Arc<Self>, slot: &Arc<Slot>) -> Result<(), HostError> {
        // Workers report events only to a host that follows them.
        if self.options.workers.is_some() {
            return self.ensure(slot, None).await;
        }
        let _opening = slot.opening.lock().await;
        if slot.is_live() {
            return Ok(());
        }
        slot.ended().await;
        let (store, id) = (self.store()?, slot.id());
        self.genesis(id)?;
        let from = store.snapshot(id)?.map_or(0, |snapshot| snapshot.seq);
        slot.feed().resume_at(from + store.load(id, from, None)?.records.len() as u64);
        Ok(())
    }

    fn restore(&self, id: &str, spec: &SessionSpec, connections: &Connections) -> Result<Opened, HostError> {
        let store = self.store()?;
        let lock = store.lock(id)?;
        let session_factory = session_factory(id, spec, connections);
        let restored = restore(store, id, &session_factory)?;
        let journal = Journal::new(Arc::clone(store), id, spec.catalogue_name(), session_factory, lock);
        Ok(Opened::restored(restored, journal))
    }

    /// The genesis of a session, which has the spec with which it began.
    pub(super) fn genesis(&self, id: &str) -> Result<Value, HostError> {
        let store = self.store()?;
        if let Some(genesis) = store.genesis(id)? {
            return Ok(genesis);
        }
        // A store of several machines may lag behind: loading makes sure whether the session exists.
        store.load(id, 0, Some(0))?;
        Ok(store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?)
    }

    pub(super) fn view(&self, id: &str, at: Option<u64>) -> Result<Session, HostError> {
        let (spec, connections) = self.stored_parts(id)?;
        let replica = Replica::restore(self.store()?, id, &session_factory(id, &spec, &connections), at)?;
        match at {
            Some(at) if at > replica.last() => {
                Err(HostError::NoRecord { session: id.to_owned(), records: replica.last(), at })
            }
            _ => Ok(replica.into_session()),
        }
    }

    /// The spec and connections of a stored session.
    pub(super) fn stored_parts(&self, id: &str) -> Result<(SessionSpec, Connections), HostError> {
        let spec = rules::with_later_names(SessionSpec::from_genesis(self.genesis(id)?)?);
        let connections = self.options.connector.resume(&spec, self.pictures(id).as_deref())?;
        self.restored.fetch_add(1, Ordering::Relaxed);
        Ok((spec, connections))
    }

    /// The session as if its process had ended, and its last record if it rests there.
    pub(super) fn view_interrupted(&self, id: &str) -> Result<(Session, Option<u64>), HostError> {
        // The work of other processes is running, not in doubt.
        if self.is_run_elsewhere() {
            return Ok((self.view(id, None)?, None));
        }
        let (spec, connections) = self.stored_parts(id)?;
        let asks = |start: &Start| needs_person(&connections.activities, start);
        Ok(view_interrupted(
            self.store()?,
            id,
            &session_factory(id, &spec, &connections),
            (self.options.clock)(),
            asks,
        )?)
    }

    pub(super) fn pictures(&self, id: &str) -> Option<PathBuf> {
        self.options.files.as_ref().map(|folder| SessionFiles::pictures(folder, id))
    }

    /// Follows a session that other processes run; returns the input for changed rules, if any.
    fn follow(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        spec: &SessionSpec,
        connections: Connections,
    ) -> Result<Option<Input>, HostError> {
        let Some(workers) = &self.options.workers else { return Ok(None) };
        let id = slot.id();
        let replica = Replica::restore(self.store()?, id, &session_factory(id, spec, &connections), None)?;
        let (input, change) = rules::change_since_opened(spec, replica.session(), &connections.activities)?;
        let rules = Some(change).filter(|change| *change != RulesChange::default());
        slot.feed().resume_at(replica.last());
        let (sender, commands) = mpsc::unbounded_channel();
        let (over, ended) = watch::channel(false);
        let begin = FollowerStart {
            replica,
            session_factory: session_factory(id, spec, &connections),
            workers: Arc::clone(workers),
            clock: self.options.clock,
            feed: Arc::clone(slot.feed()),
            commands,
            idle_after: self.options.idle_after,
        };
        let mut follower = Follower::new(begin, spec.language.as_deref());
        slot.begin(sender, ended, Reopened { rules, ..Reopened::default() });
        let (slot, store) = (Arc::clone(slot), Arc::clone(self.store()?));
        self.spawn(async move {
            follower.run(&store, |commands| slot.close_if_idle(commands)).await;
            slot.close();
            follower.end();
            if let Some(services) = connections.services {
                services.close().await;
            }
            over.send_replace(true);
        });
        Ok(input)
    }

    /// Starts the actor of a session.
    fn begin(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        spec: &SessionSpec,
        connections: Connections,
        opened: Opened,
    ) -> Result<(), HostError> {
        let Opened { session, last, open, states, journal, is_replaced, rules } = opened;
        let is_under_way = |task: &&Task| matches!(task, Task::Call(_) | Task::AskModel { .. });
        let reopened = Reopened { under_way: open.iter().filter(is_under_way).count(), rules };
        let is_stored = journal.is_some();
        let folder = self.options.files.as_ref().filter(|_| is_stored);
        let images = folder.map(|folder| ImageStore::of(folder, slot.id())).transpose()?.unwrap_or_default();
        // A request has no files for people.
        let files = folder.filter(|_| !spec.agent.is_empty());
        let mut files = files.map(|folder| SessionFiles::open(folder, slot.id())).transpose()?;
        if let Some(files) = &mut files {
            files.begin(&session, states);
            if is_replaced {
                // Errors are reported when the file is next used.
                let _ = files.replace(&session);
            }
        }
        slot.feed().resume_at(last);
        let (sender, commands) = mpsc::unbounded_channel();
        let (over, ended) = watch::channel(false);
        let begin = ActorStart {
            session,
            record: last,
            open,
            connections,
            clock: self.options.clock,
            journal,
            files,
            pictures: SessionPictures { images, attached: Arc::clone(slot.attached()) },
            feed: Arc::clone(slot.feed()),
            idle_after: self.options.idle_after.filter(|_| is_stored),
        };
        // An actor is large, and its task is moved several times before it runs.
        let actor = Box::new(Actor::new(begin, spec, commands));
        slot.begin(sender, ended, reopened);
        if is_stored {
            self.spawn(start_stored(actor, Arc::clone(slot), over, InMemory::counted(self)));
            self.unload_idle();
        } else {
            self.spawn(start_temporary(actor, Arc::downgrade(slot), over));
        }
        Ok(())
    }
}

/// Counts a stored session as in memory, until its actor has ended or panicked.
struct InMemory(Weak<HostShared>);

impl InMemory {
    fn counted(host: &Arc<HostShared>) -> Self {
        host.live.fetch_add(1, Ordering::Relaxed);
        Self(Arc::downgrade(host))
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        if let Some(host) = self.0.upgrade() {
            host.live.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Runs the actor of a stored session.
async fn start_stored(mut actor: Box<Actor>, slot: Arc<Slot>, over: watch::Sender<bool>, counted: InMemory) {
    let end = actor.run(|commands| slot.close_if_idle(commands)).await;
    slot.close();
    let due = actor.due_later().filter(|_| end == End::Idle);
    actor.end().await;
    over.send_replace(true);
    let Some(host) = counted.0.upgrade() else { return };
    drop(counted);
    if let Some(due) = due {
        host.spawn_sleeper(wake_at(due, slot.id().to_owned(), Arc::downgrade(&host)));
    }
}

/// Runs the actor of a session that is not stored: it ends when no handle is left.
async fn start_temporary(mut actor: Box<Actor>, slot: Weak<Slot>, over: watch::Sender<bool>) {
    actor.run(|_| false).await;
    if let Some(slot) = slot.upgrade() {
        slot.close();
    }
    actor.end().await;
    over.send_replace(true);
}

/// Opens an unloaded session when its questions expire or people are to be reminded.
async fn wake_at(due: Time, id: String, host: Weak<HostShared>) {
    let Some(clock) = host.upgrade().map(|host| host.options.clock) else { return };
    let wait = u64::try_from(due.0.saturating_sub(clock().0)).unwrap_or(0);
    tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
    let Some(host) = host.upgrade() else { return };
    let slot = host.slot(&id);
    if host.ensure(&slot, None).await.is_ok() {
        // A failure is reported when the session is next opened.
        let _ = SessionHandle::new(slot).finished().await;
    }
}

/// A globally unique key.
pub(super) fn drawn_key() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

/// Returns a function that recreates a session as it was when it began.
pub fn session_factory(id: &str, spec: &SessionSpec, connections: &Connections) -> SessionFactory {
    let (id, spec, activities) = (id.to_owned(), spec.clone(), Arc::clone(&connections.activities));
    Arc::new(move || spec.session(&id, &activities).map_err(|error| error.to_string()))
}

/// Ends the services of a session that could not be opened.
async fn close_services(connections: &Connections, error: HostError) -> HostError {
    if let Some(services) = &connections.services {
        services.close().await;
    }
    error
}
