//! Commands from handles to an actor.

use std::path::PathBuf;
use std::sync::Arc;

use obelus_kernel::session::{Input, Refused, Session};
use tokio::sync::oneshot;

use crate::activity::Activities;
use crate::connector::Services;
use crate::images::ImageError;
use crate::store::InputId;

use super::waiters::Waiter;

/// A command.
pub(crate) enum ActorCommand {
    /// Give the session an input.
    Input(Box<InputCommand>),
    /// Store a picture for the next message.
    Attach { path: PathBuf, answer: oneshot::Sender<Result<(), ImageError>> },
    /// Read from the session.
    Inspect(Box<dyn FnOnce(&Session) + Send>),
    /// Answer when the session rests.
    Wait(Box<dyn Waiter>),
    /// Return the session's services.
    Services { answer: oneshot::Sender<Option<Arc<dyn Services>>> },
    /// Return the session's activities.
    Activities { answer: oneshot::Sender<Arc<Activities>> },
    /// End as soon as nothing runs, because too many sessions are in memory.
    Unload,
    /// End. Running work is resumed when the session is next opened.
    End,
}

/// What a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitFor {
    /// The turn rests.
    Rest,
    /// The turn rests, or is paused.
    RestOrPause,
    /// Nothing runs.
    Stillness,
}

/// An input from outside. The sender is told when it is durable or refused.
pub(crate) struct InputCommand {
    pub(crate) input: Input,
    /// An input with the same id is taken once (DUR-13).
    pub(crate) id: Option<InputId>,
    /// Whether no input with its id was sent before, so that the journal need not be searched.
    pub(crate) is_first: bool,
    pub(crate) answer: oneshot::Sender<Result<u64, Refused>>,
}

impl InputCommand {
    /// Answers with the number of its record.
    pub(crate) fn answer(self, taken: Result<u64, Refused>) {
        // The sender may be gone.
        let _ = self.answer.send(taken);
    }
}

impl ActorCommand {
    /// Refuses the command. `Inspect` and `Attach` are answered by closing the channel.
    pub(crate) fn refuse(self, refused: &Refused) {
        match self {
            Self::Input(command) => command.answer(Err(refused.clone())),
            Self::Wait(waiter) => waiter.answer(Err(refused.clone())),
            Self::Attach { .. }
            | Self::Inspect(_)
            | Self::Services { .. }
            | Self::Activities { .. }
            | Self::Unload
            | Self::End => {}
        }
    }
}
