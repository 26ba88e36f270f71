//! Work that a conversation gives to its session.

use std::sync::Arc;

use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Decision, Input, QuestionId, Refused};
use obelus_runtime::{SessionEvent, SessionHandle};

use crate::cmd::run::rested_or_paused;

/// Work for the session.
pub(crate) enum ChatWork {
    /// Resume unfinished work.
    Resume,
    /// A message of the user.
    Say(String),
    /// A person's decision.
    Decide {
        question: QuestionId,
        decision: Decision,
        /// The digest of what was shown.
        digest: String,
    },
    /// An input that need not begin a turn.
    Send(Input),
    /// The consequences of an input from elsewhere.
    Watch(Arc<SessionEvent>),
}

/// The result of the work.
pub(crate) enum ChatWorkResult {
    /// The turn rests.
    Rested,
    /// It was refused; the reason as text.
    Refused(String),
    /// The person broke off for the second time.
    Left,
}

/// Gives the session its inputs, and waits until it rests or is paused.
pub(super) async fn do_work(handle: &SessionHandle, work: ChatWork) -> Result<(), Refused> {
    send_inputs(handle, work).await?;
    rested_or_paused(handle).await.map(drop)
}

/// Gives the session its inputs.
pub(super) async fn send_inputs(handle: &SessionHandle, work: ChatWork) -> Result<(), Refused> {
    match work {
        ChatWork::Resume | ChatWork::Watch(_) => Ok(()),
        ChatWork::Say(text) => handle.say(text).await,
        ChatWork::Decide { question, decision, digest } => {
            handle.answer_as_shown(question, &digest, decision, SentBy::TERMINAL).await
        }
        ChatWork::Send(input) => handle.tell(input).await,
    }
}
