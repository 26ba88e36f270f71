//! Asks a person from within a running call.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use obelus_kernel::session::CallId;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use crate::secret::{mask_value, without_secrets};

/// Lets a call ask a person. Cheap to clone, and usable from any task.
#[derive(Clone, Default)]
pub struct Elicitor(Option<Arc<QuestionChannel>>);

/// The result of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicited {
    /// A person gave this value, and it fits the schema.
    Value(Value),
    /// It is declined; the reason.
    Declined(String),
    /// Nobody can answer, or nobody did in time.
    Gone,
}

/// A question from a call.
pub(crate) struct PendingElicitation {
    pub(crate) call: CallId,
    pub(crate) words: String,
    pub(crate) schema: Value,
    pub(crate) answer: oneshot::Sender<Elicited>,
}

struct QuestionChannel {
    call: CallId,
    to: mpsc::UnboundedSender<PendingElicitation>,
    /// The number of answers that the call waits for, and a signal when it changes.
    waits: AtomicU32,
    changed: Notify,
    /// How often it has asked.
    times: AtomicU32,
}

/// The limit of questions of a call, to protect the journal.
const MOST_TIMES: u32 = 100;
const MOST_BYTES: usize = 64 * 1024;

impl Elicitor {
    /// An elicitor without a person: every question is [`Elicited::Gone`].
    pub fn nobody() -> Self {
        Self(None)
    }

    /// Whether there is nobody to ask.
    pub fn is_nobody(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn of(call: &CallId, to: mpsc::UnboundedSender<PendingElicitation>) -> Self {
        let line = QuestionChannel {
            call: call.clone(),
            to,
            waits: AtomicU32::new(0),
            changed: Notify::new(),
            times: AtomicU32::new(0),
        };
        Self(Some(Arc::new(line)))
    }

    /// Asks a person and waits for the answer. The text is shown as the call's own; the answer fits the schema.
    pub async fn ask(&self, words: String, mut schema: Value) -> Elicited {
        let Some(line) = &self.0 else { return Elicited::Gone };
        let words = without_secrets(&words).into_owned();
        mask_value(&mut schema);
        if line.times.fetch_add(1, Ordering::Relaxed) >= MOST_TIMES {
            return Elicited::Declined(format!("one call may not ask more than {MOST_TIMES} times"));
        }
        if words.len() + schema.to_string().len() > MOST_BYTES {
            return Elicited::Declined(format!("a question has at most {MOST_BYTES} bytes"));
        }
        let _waiting = Waiting::begin(line);
        let (answer, answered) = oneshot::channel();
        if line.to.send(PendingElicitation { call: line.call.clone(), words, schema, answer }).is_err() {
            return Elicited::Gone;
        }
        answered.await.unwrap_or(Elicited::Gone)
    }

    /// Runs work with a time limit that is paused while the call waits for people.
    pub(crate) async fn limited<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let Some(line) = &self.0 else { return tokio::time::timeout(limit, work).await.ok() };
        let mut work = pin!(work);
        let mut left = limit;
        loop {
            let mut changed = pin!(line.changed.notified());
            changed.as_mut().enable();
            let waits = line.waits.load(Ordering::Acquire) > 0;
            let began = Instant::now();
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                () = changed => {}
                () = tokio::time::sleep(left), if !waits => return None,
            }
            if !waits {
                left = left.saturating_sub(began.elapsed());
            }
        }
    }
}

impl fmt::Debug for Elicitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Elicitor").field(&self.0.as_ref().map(|line| &line.call)).finish()
    }
}

/// While it exists, the call waits for a person.
struct Waiting<'a>(&'a QuestionChannel);

impl<'a> Waiting<'a> {
    fn begin(line: &'a QuestionChannel) -> Self {
        line.waits.fetch_add(1, Ordering::AcqRel);
        line.changed.notify_waiters();
        Self(line)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waits.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }
}
