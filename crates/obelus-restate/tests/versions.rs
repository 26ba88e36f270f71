//! A new version of the workers comes while sessions wait and work: none breaks.

#[path = "../../obelus-runtime/tests/common/mod.rs"]
mod common;
#[path = "common/server.rs"]
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{chain, counting, open_questions, read, run_plan};
use obelus_kernel::session::{Decision, Ends};
use obelus_restate::{Cluster, RestateStore, Worker};
use obelus_runtime::{Connections, Host};
use serde_json::json;
use server::Server;
use tokio::sync::oneshot;

/// A version of the workers, and what ends it.
struct Version {
    calls: Arc<AtomicUsize>,
    end: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<()>,
}

async fn version(cluster: &Cluster) -> Version {
    let calls = Arc::new(AtomicUsize::new(0));
    let connections = Connections::new(counting(&calls));
    let worker = Worker::bind(cluster.clone(), connections, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let registration = worker.registration(&format!("http://{}", worker.address()), false);
    let (end, is_over) = oneshot::channel();
    let ended = tokio::spawn(worker.serve(async move {
        let _ = is_over.await;
    }));
    registration.run(|_| ()).await.unwrap();
    Version { calls, end, ended }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn sessions_that_wait_go_on_in_the_new_version() {
    let server = Server::start("versions");
    let cluster = Cluster::new(&server.ingress, &server.admin).unwrap();
    let first = version(&cluster).await;
    let store = RestateStore::new(cluster.clone());
    let connections = Connections::new(counting(&Arc::default()));
    let host = Host::builder(connections).store(store.shared()).workers(store.workers()).build();
    let mut waiting = Vec::new();
    for i in 0..8 {
        let handle = host.create(&format!("s-{i}"), chain("delete", 2)).await.unwrap();
        assert_eq!(run_plan(&handle).await.ends, Ends::Waiting);
        waiting.push(handle);
    }

    let second = version(&cluster).await;
    first.end.send(()).unwrap();
    first.ended.await.unwrap();
    for handle in &waiting {
        for n in 1..=2 {
            let question = open_questions(handle).await.remove(0).id;
            handle.answer(question, Decision::Approve { only: None }, "ann").await.unwrap();
            let reply = handle.rested().await.unwrap().unwrap();
            assert_eq!(reply.ends, if n == 2 { Ends::Output } else { Ends::Waiting });
        }
        assert_eq!(read(handle, "†state.v1").await, Some(json!(2)));
    }
    assert_eq!((first.calls.load(Ordering::SeqCst), second.calls.load(Ordering::SeqCst)), (0, 16));
    second.end.send(()).unwrap();
}
