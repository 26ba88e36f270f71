//! Requests to a Restate cluster: invocations through its ingress, queries and registrations through its admin API.
//!
//! Requests run in a small separate runtime, because a store is called by blocking threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use obelus_runtime::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::runtime::{Handle, Runtime};
use tokio::time::Instant;

/// The time limit of one request.
const LONGEST: Duration = Duration::from_secs(30);

/// How long requests are retried: a dead node is replaced within seconds.
const PATIENCE: Duration = Duration::from_secs(45);

/// The time that a repeated request has at least.
const MINIMUM: Duration = Duration::from_secs(1);

/// How long requests are retried in some cases.
#[derive(Clone, Copy)]
struct RetryLimits {
    /// While no node accepts a connection.
    silence: Duration,
    /// For queries, with the time that they run.
    queries: Duration,
}

/// Why a request to the cluster failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// An invalid address.
    #[error("`{0}` is no address of a Restate server: it begins with http:// or https://")]
    BadAddress(String),
    /// Nothing accepts a connection.
    #[error("no Restate server answers at {0}: {1}")]
    Unreachable(String, String),
    /// The request may have arrived, and its answer has not.
    #[error("the Restate server at {0} gives no answer: {1}")]
    NoAnswer(String, String),
    /// A request runs.
    #[error("the Restate server at {0} has not answered yet")]
    NotYet(String),
    /// The server answers, but cannot read the sessions.
    #[error("the cluster cannot be read now, perhaps because nodes of it are down ({address}: {text})")]
    NotReadable {
        /// Its address.
        address: String,
        /// Its message.
        text: String,
    },
    /// The server at the address of an ingress is another one.
    #[error("{0} is no ingress of a Restate server: that has port 8080 by default; 9070 is the admin API")]
    NotIngress(String),
    /// The cluster cannot call a worker.
    #[error("the cluster cannot reach the worker at {uri}: {text}")]
    WorkerUnreachable {
        /// The address of the worker.
        uri: String,
        /// The message of the cluster.
        text: String,
    },
    /// The server answers with an error.
    #[error("the Restate server at {address} answers with status {status}: {text}")]
    Status {
        /// Its address.
        address: String,
        /// The HTTP status.
        status: u16,
        /// Its message.
        text: String,
    },
    /// The answer is invalid.
    #[error("the Restate server answers something else than was asked for: {0}")]
    Unreadable(String),
}

impl From<ClusterError> for StoreError {
    fn from(error: ClusterError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

/// A Restate cluster: the ingress and the admin API of one or several nodes. Clones share it.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<RestateShared>,
}

struct RestateShared {
    http: reqwest::Client,
    ingress: Addresses,
    admin: Addresses,
    patience: RetryLimits,
    /// The runtime of requests.
    handle: Handle,
    runtime: Option<Runtime>,
}

/// Addresses of nodes, and the one that answered last.
struct Addresses {
    all: Vec<String>,
    latest: AtomicUsize,
}

impl Addresses {
    fn new(said: &str) -> Result<Self, ClusterError> {
        let all: Vec<String> = said.split(',').map(|address| address.trim().trim_end_matches('/').to_owned()).collect();
        match all.iter().find(|address| !address.starts_with("http://") && !address.starts_with("https://")) {
            Some(bad) => Err(ClusterError::BadAddress(bad.clone())),
            None => Ok(Self { all, latest: AtomicUsize::new(0) }),
        }
    }

    fn current(&self) -> &str {
        &self.all[self.latest.load(Ordering::Relaxed) % self.all.len()]
    }

    fn next(&self) {
        self.latest.fetch_add(1, Ordering::Relaxed);
    }
}

/// A request, which may be repeated.
struct RestateRequest {
    path: String,
    /// Without a body it is a GET.
    body: Option<Bytes>,
    /// Requests with the same key are one invocation.
    key: Option<String>,
}

impl Drop for RestateShared {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Cluster {
    /// A cluster. Both are addresses such as `http://10.0.0.1:8080`; those of several nodes are separated by commas.
    pub fn new(ingress: &str, admin: &str) -> Result<Self, ClusterError> {
        Self::with(ingress, admin, RetryLimits { silence: PATIENCE, queries: PATIENCE })
    }

    /// A cluster for a host that people wait for: if it cannot be reached, requests fail within seconds.
    pub fn for_people(ingress: &str, admin: &str) -> Result<Self, ClusterError> {
        Self::with(
            ingress,
            admin,
            RetryLimits { silence: Duration::from_millis(1_500), queries: Duration::from_secs(8) },
        )
    }

    fn with(ingress: &str, admin: &str, patience: RetryLimits) -> Result<Self, ClusterError> {
        let (ingress, admin) = (Addresses::new(ingress)?, Addresses::new(admin)?);
        // This fails if the program has already chosen a provider. Then that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let unusable = |error: String| ClusterError::Unreadable(error);
        let http = reqwest::Client::builder().timeout(LONGEST).connect_timeout(Duration::from_secs(2));
        let http = http.redirect(reqwest::redirect::Policy::none()).no_proxy().build();
        let http = http.map_err(|error| unusable(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| unusable(error.to_string()))?;
        let handle = runtime.handle().clone();
        Ok(Self { inner: Arc::new(RestateShared { http, ingress, admin, patience, handle, runtime: Some(runtime) }) })
    }

    /// The address of the current ingress.
    pub fn address(&self) -> &str {
        self.inner.ingress.current()
    }

    /// The addresses of all nodes.
    pub(crate) fn addresses(&self) -> String {
        self.inner.ingress.all.join(", ")
    }

    /// Calls a handler of a session, and waits for its result.
    pub(crate) async fn call<T: DeserializeOwned + Send + 'static>(
        &self,
        session: &str,
        handler: &str,
        argument: &impl Serialize,
    ) -> Result<T, ClusterError> {
        let body = serde_json::to_vec(argument).map_err(|error| ClusterError::Unreadable(error.to_string()))?;
        let path = format!("/{}/{session}/{handler}", crate::wire::SESSION);
        let key = Some(uuid::Uuid::now_v7().simple().to_string());
        self.send(true, RestateRequest { path, body: Some(body.into()), key }).await
    }

    /// The rows of a query.
    pub(crate) async fn query(&self, sql: String) -> Result<Vec<Map<String, Value>>, ClusterError> {
        #[derive(serde::Deserialize)]
        struct Rows {
            rows: Vec<Map<String, Value>>,
        }
        let body = json!({"query": sql}).to_string();
        let call = RestateRequest { path: "/query".to_owned(), body: Some(body.into()), key: None };
        let rows: Rows = self.send(false, call).await?;
        Ok(rows.rows)
    }

    /// Registers a worker. The cluster asks it for its handlers. Not retried.
    pub(crate) async fn register(&self, uri: &str) -> Result<(), ClusterError> {
        let body = json!({"uri": uri, "force": true}).to_string();
        let call = RestateRequest { path: "/deployments".to_owned(), body: Some(body.into()), key: None };
        match self.try_nodes(&self.inner.admin, &call).await {
            // The code for a deployment that does not answer.
            Err(ClusterError::Status { text, .. }) if text.contains("META0003") => {
                Err(ClusterError::WorkerUnreachable { uri: uri.to_owned(), text: message_of(&text) })
            }
            answered => answered.map(drop),
        }
    }

    /// The registered workers. Not retried.
    pub(crate) async fn deployments(&self) -> Result<Vec<Deployment>, ClusterError> {
        #[derive(serde::Deserialize)]
        struct All {
            deployments: Vec<Deployment>,
        }
        let call = RestateRequest { path: "/deployments".to_owned(), body: None, key: None };
        let bytes = self.try_nodes(&self.inner.admin, &call).await?;
        let all: All = serde_json::from_slice(&bytes).map_err(|error| ClusterError::Unreadable(error.to_string()))?;
        Ok(all.deployments)
    }

    /// Checks that the addresses are those of an ingress. Not retried.
    pub(crate) async fn check_ingress(&self) -> Result<(), ClusterError> {
        let call = RestateRequest { path: "/restate/health".to_owned(), body: None, key: None };
        match self.try_nodes(&self.inner.ingress, &call).await {
            Err(ClusterError::Status { address, status: 404, .. }) => Err(ClusterError::NotIngress(address)),
            answered => answered.map(drop),
        }
    }

    /// Asks the nodes one after another until one answers.
    async fn try_nodes(&self, addresses: &Addresses, call: &RestateRequest) -> Result<Bytes, ClusterError> {
        let mut answered = self.try_once(addresses.current(), call).await;
        for _ in 1..addresses.all.len() {
            if !matches!(answered, Err(ClusterError::Unreachable(..) | ClusterError::NoAnswer(..))) {
                break;
            }
            addresses.next();
            answered = self.try_once(addresses.current(), call).await;
        }
        match answered {
            Err(ClusterError::Unreachable(_, why)) => Err(ClusterError::Unreachable(addresses.all.join(", "), why)),
            answered => answered,
        }
    }

    /// Waits for an answer on a blocking thread.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ClusterError> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.inner.handle.spawn(async move {
            let _ = sender.send(work.await);
        });
        receiver.recv().map_err(|_| ClusterError::Unreadable("the request was given up".to_owned()))
    }

    /// Runs requests in the cluster's own runtime, which outlives its connections.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ClusterError>> + Send + 'static,
    ) -> Result<T, ClusterError> {
        let done = self.inner.handle.spawn(work).await;
        done.map_err(|error| ClusterError::Unreadable(error.to_string()))?
    }

    async fn send<T: DeserializeOwned + Send + 'static>(
        &self,
        ingress: bool,
        call: RestateRequest,
    ) -> Result<T, ClusterError> {
        let cluster = self.clone();
        let bytes = self.apart(async move { cluster.try_until_answered(ingress, &call).await }).await?;
        serde_json::from_slice(&bytes).map_err(|error| ClusterError::Unreadable(error.to_string()))
    }

    async fn try_until_answered(&self, ingress: bool, call: &RestateRequest) -> Result<Bytes, ClusterError> {
        let began = Instant::now();
        let mut pause = Duration::from_millis(50);
        let addresses = if ingress { &self.inner.ingress } else { &self.inner.admin };
        // Once a request may have arrived, its outcome is unknown.
        let mut sent = None;
        loop {
            let limit = self.inner.patience.of(ingress, false).saturating_sub(began.elapsed());
            let tried = tokio::time::timeout(limit.max(MINIMUM), self.try_nodes(addresses, call)).await;
            let failed = match tried.unwrap_or_else(|_| Err(late(addresses.current()))) {
                Err(error) if is_passing(&error, ingress) => error,
                answered => return answered,
            };
            let is_silent = matches!(failed, ClusterError::Unreachable(..));
            if matches!(failed, ClusterError::NoAnswer(..)) {
                sent = Some(failed.clone());
            }
            if began.elapsed() + pause >= self.inner.patience.of(ingress, is_silent) {
                return Err(match (sent, failed) {
                    (Some(sent), _) => sent,
                    (None, ClusterError::Status { address, text, .. }) if !ingress => {
                        ClusterError::NotReadable { address, text: message_of(&text) }
                    }
                    (None, failed) => failed,
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    async fn try_once(&self, address: &str, call: &RestateRequest) -> Result<Bytes, ClusterError> {
        let failed = |error: reqwest::Error| {
            let (address, is_connect) = (address.to_owned(), error.is_connect());
            let why = causes(&error.without_url());
            if is_connect { ClusterError::Unreachable(address, why) } else { ClusterError::NoAnswer(address, why) }
        };
        let url = format!("{address}{}", call.path);
        let request = match &call.body {
            Some(body) => self.inner.http.post(url).header("content-type", "application/json").body(body.clone()),
            None => self.inner.http.get(url),
        };
        let request = request.header("accept", "application/json");
        let request = match &call.key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        };
        let response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await.map_err(failed)?;
        match status {
            200..=299 => Ok(bytes),
            _ => {
                let text: String = String::from_utf8_lossy(&bytes).chars().take(500).collect();
                Err(ClusterError::Status { address: address.to_owned(), status, text })
            }
        }
    }
}

impl RetryLimits {
    fn of(self, ingress: bool, is_silent: bool) -> Duration {
        match (ingress, is_silent) {
            (_, true) => self.silence,
            (false, false) => self.queries,
            (true, false) => PATIENCE,
        }
    }
}

/// A registered worker.
#[derive(serde::Deserialize)]
pub(crate) struct Deployment {
    pub(crate) uri: Option<String>,
    #[serde(default)]
    services: Vec<Revision>,
}

#[derive(serde::Deserialize)]
struct Revision {
    name: String,
    revision: u64,
}

impl Deployment {
    /// The number of its registration of sessions: new work goes to the highest one.
    pub(crate) fn revision(&self) -> Option<u64> {
        let of_sessions = self.services.iter().filter(|service| service.name == crate::wire::SESSION);
        of_sessions.map(|service| service.revision).max()
    }
}

/// Whether a retry makes sense. An unknown service is one whose workers have not registered yet.
fn is_passing(error: &ClusterError, ingress: bool) -> bool {
    match error {
        ClusterError::Unreachable(..) | ClusterError::NoAnswer(..) => true,
        // Queries fail with 500 while a partition has no leader.
        ClusterError::Status { status, .. } => {
            matches!(status, 429 | 502..=504) || *status == if ingress { 404 } else { 500 }
        }
        _ => false,
    }
}

/// A request that took too long.
fn late(address: &str) -> ClusterError {
    ClusterError::NoAnswer(address.to_owned(), "it takes too long".to_owned())
}

/// The message in an answer of the admin API.
fn message_of(text: &str) -> String {
    let message =
        serde_json::from_str::<Value>(text).ok().and_then(|answer| Some(answer["message"].as_str()?.to_owned()));
    message.unwrap_or_else(|| text.to_owned())
}

/// An error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
