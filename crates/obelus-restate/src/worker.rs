//! A process that works at sessions: it serves the object and the effects, and makes itself known to the cluster.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use obelus_runtime::{Clock, Connector, system_clock};
use restate_sdk::prelude::{Endpoint, HttpServer};
use tokio::net::{TcpListener, TcpSocket};

use crate::client::{Cluster, ClusterError};
use crate::effects::EffectService;
use crate::live::Sessions;
use crate::object::SessionObject;
use crate::store::RestateStore;

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// It cannot listen at its address.
    #[error("{0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// The cluster does not take it.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// A worker that listens, and is not known to the cluster yet.
pub struct Worker {
    listener: TcpListener,
    address: SocketAddr,
    cluster: Cluster,
    connector: Arc<dyn Connector>,
    agents: Option<PathBuf>,
    clock: Clock,
}

impl Worker {
    /// A worker for the sessions of a cluster. Workers of one machine may share an address: the system gives each
    /// connection to one of them.
    pub async fn bind(cluster: Cluster, connector: impl Connector, listen: SocketAddr) -> Result<Self, WorkerError> {
        let listener = listen_at(listen).map_err(|error| WorkerError::Listen(listen, error))?;
        let address = listener.local_addr().map_err(|error| WorkerError::Listen(listen, error))?;
        let connector = Arc::new(connector);
        Ok(Self { listener, address, cluster, connector, agents: None, clock: system_clock })
    }

    /// Takes the time from here. Tests pass their own.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Looks below this folder for agents whose own path is not on this machine.
    #[must_use]
    pub fn agents(self, agents: Option<PathBuf>) -> Self {
        Self { agents, ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How the worker is made known to the cluster, under an address at which the cluster reaches it, such as that of a
    /// load balancer in front of all workers of one version. It asks the worker for its handlers, so let it serve.
    pub fn registration(&self, uri: &str, force: bool) -> Registration {
        Registration { cluster: self.cluster.clone(), uri: uri.to_owned(), force }
    }

    /// Works until it is told to end. What is under way then has ten seconds to come to its end; what has not ended goes on
    /// in another worker.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let Self { listener, cluster, connector, agents, clock, .. } = self;
        let sessions = Arc::new(Sessions::new(RestateStore::new(cluster), connector, agents));
        let object = SessionObject(Arc::clone(&sessions));
        let endpoint = Endpoint::builder().bind(object).bind(EffectService { sessions, clock }).build();
        HttpServer::new(endpoint).serve_with_cancel(listener, end).await;
    }
}

/// Makes a worker known to the cluster.
pub struct Registration {
    cluster: Cluster,
    uri: String,
    force: bool,
}

impl Registration {
    /// Tries until the cluster is there. `waits` is told why it has to wait.
    pub async fn run(self, waits: impl Fn(&ClusterError)) -> Result<(), WorkerError> {
        loop {
            match self.cluster.register(&self.uri, self.force).await {
                Ok(()) => return Ok(()),
                Err(error @ ClusterError::Unreachable(..)) => waits(&error),
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

fn listen_at(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // A port that the system is to choose is for this worker alone.
    #[cfg(unix)]
    if address.port() != 0 {
        socket.set_reuseport(true)?;
    }
    socket.bind(address)?;
    socket.listen(1024)
}
