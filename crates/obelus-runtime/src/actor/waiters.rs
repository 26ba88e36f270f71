//! Callers that wait for a session to come to rest.

use obelus_kernel::session::{Refused, Session};
use tokio::sync::oneshot;

use super::command::WaitFor;

/// A caller that waits.
pub(crate) trait Waiter: Send {
    /// The condition that it waits for.
    fn condition(&self) -> WaitFor;

    /// Whether the caller no longer waits.
    fn has_left(&self) -> bool;

    /// Answers the caller: its condition holds, or the wait is refused.
    fn answer(self: Box<Self>, session: Result<&Session, Refused>);
}

/// A caller that waits, with the function that reads its answer from the session.
pub(crate) struct Wait<T, L> {
    pub(crate) condition: WaitFor,
    pub(crate) read: L,
    pub(crate) answer: oneshot::Sender<Result<T, Refused>>,
}

impl<T: Send, L: FnOnce(&Session) -> T + Send> Waiter for Wait<T, L> {
    fn condition(&self) -> WaitFor {
        self.condition
    }

    fn has_left(&self) -> bool {
        self.answer.is_closed()
    }

    fn answer(self: Box<Self>, session: Result<&Session, Refused>) {
        // The caller may have left just now.
        let _ = self.answer.send(session.map(self.read));
    }
}

/// All callers that wait.
#[derive(Default)]
pub(crate) struct Waiters(Vec<Box<dyn Waiter>>);

impl Waiters {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, waiter: Box<dyn Waiter>) {
        self.0.push(waiter);
    }

    /// Answers callers whose condition holds, and drops those that no longer wait.
    pub(crate) fn answer(&mut self, session: &Session, is_over: impl Fn(WaitFor) -> bool) {
        self.0.retain(|waiter| !waiter.has_left());
        let over = self.0.extract_if(.., |waiter| is_over(waiter.condition()));
        over.for_each(|waiter| waiter.answer(Ok(session)));
    }

    /// Refuses all of them.
    pub(crate) fn refuse(&mut self, refused: &Refused) {
        self.0.drain(..).for_each(|waiter| waiter.answer(Err(refused.clone())));
    }
}
