//! Helpers for tests of sessions.

#![allow(dead_code, reason = "not every test needs everything")]

pub(crate) mod delegates;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use obelus_kernel::session::{Input, Mode, Question, Reply, Settings};
use obelus_kernel::{Context, Expr, Time};
use obelus_runtime::engine::{AppendError, CheckpointData, Durable, Journaled, Record, SessionLock, Snapshot};
use obelus_runtime::sessions::{InboxRow, InputId, SessionRow, SessionSummary};
use obelus_runtime::{Activities, Connections, Host, MemoryStore, SessionHandle, SessionSpec, Store, StoreError};
use serde_json::{Value, json};

/// A tool with one parameter and this effect.
pub(crate) fn tool(effect: &str) -> Value {
    json!({"type": "object", "properties": {"n": {}}, "x-effect": effect, "x-trust": "trusted", "x-target": []})
}

/// A session with these tools and this plan.
pub(crate) fn spec(tools: Value, plan: Value) -> SessionSpec {
    let context = json!([{"type": "tool", "tool": tools}, {"type": "plan", "plan": plan}]);
    SessionSpec {
        context: Context::from_value(context).unwrap(),
        settings: Settings { mode: Mode::Full, ..Settings::default() },
        name: "test".to_owned(),
        ..SessionSpec::default()
    }
}

/// A chain of calls of `step`, each with the result of the one before.
pub(crate) fn chain(effect: &str, length: usize) -> SessionSpec {
    let call = |i: usize| {
        let n = if i == 0 { json!(0) } else { json!(format!("†state.v{}", i - 1)) };
        json!({"_tool": "step", "n": n, "_outputPath": format!("†state.v{i}")})
    };
    spec(json!({"step": tool(effect)}), (0..length).map(call).collect())
}

/// `step` adds one; `calls` counts its runs.
pub(crate) fn counting(calls: &Arc<AtomicUsize>) -> Activities {
    let calls = calls.clone();
    let mut activities = Activities::new();
    activities.register("step", move |work| {
        calls.fetch_add(1, Ordering::SeqCst);
        async move { Ok(json!(work.call["n"].as_i64().unwrap_or(0) + 1)) }
    });
    activities
}

/// A stopped clock.
pub(crate) fn clock() -> Time {
    Time(1_768_467_600_000)
}

/// The value of an expression.
pub(crate) async fn read(handle: &SessionHandle, path: &str) -> Option<Value> {
    let path = Expr::parse(path).unwrap();
    handle.inspect(move |session| session.context().resolve(&path, None).map(Cow::into_owned)).await.unwrap()
}

/// The open questions.
pub(crate) async fn open_questions(handle: &SessionHandle) -> Vec<Question> {
    handle.inspect(|session| session.questions().into_iter().filter(Question::is_open).collect()).await.unwrap()
}

/// A store in memory with room for a limited number of records, like a full disk.
#[derive(Default)]
pub(crate) struct Small {
    inner: MemoryStore,
    room: Mutex<Option<u64>>,
    /// The number of appends.
    pub(crate) commits: AtomicUsize,
    /// Whether the next append ends its actor, right after the records are durable.
    pub(crate) is_fatal: AtomicBool,
    /// Whether the next append ends its actor before anything is durable.
    pub(crate) is_fatal_before: AtomicBool,
}

impl Small {
    /// Sets the limit; `None` removes it.
    pub(crate) fn make_room(&self, records: Option<u64>) {
        *self.room.lock().unwrap() = records;
    }
}

impl Store for Small {
    fn create(&self, id: &str, at: Time, genesis: &Value, records: Vec<Record>) -> Result<(), StoreError> {
        self.inner.create(id, at, genesis, records)
    }

    fn genesis(&self, id: &str) -> Result<Option<Value>, StoreError> {
        self.inner.genesis(id)
    }

    fn lock(&self, id: &str) -> Result<SessionLock, StoreError> {
        self.inner.lock(id)
    }

    fn append(&self, id: &str, after: u64, records: Vec<Record>) -> Durable {
        let room = *self.room.lock().unwrap();
        if room.is_some_and(|room| after + records.len() as u64 > room) {
            return Box::pin(std::future::ready(Err(AppendError::NotDurable("no space left".to_owned()))));
        }
        if self.is_fatal_before.swap(false, Ordering::SeqCst) {
            return Box::pin(async { panic!("a test ends the actor here") });
        }
        self.commits.fetch_add(1, Ordering::SeqCst);
        let durable = self.inner.append(id, after, records);
        if self.is_fatal.swap(false, Ordering::SeqCst) {
            Box::pin(async move { durable.await.map(|_| panic!("a test ends the actor here")) })
        } else {
            durable
        }
    }

    fn load(&self, id: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError> {
        self.inner.load(id, after, upto)
    }

    fn taken(&self, id: &str, input: &InputId) -> Result<Option<u64>, StoreError> {
        self.inner.taken(id, input)
    }

    fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, StoreError> {
        self.inner.snapshot(id)
    }

    fn store_checkpoint(&self, id: &str, seq: u64, rest: CheckpointData) {
        self.inner.store_checkpoint(id, seq, rest);
    }

    fn list(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.inner.list()
    }

    fn summary(&self, id: &str) -> Result<Option<SessionSummary>, StoreError> {
        self.inner.summary(id)
    }

    fn inbox(&self) -> Result<Vec<InboxRow>, StoreError> {
        self.inner.inbox()
    }

    fn removed(&self, id: &str) -> Result<u64, StoreError> {
        self.inner.removed(id)
    }

    fn remove(&self, id: &str) -> Result<(), StoreError> {
        self.inner.remove(id)
    }

    fn cut(&self, id: &str, from: u64, then: Vec<Record>) -> Result<(), StoreError> {
        self.inner.cut(id, from, then)
    }
}

/// A folder that is removed on drop.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-runtime-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        obelus_runtime::SqliteStore::create_folder(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The inputs in a session's journal.
pub(crate) fn journal(store: &dyn Store, id: &str) -> Vec<Input> {
    store.load(id, 0, None).unwrap().records.into_iter().map(|record| Arc::unwrap_or_clone(record.input)).collect()
}

pub(crate) fn host(connections: Connections, store: Arc<dyn Store>) -> Host {
    Host::builder(connections).store(store).clock(clock).build()
}

/// Runs the plan until the turn rests.
pub(crate) async fn run_plan(handle: &SessionHandle) -> Reply {
    handle.run_plan().await.unwrap();
    handle.rested().await.unwrap().unwrap()
}

/// Sends a message and waits until the turn rests.
pub(crate) async fn say(handle: &SessionHandle, words: &str) -> Reply {
    handle.say(words).await.unwrap();
    handle.rested().await.unwrap().unwrap()
}

/// The whole session as text.
pub(crate) async fn snapshot(handle: &SessionHandle) -> String {
    handle.inspect(|session| session.snapshot().to_string()).await.unwrap()
}

/// Ends a host as the death of its process would.
pub(crate) async fn kill(host: Host) {
    drop(host);
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}
