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

/// How long requests are retried without an answer: a dead node is replaced within seconds.
const PATIENCE: Duration = Duration::from_secs(45);

/// Why a request to the cluster failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// An invalid address.
    #[error("`{0}` is no address of a Restate server: it begins with http:// or https://")]
    BadAddress(String),
    /// There is no answer.
    #[error("no Restate server answers at {0}: {1}")]
    Unreachable(String, String),
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
    inner: Arc<Inner>,
}

struct Inner {
    http: reqwest::Client,
    ingress: Addresses,
    admin: Addresses,
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
struct Call {
    path: String,
    body: Bytes,
    /// Requests with the same key are one invocation.
    key: Option<String>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Cluster {
    /// A cluster. Both are addresses such as `http://10.0.0.1:8080`; those of several nodes are separated by commas.
    pub fn new(ingress: &str, admin: &str) -> Result<Self, ClusterError> {
        let (ingress, admin) = (Addresses::new(ingress)?, Addresses::new(admin)?);
        // Fails if the program has already chosen a provider, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let unusable = |error: String| ClusterError::Unreadable(error);
        let http = reqwest::Client::builder().timeout(LONGEST).connect_timeout(Duration::from_secs(5));
        let http = http.redirect(reqwest::redirect::Policy::none()).no_proxy().build();
        let http = http.map_err(|error| unusable(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| unusable(error.to_string()))?;
        let handle = runtime.handle().clone();
        Ok(Self { inner: Arc::new(Inner { http, ingress, admin, handle, runtime: Some(runtime) }) })
    }

    /// The address of the current ingress.
    pub fn address(&self) -> &str {
        self.inner.ingress.current()
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
        self.send(true, Call { path, body: body.into(), key }).await
    }

    /// The rows of a query.
    pub(crate) async fn query(&self, sql: String) -> Result<Vec<Map<String, Value>>, ClusterError> {
        #[derive(serde::Deserialize)]
        struct Rows {
            rows: Vec<Map<String, Value>>,
        }
        let body = json!({"query": sql}).to_string();
        let rows: Rows = self.send(false, Call { path: "/query".to_owned(), body: body.into(), key: None }).await?;
        Ok(rows.rows)
    }

    /// Registers a worker. The cluster asks it for its handlers.
    pub(crate) async fn register(&self, uri: &str, force: bool) -> Result<(), ClusterError> {
        let body = json!({"uri": uri, "force": force}).to_string();
        let call = Call { path: "/deployments".to_owned(), body: body.into(), key: None };
        self.send::<Value>(false, call).await.map(drop)
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

    async fn send<T: DeserializeOwned + Send + 'static>(&self, ingress: bool, call: Call) -> Result<T, ClusterError> {
        let cluster = self.clone();
        let sent = self.inner.handle.spawn(async move { cluster.try_until_answered(ingress, &call).await });
        let bytes = sent.await.map_err(|error| ClusterError::Unreadable(error.to_string()))??;
        serde_json::from_slice(&bytes).map_err(|error| ClusterError::Unreadable(error.to_string()))
    }

    async fn try_until_answered(&self, ingress: bool, call: &Call) -> Result<Bytes, ClusterError> {
        let began = Instant::now();
        let mut pause = Duration::from_millis(50);
        loop {
            let addresses = if ingress { &self.inner.ingress } else { &self.inner.admin };
            let failed = match self.try_once(addresses.current(), call).await {
                Err(error) if is_passing(&error, ingress) && began.elapsed() < PATIENCE => error,
                answered => return answered,
            };
            // A dead node refuses at once; another one may be available.
            if matches!(failed, ClusterError::Unreachable(..)) {
                addresses.next();
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    async fn try_once(&self, address: &str, call: &Call) -> Result<Bytes, ClusterError> {
        let unreachable =
            |error: reqwest::Error| ClusterError::Unreachable(address.to_owned(), causes(&error.without_url()));
        let request = self.inner.http.post(format!("{address}{}", call.path));
        let request = request.header("content-type", "application/json").header("accept", "application/json");
        let request = match &call.key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        };
        let response = request.body(call.body.clone()).send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await.map_err(unreachable)?;
        match status {
            200..=299 => Ok(bytes),
            _ => {
                let text: String = String::from_utf8_lossy(&bytes).chars().take(500).collect();
                Err(ClusterError::Status { address: address.to_owned(), status, text })
            }
        }
    }
}

/// Whether a retry makes sense. An unknown service is one whose workers have not registered yet.
fn is_passing(error: &ClusterError, ingress: bool) -> bool {
    match error {
        ClusterError::Unreachable(..) => true,
        // Queries fail with 500 while a partition has no leader.
        ClusterError::Status { status, .. } => {
            matches!(status, 429 | 502..=504) || *status == if ingress { 404 } else { 500 }
        }
        ClusterError::BadAddress(_) | ClusterError::Unreadable(_) => false,
    }
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
