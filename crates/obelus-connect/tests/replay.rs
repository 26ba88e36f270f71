//! Records a conversation and replays it without its model.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{example, live, say};
use obelus_connect::model::{ModelSpec, Recorder, Replay, open};
use obelus_kernel::session::{Reply, TurnEnd};
use obelus_runtime::Model;
use serde_json::{Value, json};

/// A file of this test.
fn file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

fn lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Plays a conversation; returns the replies and the session.
async fn converse(model: Arc<dyn Model>, lazy: bool, words: &[&str]) -> (Vec<Value>, Value) {
    let live = live(model, lazy).await;
    let mut replies = Vec::new();
    for words in words {
        let reply: Reply = say(&live, words).await;
        replies.push(serde_json::to_value(reply).unwrap());
    }
    let mut all = live.look(obelus_kernel::session::Session::snapshot).await;
    // The id differs in every session.
    all["id"] = Value::Null;
    (replies, all)
}

#[tokio::test]
async fn a_recorded_conversation_is_replayed_exactly() {
    for (name, lazy, words) in [
        ("deal-sum", false, ["Измени сумму сделки 1 на 7", "Измени сумму сделки 2 на 7"]),
        ("reminders", true, ["Напомни всем", "Что-то ещё"]),
    ] {
        let path = file(&format!("{name}.jsonl"));
        let recorder = Arc::new(Recorder::open(example(name), &path).unwrap());
        let recorded = converse(recorder, lazy, &words).await;
        let replay = open(&ModelSpec::Replay(path.clone()), Path::new("/")).unwrap();
        assert_eq!(converse(replay, lazy, &words).await, recorded, "{name}");
        assert!(lines(&path).len() >= 4, "{name}");
    }
}

#[tokio::test]
async fn failures_are_recorded_and_a_missing_recording_is_a_failure() {
    let path = file("failure.jsonl");
    let recorder = Arc::new(Recorder::open(example("deal-sum"), &path).unwrap());
    let (replies, _) = converse(recorder.clone(), false, &["Что?"]).await;
    assert_eq!(replies[0]["reason"]["code"], json!("playbook"));
    assert_eq!(lines(&path)[0]["answer"]["failed"]["code"], json!("playbook"));
    assert_eq!(lines(&path)[0]["user"], json!("Что?"));

    let replay = Arc::new(Replay::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap());
    let live = live(replay, false).await;
    let reply = say(&live, "Другое").await;
    assert_eq!(reply.ends, TurnEnd::Degraded);
    let reason = reply.reason.unwrap();
    assert_eq!(reason.code, "replay");
    assert!(reason.message.contains("«Другое»"), "{}", reason.message);
}

#[tokio::test]
async fn recording_continues_at_the_end_of_the_file() {
    let path = file("appended.jsonl");
    for words in ["Привет", "Спасибо"] {
        let recorder = Arc::new(Recorder::open(example("greeting"), &path).unwrap());
        converse(recorder, false, &[words]).await;
    }
    let users: Vec<Value> = lines(&path).into_iter().map(|line| line["user"].clone()).collect();
    assert_eq!(users, ["Привет", "Спасибо"]);
}
