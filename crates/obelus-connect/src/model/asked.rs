//! The first prompt that a model would get after each message of a user, and how much of it was sent before.

use std::future::{pending, ready};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use obelus_kernel::session::{Answer, Prompt, Solution};
use obelus_runtime::{
    Activities, AnswerFuture, ConnectError, ConnectFuture, Connections, Connector, Host, HostError, Model,
    SessionHandle, SessionSpec,
};
use serde::Serialize;
use tokio::sync::Notify;

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
    /// No session can begin.
    #[error(transparent)]
    Host(#[from] HostError),
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

/// The first prompt after each of these messages, in a temporary session. Nothing is carried out: each turn ends with a
/// fixed reply.
pub async fn asked_prompts(
    connector: impl Connector,
    spec: SessionSpec,
    say: &[String],
) -> Result<AskedPrompts, NoPrompt> {
    let turns = Turns::default();
    let host = Host::new(RecordingConnector { connector, turns: turns.clone() });
    let session = host.create_temporary("prompt", spec).await?;
    let (mut meter, mut requests, mut latest) = (PromptMeter::default(), Vec::new(), None);
    for words in say {
        let prompt = first_prompt(&session, &turns, words).await?;
        let messages = render(&prompt, &PromptOptions::default())?;
        let sent = meter.count(&messages);
        let schema = if prompt.dialect.is_json() { prompt.answer.text().chars().count() as u64 } else { 0 };
        requests.push(RequestSize { chars: sent.chars, prefix: sent.prefix, percent: sent.percent(), schema });
        latest = Some((prompt, messages));
    }
    let (prompt, messages) = latest.ok_or(NoPrompt::NothingSaid)?;
    Ok(AskedPrompts { requests, sum: meter.sum(), messages, prompt })
}

/// The first prompt after a message of the user.
async fn first_prompt(session: &SessionHandle, turns: &Turns, words: &str) -> Result<Prompt, NoPrompt> {
    let turn = turns.begin();
    session.say(words).await?;
    if turn.prompt().is_none() {
        return Err(NoPrompt::AsksNoModel);
    }
    tokio::select! {
        rested = session.rested() => drop(rested?),
        () = turn.goes_on.notified() => {}
    }
    session.stop().await?;
    turn.prompt().take().ok_or(NoPrompt::AsksNoModel)
}

/// The latest turn of the session.
#[derive(Clone, Default)]
struct Turns(Arc<Mutex<Arc<AskedTurn>>>);

/// The requests and calls of one turn.
#[derive(Default)]
struct AskedTurn {
    /// Its first prompt.
    prompt: Mutex<Option<Prompt>>,
    /// Notified if the turn goes on after the answer to that prompt.
    goes_on: Notify,
}

impl Turns {
    fn begin(&self) -> Arc<AskedTurn> {
        let turn = Arc::<AskedTurn>::default();
        *lock(&self.0) = Arc::clone(&turn);
        turn
    }

    fn latest(&self) -> Arc<AskedTurn> {
        Arc::clone(&lock(&self.0))
    }
}

impl AskedTurn {
    fn prompt(&self) -> MutexGuard<'_, Option<Prompt>> {
        lock(&self.prompt)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the first request of a turn, and records it. Later ones get no answer.
impl Model for Turns {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        let turn = self.latest();
        let is_first = turn.prompt().is_none();
        if is_first {
            *turn.prompt() = Some(prompt);
            let solution = Solution { say: Some("…".to_owned()), output: "…".into(), ..Solution::default() };
            Box::pin(ready(Answer::Solution { solution, tokens: 0 }))
        } else {
            turn.goes_on.notify_one();
            Box::pin(pending())
        }
    }
}

/// Connects a session as usual, but its calls do nothing and its prompts are recorded.
struct RecordingConnector<C> {
    connector: C,
    turns: Turns,
}

impl<C> RecordingConnector<C> {
    fn recording(&self, connections: &Connections) -> Connections {
        let mut activities = Activities::new();
        for name in connections.activities.names() {
            let turns = self.turns.clone();
            activities.register(name, move |_| {
                turns.latest().goes_on.notify_one();
                pending()
            });
        }
        Connections::new(activities).with_model(self.turns.clone())
    }
}

impl<C: Connector> Connector for RecordingConnector<C> {
    fn begin<'a>(
        &'a self,
        spec: &'a mut SessionSpec,
        pictures: Option<&'a Path>,
    ) -> ConnectFuture<'a, Result<Connections, ConnectError>> {
        Box::pin(async move {
            let connections = self.connector.begin(spec, pictures).await?;
            // Its servers have named their tools.
            if let Some(services) = &connections.services {
                services.close().await;
            }
            Ok(self.recording(&connections))
        })
    }

    fn resume(&self, spec: &SessionSpec, pictures: Option<&Path>) -> Result<Connections, ConnectError> {
        Ok(self.recording(&self.connector.resume(spec, pictures)?))
    }
}
