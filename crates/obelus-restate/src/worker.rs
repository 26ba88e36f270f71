//! The worker process: it serves the object and the effects, and registers with the cluster.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use obelus_runtime::{Clock, Connector, system_clock};
use restate_sdk::prelude::{Endpoint, HttpServer};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;

use crate::client::{Cluster, ClusterError};
use crate::effects::EffectService;
use crate::live::Sessions;
use crate::object::SessionObject;
use crate::registration::Registration;
use crate::running::RunningEffects;
use crate::store::RestateStore;
use crate::warnings::Warnings;

/// How long running effects may take when the worker ends.
const GRACE: Duration = Duration::from_secs(10);

/// Why a worker failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// It cannot listen at its address.
    #[error("{0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// The cluster refuses it.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// A listening worker, not yet registered with the cluster.
pub struct Worker {
    listener: TcpListener,
    address: SocketAddr,
    cluster: Cluster,
    connector: Arc<dyn Connector>,
    agents: Option<PathBuf>,
    clock: Clock,
    warnings: Warnings,
}

impl Worker {
    /// A worker for the sessions of a cluster. Workers of one machine may share an address: the system distributes
    /// connections among them.
    pub async fn bind(cluster: Cluster, connector: impl Connector, listen: SocketAddr) -> Result<Self, WorkerError> {
        let listener = listen_at(listen).map_err(|error| WorkerError::Listen(listen, error))?;
        let address = listener.local_addr().map_err(|error| WorkerError::Listen(listen, error))?;
        let connector = Arc::new(connector);
        let warnings = Warnings::new(|_| ());
        Ok(Self { listener, address, cluster, connector, agents: None, clock: system_clock, warnings })
    }

    /// Sets the clock. Tests pass their own.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sets the folder of agents whose own path is missing on this machine.
    #[must_use]
    pub fn agents(self, agents: Option<PathBuf>) -> Self {
        Self { agents, ..self }
    }

    /// Sets the function that reports sessions that cannot be opened.
    #[must_use]
    pub fn warning(self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { warnings: Warnings::new(warn), ..self }
    }

    /// The address it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The registration of the worker under an address that the cluster can reach, such as a load balancer in front
    /// of all workers of one version. The cluster asks the worker for its handlers, so it must be serving.
    /// New work goes to the address that was registered last. A worker that returns to an earlier address does not take
    /// the new work back, unless it is to be the `newest`.
    pub fn registration(&self, uri: &str, newest: bool) -> Registration {
        Registration { cluster: self.cluster.clone(), uri: uri.to_owned(), newest }
    }

    /// Serves until `end` completes. Running work then has ten seconds; the rest continues in another worker.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let Self { listener, cluster, connector, agents, clock, warnings, .. } = self;
        let sessions = Arc::new(Sessions::new(RestateStore::of_worker(cluster), connector, agents, warnings));
        let running = Arc::new(RunningEffects::default());
        let object = SessionObject(Arc::clone(&sessions));
        let effects = EffectService { sessions, clock, running: Arc::clone(&running) };
        let endpoint = Endpoint::builder().bind(object).bind(effects).build();
        let (late, is_late) = oneshot::channel();
        let ended = async move {
            end.await;
            if tokio::time::timeout(GRACE, running.end()).await.is_err() {
                // The server under it would wait once more.
                let _ = late.send(());
            }
        };
        tokio::select! {
            () = HttpServer::new(endpoint).serve_with_cancel(listener, ended) => {}
            Ok(()) = is_late => {}
        }
    }
}

fn listen_at(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // A port chosen by the system is not shared.
    #[cfg(unix)]
    if address.port() != 0 {
        socket.set_reuseport(true)?;
    }
    socket.bind(address)?;
    socket.listen(1024)
}
