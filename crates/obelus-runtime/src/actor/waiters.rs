//! Callers that wait for a session to come to rest.

use obelus_kernel::session::{Refused, Reply};
use tokio::sync::oneshot;

use super::command::{RestResult, WaitFor};

/// Callers, and what each waits for.
#[derive(Default)]
pub(crate) struct Waiters(Vec<(WaitFor, oneshot::Sender<RestResult>)>);

impl Waiters {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, what: WaitFor, answer: oneshot::Sender<RestResult>) {
        self.0.push((what, answer));
    }

    /// Answers those whose wait is over, and drops those who have left.
    pub(crate) fn answer(&mut self, is_over: impl Fn(WaitFor) -> Option<Option<Reply>>) {
        let waiting = std::mem::take(&mut self.0);
        for (what, answer) in waiting.into_iter().filter(|(_, answer)| !answer.is_closed()) {
            match is_over(what) {
                Some(reply) => drop(answer.send(Ok(reply))),
                None => self.0.push((what, answer)),
            }
        }
    }

    /// Refuses all of them.
    pub(crate) fn refuse(&mut self, refused: &Refused) {
        for (_, answer) in self.0.drain(..) {
            let _ = answer.send(Err(refused.clone()));
        }
    }
}
