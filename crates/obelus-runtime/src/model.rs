//! Models: what answers requests.

use std::future::Future;
use std::pin::Pin;

use obelus_kernel::session::{Answer, Prompt};

/// What a model returns while it thinks. Dropping it must stop the request.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Something that answers requests. Every failure is an [`Answer::Failed`]; a model never panics a turn.
pub trait Model: Send + Sync + 'static {
    /// Answers a request.
    fn ask(&self, prompt: Prompt) -> AnswerFuture;
}

/// Where no model was given: every request fails, with words that say what to do.
pub struct NoModel;

impl Model for NoModel {
    fn ask(&self, _: Prompt) -> AnswerFuture {
        let message = "no model was given; name one with --model, such as openai:NAME or playbook:FILE";
        Box::pin(std::future::ready(Answer::Failed { code: "no_model".to_owned(), message: message.to_owned() }))
    }
}
