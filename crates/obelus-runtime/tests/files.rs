//! The readable files of a session, beside its journal.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use common::{Folder, journal, kill, say};
use obelus_kernel::Context;
use obelus_kernel::session::{Answer, Decision, Input, Prompt, Settings, Solution, TurnEnd};
use obelus_runtime::files::FileNews;
use obelus_runtime::{
    Activities, AnswerFuture, Connections, EventBody, Host, Model, SessionHandle, SessionSpec, SqliteStore, Store as _,
    Subscription,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Proposes to change a sum if the message is a number, looks something up if told to, else only answers.
#[derive(Clone, Default)]
struct Clerk {
    /// Notified when the model is asked again after looking. While `lost_in_thought`, it then never answers.
    has_looked: Arc<Notify>,
    lost_in_thought: Arc<AtomicBool>,
}

impl Model for Clerk {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        let words = prompt.texts.last().map(|(_, words)| words.clone()).unwrap_or_default();
        let calls = match words.parse::<u64>() {
            Ok(sum) => vec![json!({"_tool": "change", "id": 7, "fields": {"SUM": sum}}).into()],
            Err(_) if words == "смотри" && prompt.plan.is_empty() => vec![json!({"_tool": "look"}).into()],
            Err(_) => Vec::new(),
        };
        if !prompt.plan.is_empty() && self.lost_in_thought.load(Ordering::SeqCst) {
            self.has_looked.notify_one();
            return Box::pin(std::future::pending());
        }
        let output = if calls.is_empty() { json!("Готово") } else { Value::Null };
        let thought = Some("думаю".to_owned());
        let solution =
            Solution { thought, calls, output, sequential: true, keeps_results: true, ..Solution::default() };
        Box::pin(std::future::ready(Answer::Solution { solution, tokens: 1 }))
    }
}

fn spec() -> SessionSpec {
    let state = json!({"goals": [], "objects": {}, "in_progress": [], "planned": [], "confirmations": {}});
    let messages = json!([
        {"type": "state", "data": state, "schema": {"properties": {"goals": {"items": {"type": "string"}}}}},
        {"type": "tool", "tool": {"change": {
            "x-trust": "trusted", "x-effect": "update", "x-risky": ["fields.SUM"], "x-entity": {"name": "deal", "id": "id"},
            "properties": {"id": {"type": "integer"}, "fields": {"type": "object"}}},
            "look": {"type": "object", "x-trust": "trusted", "x-effect": "read"}}},
    ]);
    let kept =
        json!({"goals": "goals", "in_progress": "in_progress", "planned": "planned", "confirmations": "confirmations"});
    let settings = json!({"mode": "full", "kept": kept, "persistent": true, "follow_up": "after_reads"});
    let settings: Settings = serde_json::from_value(settings).unwrap();
    let context = Context::from_value(messages).unwrap();
    SessionSpec { context, settings, agent: "clerk".to_owned(), ..SessionSpec::default() }
}

struct Kept {
    folder: Folder,
    store: SqliteStore,
    clerk: Clerk,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Kept {
    fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("files-{name}"));
        let store = SqliteStore::open(&folder.0).unwrap();
        store.create("s", common::clock(), &spec().genesis().unwrap(), Vec::new()).unwrap();
        Self { folder, store, clerk: Clerk::default(), calls: Arc::default() }
    }

    /// The host of a new process.
    fn host(&self) -> Host {
        let calls = Arc::clone(&self.calls);
        let mut activities = Activities::new();
        activities.register("change", move |work| {
            calls.lock().unwrap().push((*work.call).clone());
            async { Ok(json!(true)) }
        });
        activities.register("look", |_| async { Ok(json!("seen")) });
        let connections = Connections::new(activities).with_model(self.clerk.clone());
        Host::builder(connections).store(self.store.shared()).files(&self.folder.0).build()
    }

    /// Sends a message in a separate process.
    async fn say(&self, words: &str) {
        let host = self.host();
        say(&host.open("s").await.unwrap(), words).await;
        kill(host).await;
    }

    /// People's edits of the state's file, from the journal.
    fn edits(&self) -> Vec<(Value, String)> {
        let state = |input| match input {
            Input::State { state, by, .. } => Some((state, by)),
            _ => None,
        };
        journal(&self.store, "s").into_iter().filter_map(state).collect()
    }

    fn path(&self) -> PathBuf {
        self.folder.0.join("states/s.json")
    }

    fn state(&self) -> Value {
        read(&self.path())
    }

    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        change(&mut state);
        fs::write(self.path(), format!("{state:#}")).unwrap();
    }

    fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.0.join("logs/s.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

async fn state_of(handle: &SessionHandle) -> Value {
    handle.inspect(obelus_kernel::session::Session::state).await.unwrap()
}

/// The news about files that the subscription has received.
fn news(mut events: Subscription) -> Vec<FileNews> {
    let all = std::iter::from_fn(|| events.try_next());
    let news = all.filter_map(|event| match &event.body {
        EventBody::Files { news } => Some(news.clone()),
        _ => None,
    });
    news.collect()
}

#[tokio::test]
async fn dur_7_the_file_is_the_state_whenever_the_session_rests() {
    let kept = Kept::new("rest");
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    assert_eq!(say(&handle, "500").await.ends, TurnEnd::Waiting);
    assert_eq!(kept.state(), state_of(&handle).await);
    assert_eq!(kept.state()["confirmations"]["deal_7_sum"]["status"], "requested");
    kill(host).await;
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    let events = handle.subscribe(None);
    say(&handle, "спасибо").await;
    assert_eq!(kept.state()["goals"], json!(["спасибо", "500"]));
    assert_eq!(kept.state(), state_of(&handle).await);
    assert!(news(events).is_empty(), "nobody has edited anything");
}

/// A session whose process dies within a turn, after the first iteration.
async fn cut_off(name: &str) -> Kept {
    let kept = Kept::new(name);
    kept.say("привет").await;
    kept.clerk.lost_in_thought.store(true, Ordering::SeqCst);
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    handle.say("смотри").await.unwrap();
    kept.clerk.has_looked.notified().await;
    assert_eq!(kept.state(), state_of(&handle).await, "the file is behind");
    assert_eq!(kept.state()["goals"], json!(["смотри", "привет"]));
    kill(host).await;
    kept.clerk.lost_in_thought.store(false, Ordering::SeqCst);
    kept
}

#[tokio::test]
async fn dur_7_the_file_is_the_state_after_every_iteration_and_a_crash_is_not_an_edit() {
    let kept = cut_off("iteration").await;
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!(kept.state(), state_of(&handle).await);
    kill(host).await;
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    let events = handle.subscribe(None);
    say(&handle, "спасибо").await;
    assert_eq!(kept.state(), state_of(&handle).await);
    assert_eq!(news(events), []);
    assert_eq!(kept.edits(), [], "nobody has edited anything");
    assert!(!kept.folder.0.join("states/s.json.new").exists());
}

#[tokio::test]
async fn an_edit_during_a_turn_is_detected_even_after_a_crash() {
    let kept = cut_off("middle").await;
    kept.edit(|state| state["objects"] = json!({"deal": 7}));
    // The session writes its own state beside the edited file.
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    handle.rested().await.unwrap();
    assert_eq!(read(&kept.folder.0.join("states/s.json.new")), state_of(&handle).await);
    kill(host).await;
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    say(&handle, "спасибо").await;
    let edits: Vec<Value> = kept.edits().into_iter().map(|(state, _)| state).collect();
    assert_eq!(edits, [json!({"objects": {"deal": 7}})], "the goals are ours");
    assert_eq!(kept.state()["goals"], json!(["спасибо", "смотри", "привет"]));
    assert_eq!(kept.state(), state_of(&handle).await);
}

#[tokio::test]
async fn dur_7_a_status_changed_in_the_file_is_journaled_as_a_decision_at_the_next_turn() {
    let kept = Kept::new("decide");
    kept.say("500").await;
    kept.edit(|state| state["confirmations"]["deal_7_sum"]["status"] = "approved".into());
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    let events = handle.subscribe(None);
    handle.say("ну что?").await.unwrap();
    let began = |input: &Input| matches!(input, Input::User { text, .. } if text == "ну что?");
    let journal = journal(&kept.store, "s");
    let said = journal.iter().position(began).expect("what was said is durable");
    let done = journal.iter().position(|input| matches!(input, Input::Ended { .. })).unwrap();
    assert!(done < said, "what was decided in the file is done first: {journal:?}");
    handle.rested().await.unwrap();
    assert_eq!(kept.calls.lock().unwrap().len(), 1);
    assert_eq!(news(events), [FileNews::Taken { file: kept.path() }]);
    assert_eq!(kept.state()["confirmations"]["deal_7_sum"]["status"], "approved");
    let edits = kept.edits();
    let [(state, by)] = &edits[..] else { panic!("{edits:?}") };
    assert_eq!(by, "the state's file");
    assert_eq!(state.as_object().unwrap().keys().collect::<Vec<_>>(), ["confirmations"], "only what was changed");
    // The journal alone gives the same state.
    assert_eq!(host.view("s", None).unwrap().state(), kept.state());
    kill(host).await;
    kept.say("ещё раз").await;
    assert_eq!(kept.calls.lock().unwrap().len(), 1, "it is taken up once");
}

#[tokio::test]
async fn dur_7_an_invalid_file_is_not_overwritten_and_the_turn_continues() {
    let kept = Kept::new("invalid");
    kept.say("привет").await;
    fs::write(kept.path(), "{\"goals\": [1]}").unwrap();
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    let events = handle.subscribe(None);
    assert_eq!(say(&handle, "дальше по плану").await.ends, TurnEnd::Output);
    assert_eq!(fs::read_to_string(kept.path()).unwrap(), "{\"goals\": [1]}");
    assert_eq!(read(&kept.folder.0.join("states/s.json.new")), state_of(&handle).await);
    let news = news(events);
    let [FileNews::Refused { why, .. }] = &news[..] else { panic!("{news:?}") };
    assert!(why.contains("goals.0"), "{why}");
    assert_eq!(kept.edits(), []);
}

#[tokio::test]
async fn every_iteration_is_a_line_of_the_log_and_the_log_is_removed_with_the_session() {
    let kept = Kept::new("log");
    let host = kept.host();
    let handle = host.open("s").await.unwrap();
    say(&handle, "500").await;
    handle.answer("q1".parse().unwrap(), Decision::Approve { only: None }, "ann").await.unwrap();
    handle.rested().await.unwrap();
    let log = kept.log();
    assert_eq!(log.len(), 2);
    assert_eq!((&log[0]["told"], &log[0]["ends"]), (&json!([{"user": "500"}]), &json!("waiting")));
    assert_eq!(log[0]["model"][0]["thought"], "думаю");
    assert_eq!(log[0]["waiting"], json!(["q1"]));
    assert_eq!(log[1]["told"][0]["by"], "ann");
    assert_eq!(log[1]["requests"][0]["method"], "change");
    assert_eq!(log[1]["requests"][0]["params"]["fields"], json!({"SUM": 500}));
    assert_eq!(log[1]["requests"][0]["answer"], true);
    assert!(log[1]["state"]["confirmations"].is_object() && log[1]["state"]["goals"].is_null());
    host.close().await;
    kept.store.remove("s").unwrap();
    let left = |name: &str| fs::read_dir(kept.folder.0.join(name)).unwrap().count();
    assert_eq!((left("states"), left("logs")), (0, 0));
}
