//! What calls at work ask people: it becomes an input of the session, and what comes of it is told to the call.

use std::collections::BTreeMap;
use std::time::Duration;

use obelus_kernel::Time;
use obelus_kernel::session::{CallId, ElicitationAnswer, Input, Reply};
use tokio::sync::{mpsc, oneshot};

use super::Driver;
use super::counter::Command;
use crate::elicitor::{Asking, Elicited, Elicitor};

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
    alone: bool,
}

impl Default for Elicitations {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver, elicitor: Elicitor::nobody(), waiting: BTreeMap::new(), next: 0, alone: false }
    }
}

impl Elicitations {
    pub(super) fn elicitor(&mut self, call: &CallId) -> Elicitor {
        if !self.elicitor.renewed(call) {
            self.elicitor = Elicitor::of(call, self.sender.clone());
        }
        self.latest()
    }

    /// The latest call's once more.
    pub(super) fn latest(&self) -> Elicitor {
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
        if self.alone {
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

    fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// What comes of waiting while nobody works at a turn.
#[derive(Debug)]
pub enum Idle {
    /// Something that was under way has set the session to work, and it has come to rest anew.
    Rested(Box<Reply>),
    /// Somebody tells it something.
    Told(Box<Command>),
}

impl Driver {
    /// Says that nobody is there to answer what calls at work ask: it is declined at once.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.elicitations.alone = true;
        self
    }

    /// Whether a call at work waits for a person.
    pub fn is_asked(&self) -> bool {
        self.elicitations.is_waiting()
    }

    /// When a question lapses that a call at work waits for. Other questions can wait until somebody looks.
    pub(super) fn lapse(&self) -> Option<Duration> {
        let due = self.elicitations.is_waiting().then(|| self.session.timeout()).flatten()?;
        let Time(now) = (self.clock)();
        Some(Duration::from_millis(u64::try_from(due.0.saturating_sub(now)).unwrap_or(0)))
    }

    /// Goes on with what nobody waits for, until the session has come to rest anew or somebody tells it something.
    /// Nothing is lost if the waiting is given up.
    pub async fn idle(&mut self) -> Idle {
        match self.rest_anew().await {
            Some(reply) => Idle::Rested(Box::new(reply)),
            None => Idle::Told(Box::new(self.heard().await)),
        }
    }

    /// Goes on with what nobody waits for until the session has come to rest anew; none, where everything has ended
    /// without that.
    pub async fn rest_anew(&mut self) -> Option<Reply> {
        while self.is_at_work() {
            if self.take_some().await.is_err() {
                return None;
            }
            if let Some(reply) = self.hand_out() {
                return Some(reply);
            }
        }
        None
    }
}
