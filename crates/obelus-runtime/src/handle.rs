//! The one handle to a session: what channels, commands and programs use.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::session::{Decision, Input, Mode, Refused, Reply, Session};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::actor::{Command, GONE, Tell, WaitFor};
use crate::connector::Services;
use crate::events::{EventNumber, Subscription};
use crate::host::{HostError, Reopened, Slot};
use crate::images::ImageError;
use crate::store::InputId;
use obelus_kernel::session::QuestionId;

/// A session. Clones of a handle lead to the same session, from any task.
///
/// A command returns when its input is durable, or says why it was refused; nothing has happened then. What follows
/// from it is told by [`SessionHandle::subscribe`] and [`SessionHandle::rested`]. A session that was dropped from memory
/// meanwhile is restored by the next command.
#[derive(Clone)]
pub struct SessionHandle {
    slot: Arc<Slot>,
    /// The id of what is said by this handle.
    input: Option<InputId>,
}

impl std::fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SessionHandle").field(&self.slot.id()).finish()
    }
}

impl SessionHandle {
    pub(crate) fn new(slot: Arc<Slot>) -> Self {
        Self { slot, input: None }
    }

    /// The session's name.
    pub fn id(&self) -> &str {
        self.slot.id()
    }

    /// The same handle, whose next command has this id: sent again with the same id, it acts once (DUR-13).
    #[must_use]
    pub fn with_id(&self, id: InputId) -> Self {
        Self { slot: Arc::clone(&self.slot), input: Some(id) }
    }

    /// Says something as the user. While a turn is at work, the words wait for its end.
    pub async fn say(&self, text: impl Into<String>) -> Result<(), Refused> {
        self.tell(Input::User { text: text.into() }).await
    }

    /// Has the request worked on as it stands.
    pub async fn start(&self) -> Result<(), Refused> {
        self.tell(Input::Start).await
    }

    /// Runs the plan in the context as it is, without a model.
    pub async fn run_plan(&self) -> Result<(), Refused> {
        self.tell(Input::RunPlan).await
    }

    /// Answers a question. `by` says who, and from where.
    pub async fn answer(&self, question: QuestionId, decision: Decision, by: &str) -> Result<(), Refused> {
        self.tell(Input::Decide { question, decision, by: by.to_owned(), digest: None }).await
    }

    /// Answers a question as it was shown: the answer is refused if the question has another digest by now (ASK-1).
    pub async fn answer_as_shown(
        &self,
        question: QuestionId,
        digest: &str,
        decision: Decision,
        by: &str,
    ) -> Result<(), Refused> {
        self.tell(Input::Decide { question, decision, by: by.to_owned(), digest: Some(digest.to_owned()) }).await
    }

    /// Takes back a standing consent (ASK-9). [`Session::consents`] lists them, by [`SessionHandle::inspect`].
    pub async fn revoke(&self, consent: u64, by: &str) -> Result<(), Refused> {
        self.tell(Input::Revoke { consent, by: by.to_owned() }).await
    }

    /// Stops the turn, and ends everything that is at work. Whether such a call has had its effect is not known then.
    pub async fn stop(&self) -> Result<(), Refused> {
        self.tell(Input::Stop).await
    }

    /// Lets the session pause: what runs goes on to its end, and nothing starts.
    pub async fn pause(&self, by: &str) -> Result<(), Refused> {
        self.tell(Input::Pause { by: by.to_owned() }).await
    }

    /// Lets a paused session go on.
    pub async fn resume(&self, by: &str) -> Result<(), Refused> {
        self.tell(Input::Resume { by: by.to_owned() }).await
    }

    /// Puts another state in the place of the session's own.
    pub async fn edit_state(&self, state: Value, by: &str) -> Result<(), Refused> {
        self.tell(Input::State { state, by: by.to_owned(), is_whole: true }).await
    }

    /// Changes how far the session may go.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), Refused> {
        self.tell(Input::Mode { mode }).await
    }

    /// Tells the session what a service told of its own accord. The same event once more is no news.
    pub async fn event(&self, id: impl Into<String>, event: Value) -> Result<(), Refused> {
        self.tell(Input::Event { id: id.into(), event }).await
    }

    /// Tells the session something, for whoever has it as an [`Input`]. What only the runtime can know is refused.
    pub async fn tell(&self, input: Input) -> Result<(), Refused> {
        self.tell_recorded(input).await.map(drop)
    }

    /// The same; the number of the record with which the input was taken. What follows from it is told by events after
    /// `RECORD-0`.
    pub async fn tell_recorded(&self, input: Input) -> Result<u64, Refused> {
        if !is_from_outside(&input) {
            let text = "only the runtime itself tells a session what came of its work".to_owned();
            return Err(Refused::new("not_from_outside", text));
        }
        let tell = |answer| Command::Tell(Box::new(Tell { input: input.clone(), id: self.input.clone(), answer }));
        match self.ask(tell).await.and_then(|taken| taken) {
            // It ended before it took anything: it is restored.
            Err(refused) if refused.code == GONE => self.ask(tell).await?,
            taken => taken,
        }
    }

    /// Takes a picture from a file. It goes with the words that begin the next turn.
    pub async fn attach(&self, path: &Path) -> Result<(), ImageError> {
        let attach = |answer| Command::Attach { path: path.to_owned(), answer };
        let gone = |refused: Refused| ImageError::NotKept {
            folder: path.to_owned(),
            error: std::io::Error::other(refused.text),
        };
        self.ask(attach).await.map_err(gone)?
    }

    /// Waits until the turn has come to rest, and says how; none, if nothing has begun yet. What an earlier process
    /// had under way goes on.
    ///
    /// An error says that the work stands still because nothing can be kept; waiting again tries again.
    pub async fn rested(&self) -> Result<Option<Reply>, Refused> {
        self.ask(|answer| Command::Wait { what: WaitFor::Rest, answer }).await?
    }

    /// Waits until nothing is under way at all: calls that nobody waits for have ended, or the session is paused.
    pub async fn finished(&self) -> Result<Option<Reply>, Refused> {
        self.ask(|answer| Command::Wait { what: WaitFor::Stillness, answer }).await?
    }

    /// Every event after one that was seen before, those that are not held in memory any more included: they are read
    /// from the journal. The first thing that is told is [`EventBody::Missed`] where there is none.
    ///
    /// [`EventBody::Missed`]: crate::EventBody::Missed
    pub fn history(&self, after: EventNumber) -> Result<Subscription, HostError> {
        let mut events = self.subscribe(Some(after));
        if let Some(upto) = events.missed_upto()
            && let Some(earlier) = self.slot.history(after, upto)?
        {
            events.tell_first(earlier);
        }
        Ok(events)
    }

    /// Events from now on, or those after an event that was seen before. Only so many are held in memory, from the first
    /// subscription on: if there were more, that is the first thing that is told.
    pub fn subscribe(&self, after: Option<EventNumber>) -> Subscription {
        self.slot.feed().subscribe(after)
    }

    /// Reads something from the session. It is looked at between two inputs, when everything in it is durable.
    pub async fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        self.ask(|answer| {
            Command::Inspect(Box::new(move |session| {
                let _ = answer.send(look(session));
            }))
        })
        .await
    }

    /// What was started for the session, such as MCP servers.
    pub async fn services(&self) -> Result<Option<Arc<dyn Services>>, Refused> {
        self.ask(|answer| Command::Services { answer }).await
    }

    /// The folder with pictures and notes of the pages that the session has seen, where it is kept.
    pub fn pictures(&self) -> Option<PathBuf> {
        self.slot.pictures()
    }

    /// What was found when the session was last opened.
    pub fn reopened(&self) -> Reopened {
        self.slot.reopened()
    }

    pub(crate) async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, Refused> {
        let (answer, answered) = oneshot::channel();
        self.slot.send(command(answer)).await?;
        answered.await.map_err(|_| crate::actor::gone())
    }
}

/// Whether an input is for people and services to tell. The others tell what became of tasks.
fn is_from_outside(input: &Input) -> bool {
    matches!(
        input,
        Input::Start
            | Input::RunPlan
            | Input::User { .. }
            | Input::State { .. }
            | Input::Event { .. }
            | Input::Decide { .. }
            | Input::Revoke { .. }
            | Input::Mode { .. }
            | Input::Pause { .. }
            | Input::Resume { .. }
            | Input::Stop
            | Input::Tick
    )
}
