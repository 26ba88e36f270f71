//! The first prompt that a model would get after each message of a user, and how much of it was sent before.

use obelus_kernel::Time;
use obelus_kernel::session::{Answer, Input, Prompt, Session, Solution, Task};
use serde::Serialize;

use super::meter::SentChars;
use super::{ChatMessage, PromptMeter, PromptOptions, render};

/// The prompts that a model would get.
#[derive(Clone, Debug)]
pub struct AskedPrompts {
    /// The requests, one for each message of the user.
    pub requests: Vec<RequestSize>,
    /// The sum of all requests.
    pub sum: SentChars,
    /// The last request, as chat messages.
    pub messages: Vec<ChatMessage>,
    /// The last request, as data.
    pub prompt: Prompt,
}

/// The size of one request, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RequestSize {
    /// The size of its messages.
    pub chars: u64,
    /// The size of the common prefix with the previous request.
    pub prefix: u64,
    /// The share of the prefix in percent.
    pub percent: u64,
    /// The size of the schema beside the messages; the blocks dialect has none.
    pub schema: u64,
}

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
pub enum NoPrompt {
    /// The session refuses the message.
    #[error(transparent)]
    Refused(#[from] obelus_kernel::session::Refused),
    /// The agent's first step does not call a model.
    #[error("the agent's first step asks no model")]
    AsksNoModel,
    /// It cannot be rendered.
    #[error("the prompt cannot be made: {0}")]
    Render(#[from] super::RenderError),
    /// No messages were given.
    #[error("there is nothing to say")]
    NothingSaid,
}

/// The first prompt after each of these messages. Nothing is carried out: each turn ends with a fixed reply.
pub fn asked_prompts(session: &mut Session, say: &[String], now: Time) -> Result<AskedPrompts, NoPrompt> {
    let (mut meter, mut requests, mut latest) = (PromptMeter::default(), Vec::new(), None);
    for words in say {
        let (prompt, messages) = first_request(session, words, now)?;
        let sent = meter.count(&messages);
        let schema = if prompt.dialect.is_json() { prompt.answer.text().chars().count() as u64 } else { 0 };
        requests.push(RequestSize { chars: sent.chars, prefix: sent.prefix, percent: sent.percent(), schema });
        latest = Some((prompt, messages));
    }
    let (prompt, messages) = latest.ok_or(NoPrompt::NothingSaid)?;
    Ok(AskedPrompts { requests, sum: meter.sum(), messages, prompt })
}

/// The first request after a message of the user.
fn first_request(session: &mut Session, words: &str, now: Time) -> Result<(Prompt, Vec<ChatMessage>), NoPrompt> {
    session.handle(now, Input::User { text: words.to_owned(), by: None })?;
    let id = std::iter::from_fn(|| session.poll()).find_map(|task| match task {
        Task::AskModel { id } => Some(id),
        _ => None,
    });
    let asked = id.and_then(|id| session.prompt(&id).map(|prompt| (id, prompt)));
    let (id, prompt) = asked.ok_or(NoPrompt::AsksNoModel)?;
    let messages = render(&prompt, &PromptOptions::default())?;
    let solution = Solution { say: Some("…".to_owned()), output: "…".into(), ..Solution::default() };
    session.handle(now, Input::Answer { id, answer: Answer::Solution { solution, tokens: 0 } })?;
    session.handle(now, Input::Stop)?;
    while session.poll().is_some() {}
    Ok((prompt, messages))
}
