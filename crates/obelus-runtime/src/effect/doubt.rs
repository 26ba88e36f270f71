//! DUR-4: handles a call whose answer was lost by a peer, a time limit or a crash.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use obelus_kernel::session::{CallError, CallId, FailureCode, Input, Outcome};

use crate::activity::{Activity, ReconcileFuture, Reconciled, Work};

/// The number of attempts at a call whose answers are lost.
const MOST_ATTEMPTS: u32 = 3;

/// A call of which it is unknown whether it happened.
pub(crate) struct Doubt {
    pub(crate) id: CallId,
    pub(crate) activity: Arc<dyn Activity>,
    pub(crate) work: Work,
    /// The time limit of reconciling.
    pub(crate) limit: Duration,
}

impl Doubt {
    /// Checks whether the call happened, if its activity can. Otherwise the session asks a person, with what is `known`.
    pub(crate) async fn settle(self, known: String) -> Input {
        let Self { id, activity, work, limit } = self;
        let attempt = work.attempt;
        let before_journal = work.before_journal();
        let Some(reconciling) = activity.reconcile(work) else { return lost(id, known) };
        match prepared(found(id, attempt, limit, reconciling, &known).await, before_journal) {
            // The same cause would make it fail again. After a crash it may start again, whatever the number of attempts.
            Input::DidNot { id, attempt } if attempt >= MOST_ATTEMPTS => {
                let words = format!("its answer was lost {attempt} times, and it has not happened: {known}");
                Input::Ended { id, outcome: Outcome::Error(CallError::new(FailureCode::Lost, words)) }
            }
            input => input,
        }
    }
}

/// The input for the result of reconciling.
pub(crate) async fn found(
    id: CallId,
    attempt: u32,
    limit: Duration,
    reconciling: ReconcileFuture,
    known: &str,
) -> Input {
    let reconciled = tokio::time::timeout(limit, AssertUnwindSafe(reconciling).catch_unwind()).await;
    let nothing = |why: &str| lost(id.clone(), format!("{known}; {why}"));
    match reconciled {
        Ok(Ok(Reconciled::Happened(Outcome::Lost { message }) | Reconciled::Unknown(message))) => nothing(&message),
        Ok(Ok(Reconciled::Happened(outcome))) => Input::Ended { id, outcome },
        Ok(Ok(Reconciled::DidNot)) => Input::DidNot { id, attempt },
        Ok(Err(_)) => nothing("looking whether it happened failed; this is a mistake in the activity's code"),
        Err(_) => nothing("looking whether it happened took too long"),
    }
}

/// Prepares the outcome in an input for the journal, if the call has happened.
pub(crate) fn prepared(input: Input, before_journal: impl Fn(Outcome) -> Outcome) -> Input {
    match input {
        Input::Ended { id, outcome } => Input::Ended { id, outcome: before_journal(outcome) },
        other => other,
    }
}

fn lost(id: CallId, message: String) -> Input {
    Input::Ended { id, outcome: Outcome::Lost { message } }
}
