//! The shared suite on Restate: a real server, one worker thread, and hosts.

#[path = "../../obelus-runtime/tests/common/mod.rs"]
mod common;
#[path = "common/server.rs"]
mod server;
#[path = "../../obelus-runtime/tests/suite/mod.rs"]
#[macro_use]
mod suite;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use obelus_restate::{Cluster, RestateStore, Worker};
use obelus_runtime::{ConnectError, ConnectFuture, Connections, Connector, Host, SessionSpec};
use server::Server;
use suite::World;

/// The worker's connections, by the name of the session's spec.
#[derive(Clone, Default)]
struct Registry(Arc<Mutex<BTreeMap<String, Connections>>>);

impl Connector for Registry {
    fn begin<'a>(
        &'a self,
        spec: &'a mut SessionSpec,
        _: Option<&'a Path>,
    ) -> ConnectFuture<'a, Result<Connections, ConnectError>> {
        Box::pin(std::future::ready(self.resume(spec, None)))
    }

    fn resume(&self, spec: &SessionSpec, _: Option<&Path>) -> Result<Connections, ConnectError> {
        let known = self.0.lock().unwrap().get(&spec.name).cloned();
        known.ok_or_else(|| ConnectError(format!("nothing is known of `{}`", spec.name)))
    }
}

/// The connections of one case; they set the name of its specs.
struct Named(String, Connections);

impl Connector for Named {
    fn begin<'a>(
        &'a self,
        spec: &'a mut SessionSpec,
        _: Option<&'a Path>,
    ) -> ConnectFuture<'a, Result<Connections, ConnectError>> {
        spec.name.clone_from(&self.0);
        Box::pin(std::future::ready(Ok(self.1.clone())))
    }

    fn resume(&self, _: &SessionSpec, _: Option<&Path>) -> Result<Connections, ConnectError> {
        Ok(self.1.clone())
    }
}

/// One server and one worker for all cases.
struct Engine {
    cluster: Cluster,
    registry: Registry,
    /// Ends with the process.
    _server: Server,
}

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let server = Server::start("engine");
    let cluster = Cluster::new(&server.ingress, &server.admin).expect("a cluster");
    let registry = Registry::default();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let (connector, of_worker) = (registry.clone(), cluster.clone());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async move {
            let worker = Worker::bind(of_worker, connector, "127.0.0.1:0".parse().unwrap()).await.unwrap();
            let uri = format!("http://{}", worker.address());
            let (registered, is_registered) = tokio::sync::oneshot::channel::<()>();
            let registering = worker.registration(&uri, false);
            tokio::spawn(async move {
                registering.run(|_| ()).await.unwrap();
                let _ = registered.send(());
            });
            tokio::spawn(async move {
                is_registered.await.unwrap();
                ready.send(()).unwrap();
            });
            worker.serve(std::future::pending()).await;
        });
    });
    is_ready.recv().expect("the worker is ready");
    Engine { cluster, registry, _server: server }
});

struct Restate(String);

impl World for Restate {
    fn host(&self, connections: Connections) -> Host {
        ENGINE.registry.0.lock().unwrap().insert(self.0.clone(), connections.clone());
        let store = RestateStore::new(ENGINE.cluster.clone());
        Host::builder(Named(self.0.clone(), connections)).store(store.shared()).workers(store.workers()).build()
    }

    fn id(&self, name: &str) -> String {
        // Names have at most 64 characters.
        let case: String = self.0.chars().take(48).collect();
        format!("{case}-{name}")
    }
}

suite!(|name: &str| Restate(name.to_owned()));
