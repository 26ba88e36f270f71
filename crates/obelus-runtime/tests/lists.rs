//! Lists of stored sessions: what was stored with a session at rest is enough.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use common::{Small, chain, clock, counting, spec, tool};
use obelus_kernel::session::{About, CallError};
use obelus_runtime::engine::CheckpointData;
use obelus_runtime::sessions::SessionStatus;
use obelus_runtime::{Activities, Connections, Host, SessionHandle, SessionSpec, Store as _};
use serde_json::{Value, json};

/// A new host over a store.
fn over(store: &Arc<Small>) -> Host {
    let activities = counting(&Arc::new(AtomicUsize::new(0)));
    Host::builder(Connections::new(activities)).store(Arc::clone(store) as _).clock(clock).build()
}

/// A plan with one call that needs a person.
fn asking() -> SessionSpec {
    spec(json!({"step": tool("delete")}), json!([{"_tool": "step", "n": 1, "_outputPath": "†state.a"}]))
}

async fn run(handle: &SessionHandle) {
    handle.run_plan().await.unwrap();
    handle.rested().await.unwrap();
}

#[tokio::test]
async fn a_list_of_idle_sessions_restores_none() {
    let store = Arc::new(Small::default());
    let host = over(&store);
    for id in ["done", "asks", "new"] {
        let spec = if id == "asks" { asking() } else { chain("read", 2) };
        let handle = host.create(id, spec).await.unwrap();
        if id != "new" {
            run(&handle).await;
        }
    }
    host.close().await;
    let host = over(&store);
    let summary = |id: &str| host.summary(id).unwrap();
    let seen = |id: &str| (summary(id).status, summary(id).questions, summary(id).agent);
    assert_eq!(seen("done"), (SessionStatus::Done, 0, "test".to_owned()));
    assert_eq!(seen("asks"), (SessionStatus::Waiting, 1, "test".to_owned()));
    assert_eq!(seen("new"), (SessionStatus::New, 0, "test".to_owned()));
    assert_eq!(host.restored(), 0, "what was stored at rest is enough");
    assert_eq!(host.page(None, 2).unwrap().len(), 2);
}

#[tokio::test]
async fn a_detached_call_that_was_interrupted_is_in_the_inbox_and_its_session_waits() {
    let store = Arc::new(Small::default());
    let connections = || {
        let mut activities = Activities::new();
        activities.register("step", |_| std::future::pending::<Result<Value, CallError>>());
        Connections::new(activities)
    };
    let open = || Host::builder(connections()).store(Arc::clone(&store) as _).clock(clock).build();
    let host = open();
    // Nothing reads the result, so that the turn ends while the call runs.
    let spec = spec(json!({"step": tool("create")}), json!([{"_tool": "step", "n": 1}]));
    run(&host.create("s", spec).await.unwrap()).await;
    host.close().await;
    let host = open();
    let rows = host.inbox().unwrap();
    assert!(rows.len() == 1 && rows[0].questions.is_none(), "a server opens it at its start: {rows:?}");
    let summary = host.summary("s").unwrap();
    assert_eq!((summary.status, summary.questions), (SessionStatus::Waiting, 1));
    let handle = host.open("s").await.unwrap();
    handle.finished().await.unwrap();
    let open = common::open_questions(&handle).await;
    assert_eq!((open.len(), open[0].about), (1, About::InDoubt));
    host.close().await;
    assert_eq!(store.inbox().unwrap()[0].questions.as_ref().map(Vec::len), Some(1), "nothing runs any more");
}

#[tokio::test]
async fn a_session_stored_without_a_summary_is_restored_once_for_the_list() {
    let store = Arc::new(Small::default());
    let host = over(&store);
    run(&host.create("asks", asking()).await.unwrap()).await;
    host.close().await;
    let records = store.list().unwrap()[0].records;
    store.store_checkpoint("asks", records, CheckpointData::default());
    let host = over(&store);
    for _ in 0..3 {
        let summary = host.summary("asks").unwrap();
        assert_eq!((summary.status, summary.questions), (SessionStatus::Waiting, 1));
    }
    assert_eq!(host.restored(), 1);
    assert_eq!(store.inbox().unwrap()[0].questions.as_ref().map(Vec::len), Some(1), "the inbox knows it too");
}
