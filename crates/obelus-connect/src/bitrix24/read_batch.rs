//! Sends reads that are ready at the same moment as one batch.
//!
//! Only reads: if the answer of a batch is lost, every part of it is in doubt. Each part has its own answer or error.
//! While the rate limit delays a batch, more reads join it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::errors::PortalFailure;
use super::portal::{WebhookQueue, locked};
use super::wire::{self, PortalAnswer, PortalRequest};

/// How long a read waits for others. A portal takes a hundred times as long to answer.
const WINDOW: Duration = Duration::from_millis(2);

/// The portal's limit of commands in a batch.
pub(super) const MOST_COMMANDS: usize = 50;

/// Longer commands are sent alone: fifty commands must fit into one request.
const LONGEST_COMMAND: usize = 8 * 1024;

/// Reads that wait to be sent.
#[derive(Default)]
pub(super) struct ReadBatch {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    parts: VecDeque<BatchedRead>,
    /// Whether a task will send them.
    is_collecting: bool,
}

/// One read, and the channel for its answer.
struct BatchedRead {
    request: PortalRequest,
    command: String,
    answer: oneshot::Sender<Result<PortalAnswer, PortalFailure>>,
}

impl ReadBatch {
    /// Whether the queue is empty; if so, collecting ends.
    fn is_done(&self) -> bool {
        let mut queue = locked(&self.queue);
        queue.is_collecting = !queue.parts.is_empty();
        !queue.is_collecting
    }
}

/// A guard of the collecting task. If the runtime ends first, another task may start.
struct CollectingGuard<'a> {
    read_batch: &'a ReadBatch,
    is_done: bool,
}

impl Drop for CollectingGuard<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            locked(&self.read_batch.queue).is_collecting = false;
        }
    }
}

impl WebhookQueue {
    /// Sends a read, once, together with others that are ready.
    pub(super) async fn read(self: &Arc<Self>, request: &PortalRequest) -> Result<PortalAnswer, PortalFailure> {
        let Some(command) = request.command().filter(|command| command.len() <= LONGEST_COMMAND) else {
            return self.send(request).await;
        };
        let (answer, waiting) = oneshot::channel();
        let begins = {
            let mut queue = locked(&self.read_batch.queue);
            queue.parts.push_back(BatchedRead { request: request.clone(), command, answer });
            !std::mem::replace(&mut queue.is_collecting, true)
        };
        if begins {
            // A separate task, because the caller may be cancelled while others still want their answers.
            tokio::spawn(Arc::clone(self).collect());
        }
        waiting.await.unwrap_or_else(|_| Err(PortalFailure::Lost("the batch was given up".to_owned())))
    }

    /// Sends the queued reads in as few requests as possible.
    async fn collect(self: Arc<Self>) {
        let mut collecting = CollectingGuard { read_batch: &self.read_batch, is_done: false };
        tokio::time::sleep(WINDOW).await;
        loop {
            self.portal.turn().await;
            let parts = self.take_parts();
            if !parts.is_empty() {
                tokio::spawn(Arc::clone(&self).send_parts(parts));
            }
            collecting.is_done = self.read_batch.is_done();
            if collecting.is_done {
                return;
            }
        }
    }

    /// As many parts as fit into one batch, without abandoned ones.
    fn take_parts(&self) -> Vec<BatchedRead> {
        let mut queue = locked(&self.read_batch.queue);
        queue.parts.retain(|part| !part.answer.is_closed());
        let count = queue.parts.len().min(MOST_COMMANDS);
        queue.parts.drain(..count).collect()
    }

    async fn send_parts(self: Arc<Self>, parts: Vec<BatchedRead>) {
        if let [part] = &parts[..] {
            let answer = self.transmit(&part.request).await;
            for part in parts {
                let _ = part.answer.send(answer.clone());
            }
            return;
        }
        let commands: Vec<(String, String)> =
            parts.iter().enumerate().map(|(index, part)| (format!("r{index}"), part.command.clone())).collect();
        let answers = self.transmit_batch(&commands, false).await;
        match answers {
            Ok(answers) => {
                for (part, answer) in parts.into_iter().zip(answers) {
                    let absent = || Err(PortalFailure::Lost("the batch has no answer to this".to_owned()));
                    let _ = part.answer.send(answer.unwrap_or_else(absent));
                }
            }
            // Too large together; each alone may fit.
            Err(PortalFailure::TooLarge) => {
                for part in parts {
                    let answer = self.send(&part.request).await;
                    let _ = part.answer.send(answer);
                }
            }
            Err(failure) => {
                for part in parts {
                    let _ = part.answer.send(Err(failure.clone()));
                }
            }
        }
    }

    /// Sends commands as one batch, without waiting. With `halt`, commands after an error are not run.
    pub(super) async fn transmit_batch(
        &self,
        commands: &[(String, String)],
        halt: bool,
    ) -> Result<Vec<Option<Result<PortalAnswer, PortalFailure>>>, PortalFailure> {
        let names: Vec<String> = commands.iter().map(|(name, _)| name.clone()).collect();
        let cmd: Map<String, Value> =
            commands.iter().map(|(name, command)| (name.clone(), command.as_str().into())).collect();
        let params = Map::from_iter([("halt".to_owned(), json!(i32::from(halt))), ("cmd".to_owned(), cmd.into())]);
        let answer = self.transmit(&PortalRequest::post("batch", params)).await?;
        Ok(wire::read_batch(&answer, &names))
    }
}
