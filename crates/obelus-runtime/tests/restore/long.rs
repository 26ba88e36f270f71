//! Restoring a session of 50,000 calls costs as much as its checkpoint and the records after it.

use std::process::Command;
use std::sync::Arc;

use obelus_kernel::session::{Input, Mode, Session, Settings, Task};
use obelus_kernel::{Context, Time};
use obelus_runtime::engine::{CheckpointData, Record, SessionFactory, advance, restore};
use obelus_runtime::{SqliteStore, Store};
use serde_json::{Value, json};

const TURNS: usize = 50;
const CALLS: usize = 1_000;
/// Size of a result in bytes.
const RESULT: usize = 400;

/// Limit of the child's address space in kilobytes.
const LIMIT: usize = 600_000;

/// The environment variable with the folder of the store, for the child.
const FOLDER: &str = "OBELUS_LONG_SESSION";

/// A session in which every call appends its result to a list.
fn session() -> Session {
    let tool = json!({"type": "object", "properties": {"n": {}}, "x-effect": "read", "x-trust": "trusted"});
    let call = |n| json!({"_tool": "step", "n": n, "_outputPath": "†state.all", "_outputMethod": "push"});
    let plan: Value = (0..CALLS).map(call).collect();
    let messages = json!([{"type": "tool", "tool": {"step": tool}}, {"type": "plan", "plan": plan}]);
    let settings = Settings {
        mode: Mode::Full,
        activities: ["step".to_owned()].into(),
        max_calls: u32::MAX,
        ..Settings::default()
    };
    Session::new("s", Context::from_value(messages).unwrap(), None, Arc::new(settings)).unwrap()
}

fn session_factory() -> SessionFactory {
    Arc::new(|| Ok(session()))
}

/// Plays this many turns; returns their records.
fn live(session: &mut Session, turns: usize) -> Vec<Record> {
    let mut records = Vec::new();
    for _ in 0..turns {
        let mut inputs = vec![Input::RunPlan];
        while let Some(input) = inputs.pop() {
            let advanced = advance(session, Time(1_000), input.clone()).unwrap();
            records.push(Record { digest: Some(advanced.digest), ..Record::new(Time(1_000), input) });
            inputs.extend(advanced.tasks.into_iter().filter_map(|task| match task {
                Task::Call(start) => {
                    let outcome = json!({"value": "x".repeat(RESULT)});
                    let ended = json!({"ended": {"id": start.id.to_string(), "outcome": outcome}});
                    Some(serde_json::from_value(ended).unwrap())
                }
                _ => None,
            }));
        }
        assert!(session.is_at_rest());
    }
    records
}

/// Restores the session in a child process under the limit.
fn restore_in_child(folder: &std::path::Path) {
    let child = format!("ulimit -v {LIMIT}; exec \"$0\" --exact long::the_child_restores_it --ignored --nocapture");
    let ended = Command::new("sh")
        .args(["-c", &child])
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "the test below runs it"]
fn the_child_restores_it() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.as_ref()).unwrap());
    let restored = restore(&store, "s", &session_factory()).unwrap();
    assert_eq!(restored.last, (TURNS * (CALLS + 1)) as u64 - 1);
    assert_eq!(restored.open.len(), 1, "the last call was under way");
    let state = restored.session.state();
    assert_eq!(state["all"].as_array().map(Vec::len), Some(TURNS * CALLS - 1));
    let mut states = 0;
    restored.states.visit(|_| states += 1);
    assert_eq!(states, 0, "no model was asked, and there was no rest");
}

#[test]
#[ignore = "slow: run by the long part of the suite"]
fn a_session_of_50_000_calls_is_restored_under_a_memory_limit() {
    let folder = std::env::temp_dir().join(format!("obelus-long-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let store = SqliteStore::open(&folder).unwrap();
    let mut session = session();
    let mut records = live(&mut session, TURNS - 1);
    let (rest, checkpoint) = (records.len() as u64, session.checkpoint());
    assert!(checkpoint.is_some());
    records.extend(live(&mut session, 1));
    // Removes the end of the last call.
    records.pop();
    store.create("s", Time(0), &json!({}), records).unwrap();
    drop(store);
    restore_in_child(&folder);
    let store = SqliteStore::open(&folder).unwrap();
    store.store_checkpoint("s", rest, CheckpointData { checkpoint, ..CheckpointData::default() });
    drop(store);
    restore_in_child(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
}
