//! Carries out tasks of a session: calls with time limits, panics and lost answers, and model requests.
//!
//! | file | subject |
//! |---|---|
//! | `doubt` | calls whose answer was lost (DUR-4) |

mod doubt;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use obelus_kernel::session::{Answer, CallError, CallId, FailureCode, Input, Outcome, Prompt, RequestId, Start};

use crate::activity::{Activities, Activity, Work};
use crate::connector::Connections;
use crate::delegates;
use crate::elicitor::{Elicited, Elicitor};
use crate::model::{Model, Part, Parts};
use crate::observation::{ObservationSlot, without_parts};
use crate::secret::without_secrets_of;
use doubt::Doubt;

/// What is known of a call after a crash. Journals have it in English; `words/reasons` translates it.
pub(crate) const INTERRUPTED: &str = "the work was interrupted";
/// How the same begins for a call that reached its time limit.
pub(crate) const NO_RESULT_WITHIN: &str = "no result within ";

/// A running call.
pub(crate) struct RunningCall<W> {
    id: CallId,
    work: W,
    /// Set if it has ended and its answer was lost.
    lost: Option<Outcome>,
    /// For non-idempotent calls: how to check whether it happened if its answer is lost.
    doubt: Option<Doubt>,
    limit: Duration,
    is_harmless: bool,
    elicitor: Elicitor,
}

impl RunningCall<()> {
    /// Starts a call. Returns the input at once if the call completes without waiting.
    #[expect(clippy::result_large_err, reason = "the other way has no allocation of its own")]
    pub(crate) fn start(
        activities: &Activities,
        start: Start,
        elicitor: Elicitor,
        slot: &Arc<ObservationSlot>,
    ) -> Result<RunningCall<impl Future<Output = Outcome> + Send + Unpin + use<>>, Input> {
        let id = start.id.clone();
        let Some(activity) = activities.get(start.activity()) else {
            let error = CallError::new(FailureCode::NoActivity, format!("there is no activity `{}`", start.activity()));
            return Err(Input::Ended { id, outcome: Outcome::Error(error) });
        };
        let limit = activity.time_limit().unwrap_or(Duration::from_secs(start.seconds));
        let is_harmless = start.tool.idempotent;
        let work = Work::new(start, elicitor.clone(), Arc::clone(slot));
        let before_journal = work.before_journal();
        let doubt =
            (!is_harmless).then(|| Doubt { id: id.clone(), activity: Arc::clone(activity), work: work.clone(), limit });
        let work = AssertUnwindSafe(activity.run(work)).catch_unwind();
        let mut work = work.map(move |ended| {
            let outcome = ended.unwrap_or_else(|_| {
                let words = "the activity failed; this is a mistake in its code";
                failed(is_harmless, "panic".into(), words.to_owned())
            });
            before_journal(outcome)
        });
        let lost = match ((&mut work).now_or_never(), &doubt) {
            (Some(Outcome::Lost { message }), Some(_)) => Some(Outcome::Lost { message }),
            (Some(outcome), _) => return Err(Input::Ended { id, outcome }),
            (None, _) => None,
        };
        Ok(RunningCall { id, work, lost, doubt, limit, is_harmless, elicitor })
    }
}

impl<W: Future<Output = Outcome> + Send> RunningCall<W> {
    /// The input for the session when the call has ended or was stopped.
    pub(crate) async fn run_to_end(self, stopped: impl Future<Output = ()> + Send) -> Input {
        let Self { id, work, lost, doubt, limit, is_harmless, elicitor } = self;
        let to_end = async {
            let outcome = match lost {
                Some(outcome) => outcome,
                None => elicitor.limited(limit, work).await.unwrap_or_else(|| {
                    failed(is_harmless, FailureCode::Timeout, format!("{NO_RESULT_WITHIN}{}", seconds(limit)))
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
            () = stopped => if is_harmless {
                let outcome = failed(true, FailureCode::Stopped, "ended before it had a result".to_owned());
                Input::Ended { id, outcome }
            } else {
                // The call may have happened: a person is asked, as after a crash.
                Input::InDoubt { id }
            },
        }
    }
}

/// Whether only a person can tell if a call of an earlier process happened: the call must not be repeated, and its
/// activity cannot reconcile it.
pub(crate) fn needs_person(activities: &Activities, start: &Start) -> bool {
    let looks = |activity: &Arc<dyn Activity>| {
        let work = Work::new(start.clone(), Elicitor::nobody(), Arc::default());
        activity.reconcile(work).is_some()
    };
    !start.tool.idempotent && !activities.get(start.activity()).is_some_and(looks)
}

/// Reconciles a call that was running when an earlier process ended, if its activity can; otherwise the session is
/// told that it is in doubt.
#[expect(clippy::result_large_err, reason = "the other way has no allocation of its own")]
pub(crate) fn reconcile(
    activities: &Activities,
    start: Start,
    slot: &Arc<ObservationSlot>,
) -> Result<impl Future<Output = Input> + Send + use<>, Input> {
    let id = start.id.clone();
    let activity = activities.get(start.activity()).filter(|_| !start.tool.idempotent);
    let limit = activity.and_then(|activity| activity.time_limit()).unwrap_or(Duration::from_secs(start.seconds));
    let attempt = start.attempt;
    let work = Work::new(start, Elicitor::nobody(), Arc::clone(slot));
    let before_journal = work.before_journal();
    match activity.and_then(|activity| activity.reconcile(work)) {
        None => Err(Input::InDoubt { id }),
        Some(reconciling) => Ok(async move {
            let found = doubt::found(id, attempt, limit, reconciling, INTERRUPTED).await;
            doubt::prepared(found, before_journal)
        }),
    }
}

/// Asks a model. The future does not borrow the model.
pub(crate) fn ask<S: Future<Output = ()> + Send>(
    model: &dyn Model,
    id: RequestId,
    prompt: Prompt,
    parts: Parts,
    stopped: S,
) -> impl Future<Output = Input> + Send + use<S> {
    let observations: Vec<Arc<str>> = match &prompt.observation {
        Some(latest) => prompt.observed.values().cloned().chain([latest.text.as_str().into()]).collect(),
        None => prompt.observed.values().cloned().collect(),
    };
    let answer = AssertUnwindSafe(model.ask_streaming(prompt, parts)).catch_unwind();
    let failed = |code: FailureCode, words: &str| Answer::Failed { code, message: words.to_owned() };
    async move {
        let answer = tokio::select! {
            biased;
            answer = answer => answer.unwrap_or_else(|_| {
                failed("panic".into(), "the model's client failed; this is a mistake in the program")
            }),
            () = stopped => failed(FailureCode::Stopped, "stopped before the model answered"),
        };
        without_secrets_of(Input::Answer { id, answer: without_observations(answer, &observations) })
    }
}

/// Why a call cannot ask a person on an engine without an actor.
const CANNOT_ASK: &str =
    "it asked a person during the call, which only the embedded engine supports: that was declined";

/// Carries out a call to its end, for engines without an actor; returns the input for the session. The call cannot
/// ask people: questions are declined, and if it then fails, its error says so.
pub async fn run_call(connections: &Connections, start: Start, stopped: impl Future<Output = ()> + Send) -> Input {
    let (sender, mut questions) = tokio::sync::mpsc::unbounded_channel();
    let elicitor = Elicitor::of(&start.id, sender);
    let mut has_asked = false;
    let input = match RunningCall::start(&connections.activities, start, elicitor, &Arc::default()) {
        Err(ended) => ended,
        Ok(call) => {
            let mut ended = std::pin::pin!(call.run_to_end(stopped));
            loop {
                tokio::select! {
                    biased;
                    input = &mut ended => break input,
                    Some(question) = questions.recv() => {
                        has_asked = true;
                        // The call may have ended.
                        let _ = question.answer.send(Elicited::Declined(CANNOT_ASK.to_owned()));
                    }
                }
            }
        }
    };
    match input {
        Input::Ended { id, outcome: Outcome::Error(mut error) } if has_asked => {
            error.message = format!("{} ({CANNOT_ASK})", error.message);
            Input::Ended { id, outcome: Outcome::Error(error) }
        }
        input => input,
    }
}

/// Reconciles a call that may have been carried out before (DUR-4); returns the input for the session.
pub async fn reconcile_call(connections: &Connections, start: Start) -> Input {
    match reconcile(&connections.activities, start, &Arc::default()) {
        Err(unknown) => unknown,
        Ok(reconciling) => reconciling.await,
    }
}

/// Asks the model, for engines without an actor; returns usage and answer.
pub async fn ask_whole(
    connections: &Connections,
    id: RequestId,
    prompt: Prompt,
    stopped: impl Future<Output = ()> + Send,
) -> Vec<Input> {
    let (sender, mut parts) = tokio::sync::mpsc::unbounded_channel();
    let answer = ask(&*connections.model, id.clone(), prompt, Parts::to(id, sender), stopped).await;
    let used = std::iter::from_fn(|| parts.try_recv().ok()).filter_map(|(id, part)| match part {
        Part::Used(used) => Some(Input::Used { id, used }),
        Part::Piece(_) => None,
    });
    used.collect::<Vec<_>>().into_iter().chain([answer]).collect()
}

/// Reads a delegate's saved request, for engines without an actor; returns the input for the session.
pub async fn load_request(connections: &Connections, folder: PathBuf, id: CallId, path: String) -> Input {
    let request = delegates::load(folder, path, connections.requests.clone()).await;
    Input::Loaded { id, request }
}

/// Removes observations from errors: some servers repeat what they were sent, and observations must not be stored.
fn without_observations(answer: Answer, observations: &[Arc<str>]) -> Answer {
    match answer {
        Answer::Failed { code, message } => {
            let message = observations.iter().fold(message, |message, text| without_parts(&message, text));
            Answer::Failed { code, message }
        }
        answer => answer,
    }
}

/// The outcome of a call without a result: in doubt, unless it is harmless to repeat.
fn failed(is_harmless: bool, code: FailureCode, message: String) -> Outcome {
    if is_harmless { Outcome::Error(CallError::new(code, message)) } else { Outcome::Lost { message } }
}

fn seconds(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    format!("{seconds} second{}", if seconds == 1.0 { "" } else { "s" })
}
