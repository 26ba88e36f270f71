//! The driver: does what a session wants done, and tells it what came of it.
//!
//! Work runs as futures on the driver's own task, as many at once as the session permits, so that a call
//! that needs no waiting costs no hand-over between threads.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use obelus_kernel::session::{Answer, CallError, Input, Outcome, Question, Refused, Reply, Session, Start, Task};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::activity::{Activities, Work};
use crate::clock::Clock;
use crate::model::Model;

/// Something that a person may want to see while a turn is at work.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The agent says something.
    Say(&'a str),
    /// The model is asked.
    Asking,
    /// A call begins.
    Began(&'a Start),
    /// A call has ended.
    Ended(&'a str, &'a Outcome),
    /// A person is asked.
    Asked(&'a Question),
}

type Pending = Pin<Box<dyn Future<Output = Input> + Send>>;

/// Drives one session in memory.
pub struct Driver {
    session: Session,
    activities: Arc<Activities>,
    model: Arc<dyn Model>,
    /// Where the files of delegates lie.
    folder: Option<PathBuf>,
    clock: Clock,
    pending: FuturesUnordered<Pending>,
    /// What was done as soon as it was started.
    done: VecDeque<Input>,
    watch: Box<dyn FnMut(Event<'_>) + Send>,
    words: Option<mpsc::UnboundedReceiver<Input>>,
}

impl Driver {
    /// A driver for a session. The session's settings must name the activities.
    pub fn new(session: Session, activities: Arc<Activities>, model: Arc<dyn Model>, clock: Clock) -> Self {
        Self {
            session,
            activities,
            model,
            folder: None,
            clock,
            pending: FuturesUnordered::new(),
            done: VecDeque::new(),
            watch: Box::new(|_| {}),
            words: None,
        }
    }

    /// Reads the files of delegates from this folder and from nowhere else.
    #[must_use]
    pub fn with_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Tells what happens while a turn is at work.
    #[must_use]
    pub fn watched_by(mut self, watch: impl FnMut(Event<'_>) + Send + 'static) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// A way to say something while a turn is at work: words, decisions, a stop.
    pub fn inlet(&mut self) -> mpsc::UnboundedSender<Input> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.words = Some(receiver);
        sender
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, to change its mode or to take it elsewhere.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Tells the session something and works until the turn has come to rest.
    ///
    /// What was started and not waited for goes on with the next turn, or with [`Driver::finish`].
    pub async fn turn(&mut self, input: Input) -> Result<Reply, Refused> {
        self.session.handle((self.clock)(), input)?;
        loop {
            if let Some(reply) = self.hand_out() {
                return Ok(reply);
            }
            let input = tokio::select! {
                biased;
                done = next_end(&mut self.done, &mut self.pending), if self.is_at_work() => done,
                said = next_word(&mut self.words) => said,
            };
            match input {
                Some(input) => {
                    if let Input::Ended { id, outcome } = &input {
                        (self.watch)(Event::Ended(id, outcome));
                    }
                    // What a person says may come too late; that is theirs to see, and no end of the turn.
                    let _ = self.session.handle((self.clock)(), input);
                }
                // Nothing runs and nobody can say anything: the session would have come to rest.
                None => std::future::pending().await,
            }
        }
    }

    /// Waits for what was started and not waited for.
    pub async fn finish(&mut self) {
        while let Some(input) = next_end(&mut self.done, &mut self.pending).await {
            if let Input::Ended { id, outcome } = &input {
                (self.watch)(Event::Ended(id, outcome));
            }
            let _ = self.session.handle((self.clock)(), input);
            self.hand_out();
        }
    }

    fn is_at_work(&self) -> bool {
        !self.done.is_empty() || !self.pending.is_empty()
    }

    /// Starts everything that the session wants done; says so when the turn has come to rest.
    fn hand_out(&mut self) -> Option<Reply> {
        let mut reply = None;
        while let Some(task) = self.session.poll() {
            match task {
                Task::Call(start) => self.start(*start),
                Task::AskModel { id } => self.ask(id),
                Task::Load { id, path } => {
                    let folder = self.folder.clone();
                    self.pending.push(Box::pin(async move {
                        let request = load(folder, path).await;
                        Input::Loaded { id, request }
                    }));
                }
                Task::Say(words) => (self.watch)(Event::Say(&words)),
                Task::Ask { id } => {
                    if let Some(question) = self.session.question(&id) {
                        (self.watch)(Event::Asked(&question));
                    }
                }
                Task::Rest(rest) => reply = Some(*rest),
            }
        }
        reply
    }

    fn ask(&mut self, id: String) {
        (self.watch)(Event::Asking);
        let Some(prompt) = self.session.prompt(&id) else { return };
        let answer = AssertUnwindSafe(self.model.ask(prompt)).catch_unwind();
        self.pending.push(Box::pin(async move {
            let answer = answer.await.unwrap_or_else(|_| Answer::Failed {
                code: "panic".to_owned(),
                message: "the model's client failed; this is a mistake in the program".to_owned(),
            });
            Input::Answer { id, answer }
        }));
    }

    fn start(&mut self, mut start: Start) {
        (self.watch)(Event::Began(&start));
        let id = std::mem::take(&mut start.id);
        let Some(activity) = self.activities.get(&start.activity) else {
            let error = CallError::new("no_activity", format!("there is no activity `{}`", start.activity));
            self.pending.push(Box::pin(std::future::ready(Input::Ended { id, outcome: Outcome::Error(error) })));
            return;
        };
        let limit = activity.time_limit().unwrap_or(Duration::from_secs(start.seconds));
        let work = AssertUnwindSafe(activity.run(Work::from(start))).catch_unwind();
        let mut work = work.map(|ended| {
            let panicked = || CallError::new("panic", "the activity failed; this is a mistake in its code");
            ended.unwrap_or_else(|_| Outcome::Error(panicked()))
        });
        // What needs no waiting needs no clock either, and no place among those that wait.
        if let Some(outcome) = (&mut work).now_or_never() {
            self.done.push_back(Input::Ended { id, outcome });
            return;
        }
        self.pending.push(Box::pin(async move {
            let outcome = match tokio::time::timeout(limit, work).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    let text = format!("no result within {} seconds", limit.as_secs_f64());
                    Outcome::Error(CallError::new("timeout", text))
                }
            };
            Input::Ended { id, outcome }
        }));
    }
}

/// The next thing that came to its end.
async fn next_end(done: &mut VecDeque<Input>, pending: &mut FuturesUnordered<Pending>) -> Option<Input> {
    match done.pop_front() {
        Some(input) => Some(input),
        None => pending.next().await,
    }
}

/// The next thing said from outside; never, where nobody can say anything.
async fn next_word(words: &mut Option<mpsc::UnboundedReceiver<Input>>) -> Option<Input> {
    if let Some(receiver) = words {
        if let Some(input) = receiver.recv().await {
            return Some(input);
        }
        *words = None;
    }
    std::future::pending().await
}

/// A delegate's saved request. Links that lead out of the folder are not followed.
async fn load(folder: Option<PathBuf>, path: String) -> Result<Value, String> {
    let folder = folder.ok_or("this session has no folder for delegates")?;
    let read = move || {
        let whole = folder.join(&path);
        let real = whole.canonicalize().map_err(|error| format!("{path}: {error}"))?;
        let inside = folder.canonicalize().map_err(|error| format!("{path}: {error}"))?;
        if !real.starts_with(&inside) {
            return Err(format!("{path}: it leads out of the agent's folder"));
        }
        let text = std::fs::read_to_string(&real).map_err(|error| format!("{path}: {error}"))?;
        crate::request::read_document(&real, &text).map_err(|error| error.to_string())
    };
    tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
}
