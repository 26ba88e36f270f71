//! What calls at work ask people: it becomes an input of the session, and what comes of it is told to the call.

use std::collections::BTreeMap;

use obelus_kernel::session::{ElicitationAnswer, Input};
use tokio::sync::{mpsc, oneshot};

use crate::elicitor::{Asking, Elicited, Elicitor};
use obelus_kernel::session::CallId;

/// Where calls ask, and who waits for an answer.
pub(super) struct Elicitations {
    sender: mpsc::UnboundedSender<Asking>,
    receiver: mpsc::UnboundedReceiver<Asking>,
    /// The latest call's.
    elicitor: Elicitor,
    /// By the call, and by what it knows its question by.
    waiting: BTreeMap<(CallId, String), oneshot::Sender<Elicited>>,
    next: u64,
    /// Nobody is there who could answer.
    unattended: bool,
}

impl Elicitations {
    pub(super) fn new(unattended: bool) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver, elicitor: Elicitor::nobody(), waiting: BTreeMap::new(), next: 0, unattended }
    }

    /// A call's way to ask.
    pub(super) fn elicitor(&mut self, call: &CallId) -> Elicitor {
        if !self.elicitor.renewed(call) {
            self.elicitor = Elicitor::of(call, self.sender.clone());
        }
        self.elicitor.clone()
    }

    pub(super) async fn next(&mut self) -> Asking {
        match self.receiver.recv().await {
            Some(asking) => asking,
            // It never closes while its sender is kept beside it.
            None => std::future::pending().await,
        }
    }

    /// The input that asks; none where nobody could answer.
    pub(super) fn take(&mut self, asking: Asking) -> Option<Input> {
        let Asking { call, words, schema, answer } = asking;
        if self.unattended {
            let _ = answer.send(Elicited::Declined("nobody is there to answer".to_owned()));
            return None;
        }
        self.next += 1;
        let key = self.next.to_string();
        self.waiting.insert((call.clone(), key.clone()), answer);
        Some(Input::Elicit { id: call, key, words, schema })
    }

    /// Tells a call what became of its question. One that has given up hears nothing.
    pub(super) fn tell(&mut self, call: CallId, key: String, answer: ElicitationAnswer) {
        let Some(waiting) = self.waiting.remove(&(call, key)) else { return };
        let _ = waiting.send(match answer {
            ElicitationAnswer::Value(value) => Elicited::Value(value),
            ElicitationAnswer::Declined { reason } => Elicited::Declined(reason),
            ElicitationAnswer::Gone => Elicited::Gone,
        });
    }

    /// A call has ended: nobody waits for what it asked.
    pub(super) fn forget(&mut self, call: &CallId) {
        if !self.waiting.is_empty() {
            self.waiting.retain(|(of, _), _| of != call);
        }
    }
}
