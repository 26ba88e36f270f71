//! A portal, shared by all sessions of the process, and a connection to it with one webhook.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use obelus_kernel::session::CallError;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;

use super::errors::PortalFailure;
use super::pace::{Pace, Rate};
use super::read_batch::ReadBatch;
use super::webhook::Webhook;
use super::wire::{self, HttpVerb, PortalAnswer, PortalRequest};
use crate::activity::{MOST_OUTPUT, innermost};
use crate::web;

/// The portal itself ends a request after a minute.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(65);

/// Connections idle for longer are not reused.
const IDLE: Duration = Duration::from_secs(10);

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// How often a read with a lost answer, or any request that could not be sent, is retried.
const TRIES: u32 = 3;

/// A portal: its rate limit, and its methods that are out of time.
pub(super) struct PortalState {
    began: Instant,
    /// None if the portal has no limit.
    pace: Mutex<Option<Pace>>,
    /// Methods that are out of time, and when they may be called again, in seconds since 1970.
    closed: Mutex<BTreeMap<String, u64>>,
    /// When the used time of methods expires, because a refusal may not say it.
    resets: Mutex<BTreeMap<String, u64>>,
    /// Methods of REST 3.0 that the portal does not offer.
    pub(super) not_offered: Mutex<BTreeSet<String>>,
}

/// A webhook of a portal, and its queue of reads.
pub(super) struct WebhookQueue {
    pub(super) webhook: Webhook,
    pub(super) portal: Arc<PortalState>,
    pub(super) read_batch: ReadBatch,
    client: OnceLock<Result<reqwest::Client, String>>,
}

/// The portals and queues of the process. They live as long as it does, because a portal counts all its requests
/// together.
#[derive(Default)]
struct KnownPortals {
    portals: BTreeMap<String, Arc<PortalState>>,
    lines: BTreeMap<Webhook, Arc<WebhookQueue>>,
}

static KNOWN: Mutex<Option<KnownPortals>> = Mutex::new(None);

/// Locks a mutex, poisoned or not: no code leaves the data half changed.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl PortalState {
    fn new(rate: Option<Rate>) -> Self {
        Self {
            began: Instant::now(),
            pace: Mutex::new(rate.map(Pace::new)),
            closed: Mutex::default(),
            resets: Mutex::default(),
            not_offered: Mutex::default(),
        }
    }

    /// Waits until one more request may be sent.
    pub(super) async fn turn(&self) {
        let Some(wait) = locked(&self.pace).as_mut().map(|pace| pace.take(self.began.elapsed())) else { return };
        if wait.is_zero() {
            return;
        }
        // A caller that is cancelled while waiting releases its slot.
        let mut place = RequestSlot(Some(self));
        tokio::time::sleep(wait).await;
        place.0 = None;
    }

    fn with_pace(&self, change: impl FnOnce(&mut Pace, Duration)) {
        if let Some(pace) = locked(&self.pace).as_mut() {
            change(pace, self.began.elapsed());
        }
    }

    /// Bindings may name the same portal: the stricter limit applies.
    fn limit(&self, rate: Option<Rate>) {
        let Some(rate) = rate else { return };
        locked(&self.pace).get_or_insert_with(|| Pace::new(rate)).limit(rate);
    }

    /// How long a method must not be called.
    fn closed_for(&self, method: &str) -> Option<(Duration, u64)> {
        let reset_at = *locked(&self.closed).get(method)?;
        let left = reset_at.saturating_sub(seconds_now());
        (left > 0).then_some((Duration::from_secs(left), reset_at))
    }
}

/// A reserved slot, released on drop.
struct RequestSlot<'a>(Option<&'a PortalState>);

impl Drop for RequestSlot<'_> {
    fn drop(&mut self) {
        if let Some(portal) = self.0 {
            portal.with_pace(Pace::give_back);
        }
    }
}

impl WebhookQueue {
    /// The shared line of a webhook.
    pub(super) fn to(webhook: &Webhook, rate: Option<Rate>) -> Arc<Self> {
        let mut known = locked(&KNOWN);
        let known = known.get_or_insert_default();
        let portal =
            known.portals.entry(webhook.portal().to_owned()).or_insert_with(|| Arc::new(PortalState::new(rate)));
        portal.limit(rate);
        let new = || Self {
            webhook: webhook.clone(),
            portal: Arc::clone(portal),
            read_batch: ReadBatch::default(),
            client: OnceLock::new(),
        };
        Arc::clone(known.lines.entry(webhook.clone()).or_insert_with(|| Arc::new(new())))
    }

    fn client(&self) -> Result<&reqwest::Client, PortalFailure> {
        let made = self.client.get_or_init(|| {
            let builder = web::client()
                .timeout(REQUEST_TIMEOUT)
                // Reusing a connection that the portal is closing would lose an answer.
                .pool_idle_timeout(IDLE)
                // The address is the secret and must not be sent to another host.
                .redirect(Policy::none());
            builder.build().map_err(|error| innermost(&error))
        });
        made.as_ref().map_err(|problem| PortalFailure::Wrong(CallError::new("no_tls", web::no_tls(problem))))
    }

    /// Sends a request once, after waiting for its turn.
    pub(super) async fn send(&self, request: &PortalRequest) -> Result<PortalAnswer, PortalFailure> {
        self.portal.turn().await;
        self.transmit(request).await
    }

    /// Sends a request without waiting. Errors do not name the address.
    pub(super) async fn transmit(&self, request: &PortalRequest) -> Result<PortalAnswer, PortalFailure> {
        let wrong = |code: &str, text: String| PortalFailure::Wrong(CallError::new(code, text));
        let url = if request.is_new {
            self.webhook.new_url_of(&request.method)
        } else {
            self.webhook.url_of(&request.method)
        };
        let mut url = url.map_err(|text| wrong("bad_method", text))?;
        let client = self.client()?;
        let builder = match request.verb {
            HttpVerb::Get => {
                url.set_query(Some(&request.query()).filter(|query| !query.is_empty()).map(String::as_str));
                client.get(url)
            }
            HttpVerb::Post => {
                let body =
                    serde_json::to_vec(&request.params).map_err(|error| wrong("bad_request", error.to_string()))?;
                let builder = client.post(url).header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                match &request.key {
                    Some(key) => builder.header("Idempotency-Key", key.as_str()).body(body),
                    None => builder.body(body),
                }
            }
        };
        let lost = |error: &reqwest::Error| {
            if error.is_timeout() {
                PortalFailure::Lost("no answer in time".to_owned())
            } else {
                PortalFailure::Lost(format!(
                    "the connection broke before the answer was complete: {}",
                    innermost(error)
                ))
            }
        };
        let mut response = builder.send().await.map_err(|error| match error {
            error if error.is_connect() => PortalFailure::NotSent(innermost(&error)),
            error if error.is_builder() => wrong("bad_request", innermost(&error)),
            error => lost(&error),
        })?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error))? {
            if body.len() + chunk.len() > MOST_OUTPUT {
                return Err(PortalFailure::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        wire::read(response.status().as_u16(), &body)
    }

    /// Retries until there is an answer or `patience` runs out. Requests that were refused or not sent are always
    /// retried, those that may have been carried out only if they are reads.
    pub(super) async fn tried<F>(
        &self,
        method: &str,
        is_read: bool,
        patience: Duration,
        mut attempt: impl FnMut() -> F,
    ) -> Result<PortalAnswer, PortalFailure>
    where
        F: Future<Output = Result<PortalAnswer, PortalFailure>>,
    {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut tries = 0;
        loop {
            if let Some((left, reset_at)) = self.portal.closed_for(method) {
                if began.elapsed() + left > patience {
                    return Err(PortalFailure::OutOfTime { reset_at: Some(reset_at) });
                }
                tokio::time::sleep(left).await;
            }
            let failure = match attempt().await {
                Ok(answer) => {
                    if let Some(reset_at) = answer.reset_at {
                        locked(&self.portal.resets).insert(method.to_owned(), reset_at);
                    }
                    return Ok(answer);
                }
                Err(PortalFailure::OutOfTime { reset_at }) => {
                    let known = || locked(&self.portal.resets).get(method).copied();
                    PortalFailure::OutOfTime { reset_at: reset_at.or_else(known).filter(|at| *at > seconds_now()) }
                }
                Err(failure) => failure,
            };
            match failure {
                PortalFailure::Busy if began.elapsed() + pause <= patience => self.portal.with_pace(Pace::is_full),
                PortalFailure::OutOfTime { reset_at: Some(reset_at) } => {
                    locked(&self.portal.closed).insert(method.to_owned(), reset_at);
                    continue;
                }
                PortalFailure::OutOfTime { reset_at: None } if began.elapsed() + pause <= patience => {}
                PortalFailure::NotSent(_) if tries < TRIES => tries += 1,
                PortalFailure::Lost(_) if is_read && tries < TRIES => tries += 1,
                failure => return Err(failure),
            }
            tokio::time::sleep(pause + jitter()).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// A random delay, so that several processes do not retry at the same moment.
fn jitter() -> Duration {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    Duration::from_millis(u64::from(nanos % 200))
}
