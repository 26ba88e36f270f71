//! Activities: the code that carries out calls.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::CallJson;
use obelus_kernel::Tool;
use obelus_kernel::session::{CallError, Outcome, Start};
use serde_json::Value;

use crate::elicitor::Elicitor;
use crate::observation::ObservationSlot;
use crate::secret::{mask_value, without_secrets};

/// A call to be carried out.
#[derive(Clone, Debug)]
pub struct Work {
    /// The call with references resolved, and its meta-properties.
    pub call: CallJson,
    /// Its tool.
    pub tool: Arc<Tool>,
    /// The part of the context that the call may see.
    pub scope: Vec<Value>,
    /// The idempotency key: the same for every attempt at this call, and unique to it. Pass it on where it can be
    /// used.
    pub key: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Asks a person during the call.
    pub elicitor: Elicitor,
    /// The observation that the model currently sees.
    pub slot: Arc<ObservationSlot>,
}

impl Work {
    /// The work for a call that the session has started.
    pub(crate) fn new(start: Start, elicitor: Elicitor, slot: Arc<ObservationSlot>) -> Self {
        let Start { call, tool, scope, key, attempt, .. } = start;
        Self { call, tool, scope, key, attempt, elicitor, slot }
    }

    /// Returns a function for what must happen to an outcome before it is journaled: observations move into the slot.
    pub(crate) fn before_journal(&self) -> impl Fn(Outcome) -> Outcome + Send + use<> {
        let (tool, slot) = (Arc::clone(&self.tool), Arc::clone(&self.slot));
        move |outcome| {
            if tool.keeps_digest { slot.extract_observation(&tool, outcome) } else { outcome }
        }
    }
}

/// The future of a call. Dropping it must stop the work.
pub type ActivityFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// The result of reconciling a call whose answer was lost.
#[derive(Clone, Debug, PartialEq)]
pub enum Reconciled {
    /// It happened, with this outcome.
    Happened(Outcome),
    /// It did not happen and no longer can: it may be repeated.
    DidNot,
    /// Unknown; the text tells the person who is asked what is known.
    Unknown(String),
}

/// The future of a reconciliation. Dropping it must stop the work.
pub type ReconcileFuture = Pin<Box<dyn Future<Output = Reconciled> + Send>>;

/// Carries out calls.
pub trait Activity: Send + Sync + 'static {
    /// Carries out a call. An error is an outcome like any other.
    fn run(&self, work: Work) -> ActivityFuture;

    /// The time limit of a call, if the session's own does not fit.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// Checks whether a call whose answer was lost has happened. None if this activity cannot check.
    fn reconcile(&self, work: Work) -> Option<ReconcileFuture> {
        let _ = work;
        None
    }
}

/// Activities by name.
#[derive(Clone, Default)]
pub struct Activities {
    by_name: BTreeMap<String, Arc<dyn Activity>>,
}

impl Activities {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an activity and replaces one of the same name. The secrets of this process are masked in its results,
    /// because a service may repeat what it was sent (DUR-8).
    pub fn add(&mut self, name: impl Into<String>, activity: impl Activity) -> &mut Self {
        self.by_name.insert(name.into(), Arc::new(MaskedActivity(activity)));
        self
    }

    /// Adds an async function as an activity. It returns a value, or an error with a code and words.
    ///
    /// ```
    /// # use obelus_runtime::Activities;
    /// # use serde_json::json;
    /// let mut activities = Activities::new();
    /// activities.register("double", |work| async move {
    ///     let n = work.call["n"].as_i64().unwrap_or(0);
    ///     Ok(json!(n * 2))
    /// });
    /// ```
    pub fn register<F, R>(&mut self, name: impl Into<String>, function: F) -> &mut Self
    where
        F: Fn(Work) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, CallError>> + Send + 'static,
    {
        self.add(name, Function(function))
    }

    /// The activity of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Activity>> {
        self.by_name.get(name)
    }

    /// The names of all activities.
    pub fn names(&self) -> BTreeSet<String> {
        self.by_name.keys().cloned().collect()
    }
}

/// An activity whose results are masked.
struct MaskedActivity<A>(A);

impl<A: Activity> Activity for MaskedActivity<A> {
    fn run(&self, work: Work) -> ActivityFuture {
        let running = self.0.run(work);
        Box::pin(async move { masked(running.await) })
    }

    fn time_limit(&self) -> Option<Duration> {
        self.0.time_limit()
    }

    fn reconcile(&self, work: Work) -> Option<ReconcileFuture> {
        let reconciling = self.0.reconcile(work)?;
        Some(Box::pin(async move {
            match reconciling.await {
                Reconciled::Happened(outcome) => Reconciled::Happened(masked(outcome)),
                Reconciled::DidNot => Reconciled::DidNot,
                Reconciled::Unknown(words) => Reconciled::Unknown(without_secrets(&words).into_owned()),
            }
        }))
    }
}

fn masked(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Value(mut value) => {
            mask_value(&mut value);
            Outcome::Value(value)
        }
        Outcome::Messages(mut messages) => {
            messages.iter_mut().for_each(mask_value);
            Outcome::Messages(messages)
        }
        Outcome::Error(error) => {
            let code = without_secrets(&error.code.to_string()).as_ref().into();
            let message = without_secrets(&error.message).into_owned();
            Outcome::Error(CallError { code, message, ..error })
        }
        Outcome::Lost { message } => Outcome::Lost { message: without_secrets(&message).into_owned() },
    }
}

struct Function<F>(F);

impl<F, R> Activity for Function<F>
where
    F: Fn(Work) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, CallError>> + Send + 'static,
{
    fn run(&self, work: Work) -> ActivityFuture {
        let future = (self.0)(work);
        Box::pin(async move {
            match future.await {
                Ok(value) => Outcome::Value(value),
                Err(error) => Outcome::Error(error),
            }
        })
    }
}
