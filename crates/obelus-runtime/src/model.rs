//! Models.

use std::future::Future;
use std::pin::Pin;

use obelus_kernel::dialect::Piece;
pub use obelus_kernel::session::Used;
use obelus_kernel::session::{Answer, FailureCode, Prompt, RequestId};
use tokio::sync::mpsc::UnboundedSender;

/// The future of an answer. Dropping it must stop the request.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Answers requests. Every failure is an [`Answer::Failed`]; a model never panics.
pub trait Model: Send + Sync + 'static {
    /// Answers a request.
    fn ask(&self, prompt: Prompt) -> AnswerFuture;

    /// Answers a request, and sends parts of the answer while it is being written. The final answer contains all of
    /// them.
    fn ask_streaming(&self, prompt: Prompt, parts: Parts) -> AnswerFuture {
        let _ = parts;
        self.ask(prompt)
    }
}

/// A part of an answer that is not complete.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// More text, or a whole call.
    Piece(Piece),
    /// The usage of the request. It is sent whatever the result, even without an answer.
    Used(Used),
}

/// The receiver of partial answers.
#[derive(Clone, Debug, Default)]
pub struct Parts(Option<(RequestId, Listener)>);

/// Receives parts, each with the id of its request.
type Listener = UnboundedSender<(RequestId, Part)>;

impl Parts {
    /// Without a receiver.
    pub fn without_listener() -> Self {
        Self(None)
    }

    /// Sends parts to this receiver, with the id of the request.
    pub fn to(id: RequestId, listener: Listener) -> Self {
        Self(Some((id, listener)))
    }

    /// Whether there is a receiver.
    pub fn has_listener(&self) -> bool {
        self.0.is_some()
    }

    /// Sends a part.
    pub fn tell(&self, part: Part) {
        if let Some((id, listener)) = &self.0 {
            // The receiver may be gone; the answer still arrives.
            let _ = listener.send((id.clone(), part));
        }
    }
}

/// The model of a session without one: every request fails, with a text that says what to do.
pub struct NoModel;

impl Model for NoModel {
    fn ask(&self, _: Prompt) -> AnswerFuture {
        let message = "no model was given; name one with --model, such as openai:NAME or playbook:FILE";
        Box::pin(std::future::ready(Answer::Failed { code: FailureCode::NoModel, message: message.to_owned() }))
    }
}
