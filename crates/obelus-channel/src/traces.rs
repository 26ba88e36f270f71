//! Traces for an OpenTelemetry collector, by OTLP over HTTP in JSON.
//!
//! Spans are created from the numbered events of sessions, in the GenAI conventions 1.37.0. They are sent in batches
//! from a bounded queue: a slow or missing collector loses traces, but delays no work. Messages, parameters and
//! results are sent only on request.

mod spans;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use obelus_runtime::{EventBody, Host, SessionHandle};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use spans::{SessionFacts, Spans, attribute};

/// The schema of the conventions.
const CONVENTIONS: &str = "https://opentelemetry.io/schemas/1.37.0";
/// The limit of queued spans; more are lost.
const MOST_WAITING: usize = 8192;
/// The limit of spans in a request, and how long the first of them waits for others.
const BATCH: usize = 512;
const WAIT: Duration = Duration::from_secs(1);
/// The time limit of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The exporter of traces. Clones share it.
#[derive(Clone)]
pub struct Traces {
    queue: mpsc::Sender<Value>,
    /// The sessions being traced.
    followed: Arc<Mutex<HashSet<String>>>,
    with_content: bool,
}

impl Traces {
    /// Sends traces to a collector, such as `http://127.0.0.1:4318`. `warn` gets its problems, once each time.
    pub fn start(
        collector: &str,
        with_content: bool,
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        if !crate::address::is_safe(collector) {
            return Err(format!("`{collector}` is no collector: HTTPS, or an address of this machine"));
        }
        let http = crate::address::client(collector).timeout(PATIENCE).build();
        let http = http.map_err(|error| format!("HTTPS cannot be set up: {error}"))?;
        let (queue, waiting) = mpsc::channel(MOST_WAITING);
        let address = format!("{}/v1/traces", collector.trim_end_matches('/'));
        tokio::spawn(send_all(http, address, waiting, warn));
        Ok(Self { queue, followed: Arc::default(), with_content })
    }

    /// Traces a session, if it is not yet traced, until it is unloaded.
    pub(crate) fn follow(&self, host: &Host, id: &str, handle: &SessionHandle) {
        if !self.followed().insert(id.to_owned()) {
            return;
        }
        // A subscription alone does not keep a session in memory.
        let mut events = handle.subscribe(None);
        let (traces, host, id) = (self.clone(), host.clone(), id.to_owned());
        tokio::spawn(async move {
            let about = traces.about(host, &id).await;
            let mut spans = Spans::new(about);
            while let Some(event) = events.next().await {
                let is_known = !event.is_transient || matches!(event.body, EventBody::ModelAsked { .. });
                for span in is_known.then(|| spans.take(&event)).into_iter().flatten() {
                    // If the queue is full, the span is lost.
                    let _ = traces.queue.try_send(span);
                }
            }
            traces.followed().remove(&id);
        });
    }

    fn followed(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn about(&self, host: Host, id: &str) -> SessionFacts {
        let (session, with_content) = (id.to_owned(), self.with_content);
        let name = session.clone();
        let spec = tokio::task::spawn_blocking(move || host.spec(&name).ok().flatten()).await.ok().flatten();
        let model = spec.as_ref().and_then(|spec| spec.model.as_ref());
        let named = |model: &Value| model.as_str().or_else(|| model["name"].as_str()).map(str::to_owned);
        let model = model.and_then(|chosen| named(&chosen.model));
        SessionFacts { session, agent: spec.map(|spec| spec.agent).unwrap_or_default(), model, with_content }
    }
}

/// Sends queued spans in batches, until the queue is closed.
async fn send_all(
    http: reqwest::Client,
    address: String,
    mut waiting: mpsc::Receiver<Value>,
    warn: impl Fn(&str) + Send + Sync + 'static,
) {
    let mut is_down = false;
    while let Some(first) = waiting.recv().await {
        let mut batch = vec![first];
        let until = tokio::time::Instant::now() + WAIT;
        while batch.len() < BATCH {
            match tokio::time::timeout_at(until, waiting.recv()).await {
                Ok(Some(span)) => batch.push(span),
                _ => break,
            }
        }
        let body = request(batch).to_string();
        let sent = http.post(&address).header("content-type", "application/json").body(body).send().await;
        let failed = sent.and_then(reqwest::Response::error_for_status).err().map(reqwest::Error::without_url);
        // A failure is reported once until it works again.
        if let Some(error) = failed.as_ref().filter(|_| !is_down) {
            warn(&format!("the collector takes no traces, which are lost meanwhile: {error}"));
        }
        is_down = failed.is_some();
    }
}

/// The body of a request.
fn request(spans: Vec<Value>) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [("service.name", "obelus"), ("service.version", version)];
    let resource: Vec<Value> = resource.into_iter().map(|(key, value)| attribute(key, &value.into())).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "obelus", "version": version}, "schemaUrl": CONVENTIONS, "spans": spans}],
    }]})
}
