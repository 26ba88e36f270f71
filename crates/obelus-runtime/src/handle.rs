//! The handle to a session, used by channels, commands and programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Decision, Input, Mode, Refused, Reply, Session};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::actor::{ActorCommand, InputCommand, Wait, WaitFor};
use crate::connector::Services;
use crate::events::{EventNumber, Subscription};
use crate::host::{HostError, Reopened, Slot};
use crate::images::ImageError;
use crate::store::InputId;
use obelus_kernel::session::QuestionId;

/// A session. Clones of a handle refer to the same session and can be used from any task.
///
/// A command returns when its input is durable, or with the reason why it was refused; then nothing has happened. Its
/// consequences are reported by [`SessionHandle::subscribe`] and [`SessionHandle::rested`]. A session that was
/// dropped from memory is restored by the next command.
#[derive(Clone)]
pub struct SessionHandle {
    slot: Arc<Slot>,
    /// The id of the handle's next input.
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

    /// A handle to the same session that sends its commands with this id. A command that is repeated with its id is
    /// taken once (DUR-13). Other handles draw an id for each command to a stored session.
    #[must_use]
    pub fn with_id(&self, id: InputId) -> Self {
        Self { slot: Arc::clone(&self.slot), input: Some(id) }
    }

    /// Sends a message as the user. During a turn it waits for the turn's end.
    pub async fn say(&self, text: impl Into<String>) -> Result<(), Refused> {
        self.tell(Input::User { text: text.into(), by: None }).await
    }

    /// Starts the request without a message.
    pub async fn start(&self) -> Result<(), Refused> {
        self.tell(Input::Start).await
    }

    /// Runs the plan in the context, without a model.
    pub async fn run_plan(&self) -> Result<(), Refused> {
        self.tell(Input::RunPlan).await
    }

    /// Answers a question. `by` says who, and from where.
    pub async fn answer(&self, question: QuestionId, decision: Decision, by: &str) -> Result<(), Refused> {
        self.tell(Input::Decide { question, decision, by: by.to_owned(), digest: None }).await
    }

    /// Answers a question as it was shown: refused if the question's digest has changed (ASK-1).
    pub async fn answer_as_shown(
        &self,
        question: QuestionId,
        digest: &str,
        decision: Decision,
        by: &str,
    ) -> Result<(), Refused> {
        self.tell(Input::Decide { question, decision, by: by.to_owned(), digest: Some(digest.to_owned()) }).await
    }

    /// Revokes a standing consent (ASK-9). [`Session::consents`] lists them, by [`SessionHandle::inspect`].
    pub async fn revoke(&self, consent: u64, by: &str) -> Result<(), Refused> {
        self.tell(Input::Revoke { consent, by: by.to_owned() }).await
    }

    /// Stops the turn and all running work. Whether stopped calls had their effects is unknown.
    pub async fn stop(&self) -> Result<(), Refused> {
        self.tell(Input::Stop).await
    }

    /// Pauses the session: running work continues to its end, and nothing new starts.
    pub async fn pause(&self, by: &str) -> Result<(), Refused> {
        self.tell(Input::Pause { by: by.to_owned() }).await
    }

    /// Resumes a paused session.
    pub async fn resume(&self, by: &str) -> Result<(), Refused> {
        self.tell(Input::Resume { by: by.to_owned() }).await
    }

    /// Replaces the session's state.
    pub async fn edit_state(&self, state: Value, by: &str) -> Result<(), Refused> {
        self.tell(Input::State { state, by: by.to_owned(), is_whole: true }).await
    }

    /// Changes the session's mode.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), Refused> {
        self.tell(Input::Mode { mode }).await
    }

    /// Gives the session an event of a service. A repeated event is ignored.
    pub async fn event(&self, id: impl Into<String>, event: Value) -> Result<(), Refused> {
        self.tell(Input::Event { id: id.into(), event }).await
    }

    /// Gives the session an [`Input`]. Inputs that only the runtime can create are refused.
    pub async fn tell(&self, input: Input) -> Result<(), Refused> {
        self.tell_recorded(input).await.map(drop)
    }

    /// Like [`Self::tell`], but returns the number of the input's record. Its consequences are the events after `RECORD-0`.
    pub async fn tell_recorded(&self, input: Input) -> Result<u64, Refused> {
        if !is_from_outside(&input) {
            let text = "outcomes of calls come from the runtime only".to_owned();
            return Err(Refused::new(RefusalCode::NotFromOutside, text));
        }
        match self.must_be_current(&input).await {
            // It ended its work meanwhile: restore it.
            Err(refused) if refused.code == RefusalCode::Gone => self.must_be_current(&input).await?,
            checked => checked?,
        }
        let id = self.input.clone().or_else(|| self.slot.is_stored().then(InputId::drawn));
        let tell = |is_first: bool| {
            let (input, id) = (input.clone(), id.clone());
            move |answer| ActorCommand::Input(Box::new(InputCommand { input, id, is_first, answer }))
        };
        match self.ask(tell(self.input.is_none())).await.and_then(|taken| taken) {
            // The actor ended before it took the input, or before it answered. The session is restored, and takes the
            // input once, by its id.
            Err(refused) if refused.code == RefusalCode::Gone => self.ask(tell(false)).await?,
            taken => taken,
        }
    }

    /// Stores a picture from a file. It belongs to the message that begins the next turn.
    pub async fn attach(&self, path: &Path) -> Result<(), ImageError> {
        let attach = |answer| ActorCommand::Attach { path: path.to_owned(), answer };
        let gone = |refused: Refused| ImageError::NotKept {
            folder: path.to_owned(),
            error: std::io::Error::other(refused.text),
        };
        self.ask(attach).await.map_err(gone)?
    }

    /// Waits until the turn rests, and returns its reply; none if nothing has begun. Tasks of an earlier process are
    /// resumed.
    ///
    /// An error means that the work has stopped because nothing can be stored; waiting again retries.
    pub async fn rested(&self) -> Result<Option<Reply>, Refused> {
        self.wait(WaitFor::Rest, Session::reply).await
    }

    /// Waits until the turn rests or is paused, and reads from the session at that moment.
    ///
    /// An error means that the work has stopped because nothing can be stored; waiting again retries.
    pub async fn read_at_rest<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        self.wait(WaitFor::RestOrPause, read).await
    }

    /// Waits until nothing runs, detached calls included, or the session is paused.
    pub async fn finished(&self) -> Result<Option<Reply>, Refused> {
        self.wait(WaitFor::Stillness, Session::reply).await
    }

    async fn wait<T: Send + 'static>(
        &self,
        condition: WaitFor,
        read: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        self.ask(|answer| ActorCommand::Wait(Box::new(Wait { condition, read, answer }))).await?
    }

    /// All events after a number. Those no longer in memory are read from the journal. Without a journal, the first
    /// one may be [`EventBody::Missed`].
    ///
    /// [`EventBody::Missed`]: crate::EventBody::Missed
    pub fn history(&self, after: EventNumber) -> Result<Subscription, HostError> {
        let mut events = self.subscribe(Some(after));
        if let Some(upto) = events.missed_upto()
            && let Some(earlier) = self.slot.history(after, upto)?
        {
            events.put_first(earlier);
        }
        Ok(events)
    }

    /// Events from now on, or after a number. A limited number is kept in memory, from the first subscription on; if
    /// some were dropped, the first event says so.
    pub fn subscribe(&self, after: Option<EventNumber>) -> Subscription {
        self.slot.feed().subscribe(after)
    }

    /// Reads from the session, between two inputs, when everything in it is durable.
    pub async fn inspect<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        self.ask(|answer| {
            ActorCommand::Inspect(Box::new(move |session| {
                let _ = answer.send(read(session));
            }))
        })
        .await
    }

    /// The session's services, such as MCP servers.
    pub async fn services(&self) -> Result<Option<Arc<dyn Services>>, Refused> {
        self.ask(|answer| ActorCommand::Services { answer }).await
    }

    /// The folder with pictures and notes of the pages that the session has seen, if it is stored.
    pub fn pictures(&self) -> Option<PathBuf> {
        self.slot.pictures()
    }

    /// What was found when the session was last opened.
    pub fn reopened(&self) -> Reopened {
        self.slot.reopened()
    }

    pub(crate) async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> ActorCommand) -> Result<T, Refused> {
        let (answer, answered) = oneshot::channel();
        self.slot.send(command(answer)).await?;
        answered.await.map_err(|_| crate::actor::ended_refusal())
    }
}

/// Whether an input may come from people and services. The others are outcomes of tasks.
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
