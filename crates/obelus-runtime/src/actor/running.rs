//! What a session has under way: calls, requests to the model, and files that are read.
//!
//! Work runs as futures on the actor's own task, so that a call that needs no waiting costs no hand-over between
//! threads.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use obelus_kernel::session::{Answer, CallError, Input, Outcome, Prompt, Start};
use tokio::sync::Notify;

use super::doubt::{self, Doubt};
use super::elicitations::Elicitations;
use super::parts::{PartOf, PartsInlet};
use crate::activity::{Activities, Work};
use crate::connector::{Connections, RequestSource};
use crate::delegates;
use crate::elicitor::Elicitor;
use crate::model::Model;
use crate::observation::{ObservationSlot, without_parts};
use obelus_kernel::session::{CallId, RequestId};

type Pending = Pin<Box<dyn Future<Output = Input> + Send>>;

/// What comes of work.
pub(super) enum News {
    /// A part of an answer.
    Part(PartOf),
    /// Something to tell the session.
    Outcome(Input),
    /// Nothing that the session needs to know.
    Nothing,
}

/// What a session has under way.
pub(super) struct RunningWork {
    activities: Arc<Activities>,
    model: Arc<dyn Model>,
    /// Where the files of delegates lie.
    folder: PathBuf,
    /// Reads saved requests of delegates at addresses.
    requests: Option<Arc<dyn RequestSource>>,
    pending: FuturesUnordered<Pending>,
    /// Outcomes that the session has not been told yet.
    done: VecDeque<Input>,
    /// Ends everything when a person says stop.
    stop: Arc<Notify>,
    /// What the model has before its eyes.
    pub(super) slot: Arc<ObservationSlot>,
    pub(super) elicitations: Elicitations,
    pub(super) parts: PartsInlet,
}

impl RunningWork {
    pub(super) fn new(connections: &Connections, folder: PathBuf, unattended: bool) -> Self {
        Self {
            activities: Arc::clone(&connections.activities),
            model: Arc::clone(&connections.model),
            folder,
            requests: connections.requests.clone(),
            pending: FuturesUnordered::new(),
            done: VecDeque::new(),
            stop: Arc::default(),
            slot: Arc::default(),
            elicitations: Elicitations::new(unattended),
            parts: PartsInlet::default(),
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

    /// The next outcome, if one is there by now.
    pub(super) fn ready(&mut self) -> Option<Input> {
        if let Some(done) = self.done.pop_front() {
            return Some(done);
        }
        // To ask is not free even where nothing is there.
        if self.pending.is_empty() {
            return None;
        }
        self.pending.next().now_or_never().flatten()
    }

    /// Waits for the next thing that comes of the work. Nothing is lost if the waiting is given up.
    pub(super) async fn next(&mut self) -> News {
        let Self { parts, pending, elicitations, .. } = self;
        tokio::select! {
            biased;
            // What was told of an answer comes before the answer.
            part = parts.next() => News::Part(part),
            Some(ended) = pending.next() => News::Outcome(ended),
            asking = elicitations.next() => match elicitations.take(asking) {
                Some(asks) => News::Outcome(asks),
                None => News::Nothing,
            },
        }
    }

    /// Keeps outcomes that could not be made durable, to offer them again first.
    pub(super) fn give_back(&mut self, outcomes: impl DoubleEndedIterator<Item = Input>) {
        outcomes.rev().for_each(|input| self.done.push_front(input));
    }

    /// Outcomes that the session is told later.
    pub(super) fn add_outcomes(&mut self, outcomes: impl IntoIterator<Item = Input>) {
        self.done.extend(outcomes);
    }

    /// Ends everything that is at work, calls included.
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
        let seen: Vec<Arc<str>> = match &prompt.observation {
            Some(latest) => prompt.observed.values().cloned().chain([latest.text.as_str().into()]).collect(),
            None => prompt.observed.values().cloned().collect(),
        };
        let answer = AssertUnwindSafe(self.model.ask_aloud(prompt, self.parts.of(&id))).catch_unwind();
        let stopped = Arc::clone(&self.stop).notified_owned();
        let failed = |code: &str, words: &str| Answer::Failed { code: code.to_owned(), message: words.to_owned() };
        self.push(async move {
            let answer = tokio::select! {
                biased;
                answer = answer => answer.unwrap_or_else(|_| {
                    failed("panic", "the model's client failed; this is a mistake in the program")
                }),
                () = stopped => failed("stopped", "stopped before the model answered"),
            };
            Input::Answer { id, answer: without_observations(answer, &seen) }
        });
    }

    /// Carries out a call.
    pub(super) fn start(&mut self, start: Start) {
        let id = start.id.clone();
        let Some(activity) = self.activities.get(start.activity()) else {
            let error = CallError::new("no_activity", format!("there is no activity `{}`", start.activity()));
            return self.done.push_back(Input::Ended { id, outcome: Outcome::Error(error) });
        };
        let limit = activity.time_limit().unwrap_or(Duration::from_secs(start.seconds));
        let is_harmless = start.tool.idempotent;
        let work = Work::new(start, self.elicitations.elicitor(&id), Arc::clone(&self.slot));
        let take_off = work.take_off();
        // What may not be done twice is kept, to look whether it happened if its answer gets lost.
        let doubt =
            (!is_harmless).then(|| Doubt { id: id.clone(), activity: Arc::clone(activity), work: work.clone(), limit });
        let work = AssertUnwindSafe(activity.run(work)).catch_unwind();
        let mut work = work.map(move |ended| {
            let outcome = ended.unwrap_or_else(|_| {
                let words = "the activity failed; this is a mistake in its code";
                failed(is_harmless, "panic", words.to_owned())
            });
            take_off(outcome)
        });
        // What needs no waiting needs no clock either, and no place among those that wait.
        let ready = match ((&mut work).now_or_never(), &doubt) {
            (Some(Outcome::Lost { message }), Some(_)) => Some(Outcome::Lost { message }),
            (Some(outcome), _) => return self.done.push_back(Input::Ended { id, outcome }),
            (None, _) => None,
        };
        let elicitor = self.elicitations.latest();
        let stopped = Arc::clone(&self.stop).notified_owned();
        self.push(async move {
            let to_end = async {
                let outcome = match ready {
                    Some(outcome) => outcome,
                    None => elicitor.limited(limit, work).await.unwrap_or_else(|| {
                        failed(is_harmless, "timeout", format!("no result within {}", seconds(limit)))
                    }),
                };
                match (outcome, doubt) {
                    (Outcome::Lost { message }, Some(doubt)) => doubt.settle(message).await,
                    (outcome, _) => Input::Ended { id: id.clone(), outcome },
                }
            };
            tokio::select! {
                biased;
                input = to_end => input,
                () = stopped => match is_harmless {
                    true => {
                        let outcome = failed(true, "stopped", "ended before it had a result".to_owned());
                        Input::Ended { id, outcome }
                    }
                    // It may have happened: a person is asked, as after a crash.
                    false => Input::InDoubt { id },
                },
            }
        });
    }

    /// A call that was under way when an earlier process ended. Its activity may be able to tell what became of it.
    pub(super) fn reconcile(&mut self, start: Start) {
        let id = start.id.clone();
        let activity = self.activities.get(start.activity()).filter(|_| !start.tool.idempotent);
        let limit = activity.and_then(|activity| activity.time_limit()).unwrap_or(Duration::from_secs(start.seconds));
        let attempt = start.attempt;
        let work = Work::new(start, Elicitor::nobody(), Arc::clone(&self.slot));
        let take_off = work.take_off();
        match activity.and_then(|activity| activity.reconcile(work)) {
            None => self.done.push_back(Input::InDoubt { id }),
            Some(look) => self.push(async move {
                let found = doubt::found(id, attempt, limit, look, "the work was interrupted").await;
                doubt::without_observation(found, take_off)
            }),
        }
    }
}

/// Some servers repeat in an error what they were sent, and what was seen is to be written nowhere.
fn without_observations(answer: Answer, seen: &[Arc<str>]) -> Answer {
    match answer {
        Answer::Failed { code, message } => {
            let message = seen.iter().fold(message, |message, text| without_parts(&message, text));
            Answer::Failed { code, message }
        }
        answer => answer,
    }
}

/// How a call ends that has no result: in doubt, unless doing it again does no harm.
fn failed(is_harmless: bool, code: &str, message: String) -> Outcome {
    match is_harmless {
        true => Outcome::Error(CallError::new(code, message)),
        false => Outcome::Lost { message },
    }
}

fn seconds(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    format!("{seconds} second{}", if seconds == 1.0 { "" } else { "s" })
}
