//! What handles say to an actor.

use std::path::PathBuf;
use std::sync::Arc;

use obelus_kernel::session::{Input, Refused, Reply, Session};
use tokio::sync::oneshot;

use crate::activity::Activities;
use crate::connector::Services;
use crate::images::ImageError;
use crate::store::InputId;

/// What a handle says.
pub(crate) enum Command {
    /// Tell the session something.
    Tell(Box<Tell>),
    /// Take a picture that goes with the next words.
    Attach { path: PathBuf, answer: oneshot::Sender<Result<(), ImageError>> },
    /// Look at the session.
    Inspect(Box<dyn FnOnce(&Session) + Send>),
    /// Say when nothing moves any more.
    Wait { what: WaitFor, answer: oneshot::Sender<Waited> },
    /// Say what was started for the session.
    Services { answer: oneshot::Sender<Option<Arc<dyn Services>>> },
    /// Say what carries out the session's calls.
    Activities { answer: oneshot::Sender<Arc<Activities>> },
    /// End as soon as nothing is under way: there are many others.
    LetGo,
    /// End. What is under way is taken up by whoever opens the session next.
    End,
}

/// How a session came to rest; none if it has not begun, or is paused in the middle of a turn.
pub(crate) type Waited = Result<Option<Reply>, Refused>;

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitFor {
    /// The turn has come to rest.
    Rest,
    /// Nothing is under way at all.
    Stillness,
}

/// Something that is told to the session from outside. Whoever told it hears when it is durable, or refused.
pub(crate) struct Tell {
    pub(crate) input: Input,
    /// The same id again acts once (DUR-13).
    pub(crate) id: Option<InputId>,
    pub(crate) answer: oneshot::Sender<Result<u64, Refused>>,
}

impl Tell {
    /// Says with which record it was taken.
    pub(crate) fn answer(self, taken: Result<u64, Refused>) {
        // Whoever told it may have left.
        let _ = self.answer.send(taken);
    }
}

impl Command {
    /// Says that nothing will be done. Who looks or attaches hears it from the channel.
    pub(crate) fn refuse(self, refused: &Refused) {
        match self {
            Self::Tell(tell) => tell.answer(Err(refused.clone())),
            Self::Wait { answer, .. } => {
                let _ = answer.send(Err(refused.clone()));
            }
            Self::Attach { .. }
            | Self::Inspect(_)
            | Self::Services { .. }
            | Self::Activities { .. }
            | Self::LetGo
            | Self::End => {}
        }
    }
}
