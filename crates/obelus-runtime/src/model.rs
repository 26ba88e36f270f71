//! Models: what answers requests.

use std::future::Future;
use std::pin::Pin;

use obelus_kernel::dialect::Piece;
pub use obelus_kernel::session::Used;
use obelus_kernel::session::{Answer, Prompt, RequestId};
use tokio::sync::mpsc::UnboundedSender;

/// What a model returns while it thinks. Dropping it must stop the request.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Something that answers requests. Every failure is an [`Answer::Failed`]; a model never panics a turn.
pub trait Model: Send + Sync + 'static {
    /// Answers a request.
    fn ask(&self, prompt: Prompt) -> AnswerFuture;

    /// Answers a request, and tells parts of the answer while it is still being written. What is told this way is
    /// told ahead of time only: the answer has all of it.
    fn ask_aloud(&self, prompt: Prompt, parts: Parts) -> AnswerFuture {
        let _ = parts;
        self.ask(prompt)
    }
}

/// Something to know of an answer that is not there yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// More words, or a whole call.
    Piece(Piece),
    /// What the request took. It is told whatever came of the request, also where there is no answer.
    Used(Used),
}

/// Where parts of an answer are told.
#[derive(Clone, Debug, Default)]
pub struct Parts(Option<(RequestId, Listener)>);

/// Whoever is told parts, each with the id of its request.
type Listener = UnboundedSender<(RequestId, Part)>;

impl Parts {
    /// Where nobody listens.
    pub fn to_nobody() -> Self {
        Self(None)
    }

    /// Tells them with the id of the request.
    pub fn to(id: RequestId, listener: Listener) -> Self {
        Self(Some((id, listener)))
    }

    /// Whether somebody listens.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Tells a part.
    pub fn tell(&self, part: Part) {
        if let Some((id, listener)) = &self.0 {
            // Whoever listened may have gone; the answer comes all the same.
            let _ = listener.send((id.clone(), part));
        }
    }
}

/// Where no model was given: every request fails, with words that say what to do.
pub struct NoModel;

impl Model for NoModel {
    fn ask(&self, _: Prompt) -> AnswerFuture {
        let message = "no model was given; name one with --model, such as openai:NAME or playbook:FILE";
        Box::pin(std::future::ready(Answer::Failed { code: "no_model".to_owned(), message: message.to_owned() }))
    }
}
