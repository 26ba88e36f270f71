//! The running work of a session: calls, model requests and file reads.
//!
//! Work runs as futures on the actor's own task, so that a call that completes at once needs no switch between
//! threads.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use obelus_kernel::session::{Input, Prompt, Start};
use tokio::sync::Notify;

use super::elicitations::Elicitations;
use super::parts::{PartOf, PartsChannel, StreamedText};
use crate::activity::Activities;
use crate::connector::{Connections, RequestSource};
use crate::delegates;
use crate::effect::{self, RunningCall};
use crate::model::Model;
use crate::observation::ObservationSlot;
use obelus_kernel::session::{CallId, RequestId};

type Pending = Pin<Box<dyn Future<Output = Input> + Send>>;

/// A result of running work.
pub(super) enum WorkResult {
    /// A partial answer.
    Part(PartOf),
    /// An input for the session.
    Outcome(Input),
    /// Nothing that concerns the session.
    Nothing,
}

/// The running work of a session.
pub(super) struct RunningWork {
    activities: Arc<Activities>,
    model: Arc<dyn Model>,
    /// The folder of delegates' files.
    folder: PathBuf,
    /// Reads saved requests of delegates at addresses.
    requests: Option<Arc<dyn RequestSource>>,
    pending: FuturesUnordered<Pending>,
    /// Calls that were started before the inputs that led to them are durable.
    speculative: Vec<Pending>,
    /// Running calls that change something: their outcomes are stored before anything else is done.
    effects: BTreeSet<CallId>,
    /// Outcomes not yet given to the session.
    done: VecDeque<Input>,
    /// Stops all work when a person says stop.
    stop: Arc<Notify>,
    /// The observation that the model sees.
    pub(super) slot: Arc<ObservationSlot>,
    pub(super) elicitations: Elicitations,
    pub(super) parts: PartsChannel,
    pub(super) streamed: StreamedText,
}

impl RunningWork {
    pub(super) fn new(connections: &Connections, folder: PathBuf, unattended: bool) -> Self {
        Self {
            activities: Arc::clone(&connections.activities),
            model: Arc::clone(&connections.model),
            folder,
            requests: connections.requests.clone(),
            pending: FuturesUnordered::new(),
            speculative: Vec::new(),
            effects: BTreeSet::new(),
            done: VecDeque::new(),
            stop: Arc::default(),
            slot: Arc::default(),
            elicitations: Elicitations::new(unattended),
            parts: PartsChannel::default(),
            streamed: StreamedText::default(),
        }
    }

    pub(super) fn activities(&self) -> Arc<Activities> {
        Arc::clone(&self.activities)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.done.is_empty() && self.pending.is_empty()
    }

    pub(super) fn has_outcomes(&self) -> bool {
        !self.done.is_empty()
    }

    /// The next outcome, if one is ready.
    pub(super) fn ready(&mut self) -> Option<Input> {
        if let Some(done) = self.done.pop_front() {
            return Some(done);
        }
        // Polling costs something even if there is nothing.
        if self.pending.is_empty() {
            return None;
        }
        self.pending.next().now_or_never().flatten()
    }

    /// Waits for the next result. It is cancel-safe.
    pub(super) async fn next(&mut self) -> WorkResult {
        let Self { parts, pending, elicitations, .. } = self;
        tokio::select! {
            biased;
            // Parts of an answer come before the answer.
            part = parts.next() => WorkResult::Part(part),
            Some(ended) = pending.next() => WorkResult::Outcome(ended),
            asking = elicitations.next() => match elicitations.take(asking) {
                Some(asks) => WorkResult::Outcome(asks),
                None => WorkResult::Nothing,
            },
        }
    }

    /// Queues outcomes that could not be stored, before all others.
    pub(super) fn give_back(&mut self, outcomes: impl DoubleEndedIterator<Item = Input>) {
        outcomes.rev().for_each(|input| self.done.push_front(input));
    }

    /// Queues outcomes for the session.
    pub(super) fn add_outcomes(&mut self, outcomes: impl IntoIterator<Item = Input>) {
        self.done.extend(outcomes);
    }

    /// Stops all running work, including calls.
    pub(super) fn stop_all(&self) {
        self.stop.notify_waiters();
    }

    fn push(&mut self, work: impl Future<Output = Input> + Send + 'static) {
        self.pending.push(Box::pin(work));
    }

    /// Reads a delegate's saved request.
    pub(super) fn load(&mut self, id: CallId, path: String) {
        let (folder, source) = (self.folder.clone(), self.requests.clone());
        self.push(async move {
            let request = delegates::load(folder, path, source).await;
            Input::Loaded { id, request }
        });
    }

    /// Asks the model.
    pub(super) fn ask(&mut self, id: RequestId, prompt: Prompt) {
        let parts = self.parts.of(&id);
        let stopped = Arc::clone(&self.stop).notified_owned();
        self.push(effect::ask(&*self.model, id, prompt, parts, stopped));
    }

    /// Carries out a call.
    pub(super) fn start(&mut self, start: Start) {
        match self.started(start) {
            Ok(running) => self.pending.push(running),
            Err(ended) => self.done.push_back(ended),
        }
    }

    /// Starts a speculative read, before the input that led to it is durable; returns its outcome if it completes at
    /// once. Otherwise [`Self::keep_speculative`] or [`Self::drop_speculative`] must follow.
    pub(super) fn start_speculative(&mut self, start: Start) -> Option<Input> {
        match self.started(start) {
            Ok(running) => {
                self.speculative.push(running);
                None
            }
            Err(ended) => Some(ended),
        }
    }

    /// Keeps the speculative reads: the inputs that led to them are durable.
    pub(super) fn keep_speculative(&mut self) {
        self.pending.extend(self.speculative.drain(..));
    }

    /// Stops the speculative reads: the inputs that led to them could not be stored. Both start again later.
    pub(super) fn drop_speculative(&mut self) {
        self.speculative.clear();
    }

    /// Starts a call. One that completes at once needs no timer and no place in the queue.
    #[expect(clippy::result_large_err, reason = "the other way has no allocation of its own")]
    fn started(&mut self, start: Start) -> Result<Pending, Input> {
        self.note_effect(&start);
        let elicitor = self.elicitations.elicitor(&start.id);
        let call = RunningCall::start(&self.activities, start, elicitor, &self.slot)?;
        let stopped = Arc::clone(&self.stop).notified_owned();
        Ok(Box::pin(call.run_to_end(stopped)))
    }

    fn note_effect(&mut self, start: &Start) {
        if start.tool.effect.acts() {
            self.effects.insert(start.id.clone());
        }
    }

    /// Whether an input is the outcome of a call that only reads.
    pub(super) fn is_of_read(&self, input: &Input) -> bool {
        matches!(input, Input::Ended { id, .. } if !self.effects.contains(id))
    }

    /// The outcome of a call is durable.
    pub(super) fn forget(&mut self, id: &CallId) {
        self.elicitations.forget(id);
        self.effects.remove(id);
    }

    /// Reconciles a call that was running when an earlier process ended, if its activity can.
    pub(super) fn reconcile(&mut self, start: Start) {
        self.note_effect(&start);
        match effect::reconcile(&self.activities, start, &self.slot) {
            Err(unknown) => self.done.push_back(unknown),
            Ok(reconciling) => self.push(reconciling),
        }
    }
}
