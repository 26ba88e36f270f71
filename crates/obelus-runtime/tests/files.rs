//! The files that people see of a session, kept by its driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use obelus_kernel::session::{Answer, Ends, Input, Prompt, Session, Settings, Solution};
use obelus_kernel::{Context, Time};
use obelus_runtime::{
    Activities, AnswerFuture, Driver, Event, FileNews, Model, Record, Remake, SessionFiles, SqliteStore, Store as _,
    restore_driver, system_clock,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Proposes to change a sum when told a number, looks something up when told to look, and else just answers.
#[derive(Clone, Default)]
struct Clerk {
    /// Told when it is asked again after it has looked; it then says nothing while it is `lost_in_thought`.
    has_looked: Arc<Notify>,
    lost_in_thought: Arc<AtomicBool>,
}

impl Model for Clerk {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        let words = prompt.texts.last().map(|(_, words)| words.clone()).unwrap_or_default();
        let calls = match words.parse::<u64>() {
            Ok(sum) => vec![json!({"_tool": "change", "id": 7, "fields": {"SUM": sum}})],
            Err(_) if words == "смотри" && prompt.plan.is_empty() => vec![json!({"_tool": "look"})],
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

fn session() -> Session {
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
    let mut settings: Settings = serde_json::from_value(settings).unwrap();
    settings.activities = ["change".to_owned(), "look".to_owned()].into();
    Session::new("s", Context::from_value(messages).unwrap(), None, Arc::new(settings)).unwrap()
}

/// A session in a store, with whatever was told of its files.
struct Durable {
    folder: PathBuf,
    store: SqliteStore,
    clerk: Clerk,
    calls: Arc<Mutex<Vec<Value>>>,
    news: Arc<Mutex<Vec<FileNews>>>,
}

impl Durable {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-files-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let store = SqliteStore::open(&folder).unwrap();
        store.create("s", Time(0), &json!({}), Vec::new()).unwrap();
        Self { folder, store, clerk: Clerk::default(), calls: Arc::default(), news: Arc::default() }
    }

    /// The session as its journal has it, in a process of its own as far as anybody can tell.
    fn driver(&self) -> Driver {
        let (calls, news) = (Arc::clone(&self.calls), Arc::clone(&self.news));
        let mut activities = Activities::new();
        activities.register("change", move |work| {
            calls.lock().unwrap().push((*work.call).clone());
            async { Ok(json!(true)) }
        });
        activities.register("look", |_| async { Ok(json!("seen")) });
        let clerk = Arc::new(self.clerk.clone());
        let drive = |session| Driver::new(session, Arc::new(activities), clerk, system_clock);
        let remake: Remake = Arc::new(|| Ok(session()));
        restore_driver(&self.store, "s", &remake, drive)
            .unwrap()
            .driver
            .watched_by(move |event| {
                if let Event::Files(told) = event {
                    news.lock().unwrap().push(told.clone());
                }
            })
            .with_files(SessionFiles::open(&self.folder, "s").unwrap())
    }

    fn path(&self) -> PathBuf {
        self.folder.join("states/s.json")
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
        let text = fs::read_to_string(self.folder.join("logs/s.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn say(text: &str) -> Input {
    Input::User { text: text.to_owned() }
}

#[tokio::test]
async fn dur_7_the_file_is_the_state_whenever_the_session_rests() {
    let kept = Durable::new("rest");
    let mut driver = kept.driver();
    assert_eq!(driver.turn(say("500")).await.unwrap().ends, Ends::Waiting);
    assert_eq!(kept.state(), driver.session().state());
    assert_eq!(kept.state()["confirmations"]["deal_7_sum"]["status"], "requested");
    drop(driver);
    let mut driver = kept.driver();
    driver.turn(say("спасибо")).await.unwrap();
    assert_eq!(kept.state()["goals"], json!(["спасибо", "500"]));
    assert_eq!(kept.state(), driver.session().state());
    assert!(kept.news.lock().unwrap().is_empty(), "nobody has edited anything");
    fs::remove_dir_all(&kept.folder).unwrap();
}

/// A session whose process dies in the middle of a turn, after its first iteration.
async fn cut_off(name: &str) -> Durable {
    let kept = Durable::new(name);
    kept.driver().turn(say("привет")).await.unwrap();
    kept.clerk.lost_in_thought.store(true, Ordering::SeqCst);
    let mut driver = kept.driver();
    tokio::select! {
        reply = driver.turn(say("смотри")) => panic!("{reply:?}"),
        () = kept.clerk.has_looked.notified() => {}
    }
    assert_eq!(kept.state(), driver.session().state(), "the file is behind");
    assert_eq!(kept.state()["goals"], json!(["смотри", "привет"]));
    kept.clerk.lost_in_thought.store(false, Ordering::SeqCst);
    kept
}

#[tokio::test]
async fn dur_7_the_file_is_the_state_after_every_iteration_and_what_a_crash_leaves_there_is_no_edit() {
    let kept = cut_off("iteration").await;
    let mut driver = kept.driver();
    assert_eq!(driver.resume().await.unwrap().unwrap().ends, Ends::Output);
    assert_eq!(kept.state(), driver.session().state());
    drop(driver);
    let mut driver = kept.driver();
    driver.turn(say("спасибо")).await.unwrap();
    assert_eq!(kept.state(), driver.session().state());
    assert_eq!(*kept.news.lock().unwrap(), []);
    let is_state = |record: &Record| matches!(record.input, Input::State { .. });
    assert!(!kept.store.journal("s").unwrap().iter().any(is_state), "nobody has edited anything");
    assert!(!kept.folder.join("states/s.json.new").exists());
    fs::remove_dir_all(&kept.folder).unwrap();
}

#[tokio::test]
async fn what_a_person_changed_in_the_middle_of_a_turn_is_told_from_what_stood_there_also_after_a_crash() {
    let kept = cut_off("middle").await;
    kept.edit(|state| state["objects"] = json!({"deal": 7}));
    // What has come of it is written beside it.
    let mut driver = kept.driver();
    driver.resume().await.unwrap();
    assert_eq!(read(&kept.folder.join("states/s.json.new")), driver.session().state());
    drop(driver);
    let mut driver = kept.driver();
    driver.turn(say("спасибо")).await.unwrap();
    let journal = kept.store.journal("s").unwrap();
    let edits: Vec<&Value> = journal
        .iter()
        .filter_map(|record| match &record.input {
            Input::State { state, .. } => Some(state),
            _ => None,
        })
        .collect();
    assert_eq!(edits, [&json!({"objects": {"deal": 7}})], "the goals are ours");
    assert_eq!(kept.state()["goals"], json!(["спасибо", "смотри", "привет"]));
    assert_eq!(kept.state(), driver.session().state());
    fs::remove_dir_all(&kept.folder).unwrap();
}

#[tokio::test]
async fn dur_7_a_status_changed_in_the_file_is_a_decision_at_the_start_of_the_next_turn_and_in_the_journal() {
    let kept = Durable::new("decide");
    kept.driver().turn(say("500")).await.unwrap();
    kept.edit(|state| state["confirmations"]["deal_7_sum"]["status"] = "approved".into());
    let mut driver = kept.driver();
    driver.turn(say("ну что?")).await.unwrap();
    assert_eq!(kept.calls.lock().unwrap().len(), 1);
    assert_eq!(*kept.news.lock().unwrap(), [FileNews::Taken { file: kept.path() }]);
    assert_eq!(kept.state()["confirmations"]["deal_7_sum"]["status"], "approved");
    let journal = kept.store.journal("s").unwrap();
    let edits: Vec<&Input> =
        journal.iter().map(|record| &record.input).filter(|input| matches!(input, Input::State { .. })).collect();
    let [Input::State { state, by }] = edits[..] else { panic!("{edits:?}") };
    assert_eq!(by, "the state's file");
    assert_eq!(state.as_object().unwrap().keys().collect::<Vec<_>>(), ["confirmations"], "only what was changed");
    // The journal alone leads to the same state.
    drop(driver);
    assert_eq!(kept.driver().session().state(), kept.state());
    kept.driver().turn(say("ещё раз")).await.unwrap();
    assert_eq!(kept.calls.lock().unwrap().len(), 1, "it is taken up once");
    fs::remove_dir_all(&kept.folder).unwrap();
}

#[tokio::test]
async fn dur_7_an_invalid_file_is_left_alone_and_the_turn_goes_on_without_it() {
    let kept = Durable::new("invalid");
    kept.driver().turn(say("привет")).await.unwrap();
    fs::write(kept.path(), "{\"goals\": [1]}").unwrap();
    let mut driver = kept.driver();
    assert_eq!(driver.turn(say("дальше по плану")).await.unwrap().ends, Ends::Output);
    assert_eq!(fs::read_to_string(kept.path()).unwrap(), "{\"goals\": [1]}");
    assert_eq!(read(&kept.folder.join("states/s.json.new")), driver.session().state());
    let news = kept.news.lock().unwrap().clone();
    let [FileNews::Refused { why, .. }] = &news[..] else { panic!("{news:?}") };
    assert!(why.contains("goals.0"), "{why}");
    let is_state = |record: &Record| matches!(record.input, Input::State { .. });
    assert!(!kept.store.journal("s").unwrap().iter().any(is_state));
    fs::remove_dir_all(&kept.folder).unwrap();
}

#[tokio::test]
async fn every_iteration_is_a_line_of_the_log_and_all_of_it_goes_with_the_session() {
    let kept = Durable::new("log");
    let mut driver = kept.driver();
    driver.turn(say("500")).await.unwrap();
    let question = driver.session().questions()[0].id.clone();
    let decision = obelus_kernel::session::Decision::Approve { only: None };
    driver.turn(Input::Decide { question, decision, by: "ann".to_owned() }).await.unwrap();
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
    kept.store.remove("s").unwrap();
    let left = |name: &str| fs::read_dir(kept.folder.join(name)).unwrap().count();
    assert_eq!((left("states"), left("logs")), (0, 0));
    fs::remove_dir_all(&kept.folder).unwrap();
}
