//! The slot of a session, whether it is in memory or not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use obelus_kernel::session::Refused;
use obelus_kernel::session::refusals::RefusalCode;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{HostError, HostShared, RulesChange};
use crate::actor::{ActorCommand, Attached, ended_refusal};
use crate::events::{EventNumber, Feed, SessionEvent};

/// The slot of one session. Handles hold it; the actor comes and goes.
pub(crate) struct Slot {
    id: String,
    host: Weak<HostShared>,
    feed: Arc<Feed>,
    /// Pictures for the next message.
    attached: Arc<Attached>,
    /// Whether the session is stored.
    is_stored: bool,
    state: Mutex<SlotState>,
    /// Locked while the session is created or restored.
    pub(super) opening: tokio::sync::Mutex<()>,
}

/// What was found when a session was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reopened {
    /// The number of calls and requests that were running when the journal ended.
    pub under_way: usize,
    /// Changes of its agent's file, whose current rules apply.
    pub rules: Option<RulesChange>,
}

#[derive(Default)]
struct SlotState {
    /// The actor's channel, if there is an actor.
    sender: Option<mpsc::UnboundedSender<ActorCommand>>,
    /// Changes when the actor has ended.
    ended: Option<watch::Receiver<bool>>,
    reopened: Reopened,
    /// The time of the last command.
    touched: Option<Instant>,
}

impl Slot {
    /// For a stored session.
    pub(super) fn stored(id: &str, host: &Arc<HostShared>) -> Self {
        Self::new(id, host, true)
    }

    /// For a session that is not stored.
    pub(super) fn temporary(id: &str, host: &Arc<HostShared>) -> Self {
        Self::new(id, host, false)
    }

    fn new(id: &str, host: &Arc<HostShared>, is_stored: bool) -> Self {
        Self {
            id: id.to_owned(),
            host: Arc::downgrade(host),
            feed: Arc::new(if is_stored {
                Feed::new(host.options.events).publishing_to(id, host.news.clone())
            } else {
                Feed::new(host.options.events)
            }),
            attached: Arc::default(),
            is_stored,
            state: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The folder for pictures and page notes, if the session is stored.
    pub(crate) fn pictures(&self) -> Option<std::path::PathBuf> {
        self.host.upgrade().filter(|_| self.is_stored).and_then(|host| host.pictures(&self.id))
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    pub(super) fn attached(&self) -> &Arc<Attached> {
        &self.attached
    }

    pub(crate) fn reopened(&self) -> Reopened {
        self.state().reopened.clone()
    }

    /// Whether an actor takes commands. One that has panicked does not.
    pub(super) fn is_live(&self) -> bool {
        self.state().sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// The time of the last command to the live actor.
    pub(super) fn touched(&self) -> Option<Instant> {
        let state = self.state();
        state.touched.filter(|_| state.sender.is_some())
    }

    /// Whether the session is stored.
    pub(crate) fn is_stored(&self) -> bool {
        self.is_stored
    }

    /// Registers a new actor.
    pub(super) fn begin(
        &self,
        sender: mpsc::UnboundedSender<ActorCommand>,
        ended: watch::Receiver<bool>,
        reopened: Reopened,
    ) {
        *self.state() = SlotState { sender: Some(sender), ended: Some(ended), reopened, touched: Some(Instant::now()) };
    }

    /// Closes the actor's channel, unless a command has just arrived.
    pub(super) fn close_if_idle(&self, commands: &mpsc::UnboundedReceiver<ActorCommand>) -> bool {
        let mut state = self.state();
        let is_idle = commands.is_empty();
        if is_idle {
            state.sender = None;
        }
        is_idle
    }

    /// Closes the actor's channel.
    pub(super) fn close(&self) {
        self.state().sender = None;
    }

    /// Sends a command to the actor. A session that is not in memory is restored first.
    pub(crate) async fn send(self: &Arc<Self>, mut command: ActorCommand) -> Result<(), Refused> {
        for _ in 0..3 {
            command = match self.try_send(command) {
                Ok(()) => return Ok(()),
                Err(back) => back,
            };
            let host = self.host.upgrade().filter(|_| self.is_stored).ok_or_else(ended_refusal)?;
            let restored = host.ensure(self, None).await;
            restored.map_err(|error| Refused::new(RefusalCode::Unreadable, error.to_string()))?;
        }
        Err(ended_refusal())
    }

    /// Sends a command to the live actor.
    pub(super) fn send_live(&self, command: ActorCommand) -> Result<(), Refused> {
        self.try_send(command).map_err(|_| ended_refusal())
    }

    fn try_send(&self, command: ActorCommand) -> Result<(), ActorCommand> {
        let mut state = self.state();
        state.touched = Some(Instant::now());
        match &state.sender {
            Some(sender) => sender.send(command).map_err(|unsent| unsent.0),
            None => Err(command),
        }
    }

    /// Events from the journal; none without a journal.
    pub(crate) fn history(
        &self,
        after: EventNumber,
        upto: EventNumber,
    ) -> Result<Option<Vec<Arc<SessionEvent>>>, HostError> {
        let Some(host) = self.host.upgrade().filter(|_| self.is_stored) else { return Ok(None) };
        host.history(&self.id, after, upto).map(Some)
    }

    /// Ends the actor and waits for that.
    pub(super) async fn end(&self) {
        let _ = self.try_send(ActorCommand::End);
        self.ended().await;
        // The next session of this name may be another one.
        self.attached.clear();
    }

    /// Waits until the actor has ended.
    pub(super) async fn ended(&self) {
        let ended = self.state().ended.clone();
        if let Some(mut ended) = ended {
            // A dropped actor has ended too.
            let _ = ended.wait_for(|ended| *ended).await;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.feed.close();
        if let Some(host) = self.host.upgrade() {
            let mut slots = host.slots();
            if slots.get(&self.id).is_some_and(|slot| slot.strong_count() == 0) {
                slots.remove(&self.id);
            }
        }
    }
}
