//! Sessions that survive: what a journal holds is what goes on.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use obelus_kernel::session::{About, Decision, Ends, Input, Mode, Outcome, Question, Session, Settings};
use obelus_kernel::{Context, Expr, Time};
use obelus_runtime::{
    Activities, Activity, ActivityFuture, Driver, Durable, Journal, NOT_DURABLE, NoModel, SessionJournal, SqliteStore,
    Store as _, Work,
};
use serde_json::{Value, json};

/// A journal in memory that fails, as a disk does, when it has taken so many records.
#[derive(Clone, Default)]
struct Paper {
    written: Arc<Mutex<Vec<(Time, Input)>>>,
    commits: Arc<AtomicUsize>,
    room: usize,
}

impl Journal for Paper {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Durable {
        let mut written = self.written.lock().unwrap();
        if written.len() + inputs.len() > self.room {
            return Box::pin(std::future::ready(Err("no space left".to_owned())));
        }
        written.extend(inputs.iter().cloned());
        self.commits.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(())))
    }
}

fn session(effect: &str, plan: Value) -> Session {
    let tool =
        json!({"type": "object", "properties": {"n": {}}, "x-effect": effect, "x-trust": "trusted", "x-target": []});
    let context =
        Context::from_value(json!([{"type": "tool", "tool": {"step": tool}}, {"type": "plan", "plan": plan}]));
    let settings = Settings { mode: Mode::Full, activities: ["step".to_owned()].into(), ..Settings::default() };
    Session::new("durable", context.unwrap(), None, Arc::new(settings)).unwrap()
}

fn chain(length: usize) -> Value {
    let call = |i: usize| {
        let n = if i == 0 { json!(0) } else { json!(format!("†state.v{}", i - 1)) };
        json!({"_tool": "step", "n": n, "_outputPath": format!("†state.v{i}")})
    };
    (0..length).map(call).collect()
}

/// Adds one, and counts how often it was asked to.
fn activities(calls: &Arc<AtomicUsize>) -> Arc<Activities> {
    let calls = calls.clone();
    let mut activities = Activities::new();
    activities.register("step", move |work| {
        calls.fetch_add(1, Ordering::SeqCst);
        async move { Ok(json!(work.call["n"].as_i64().unwrap_or(0) + 1)) }
    });
    Arc::new(activities)
}

fn clock() -> Time {
    Time(1_000)
}

fn driver(effect: &str, plan: Value, calls: &Arc<AtomicUsize>) -> Driver {
    Driver::new(session(effect, plan), activities(calls), Arc::new(NoModel), clock)
}

fn read(driver: &Driver, path: &str) -> Option<Value> {
    driver.session().context().resolve(&Expr::parse(path).unwrap(), None).map(std::borrow::Cow::into_owned)
}

#[tokio::test]
async fn wherever_the_journal_ends_the_session_goes_on_to_the_same_end() {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut whole = driver("read", chain(6), &calls);
    whole.turn(Input::RunPlan).await.unwrap();
    let expected = whole.session().context().to_json();
    for room in 0..7 {
        let paper = Paper { room, ..Paper::default() };
        let refused =
            driver("read", chain(6), &calls).journaled_by(paper.clone()).turn(Input::RunPlan).await.unwrap_err();
        assert_eq!(refused.code, NOT_DURABLE);
        let journal = paper.written.lock().unwrap().clone();
        assert_eq!(journal.len(), room);
        let paper = Paper { room: 100, written: Arc::new(Mutex::new(journal.clone())), ..Paper::default() };
        let mut again = driver("read", chain(6), &calls).journaled_by(paper);
        let recovered = again.recover(journal);
        let reply = match again.resume().await.unwrap() {
            Some(reply) => reply,
            None => {
                assert_eq!((room, recovered.in_doubt), (0, 0));
                again.turn(Input::RunPlan).await.unwrap()
            }
        };
        assert_eq!(reply.ends, Ends::Output, "{room}");
        assert_eq!(again.session().context().to_json(), expected, "{room}");
    }
}

#[tokio::test]
async fn what_was_done_while_the_disk_was_full_is_kept_when_there_is_room() {
    let calls = Arc::new(AtomicUsize::new(0));
    let paper = Paper { room: 2, ..Paper::default() };
    let shared = Arc::new(Mutex::new(paper));
    let mut driver = driver("create", chain(3), &calls).journaled_by(Shared(shared.clone()));
    assert_eq!(driver.turn(Input::RunPlan).await.unwrap_err().code, NOT_DURABLE);
    assert_eq!(driver.resume().await.unwrap_err().code, NOT_DURABLE, "still full");
    assert_eq!(calls.load(Ordering::SeqCst), 2, "nothing starts while nothing can be kept");
    shared.lock().unwrap().room = 100;
    assert_eq!(driver.resume().await.unwrap().unwrap().ends, Ends::Output);
    assert_eq!((calls.load(Ordering::SeqCst), read(&driver, "†state.v2")), (3, Some(json!(3))));
}

/// A journal whose room changes while it is in use.
struct Shared(Arc<Mutex<Paper>>);

impl Journal for Shared {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Durable {
        self.0.lock().unwrap().append(inputs)
    }
}

#[tokio::test]
async fn replaying_the_journal_gives_the_same_session_byte_for_byte() {
    let calls = Arc::new(AtomicUsize::new(0));
    let paper = Paper { room: 100, ..Paper::default() };
    let mut live = driver("read", chain(5), &calls).journaled_by(paper.clone());
    live.turn(Input::RunPlan).await.unwrap();
    let mut again = driver("read", chain(5), &calls);
    let recovered = again.recover(paper.written.lock().unwrap().clone());
    assert_eq!(again.session().snapshot().to_string(), live.session().snapshot().to_string());
    assert_eq!(recovered.reply.map(|reply| reply.ends), Some(Ends::Output));
    assert_eq!(again.resume().await.unwrap().map(|reply| reply.ends), None);
}

/// The first call of the chain was under way when everything stopped.
async fn interrupted(effect: &str) -> (Driver, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let paper = Paper { room: 1, ..Paper::default() };
    driver(effect, chain(2), &calls).journaled_by(paper.clone()).turn(Input::RunPlan).await.unwrap_err();
    assert_eq!(calls.swap(0, Ordering::SeqCst), 1);
    let mut again = driver(effect, chain(2), &calls);
    assert_eq!(again.recover(paper.written.lock().unwrap().clone()).in_doubt, 1);
    (again, calls)
}

#[tokio::test]
async fn what_is_idempotent_runs_again_and_what_is_not_is_asked_about() {
    let (mut reader, calls) = interrupted("read").await;
    assert_eq!(reader.resume().await.unwrap().unwrap().ends, Ends::Output);
    assert_eq!(calls.load(Ordering::SeqCst), 2);

    for (decision, runs) in [(Decision::Happened { result: json!(1) }, 1), (Decision::DidNot, 2)] {
        let (mut creator, calls) = interrupted("create").await;
        assert_eq!(creator.resume().await.unwrap().unwrap().ends, Ends::Waiting);
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        let open: Vec<Question> = creator.session().questions().into_iter().filter(Question::is_open).collect();
        assert_eq!((open.len(), open[0].about), (1, About::InDoubt));
        let decide = Input::Decide { question: open[0].id.clone(), decision, by: "a person".to_owned() };
        assert_eq!(creator.turn(decide).await.unwrap().ends, Ends::Output);
        assert_eq!(calls.load(Ordering::SeqCst), runs);
        assert_eq!(read(&creator, "†state.v1"), Some(json!(2)));
    }
}

#[tokio::test]
async fn calls_that_end_together_are_kept_by_one_commit() {
    let paper = Paper { room: 100, ..Paper::default() };
    let calls = Arc::new(AtomicUsize::new(0));
    let plan: Value =
        (0..16).map(|i| json!({"_tool": "step", "n": i, "_outputPath": format!("†state.v{i}")})).collect();
    let mut driver = driver("read", plan, &calls).journaled_by(paper.clone());
    driver.turn(Input::RunPlan).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 16);
    assert_eq!(paper.commits.load(Ordering::SeqCst), 2);
}

/// Adds one, as `step` does, and needs nothing but its call for that.
struct Local(Arc<AtomicUsize>);

impl Activity for Local {
    fn run(&self, work: Work) -> ActivityFuture {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Outcome::Value(json!(work.call["n"].as_i64().unwrap_or(0) + 1)) })
    }

    fn is_local(&self) -> bool {
        true
    }
}

/// A chain of calls, each of what the one before brought; those of `local` need nothing but themselves.
fn mixed(tools: &[&str], effects: [&str; 2], calls: &[Arc<AtomicUsize>; 2]) -> Driver {
    let tool = |effect: &str| json!({"type": "object", "properties": {"n": {}}, "x-effect": effect, "x-trust": "trusted", "x-target": []});
    let mut plan = chain(tools.len());
    for (call, tool) in plan.as_array_mut().unwrap().iter_mut().zip(tools) {
        call["_tool"] = (*tool).into();
    }
    let context = Context::from_value(json!([
        {"type": "tool", "tool": {"step": tool(effects[0]), "local": tool(effects[1])}}, {"type": "plan", "plan": plan}
    ]));
    let names = ["step".to_owned(), "local".to_owned()].into();
    let settings = Settings { mode: Mode::Full, activities: names, ..Settings::default() };
    let session = Session::new("durable", context.unwrap(), None, Arc::new(settings)).unwrap();
    let mut all = Activities::clone(&activities(&calls[0]));
    all.add("local", Local(calls[1].clone()));
    Driver::new(session, Arc::new(all), Arc::new(NoModel), clock)
}

const MIXED: [&str; 7] = ["step", "local", "local", "step", "local", "step", "local"];

#[tokio::test]
async fn what_needs_nothing_but_its_call_is_kept_by_the_commit_of_what_led_to_it() {
    for (effects, commits) in [(["create", "read"], 4), (["read", "read"], 4), (["create", "create"], 8)] {
        let (calls, paper) = (Default::default(), Paper { room: 100, ..Paper::default() });
        let mut driver = mixed(&MIXED, effects, &calls).journaled_by(paper.clone());
        assert_eq!(driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Output);
        assert_eq!(read(&driver, "†state.v6"), Some(json!(7)));
        assert_eq!(paper.commits.load(Ordering::SeqCst), commits, "{effects:?}: other calls wait");
        let written = paper.written.lock().unwrap().clone();
        assert_eq!(written.len(), 8, "nothing is left out");
        let mut again = mixed(&MIXED, effects, &calls);
        again.recover(written);
        assert_eq!(again.session().snapshot().to_string(), driver.session().snapshot().to_string());
        assert_eq!(calls.map(|calls| calls.load(Ordering::SeqCst)), [3, 4]);
    }
}

#[tokio::test]
async fn nothing_that_is_noticed_outside_begins_before_what_led_to_it_is_kept() {
    let whole = Paper { room: 100, ..Paper::default() };
    mixed(&MIXED, ["create", "read"], &Default::default())
        .journaled_by(whole.clone())
        .turn(Input::RunPlan)
        .await
        .unwrap();
    let whole = whole.written.lock().unwrap().clone();
    for room in 1..8 {
        let calls: [Arc<AtomicUsize>; 2] = Default::default();
        let shared = Arc::new(Mutex::new(Paper { room, ..Paper::default() }));
        let written = || shared.lock().unwrap().written.lock().unwrap().clone();
        let mut driver = mixed(&MIXED, ["create", "read"], &calls).journaled_by(Shared(shared.clone()));
        assert_eq!(driver.turn(Input::RunPlan).await.unwrap_err().code, NOT_DURABLE);
        assert_eq!(driver.resume().await.unwrap_err().code, NOT_DURABLE, "still full");
        let kept = written().len();
        assert_eq!(written(), whole[..kept], "with room for {room}");
        let begun = (0..kept).filter(|place| MIXED[*place] == "step").count();
        assert_eq!(calls[0].load(Ordering::SeqCst), begun, "with room for {room}");
        shared.lock().unwrap().room = 100;
        assert_eq!(driver.resume().await.unwrap().unwrap().ends, Ends::Output);
        assert_eq!(written(), whole, "with room for {room}");
        assert_eq!(calls.map(|calls| calls.load(Ordering::SeqCst)), [3, 4], "with room for {room}");
    }
}

#[tokio::test]
async fn a_store_holds_a_session_across_processes_lives() {
    let folder: PathBuf = std::env::temp_dir().join(format!("obelus-durable-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let calls = Arc::new(AtomicUsize::new(0));
    {
        let store = SqliteStore::open(&folder).unwrap();
        store.create("s", clock(), &json!({}), Vec::new()).unwrap();
        let mut first = driver("read", chain(3), &calls).journaled_by(SessionJournal::new(store, "s"));
        first.turn(Input::RunPlan).await.unwrap();
    }
    let store = SqliteStore::open(&folder).unwrap();
    let mut second = driver("read", chain(3), &calls);
    second.recover(store.journal("s").unwrap().into_iter().map(|record| (record.at, record.input)).collect());
    assert_eq!(read(&second, "†state.v2"), Some(json!(3)));
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}
