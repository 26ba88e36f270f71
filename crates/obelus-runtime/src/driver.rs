//! The driver: does what a session wants done, and tells it what came of it.
//!
//! Work runs as futures on the driver's own task, as many at once as the session permits, so that a call
//! that needs no waiting costs no hand-over between threads.

mod counter;
mod doubt;
mod parts;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use obelus_kernel::Time;
use obelus_kernel::session::{
    Answer, AskedAgain, CallError, Input, Outcome, Question, Refused, Reply, Session, Start, Task,
};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use crate::activity::{Activities, Work};
use crate::clock::Clock;
use crate::model::{Model, Used};
use crate::session_files::SessionFiles;
use crate::state_file::{FileNews, Found};
pub use counter::{Counter, Told};
use doubt::Doubt;
use parts::PartsInlet;

/// Something that a person may want to see while a turn is at work.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The agent says something.
    Say(&'a str),
    /// The model is writing words for the user; the whole of them comes with [`Event::Say`].
    Writing(&'a str),
    /// What a request to the model took.
    Used(Used),
    /// The model is asked.
    Asking,
    /// A call begins.
    Began(&'a Start),
    /// A call has ended.
    Ended(&'a str, &'a Outcome),
    /// A person is asked.
    Asked(&'a Question),
    /// A question that waits is shown once more.
    AskedAgain(&'a Question, AskedAgain),
    /// A service told something of its own accord, for the first time.
    Happened(&'a Value),
    /// Something about the session's files.
    Files(&'a FileNews),
    /// Something in the session has moved: whoever wants to know what can look.
    Moved(&'a Session),
}

type Pending = Pin<Box<dyn Future<Output = Input> + Send>>;

/// Inputs that become durable together, and when each was told.
type Batch = Vec<(Time, Input)>;

/// Drives one session: in memory, or with a journal.
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
    /// The room of the latest batch, for the next one.
    room: Batch,
    words: Option<mpsc::UnboundedReceiver<Input>>,
    counter: Option<counter::Ends>,
    /// Parts of answers that are not whole yet.
    parts: PartsInlet,
    journal: Option<Box<dyn Journal>>,
    /// What is kept for people beside the journal.
    files: Option<Box<SessionFiles>>,
    /// What is on its way into the journal. It is told to the session even if whoever waited has gone.
    writing: Option<(Batch, Kept)>,
    /// What a recovered session has to be told first.
    unsettled: Vec<Input>,
    /// What a recovered session had under way, while it is paused.
    shelved: Vec<Task>,
    /// Ends what is at work when a person says stop.
    stop: Arc<Notify>,
}

/// The code of a refusal because the journal could not be written: nothing has happened, and nothing may.
pub const NOT_DURABLE: &str = "not_durable";

/// The code of a refusal because the session is paused.
pub const PAUSED: &str = "paused";

/// The code of a refusal because an earlier part of the session, which was needed, cannot be read.
pub const DAMAGED: &str = "damaged";

/// Ends when inputs are durable, or with the reason why nothing of them was kept.
pub type Kept = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Where inputs are kept before they are acted on.
pub trait Journal: Send {
    /// Keeps inputs, all or none. They must be durable when what is returned has ended.
    fn append(&mut self, inputs: &[(Time, Input)]) -> Kept;

    /// Whether enough has come since the latest snapshot for another one.
    fn wants_snapshot(&self) -> bool {
        false
    }

    /// Keeps a snapshot of the session as it is after everything that was appended. It may be lost without harm.
    fn keep_snapshot(&mut self, state: &Value) {
        let _ = state;
    }
}

/// What a session that was read from its journal still had under way.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// Calls of which nobody knows whether they happened.
    pub in_doubt: usize,
    /// Requests to the model that are asked again.
    pub requests: usize,
    /// How the turn came to rest, if it is at rest.
    pub reply: Option<Reply>,
}

/// Completions taken in at once at most, so that one commit serves them all and none waits long.
const MOST_AT_ONCE: usize = 256;

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
            room: Batch::new(),
            words: None,
            counter: None,
            parts: PartsInlet::default(),
            journal: None,
            files: None,
            writing: None,
            unsettled: Vec::new(),
            shelved: Vec::new(),
            stop: Arc::default(),
        }
    }

    /// Keeps every input in a journal before acting on it.
    #[must_use]
    pub fn journaled_by(mut self, journal: impl Journal + 'static) -> Self {
        self.journal = Some(Box::new(journal));
        self
    }

    /// Keeps the state and the log of iterations as files, for a session as it is now: one that is taken up has been
    /// recovered before. What people change in the state's file is taken up when the next turn begins.
    #[must_use]
    pub fn with_files(mut self, mut files: SessionFiles) -> Self {
        files.begin(&self.session);
        self.files = Some(Box::new(files));
        self
    }

    /// Takes up a session where its journal ends. Nothing is started yet: [`Driver::resume`] does.
    ///
    /// The same inputs in the same order lead to the same session and the same tasks, so what was handed out
    /// and has no outcome in the journal is what was under way.
    pub fn recover(&mut self, journal: Vec<(Time, Input)>) -> Recovered {
        let mut open: BTreeMap<String, Task> = BTreeMap::new();
        let mut recovered = Recovered::default();
        for (at, input) in journal {
            // A call in doubt was handed out anew, or a person was asked: either way the session has it in hand.
            if let Input::Answer { id, .. }
            | Input::Ended { id, .. }
            | Input::Loaded { id, .. }
            | Input::InDoubt { id }
            | Input::DidNot { id, .. } = &input
            {
                open.remove(id);
            }
            // What was refused then is refused now.
            let _ = self.session.handle(at, input);
            while let Some(task) = self.session.poll() {
                match task {
                    Task::AskModel { id } => drop(open.insert(id.clone(), Task::AskModel { id })),
                    Task::Load { id, path } => drop(open.insert(id.clone(), Task::Load { id, path })),
                    Task::Call(start) => drop(open.insert(start.id.clone(), Task::Call(start))),
                    Task::Rest(reply) => recovered.reply = Some(*reply),
                    Task::Say(_) | Task::Ask { .. } | Task::AskAgain { .. } => {}
                }
            }
        }
        recovered.in_doubt = open.values().filter(|task| matches!(task, Task::Call(_))).count();
        recovered.requests = open.values().filter(|task| matches!(task, Task::AskModel { .. })).count();
        self.shelved = open.into_values().collect();
        self.take_from_shelf();
        recovered.reply = recovered.reply.or_else(|| self.session.reply());
        recovered
    }

    /// Goes on with what a recovered session had under way; a paused one leaves it where it is.
    fn take_from_shelf(&mut self) {
        if self.session.paused().is_some() {
            return;
        }
        for task in std::mem::take(&mut self.shelved) {
            match task {
                Task::Call(start) => self.reconcile(*start),
                Task::AskModel { id } => self.ask(id),
                Task::Load { id, path } => self.load(id, path),
                _ => {}
            }
        }
    }

    /// Goes on with what was under way when the journal ended; nothing, if nothing was.
    pub async fn resume(&mut self) -> Result<Option<Reply>, Refused> {
        if let Some(by) = self.session.paused() {
            return Err(Refused { code: PAUSED, text: format!("the session was paused by {by}: let it go on first") });
        }
        let mut doubts = std::mem::take(&mut self.unsettled);
        // Questions may have lapsed while nobody looked.
        doubts.extend(self.session.timeout().filter(|due| *due <= (self.clock)()).map(|_| Input::Tick));
        if doubts.is_empty() && !self.is_at_work() {
            return Ok(None);
        }
        self.feed(doubts).await?;
        loop {
            if let Some(reply) = self.hand_out() {
                return Ok(Some(reply));
            }
            // What nobody waits for, such as a look for a question, ends without the turn coming to rest anew.
            if !self.is_at_work() {
                return Ok(None);
            }
            self.take_some().await?;
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

    /// The session, to take it elsewhere: what it is told this way is in no journal.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Tells the session something and works until the turn has come to rest.
    ///
    /// What was started and not waited for goes on with the next turn, or with [`Driver::finish`]. A stop ends
    /// everything that is at work, calls included: whether such a call has had its effect is then not known.
    pub async fn turn(&mut self, input: Input) -> Result<Reply, Refused> {
        self.take_up_edits().await?;
        self.feed(vec![input]).await?;
        self.until_rest().await
    }

    /// Tells the session what a person has changed in the state's file (DUR-7).
    async fn take_up_edits(&mut self) -> Result<(), Refused> {
        let Some(files) = self.files.as_mut().filter(|_| self.session.is_at_rest() && self.session.paused().is_none())
        else {
            return Ok(());
        };
        let state = match files.look(&self.session) {
            Found::Nothing => return Ok(()),
            Found::News(news) => {
                (self.watch)(Event::Files(&news));
                return Ok(());
            }
            Found::Edited(state) => state,
        };
        self.feed(vec![Input::State { state, by: "the state's file".to_owned() }]).await?;
        if let Some(files) = &mut self.files {
            (self.watch)(Event::Files(&files.taken_up()));
        }
        match self.hand_out() {
            None if !self.session.is_at_rest() => self.until_rest().await.map(drop),
            _ => Ok(()),
        }
    }

    /// Tells the session something that need not begin a turn, such as another mode or that time has passed.
    /// Where it does set the session to work, the work is done, and there is a reply.
    pub async fn tell(&mut self, input: Input) -> Result<Option<Reply>, Refused> {
        self.feed(vec![input]).await?;
        match self.hand_out() {
            None if !self.session.is_at_rest() => self.until_rest().await.map(Some),
            reply => Ok(reply),
        }
    }

    async fn until_rest(&mut self) -> Result<Reply, Refused> {
        loop {
            if let Some(reply) = self.hand_out() {
                return Ok(reply);
            }
            // What was said, such as that time has passed, has moved nothing.
            if !self.is_at_work()
                && let Some(reply) = self.session.reply()
            {
                return Ok(reply);
            }
            self.take_some().await?;
        }
    }

    /// Waits for the next thing that was done or said, and tells the session. Only a journal that cannot be
    /// written is an error: what a person says may come too late, and that is no end of the turn.
    async fn take_some(&mut self) -> Result<(), Refused> {
        if let Some(told) = self.counter.as_mut().and_then(counter::Ends::take_now) {
            return self.take_told(told).await.or_else(unless_broken);
        }
        let input = match self.words.as_mut().and_then(|words| words.try_recv().ok()).or_else(|| self.done.pop_front())
        {
            Some(input) => input,
            None => loop {
                let part = tokio::select! {
                    biased;
                    // What was told of an answer comes before the answer.
                    part = self.parts.next() => part,
                    Some(done) = self.pending.next() => break done,
                    said = next_word(&mut self.words) => break said,
                    told = next_told(&mut self.counter) => return self.take_told(told).await.or_else(unless_broken),
                };
                if let Some(input) = self.take_part(part) {
                    break input;
                }
            },
        };
        let is_stop = matches!(input, Input::Stop);
        let batch = self.with_others_ready(input);
        let taken = match self.journal {
            None => self.handle(batch),
            Some(_) => self.feed_batch(batch).await,
        };
        taken.or_else(unless_broken)?;
        if is_stop {
            self.stop.notify_waiters();
        }
        Ok(())
    }

    /// What else has completed meanwhile, so that one commit serves all of it.
    fn with_others_ready(&mut self, first: Input) -> Batch {
        let now = (self.clock)();
        let mut batch = std::mem::take(&mut self.room);
        batch.push((now, first));
        while batch.len() < MOST_AT_ONCE {
            // What was told of an answer comes before the answer, which may be among these.
            if let Some(part) = self.parts.ready() {
                let early = self.take_part(part);
                // With the whole answer at hand nothing is early any more.
                if !batch.iter().any(|(_, input)| matches!(input, Input::Answer { .. })) {
                    batch.extend(early.map(|input| (now, input)));
                }
                continue;
            }
            let next = self.done.pop_front().or_else(|| self.next_completed());
            match next {
                Some(input) => batch.push((now, input)),
                None => break,
            }
        }
        batch
    }

    /// What has completed among that which waits, if something has.
    fn next_completed(&mut self) -> Option<Input> {
        // To ask is not free even where nothing is there.
        if self.pending.is_empty() { None } else { self.pending.next().now_or_never().flatten() }
    }

    /// Keeps inputs in the journal, then tells the session. The first refusal is returned.
    async fn feed(&mut self, inputs: Vec<Input>) -> Result<(), Refused> {
        let now = (self.clock)();
        self.feed_batch(inputs.into_iter().map(|input| (now, input)).collect()).await
    }

    async fn feed_batch(&mut self, batch: Batch) -> Result<(), Refused> {
        // What was being written when an earlier turn was given up comes first.
        let _ = self.written().await;
        if batch.is_empty() {
            return Ok(());
        }
        match &mut self.journal {
            None => self.handle(batch),
            Some(journal) => {
                let kept = journal.append(&batch);
                self.writing = Some((batch, kept));
                self.written().await
            }
        }
    }

    /// Waits until what is on its way into the journal is durable, and tells the session.
    async fn written(&mut self) -> Result<(), Refused> {
        let Some((_, kept)) = &mut self.writing else { return Ok(()) };
        let kept = kept.await;
        let Some((inputs, _)) = self.writing.take() else { return Ok(()) };
        if let Err(text) = kept {
            // What people said is refused. What was done is done, and is kept as soon as there is room for it.
            let done = inputs.into_iter().map(|(_, input)| input).filter(is_completion).rev();
            done.for_each(|input| self.done.push_front(input));
            return Err(Refused { code: NOT_DURABLE, text });
        }
        self.handle(inputs)
    }

    fn handle(&mut self, mut batch: Batch) -> Result<(), Refused> {
        let mut refusal = Ok(());
        for (at, input) in batch.drain(..) {
            if let Input::Ended { id, outcome } = &input {
                (self.watch)(Event::Ended(id, outcome));
            }
            if let Some(files) = &mut self.files {
                files.heard(at, &input);
            }
            let event = if let Input::Event { event, .. } = &input { Some(event.clone()) } else { None };
            let before = self.session.context().length();
            refusal = refusal.and(self.session.handle(at, input));
            if let Some(event) = event.filter(|_| self.session.context().length() > before) {
                (self.watch)(Event::Happened(&event));
            }
        }
        self.room = batch;
        match self.session.context().unreadable() {
            None => refusal,
            Some(why) => Err(Refused { code: DAMAGED, text: format!("what came before cannot be read: {why}") }),
        }
    }

    /// Waits for what was started and not waited for.
    pub async fn finish(&mut self) {
        while self.is_at_work() {
            if self.take_some().await.is_err() {
                return;
            }
            self.hand_out();
        }
    }

    fn is_at_work(&self) -> bool {
        !self.done.is_empty() || !self.pending.is_empty()
    }

    /// Starts everything that the session wants done; says so when the turn has come to rest.
    fn hand_out(&mut self) -> Option<Reply> {
        if !self.shelved.is_empty() {
            self.take_from_shelf();
            self.done.extend(self.unsettled.drain(..));
        }
        let mut reply = None;
        while let Some(task) = self.session.poll() {
            match task {
                Task::Call(start) => self.start(*start),
                Task::AskModel { id } => {
                    self.tell_of_files(|files, session| files.asks(session).into_iter().collect());
                    self.ask(id);
                }
                Task::Load { id, path } => self.load(id, path),
                Task::Say(words) => (self.watch)(Event::Say(&words)),
                Task::Ask { id } => {
                    if let Some(question) = self.session.question(&id) {
                        (self.watch)(Event::Asked(&question));
                    }
                }
                Task::AskAgain { id, because } => {
                    if let Some(question) = self.session.question(&id).filter(Question::is_open) {
                        (self.watch)(Event::AskedAgain(&question, because));
                    }
                }
                Task::Rest(rest) => reply = Some(*rest),
            }
        }
        (self.watch)(Event::Moved(&self.session));
        match &reply {
            Some(reply) => self.tell_of_files(|files, session| files.at_rest(session, reply)),
            // A state from outside need not begin a turn.
            None if self.session.is_at_rest() => self.tell_of_files(SessionFiles::if_put),
            None => {}
        }
        if let (Some(_), Some(journal)) = (&reply, &mut self.journal)
            && journal.wants_snapshot()
            && let Some(state) = self.session.checkpoint()
        {
            journal.keep_snapshot(&state);
        }
        reply
    }

    /// Has something done about the files, and tells what people should know of it.
    fn tell_of_files(&mut self, work: impl FnOnce(&mut SessionFiles, &Session) -> Vec<FileNews>) {
        let Some(files) = &mut self.files else { return };
        for news in work(files, &self.session) {
            (self.watch)(Event::Files(&news));
        }
    }

    fn load(&mut self, id: String, path: String) {
        let folder = self.folder.clone();
        self.pending.push(Box::pin(async move {
            let request = load(folder, path).await;
            Input::Loaded { id, request }
        }));
    }

    fn ask(&mut self, id: String) {
        (self.watch)(Event::Asking);
        let Some(prompt) = self.session.prompt(&id) else { return };
        let answer = AssertUnwindSafe(self.model.ask_aloud(prompt, self.parts.of(&id))).catch_unwind();
        let stopped = Arc::clone(&self.stop).notified_owned();
        let failed = |code: &str, words: &str| Answer::Failed { code: code.to_owned(), message: words.to_owned() };
        self.pending.push(Box::pin(async move {
            let answer = tokio::select! {
                biased;
                answer = answer => answer.unwrap_or_else(|_| {
                    failed("panic", "the model's client failed; this is a mistake in the program")
                }),
                () = stopped => failed("stopped", "stopped before the model answered"),
            };
            Input::Answer { id, answer }
        }));
    }

    fn start(&mut self, mut start: Start) {
        (self.watch)(Event::Began(&start));
        if let Some(files) = &mut self.files {
            files.began(&start);
        }
        let id = std::mem::take(&mut start.id);
        let Some(activity) = self.activities.get(&start.activity) else {
            let error = CallError::new("no_activity", format!("there is no activity `{}`", start.activity));
            self.pending.push(Box::pin(std::future::ready(Input::Ended { id, outcome: Outcome::Error(error) })));
            return;
        };
        let limit = activity.time_limit().unwrap_or(Duration::from_secs(start.seconds));
        let is_harmless = start.tool.idempotent;
        let work = Work::from(start);
        // What may not be done twice is kept, to look whether it happened if its answer gets lost.
        let doubt =
            (!is_harmless).then(|| Doubt { id: id.clone(), activity: Arc::clone(activity), work: work.clone(), limit });
        let work = AssertUnwindSafe(activity.run(work)).catch_unwind();
        let mut work = work.map(move |ended| {
            ended.unwrap_or_else(|_| {
                let words = "the activity failed; this is a mistake in its code";
                failed(is_harmless, "panic", words.to_owned())
            })
        });
        // What needs no waiting needs no clock either, and no place among those that wait.
        let ready = match ((&mut work).now_or_never(), &doubt) {
            (Some(outcome), None) => return self.done.push_back(Input::Ended { id, outcome }),
            (Some(outcome), Some(_)) if !matches!(outcome, Outcome::Lost { .. }) => {
                return self.done.push_back(Input::Ended { id, outcome });
            }
            (ready, _) => ready,
        };
        let stopped = Arc::clone(&self.stop).notified_owned();
        self.pending.push(Box::pin(async move {
            let to_end = async {
                let outcome = match ready {
                    Some(outcome) => outcome,
                    None => tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
                        failed(is_harmless, "timeout", format!("no result within {}", seconds(limit)))
                    }),
                };
                match (outcome, doubt) {
                    (Outcome::Lost { message }, Some(doubt)) => doubt.settle(message).await,
                    (outcome, _) => Input::Ended { id: id.clone(), outcome },
                }
            };
            tokio::select! {
                biased;
                input = to_end => input,
                () = stopped => match is_harmless {
                    true => {
                        let outcome = failed(true, "stopped", "ended before it had a result".to_owned());
                        Input::Ended { id, outcome }
                    }
                    // It may have happened: a person is asked, as after a crash.
                    false => Input::InDoubt { id },
                },
            }
        }));
    }

    /// A call that was under way when everything stopped. Its activity may be able to tell what became of it.
    fn reconcile(&mut self, mut start: Start) {
        let id = std::mem::take(&mut start.id);
        let activity = self.activities.get(&start.activity).filter(|_| !start.tool.idempotent);
        let limit = activity.and_then(|activity| activity.time_limit()).unwrap_or(Duration::from_secs(start.seconds));
        let attempt = start.attempt;
        match activity.and_then(|activity| activity.reconcile(Work::from(start))) {
            None => self.unsettled.push(Input::InDoubt { id }),
            Some(look) => self.pending.push(Box::pin(async move {
                doubt::found(id, attempt, limit, look, "the work was interrupted").await
            })),
        }
    }
}

/// Whether an input tells what became of something that was handed out.
fn is_completion(input: &Input) -> bool {
    matches!(
        input,
        Input::Answer { .. }
            | Input::Ended { .. }
            | Input::Loaded { .. }
            | Input::InDoubt { .. }
            | Input::DidNot { .. }
    )
}

/// How a call ends that has no result: in doubt, unless doing it again does no harm.
fn failed(is_harmless: bool, code: &str, message: String) -> Outcome {
    match is_harmless {
        true => Outcome::Error(CallError::new(code, message)),
        false => Outcome::Lost { message },
    }
}

fn seconds(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    format!("{seconds} second{}", if seconds == 1.0 { "" } else { "s" })
}

/// A refusal is no end of the turn, unless nothing can be kept or read any more.
fn unless_broken(refused: Refused) -> Result<(), Refused> {
    if [NOT_DURABLE, DAMAGED].contains(&refused.code) { Err(refused) } else { Ok(()) }
}

async fn next_told(counter: &mut Option<counter::Ends>) -> Told {
    match counter {
        Some(ends) => ends.take().await,
        None => std::future::pending().await,
    }
}

/// The next thing said from outside; never, where nobody can say anything.
async fn next_word(words: &mut Option<mpsc::UnboundedReceiver<Input>>) -> Input {
    if let Some(receiver) = words {
        if let Some(input) = receiver.recv().await {
            return input;
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
        let text = crate::read::read_text(&real).map_err(|error| format!("{path}: {error}"))?;
        crate::request::read_document(&real, &text).map_err(|error| error.to_string())
    };
    tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
}
