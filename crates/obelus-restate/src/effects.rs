//! The service that carries out tasks of sessions: calls, model requests, delegates' files.
//!
//! An effect that a worker could not finish is repeated, perhaps in another worker. Then it is unknown whether the
//! earlier start has acted. So a call begins with an intent: a random number of this start that becomes durable before
//! anything is done. A later start finds a number other than its own, and does not run the call. It tells the session
//! that the call is in doubt (DUR-4): an idempotent call is then handed out again as the next attempt, another one is
//! reconciled, or a person decides.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::session::{CallId, Prompt, RequestId, Start, Task};
use obelus_runtime::engine::{ask_whole, load_request, reconcile_call, run_call};
use obelus_runtime::{Clock, Connections};
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;

use crate::live::{LiveError, Sessions};
use crate::running::RunningEffects;
use crate::wire::{EffectTask, Envelope, SESSION};

/// How often a long effect checks whether its turn was stopped elsewhere: at first, and at most.
const CHECK_INTERVAL: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// The service. Every worker has one.
pub(crate) struct EffectService {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) clock: Clock,
    pub(crate) running: Arc<RunningEffects>,
}

// An effect may take as long as its own time limit; the cluster must not give up before.
#[service(
    name = "Effects",
    ingress_private = true,
    journal_retention = "0s",
    inactivity_timeout = "1day",
    abort_timeout = "1day",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "5s", max_attempts = 1000000)
)]
impl EffectService {
    /// Carries out an effect, and gives the session its outcome.
    #[handler]
    async fn perform(&self, ctx: Context<'_>, effect: Json<EffectTask>) -> HandlerResult<()> {
        let effect = effect.into_inner();
        let Some(_running) = self.running.begin() else { return Err("this worker ends: another one continues".into()) };
        // If this fails it is retried: nothing has begun yet.
        let job = self.job(&effect).await?;
        let mut in_doubt = effect.in_doubt;
        if effect.is_call {
            let mine = uuid::Uuid::now_v7().simple().to_string();
            let drawn = mine.clone();
            let intent = ctx.run(|| async move { Ok(drawn) }).name("intent").await?;
            in_doubt |= intent != mine;
        }
        let outcome = ctx.run(|| async { Ok(Json(self.outcome(&effect, job, in_doubt).await)) }).name("outcome");
        if let Some(envelope) = outcome.await?.into_inner() {
            let target = RequestTarget::object(SESSION, effect.session.as_str(), "input");
            ctx.request::<Json<Envelope>, ()>(target, Json(envelope)).send();
        }
        Ok(())
    }
}

/// The work of an effect, from its session.
enum EffectWork {
    Call(Box<Start>),
    Ask(RequestId, Box<Prompt>),
    Load(CallId, String, PathBuf),
}

impl EffectService {
    /// The input for the session; none if the task is no longer waited for.
    async fn outcome(
        &self,
        effect: &EffectTask,
        job: Option<(EffectWork, Arc<Connections>)>,
        in_doubt: bool,
    ) -> Option<Envelope> {
        let (job, connections) = job?;
        let stopped = self.stopped(effect);
        let inputs = match job {
            EffectWork::Call(start) if in_doubt => vec![reconcile_call(&connections, *start).await],
            EffectWork::Call(start) => vec![run_call(&connections, *start, stopped).await],
            EffectWork::Ask(id, prompt) => ask_whole(&connections, id, *prompt, stopped).await,
            EffectWork::Load(id, path, folder) => vec![load_request(&connections, folder, id, path).await],
        };
        Some(Envelope { at: (self.clock)(), inputs, id: None, of: Some(effect.task.clone()) })
    }

    async fn job(&self, effect: &EffectTask) -> Result<Option<(EffectWork, Arc<Connections>)>, LiveError> {
        let place = self.sessions.after(&effect.session, &effect.task.key, effect.seq).await?;
        let Some(live) = place.as_ref().and_then(|place| place.as_ref()) else { return Ok(None) };
        let job = match live.replica.task(&effect.task.id) {
            Some(Task::Call(start)) if start.attempt == effect.task.attempt => EffectWork::Call(start.clone()),
            Some(Task::AskModel { id }) => match live.replica.session().prompt(id) {
                Some(prompt) => EffectWork::Ask(id.clone(), Box::new(prompt)),
                None => return Ok(None),
            },
            Some(Task::Load { id, path }) => EffectWork::Load(id.clone(), path.clone(), live.spec.folder.clone()),
            _ => return Ok(None),
        };
        Ok(Some((job, Arc::clone(&live.connections))))
    }

    /// Completes when the turn was stopped, here or in another worker.
    async fn stopped(&self, effect: &EffectTask) {
        let mut stops = self.sessions.stops.subscribe();
        let mut pause = CHECK_INTERVAL[0];
        loop {
            tokio::select! {
                stopped = stops.recv() => match stopped {
                    Ok(session) if session == effect.session => return,
                    _ => {}
                },
                () = tokio::time::sleep(pause) => {
                    let head = self.sessions.store().head(&effect.session).await;
                    if let Ok(Some(head)) = head
                        && (head.stops > effect.stops || head.key != effect.task.key)
                    {
                        return;
                    }
                    pause = (pause * 2).min(CHECK_INTERVAL[1]);
                }
            }
        }
    }
}
