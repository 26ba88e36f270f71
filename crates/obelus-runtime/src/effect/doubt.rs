//! DUR-4: what is done about a call whose answer was lost, whether by a peer, a time limit or a crash.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use obelus_kernel::session::{CallError, Input, Outcome};

use crate::activity::{Activity, ReconcileFuture, Reconciled, Work};
use obelus_kernel::session::CallId;

/// A call whose answer gets lost is tried this often in all.
const MOST_ATTEMPTS: u32 = 3;

/// A call of which nobody knows whether it happened.
pub(crate) struct Doubt {
    pub(crate) id: CallId,
    pub(crate) activity: Arc<dyn Activity>,
    pub(crate) work: Work,
    /// How long a look may take.
    pub(crate) limit: Duration,
}

impl Doubt {
    /// Looks whether it happened, where its activity can; else the session is told what is known, and asks a person.
    pub(crate) async fn settle(self, known: String) -> Input {
        let Self { id, activity, work, limit } = self;
        let attempt = work.attempt;
        let take_off = work.take_off();
        let Some(look) = activity.reconcile(work) else { return lost(id, known) };
        match without_observation(found(id, attempt, limit, look, &known).await, take_off) {
            // Whatever loses it goes on losing it. After a crash that is another matter.
            Input::DidNot { id, attempt } if attempt >= MOST_ATTEMPTS => {
                let words = format!("its answer was lost {attempt} times, and it has not happened: {known}");
                Input::Ended { id, outcome: Outcome::Error(CallError::new("lost", words)) }
            }
            input => input,
        }
    }
}

/// What a look found, as the session is told.
pub(crate) async fn found(id: CallId, attempt: u32, limit: Duration, look: ReconcileFuture, known: &str) -> Input {
    let looked = tokio::time::timeout(limit, AssertUnwindSafe(look).catch_unwind()).await;
    let nothing = |why: &str| lost(id.clone(), format!("{known}; {why}"));
    match looked {
        Ok(Ok(Reconciled::Happened(Outcome::Lost { message }) | Reconciled::Unknown(message))) => nothing(&message),
        Ok(Ok(Reconciled::Happened(outcome))) => Input::Ended { id, outcome },
        Ok(Ok(Reconciled::DidNot)) => Input::DidNot { id, attempt },
        Ok(Err(_)) => nothing("looking whether it happened failed; this is a mistake in the activity's code"),
        Err(_) => nothing("looking whether it happened took too long"),
    }
}

/// The same, where a call that was to bring something to look at has happened: that stays out of it.
pub(crate) fn without_observation(input: Input, take_off: impl Fn(Outcome) -> Outcome) -> Input {
    match input {
        Input::Ended { id, outcome } => Input::Ended { id, outcome: take_off(outcome) },
        other => other,
    }
}

fn lost(id: CallId, message: String) -> Input {
    Input::Ended { id, outcome: Outcome::Lost { message } }
}
