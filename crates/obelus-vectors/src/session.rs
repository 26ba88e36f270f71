//! The session of a case. A host opens and drives it, as in production. Its model and its activities only note what
//! has started, and wait until the runner of the case completes it.

use std::cell::Cell;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use obelus_kernel::Time;
use obelus_kernel::session::{Answer, Input, Outcome, Prompt, Refused, Session};
use obelus_runtime::specs::SpecError;
use obelus_runtime::{
    Activities, Activity, ActivityFuture, AnswerFuture, Connections, Host, MemoryStore, Model, SessionEvent,
    SessionHandle, SessionSpec, Store, Subscription, Work,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, oneshot};

/// The name of every session.
const NAME: &str = "case";

thread_local! {
    /// The time of the case. Its session runs on the same thread.
    static NOW: Cell<Time> = const { Cell::new(Time(0)) };
}

/// A session, and the work that it has started.
pub(crate) struct CaseSession {
    handle: SessionHandle,
    events: Subscription,
    started: mpsc::Receiver<StartedWork>,
    host: Host,
    runtime: Runtime,
    /// Notified when the runtime has nothing to do.
    idle: Arc<Notify>,
}

/// Work that the session has started. It waits for its result.
pub(crate) enum StartedWork {
    Call { activity: String, work: Box<Work>, result: oneshot::Sender<Outcome> },
    Request { prompt: Box<Prompt>, result: oneshot::Sender<Answer> },
}

impl CaseSession {
    /// Opens a session with these activities.
    pub(crate) fn open(
        spec: SessionSpec,
        activities: impl IntoIterator<Item = String>,
        now: Time,
    ) -> Result<Self, String> {
        NOW.set(now);
        let idle = Arc::new(Notify::new());
        let is_idle = Arc::clone(&idle);
        let runtime = Builder::new_current_thread()
            .enable_time()
            .on_thread_park(move || is_idle.notify_waiters())
            .build()
            .map_err(|error| error.to_string())?;
        let (starts, started) = mpsc::channel();
        let mut scripted = Activities::new();
        for name in activities {
            scripted.add(name.clone(), WaitingActivity { name, starts: starts.clone() });
        }
        // The error of the kernel, without the name of the spec, which cases do not have.
        if let Err(SpecError::Session(_, fault)) = spec.session(NAME, &scripted) {
            return Err(fault.to_string());
        }
        let connections = Connections::new(scripted).with_model(WaitingModel(starts));
        // An empty session is stored and then opened with the spec of the case. `Host::create` would refuse a policy
        // about tools that the case does not have.
        let store = Arc::new(MemoryStore::new());
        let genesis = SessionSpec::default().genesis().map_err(|error| error.to_string())?;
        store.create(NAME, now, &genesis, Vec::new()).map_err(|error| error.to_string())?;
        let host = Host::builder(connections).store(store).clock(|| NOW.get()).idle_after(None).events(usize::MAX);
        let host = host.build();
        let handle = runtime.block_on(host.open_with(NAME, spec)).map_err(|error| error.to_string())?;
        Ok(Self { events: handle.subscribe(None), handle, started, host, runtime, idle })
    }

    /// Sets the time.
    pub(crate) fn set_time(&self, now: Time) {
        NOW.set(now);
    }

    /// Gives the session an input, and waits until everything that follows from it has started.
    pub(crate) fn send(&self, input: Input) -> Result<(), Refused> {
        let taken = self.runtime.block_on(self.handle.tell(input));
        self.settle();
        taken
    }

    /// Completes started work, and waits until everything that follows from it has started.
    pub(crate) fn complete<T>(&self, work: oneshot::Sender<T>, result: T) {
        // The session may have given it up.
        let _ = work.send(result);
        self.settle();
    }

    /// Runs the session until it waits for its started work or for an input. The runtime has one thread, which parks
    /// only when no task can go on.
    fn settle(&self) {
        self.runtime.block_on(self.idle.notified());
        // The host ends a session that has panicked, and restores it for the next command.
        assert!(self.host.find(NAME).is_some() && self.host.restored() == 1, "the session has panicked");
    }

    /// What the session has started since the last call, in order.
    pub(crate) fn take_started(&self) -> Vec<StartedWork> {
        self.started.try_iter().collect()
    }

    /// The next event, if there is one.
    pub(crate) fn next_event(&mut self) -> Option<Arc<SessionEvent>> {
        self.events.try_next()
    }

    /// Reads from the session.
    pub(crate) fn inspect<T: Send + 'static>(&self, look: impl FnOnce(&Session) -> T + Send + 'static) -> T {
        self.runtime.block_on(self.handle.inspect(look)).expect("the session is in memory")
    }
}

/// An activity whose calls wait for the runner.
struct WaitingActivity {
    name: String,
    starts: mpsc::Sender<StartedWork>,
}

impl Activity for WaitingActivity {
    fn run(&self, work: Work) -> ActivityFuture {
        let (result, ended) = oneshot::channel();
        // The case may be over.
        let _ = self.starts.send(StartedWork::Call { activity: self.name.clone(), work: Box::new(work), result });
        Box::pin(result_of(ended))
    }

    /// Cases do not depend on the speed of the machine.
    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_hours(24))
    }
}

/// A model whose requests wait for the runner.
struct WaitingModel(mpsc::Sender<StartedWork>);

impl Model for WaitingModel {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        let (result, answered) = oneshot::channel();
        // The case may be over.
        let _ = self.0.send(StartedWork::Request { prompt: Box::new(prompt), result });
        Box::pin(result_of(answered))
    }
}

/// Waits for a result. Work that the runner drops never ends.
async fn result_of<T>(result: oneshot::Receiver<T>) -> T {
    match result.await {
        Ok(result) => result,
        Err(_) => std::future::pending().await,
    }
}
