//! Who waits for a session to come to rest.

use obelus_kernel::session::{Refused, Reply};
use tokio::sync::oneshot;

use super::command::{WaitFor, Waited};

/// Who waits, and for what.
#[derive(Default)]
pub(crate) struct Waiters(Vec<(WaitFor, oneshot::Sender<Waited>)>);

impl Waiters {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, what: WaitFor, answer: oneshot::Sender<Waited>) {
        self.0.push((what, answer));
    }

    /// Answers those whose wait is over. Those who have left are forgotten.
    pub(crate) fn answer(&mut self, is_over: impl Fn(WaitFor) -> Option<Option<Reply>>) {
        let waiting = std::mem::take(&mut self.0);
        for (what, answer) in waiting.into_iter().filter(|(_, answer)| !answer.is_closed()) {
            match is_over(what) {
                Some(reply) => drop(answer.send(Ok(reply))),
                None => self.0.push((what, answer)),
            }
        }
    }

    /// Tells all of them that they wait for nothing.
    pub(crate) fn refuse(&mut self, refused: &Refused) {
        for (_, answer) in self.0.drain(..) {
            let _ = answer.send(Err(refused.clone()));
        }
    }
}
