//! Work that a conversation gives to its session.

use std::sync::Arc;

use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Decision, Input, Question, QuestionId, Refused, Session};
use obelus_runtime::people::QuestionView;
use obelus_runtime::{Language, SessionEvent, SessionHandle};

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

impl ChatWork {
    /// The user's message, if it is one.
    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            ChatWork::Say(text) | ChatWork::Send(Input::User { text, .. }) => Some(text),
            _ => None,
        }
    }
}

/// A message of the user, and the questions that were open before it.
pub(crate) struct SentMessage {
    text: String,
    open: Vec<QuestionId>,
}

impl SentMessage {
    /// A message that is about to be sent, if there is one.
    pub(crate) async fn before(handle: &SessionHandle, text: Option<&str>) -> Result<Option<Self>, Refused> {
        let Some(text) = text else { return Ok(None) };
        let open = |session: &Session| {
            let all = session.questions().into_iter().filter(Question::is_open);
            all.map(|question| question.id).collect()
        };
        Ok(Some(Self { text: text.to_owned(), open: handle.inspect(open).await? }))
    }

    /// Why the message left these questions open, if it may be meant as an answer.
    pub(crate) async fn left_open(self, handle: &SessionHandle, language: Language) -> Result<Option<String>, Refused> {
        handle.inspect(move |session| QuestionView::left_open(session, &self.text, &self.open, language)).await
    }
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
