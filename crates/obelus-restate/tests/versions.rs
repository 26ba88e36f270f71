//! A new version of the workers starts while sessions wait and run; none of them breaks.

#[path = "../../obelus-runtime/tests/common/mod.rs"]
mod common;
#[path = "common/server.rs"]
mod server;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{chain, counting, open_questions, read, run_plan};
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Decision, TurnEnd};
use obelus_restate::{Cluster, RestateStore, Worker};
use obelus_runtime::{Activities, ConnectError, ConnectFuture, Connections, Connector, Host, SessionSpec};
use serde_json::{Value, json};
use server::Server;
use tokio::sync::{Semaphore, oneshot};

/// A version of the workers, and the means to end it.
struct Version {
    uri: String,
    calls: Arc<AtomicUsize>,
    end: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<()>,
}

async fn version(cluster: &Cluster) -> Version {
    let calls = Arc::new(AtomicUsize::new(0));
    let connections = Connections::new(counting(&calls));
    version_of(cluster, connections, calls).await
}

async fn version_of(cluster: &Cluster, connector: impl Connector, calls: Arc<AtomicUsize>) -> Version {
    version_at("127.0.0.1:0", cluster, connector, calls).await
}

async fn version_at(at: &str, cluster: &Cluster, connector: impl Connector, calls: Arc<AtomicUsize>) -> Version {
    let worker = Worker::bind(cluster.clone(), connector, at.parse().unwrap()).await.unwrap();
    let uri = format!("http://{}", worker.address());
    let registration = worker.registration(&uri, false);
    let (end, is_over) = oneshot::channel();
    let ended = tokio::spawn(worker.serve(async move {
        let _ = is_over.await;
    }));
    registration.run(|_| ()).await.unwrap();
    Version { uri, calls, end, ended }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn waiting_sessions_continue_in_the_new_version() {
    let server = Server::start("versions");
    let cluster = Cluster::new(&server.ingress, &server.admin).unwrap();
    let first = version(&cluster).await;
    let store = RestateStore::new(cluster.clone());
    let connections = Connections::new(counting(&Arc::default()));
    let host = Host::builder(connections).store(store.shared()).workers(store.workers()).build();
    let mut waiting = Vec::new();
    for i in 0..8 {
        let handle = host.create(&format!("s-{i}"), chain("delete", 2)).await.unwrap();
        assert_eq!(run_plan(&handle).await.ends, TurnEnd::Waiting);
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
            assert_eq!(reply.ends, if n == 2 { TurnEnd::Output } else { TurnEnd::Waiting });
        }
        assert_eq!(read(handle, "†state.v1").await, Some(json!(2)));
    }
    assert_eq!((first.calls.load(Ordering::SeqCst), second.calls.load(Ordering::SeqCst)), (0, 16));
    second.end.send(()).unwrap();
}

/// The unfinished work of a version, by the query that docs/scaling.md gives.
async fn unfinished(server: &Server, version: &Version) -> u64 {
    let http = reqwest::Client::new();
    let read = async |request: reqwest::RequestBuilder| -> Value {
        let request = request.header("content-type", "application/json").header("accept", "application/json");
        let answer = request.send().await.unwrap().error_for_status().unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    };
    let known = read(http.get(format!("{}/deployments", server.admin))).await;
    let is_it = |deployment: &&Value| deployment["uri"].as_str().unwrap().trim_end_matches('/') == version.uri;
    let id = &known["deployments"].as_array().unwrap().iter().find(is_it).unwrap()["id"];
    let id = id.as_str().unwrap();
    let query = format!(
        "select count(*) as n from sys_invocation where pinned_deployment_id = '{id}' and status <> 'completed'"
    );
    let request = http.post(format!("{}/query", server.admin)).body(json!({"query": query}).to_string());
    read(request).await["rows"][0]["n"].as_u64().unwrap()
}

/// `step` waits for its permit and adds one; `calls` counts its runs.
fn gated(gate: &Arc<Semaphore>, calls: &Arc<AtomicUsize>) -> Connections {
    let (gate, calls) = (Arc::clone(gate), Arc::clone(calls));
    let mut activities = Activities::new();
    activities.register("step", move |work| {
        calls.fetch_add(1, Ordering::SeqCst);
        let gate = Arc::clone(&gate);
        async move {
            let _permit = gate.acquire().await;
            Ok(json!(work.call["n"].as_i64().unwrap_or(0) + 1))
        }
    });
    Connections::new(activities)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn working_sessions_continue_in_the_new_version_and_repeat_nothing() {
    const SESSIONS: usize = 16;
    const STEPS: usize = 8;
    let server = Server::start("working");
    let cluster = Cluster::new(&server.ingress, &server.admin).unwrap();
    let (gate, calls) = (Arc::new(Semaphore::new(0)), Arc::default());
    let connections = gated(&gate, &calls);
    let first = version_of(&cluster, connections.clone(), calls).await;
    let store = RestateStore::new(cluster.clone());
    let host = Host::builder(connections).store(store.shared()).workers(store.workers()).build();
    let mut working = Vec::new();
    for i in 0..SESSIONS {
        let handle = host.create(&format!("s-{i}"), chain("create", STEPS)).await.unwrap();
        handle.run_plan().await.unwrap();
        working.push(handle);
    }
    while first.calls.load(Ordering::SeqCst) < SESSIONS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    // The running calls end in the first version, and their sessions continue in the second.
    let second = version(&cluster).await;
    assert!(unfinished(&server, &first).await >= SESSIONS as u64, "the query sees running calls");
    gate.add_permits(SESSIONS);
    while unfinished(&server, &first).await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    first.end.send(()).unwrap();
    first.ended.await.unwrap();
    for handle in &working {
        assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
        assert_eq!(read(handle, &format!("†state.v{}", STEPS - 1)).await, Some(json!(STEPS)));
    }
    let (before, after) = (first.calls.load(Ordering::SeqCst), second.calls.load(Ordering::SeqCst));
    assert_eq!(before + after, SESSIONS * STEPS, "each effect happened once");
    assert!(after > 0, "the new version worked");
    second.end.send(()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn calls_that_run_in_a_worker_that_ends_are_not_in_doubt() {
    const SESSIONS: usize = 8;
    let server = Server::start("ending");
    let cluster = Cluster::new(&server.ingress, &server.admin).unwrap();
    let (gate, calls) = (Arc::new(Semaphore::new(0)), Arc::default());
    let connections = gated(&gate, &calls);
    let at = format!("127.0.0.1:{}", server::free_ports::<1>()[0]);
    let first = version_at(&at, &cluster, connections.clone(), Arc::clone(&calls)).await;
    let store = RestateStore::new(cluster.clone());
    let host = Host::builder(connections.clone()).store(store.shared()).workers(store.workers()).build();
    let mut working = Vec::new();
    for i in 0..SESSIONS {
        let handle = host.create(&format!("s-{i}"), chain("create", 2)).await.unwrap();
        handle.run_plan().await.unwrap();
        working.push(handle);
    }
    while calls.load(Ordering::SeqCst) < SESSIONS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let _second = version_at(&at, &cluster, connections, Arc::clone(&calls)).await;
    first.end.send(()).unwrap();
    // Requests that come meanwhile do not break those that run.
    for i in 0..4 {
        host.create(&format!("other-{i}"), chain("create", 1)).await.unwrap();
    }
    gate.add_permits(SESSIONS);
    first.ended.await.unwrap();
    for handle in &working {
        assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    }
    assert_eq!(calls.load(Ordering::SeqCst), 2 * SESSIONS, "each effect happened once");
}

/// A version that cannot connect any session.
struct Broken;

impl Connector for Broken {
    fn begin<'a>(
        &'a self,
        spec: &'a mut SessionSpec,
        _: Option<&'a Path>,
    ) -> ConnectFuture<'a, Result<Connections, ConnectError>> {
        Box::pin(std::future::ready(self.resume(spec, None)))
    }

    fn resume(&self, _: &SessionSpec, _: Option<&Path>) -> Result<Connections, ConnectError> {
        Err(ConnectError("on purpose".to_owned()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn dur_12_outcomes_wait_for_a_version_that_can_restore_the_session() {
    let server = Server::start("parked");
    let cluster = Cluster::new(&server.ingress, &server.admin).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let go_on = Arc::new(Semaphore::new(0));
    let connections = gated(&go_on, &calls);
    let _first = version_of(&cluster, connections.clone(), Arc::clone(&calls)).await;
    let store = RestateStore::new(cluster.clone());
    let host = Host::builder(connections.clone()).store(store.shared()).workers(store.workers()).build();
    let handle = host.create("s", chain("create", 1)).await.unwrap();
    handle.run_plan().await.unwrap();
    while calls.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    // The call ends in the first version. Its result goes to the second, which cannot use it.
    let _second = version_of(&cluster, Broken, Arc::default()).await;
    go_on.add_permits(1);
    let refused = handle.pause("ann").await.unwrap_err();
    assert!(refused.code == RefusalCode::Unreadable && refused.text.contains("on purpose"), "{refused:?}");
    let _third = version_of(&cluster, connections, Arc::clone(&calls)).await;
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!((calls.load(Ordering::SeqCst), read(&handle, "†state.v0").await), (1, Some(json!(1))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_worker_that_cannot_open_a_session_warns_and_is_named_in_the_error() {
    let server = Server::start("warns");
    let cluster = Cluster::new(&server.ingress, &server.admin).unwrap();
    let worker = Worker::bind(cluster.clone(), Broken, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let warned: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&warned);
    let worker = worker.warning(move |line| heard.lock().unwrap().push(line.to_owned()));
    let registration = worker.registration(&format!("http://{}", worker.address()), false);
    tokio::spawn(worker.serve(std::future::pending()));
    registration.run(|_| ()).await.unwrap();
    let store = RestateStore::new(cluster);
    let connections = Connections::new(counting(&Arc::default()));
    let host = Host::builder(connections).store(store.shared()).workers(store.workers()).build();
    let error = host.create("s", chain("create", 1)).await.map(drop).unwrap_err().to_string();
    assert!(error.contains("on a worker") && error.contains("--agents"), "{error}");
    let warned = warned.lock().unwrap();
    assert!(warned.len() == 1 && warned[0].contains("on purpose"), "{warned:?}");
}
