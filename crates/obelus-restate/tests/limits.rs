//! Moving sessions between the engines, and the limits of this one: large messages, and questions of running calls.

#[path = "../../obelus-runtime/tests/common/mod.rs"]
mod common;
#[path = "common/server.rs"]
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{chain, counting, open_questions, read, run_plan, snapshot, spec, tool};
use obelus_kernel::session::{CallError, Decision, TurnEnd};
use obelus_restate::{Cluster, RestateStore, Worker};
use obelus_runtime::{Activities, Connections, Elicited, Host, HostError, MemoryStore, SessionHandle, StoreError};
use serde_json::{Value, json};
use server::Server;

/// A host in front of a new cluster with one worker.
async fn cluster(server: &Server, connections: &Connections) -> (Host, RestateStore) {
    let cluster = Cluster::new(&server.ingress, &server.admin).unwrap();
    let worker = Worker::bind(cluster.clone(), connections.clone(), "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let registration = worker.registration(&format!("http://{}", worker.address()), false);
    tokio::spawn(worker.serve(std::future::pending()));
    registration.run(|_| ()).await.unwrap();
    let store = RestateStore::new(cluster);
    (Host::builder(connections.clone()).store(store.shared()).workers(store.workers()).build(), store)
}

/// `step` returns a text of `n` megabytes.
fn verbose() -> Connections {
    let mut activities = Activities::new();
    activities.register("step", |work| {
        let megabytes = work.call["n"].as_u64().unwrap_or_default();
        async move { Ok(json!("x".repeat(usize::try_from(megabytes).unwrap() << 20))) }
    });
    Connections::new(activities)
}

/// A session on one machine whose calls return texts of these sizes.
async fn session_of(host: &Host, name: &str, megabytes: &[u64]) -> String {
    let call = |(i, n): (usize, &u64)| json!({"_tool": "step", "n": n, "_outputPath": format!("†state.v{i}")});
    let plan: Value = megabytes.iter().enumerate().map(call).collect();
    let handle = host.create(name, spec(json!({"step": tool("read")}), plan)).await.unwrap();
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    snapshot(&handle).await
}

/// Moves a session to another host.
async fn moved(from: &Host, to: &Host) -> SessionHandle {
    let (from, to, target) = (from.clone(), to.clone(), to.clone());
    let moving = tokio::task::spawn_blocking(move || to.import("s", from.export("s").unwrap(), false).unwrap());
    moving.await.unwrap();
    target.open("s").await.unwrap()
}

/// Approves the open question of a session, and waits for its rest.
async fn approved(handle: &SessionHandle) -> TurnEnd {
    let question = open_questions(handle).await.remove(0).id;
    handle.answer(question, Decision::Approve { only: None }, "ann").await.unwrap();
    handle.rested().await.unwrap().unwrap().ends
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_session_is_moved_to_a_cluster_and_back_and_its_questions_are_answered_there() {
    let server = Server::start("moved");
    let calls = Arc::new(AtomicUsize::new(0));
    let connections = Connections::new(counting(&calls));
    let embedded = || Host::builder(connections.clone()).store(Arc::new(MemoryStore::new())).build();
    let (first, last) = (embedded(), embedded());
    let (cluster, _) = cluster(&server, &connections).await;
    let handle = first.create("s", chain("delete", 3)).await.unwrap();
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Waiting);
    assert_eq!(approved(&handle).await, TurnEnd::Waiting);

    let handle = moved(&first, &cluster).await;
    assert_eq!((approved(&handle).await, calls.load(Ordering::SeqCst)), (TurnEnd::Waiting, 2));
    let before = snapshot(&handle).await;
    let handle = moved(&cluster, &last).await;
    assert_eq!(snapshot(&handle).await, before);
    assert_eq!((approved(&handle).await, calls.load(Ordering::SeqCst)), (TurnEnd::Output, 3));
    assert_eq!(read(&handle, "†state.v2").await, Some(json!(3)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_larger_than_a_message_is_imported_in_parts() {
    let server = Server::start("parts");
    let connections = verbose();
    let embedded = Host::builder(connections.clone()).store(Arc::new(MemoryStore::new())).build();
    let before = session_of(&embedded, "large", &[7; 6]).await;
    let export = embedded.export("large").unwrap();
    let records = export.records.len();
    let (host, store) = cluster(&server, &connections).await;
    let importing = host.clone();
    let imported = tokio::task::spawn_blocking(move || importing.import("large", export, false)).await.unwrap();
    assert_eq!(imported.unwrap(), records as u64);
    let handle = host.open("large").await.unwrap();
    assert!(snapshot(&handle).await == before, "the session is the same");
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output, "it continues");

    // A record that is larger than a message is refused before anything is written.
    session_of(&embedded, "huge", &[1, 30]).await;
    let export = embedded.export("huge").unwrap();
    let importing = host.clone();
    let refused =
        tokio::task::spawn_blocking(move || importing.import("huge", export, false)).await.unwrap().unwrap_err();
    assert!(refused.to_string().contains("30 MB") && refused.to_string().contains("one machine"), "{refused}");
    assert!(matches!(refused, HostError::Store(StoreError::TooLarge { .. })), "{refused:?}");
    let genesis = tokio::task::spawn_blocking(move || obelus_runtime::Store::genesis(&store, "huge")).await.unwrap();
    assert_eq!(genesis.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_asks_a_person_is_declined_and_its_error_says_why() {
    let server = Server::start("asks");
    let mut activities = Activities::new();
    activities.register("step", |work| async move {
        match work.elicitor.ask("Who signs?".to_owned(), json!({"type": "string"})).await {
            Elicited::Declined(_) => Err(CallError::new("tool", "nobody signed")),
            other => Ok(json!(format!("{other:?}"))),
        }
    });
    let (host, _) = cluster(&server, &Connections::new(activities)).await;
    let handle = host.create("s", chain("create", 1)).await.unwrap();
    run_plan(&handle).await;
    assert_eq!(read(&handle, "†state.v0").await, None);
    let told = snapshot(&handle).await;
    assert!(told.contains("nobody signed (it asked a person during the call"), "{told}");
}
