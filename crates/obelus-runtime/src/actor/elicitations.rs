//! Questions from running calls: each becomes an input of the session, and its answer goes back to the call.

use std::collections::BTreeMap;

use obelus_kernel::session::{ElicitationAnswer, Input};
use tokio::sync::{mpsc, oneshot};

use crate::elicitor::{Elicited, Elicitor, PendingElicitation};
use obelus_kernel::session::CallId;

/// The channel for questions, and the calls that wait for an answer.
pub(super) struct Elicitations {
    sender: mpsc::UnboundedSender<PendingElicitation>,
    receiver: mpsc::UnboundedReceiver<PendingElicitation>,
    /// By call and question key.
    waiting: BTreeMap<(CallId, String), oneshot::Sender<Elicited>>,
    next: u64,
    /// Nobody can answer.
    unattended: bool,
}

impl Elicitations {
    pub(super) fn new(unattended: bool) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver, waiting: BTreeMap::new(), next: 0, unattended }
    }

    /// The elicitor of a call.
    pub(super) fn elicitor(&self, call: &CallId) -> Elicitor {
        Elicitor::of(call, self.sender.clone())
    }

    pub(super) async fn next(&mut self) -> PendingElicitation {
        match self.receiver.recv().await {
            Some(asking) => asking,
            // `self` holds a sender, so the channel never closes.
            None => std::future::pending().await,
        }
    }

    /// The input for a question; none if nobody waits for the answer, or can give it.
    pub(super) fn take(&mut self, asking: PendingElicitation) -> Option<Input> {
        let PendingElicitation { call, words, schema, answer } = asking;
        // The call may have been stopped.
        if answer.is_closed() {
            return None;
        }
        if self.unattended {
            let _ = answer.send(Elicited::Declined("nobody is there to answer".to_owned()));
            return None;
        }
        self.next += 1;
        let key = self.next.to_string();
        self.waiting.insert((call.clone(), key.clone()), answer);
        Some(Input::Elicit { id: call, key, words, schema })
    }

    /// Sends the answer to the call, unless it has given up.
    pub(super) fn send_answer(&mut self, call: CallId, key: String, answer: ElicitationAnswer) {
        let Some(waiting) = self.waiting.remove(&(call, key)) else { return };
        let _ = waiting.send(match answer {
            ElicitationAnswer::Value(value) => Elicited::Value(value),
            ElicitationAnswer::Declined { reason } => Elicited::Declined(reason),
            ElicitationAnswer::Gone => Elicited::Gone,
        });
    }

    /// A call has ended: removes its questions.
    pub(super) fn forget(&mut self, call: &CallId) {
        if !self.waiting.is_empty() {
            self.waiting.retain(|(of, _), _| of != call);
        }
    }
}
