//! The driver: does what a session wants done, and tells it what came of it.
//!
//! Work runs as futures on the driver's own task, as many at once as the session permits, so that a call
//! that needs no waiting costs no hand-over between threads.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `feed` | telling the session what happened, once that is durable |
//! | `hands` | starting what it wants done |
//! | `recover` | taking up a session where its journal ends |
//! | `doubt` | calls whose answer was lost |
//! | `parts` | answers that are still being written |
//! | `counter` | what other processes say |
//! | `elicitations` | what calls at work ask people |

mod counter;
mod doubt;
mod elicitations;
mod feed;
mod hands;
mod parts;
mod recover;

use std::collections::VecDeque;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use obelus_kernel::Time;
use obelus_kernel::session::{
    AskedAgain, CallId, Input, Outcome, Picture, Question, Refused, Reply, Session, Start, Task,
};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use crate::activity::Activities;
use crate::clock::Clock;
use crate::images::{ImageError, ImageStore};
use crate::model::{Model, Used};
use crate::observation::ObservationSlot;
use crate::restore::TurnStates;
use crate::session_files::SessionFiles;
use crate::state_file::{FileNews, Found};
pub use counter::{Command, Counter};
use elicitations::Elicitations;
pub use elicitations::Idle;
use parts::PartsInlet;
pub use recover::{RestoredDriver, restore_driver};

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
    Ended(&'a CallId, &'a Outcome),
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

/// What is on its way into the journal.
struct Writing {
    batch: Batch,
    kept: Durable,
}

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
    /// What calls at work ask.
    elicitations: Elicitations,
    journal: Option<Box<dyn Journal>>,
    /// What is kept for people beside the journal.
    files: Option<Box<SessionFiles>>,
    /// The states of a restored session while its latest turn was at work: each of them may stand in its file.
    turn_states: TurnStates,
    /// What is on its way into the journal. It is told to the session even if whoever waited has gone.
    writing: Option<Writing>,
    /// What a recovered session has to be told first.
    unsettled: Vec<Input>,
    /// What a recovered session had under way, while it is paused.
    shelved: Vec<Task>,
    /// Ends what is at work when a person says stop.
    stop: Arc<Notify>,
    /// What the model has before its eyes.
    slot: Arc<ObservationSlot>,
    /// Pictures that the user shows, and those that go with the next words.
    images: ImageStore,
    attached: Vec<Input>,
    /// Whether a recovered session believes that there is something, and is to be told first that there is not.
    forgets: bool,
}

/// The code of a refusal because the journal could not be written: nothing has happened, and nothing may.
pub(crate) const NOT_DURABLE: &str = "not_durable";

/// The code of a refusal because the session is paused.
pub const PAUSED: &str = "paused";

/// The code of a refusal because an earlier part of the session, which was needed, cannot be read.
pub(crate) const DAMAGED: &str = "damaged";

/// Ends when inputs are durable, or with the reason why nothing of them was kept.
pub type Durable = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Where inputs are kept before they are acted on.
pub trait Journal: Send {
    /// Keeps inputs, all or none. They must be durable when what is returned has ended.
    fn append(&mut self, inputs: &[(Time, Input)]) -> Durable;

    /// Whether enough has come since the latest snapshot for another one.
    fn wants_snapshot(&self) -> bool {
        false
    }

    /// Keeps a snapshot of the session as it is after everything that was appended. It may be lost without harm.
    fn keep_snapshot(&mut self, state: String) {
        drop(state);
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
            elicitations: Elicitations::default(),
            journal: None,
            files: None,
            turn_states: TurnStates::default(),
            writing: None,
            unsettled: Vec::new(),
            shelved: Vec::new(),
            stop: Arc::default(),
            slot: Arc::default(),
            images: ImageStore::default(),
            attached: Vec::new(),
            forgets: false,
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
        files.begin(&self.session, std::mem::take(&mut self.turn_states));
        self.files = Some(Box::new(files));
        self
    }

    /// Keeps the pictures that the user shows in this images. Without one they are gone when the driver is.
    #[must_use]
    pub fn with_images(mut self, images: ImageStore) -> Self {
        self.images = images;
        self
    }

    /// Takes a picture from a file. It goes with the words that begin the next turn, and is shown for that turn.
    pub fn attach(&mut self, path: &Path) -> Result<(), ImageError> {
        if self.attached.len() >= Picture::MOST_AT_ONCE {
            return Err(ImageError::TooMany(path.to_owned()));
        }
        let picture = Input::Picture(self.images.add(path)?);
        if !self.attached.contains(&picture) {
            self.attached.push(picture);
        }
        Ok(())
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
        let begins = matches!(input, Input::User { .. } | Input::Start);
        let mut inputs = if begins { self.attached.clone() } else { Vec::new() };
        inputs.push(input);
        self.feed(inputs).await?;
        if begins {
            self.attached.clear();
        }
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
        let mut first = self.words.as_mut().and_then(|words| words.try_recv().ok());
        while first.is_none() && self.done.is_empty() {
            let lapse = self.lapse();
            first = tokio::select! {
                biased;
                // What was told of an answer comes before the answer.
                part = self.parts.next() => self.take_part(part),
                Some(done) = self.pending.next() => Some(done),
                asking = self.elicitations.next() => self.elicitations.take(asking),
                said = next_word(&mut self.words) => Some(said),
                told = next_told(&mut self.counter) => return self.take_told(told).await.or_else(unless_broken),
                () = tokio::time::sleep(lapse.unwrap_or_default()), if lapse.is_some() => Some(Input::Tick),
            };
        }
        let is_stop = matches!(first, Some(Input::Stop));
        let batch = self.with_others_ready(first);
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

    /// Waits for what was started and not waited for; a call that asks a person waits until somebody has answered.
    /// Where that has set the session to work again, it says how it came to rest.
    pub async fn finish(&mut self) -> Option<Reply> {
        let mut reply = None;
        while let Some(next) = self.rest_anew().await {
            reply = Some(next);
        }
        reply
    }

    fn is_at_work(&self) -> bool {
        !self.done.is_empty() || !self.pending.is_empty()
    }
}

/// A refusal is no end of the turn, unless nothing can be kept or read any more.
fn unless_broken(refused: Refused) -> Result<(), Refused> {
    if [NOT_DURABLE, DAMAGED].contains(&refused.code) { Err(refused) } else { Ok(()) }
}

async fn next_told(counter: &mut Option<counter::Ends>) -> Command {
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
