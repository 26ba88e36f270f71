//! Old sessions are restored as fast as young ones.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{Folder, host, run_plan, spec};
use obelus_kernel::session::TurnEnd;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_runtime::{Activities, Connections, Host, MemoryStore, SessionSpec, SqliteStore, Store};
use serde_json::{Value, json};

/// Calls of a turn. A turn has one record more, its beginning.
const CALLS: usize = 31;

fn open(store: &SqliteStore) -> Host {
    open_shared(store.shared())
}

fn open_shared(store: Arc<dyn Store>) -> Host {
    let mut activities = Activities::new();
    activities.register("step", |work| async move { Ok(json!(work.key)) });
    host(Connections::new(activities), store)
}

/// A plan of calls; each turn overwrites the results of the last.
fn plan() -> SessionSpec {
    let call = |i| json!({"_tool": "step", "_outputPath": format!("†state.v{i}")});
    let plan: Value = (0..CALLS).map(call).collect();
    let step = json!({"type": "object", "x-effect": "read", "x-trust": "trusted"});
    spec(json!({"step": step}), plan)
}

/// Runs this many turns of that plan.
async fn grow(store: &SqliteStore, turns: usize) -> Host {
    let host = open(store);
    let handle = host.create("s", plan()).await.unwrap();
    for _ in 0..turns {
        assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    }
    host.close().await;
    host
}

fn spoil(folder: &Path, sql: &str) {
    rusqlite::Connection::open(folder.join("obelus.db")).unwrap().execute(sql, []).unwrap();
}

#[tokio::test]
async fn a_session_is_the_same_from_its_snapshot_and_from_its_journal() {
    let folder = Folder::new("snapshots-same");
    drop(grow(&SqliteStore::open(&folder.0).unwrap(), 40).await);
    let store = SqliteStore::open(&folder.0).unwrap();
    let host = open(&store);
    assert_eq!(store.snapshot("s").unwrap().unwrap().seq, 40 * (CALLS as u64 + 1), "every rest is kept");
    let from_snapshot = host.view("s", None).unwrap().snapshot().to_string();
    let early = host.view("s", Some(96)).unwrap();
    assert_eq!(early.context().length(), 2 + 3 * CALLS, "before the snapshot, the journal alone is read");
    for damage in [
        "UPDATE snapshot SET state = substr(state, 1, 200)",
        "UPDATE snapshot SET form = 99",
        "UPDATE snapshot SET seq = 99999",
        "DELETE FROM snapshot",
    ] {
        spoil(&folder.0, damage);
        assert!(store.snapshot("s").unwrap().is_none(), "{damage}");
        assert_eq!(host.view("s", None).unwrap().snapshot().to_string(), from_snapshot, "{damage}");
    }
}

#[tokio::test]
async fn a_restored_session_continues_and_gets_a_new_checkpoint() {
    let folder = Folder::new("snapshots-on");
    drop(grow(&SqliteStore::open(&folder.0).unwrap(), 4).await);
    let store = SqliteStore::open(&folder.0).unwrap();
    let before = store.snapshot("s").unwrap().unwrap().seq;
    let host = open(&store);
    let handle = host.open("s").await.unwrap();
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    run_plan(&handle).await;
    host.close().await;
    drop((host, store));
    let store = SqliteStore::open(&folder.0).unwrap();
    assert_eq!(store.snapshot("s").unwrap().unwrap().seq, before + CALLS as u64 + 1);
}

#[tokio::test]
async fn records_before_a_snapshot_are_read_only_on_demand() {
    let folder = Folder::new("snapshots-past");
    drop(grow(&SqliteStore::open(&folder.0).unwrap(), 40).await);
    let store = SqliteStore::open(&folder.0).unwrap();
    spoil(&folder.0, "UPDATE record SET input = '{' WHERE seq = 10");
    let host = open(&store);
    let handle = host.open("s").await.unwrap();
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    handle.inspect(|session| drop(session.context().to_json())).await.unwrap();
    let refused = handle.run_plan().await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::Damaged);
    assert!(refused.text.contains("record 10"), "{}", refused.text);
}

#[tokio::test]
async fn a_record_missing_before_the_snapshot_is_detected_when_the_session_is_opened() {
    for (name, is_registered) in [("snapshots-gone", true), ("snapshots-gone-soon", false)] {
        let folder = Folder::new(name);
        let mut store = SqliteStore::open(&folder.0).unwrap();
        let host = grow(&store, 4).await;
        // Until the store is closed, its latest records are not in its register.
        if is_registered {
            drop((host, store));
            store = SqliteStore::open(&folder.0).unwrap();
        }
        assert!(open(&store).view("s", None).is_ok());
        spoil(&folder.0, "DELETE FROM record WHERE seq = 10");
        let host = open(&store);
        for error in [host.open("s").await.err(), host.view("s", None).err()] {
            let text = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(text.contains("`s`") && text.contains("records of it are missing"), "{name}: {text}");
        }
        host.remove("s").await.unwrap();
        assert!(host.create("s", plan()).await.is_ok(), "the rest of the store works");
    }
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_is_written_at_rest_after_many_records_and_at_the_end() {
    let store = Arc::new(MemoryStore::new());
    let host = open_shared(store.clone());
    let handle = host.create("s", plan()).await.unwrap();
    let kept = || store.snapshot("s").unwrap().map(|snapshot| snapshot.seq);
    let records = |turns: u64| turns * (CALLS as u64 + 1);
    run_plan(&handle).await;
    run_plan(&handle).await;
    assert_eq!(kept(), None, "another turn may follow at once");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(kept(), Some(records(2)));
    for _ in 0..40 {
        run_plan(&handle).await;
    }
    assert_eq!(kept(), Some(records(2 + 32)), "1,024 records");
    host.close().await;
    assert_eq!(kept(), Some(records(42)));
}
