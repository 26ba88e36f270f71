//! Sessions continue from their journal after a crash.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{
    Folder, Small, chain, clock, counting, host, journal, kill, open_questions, read, run_plan, snapshot, spec, tool,
};
use obelus_kernel::Time;
use obelus_kernel::policy::Writer;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{About, CallError, Decision, Input, TurnEnd};
use obelus_runtime::engine::{Record, RestoreError};
use obelus_runtime::{Activities, Connections, Host, HostError, SqliteStore, Store};
use serde_json::{Value, json};

/// A host on a store with this limit of records; its calls are counted.
fn counted(store: &Arc<Small>, calls: &Arc<AtomicUsize>, room: Option<u64>) -> Host {
    store.make_room(room);
    host(Connections::new(counting(calls)), store.clone())
}

/// The same with calls that do not complete at once, so that each has its own commit.
fn one_by_one(store: &Arc<Small>, room: Option<u64>) -> Host {
    store.make_room(room);
    let mut activities = Activities::new();
    activities.register("step", |work| async move {
        tokio::task::yield_now().await;
        Ok(json!(work.call["n"].as_i64().unwrap_or(0) + 1))
    });
    host(Connections::new(activities), store.clone())
}

#[tokio::test]
async fn a_session_reaches_the_same_end_from_any_end_of_its_journal() {
    let whole = one_by_one(&Arc::default(), None).create("s", chain("read", 6)).await;
    // The host was a temporary of the statement above and is gone.
    assert!(whole.unwrap().run_plan().await.is_err());
    let expected = {
        let host = one_by_one(&Arc::default(), None);
        let whole = host.create("s", chain("read", 6)).await.unwrap();
        run_plan(&whole).await;
        whole.inspect(|session| session.context().to_json()).await.unwrap()
    };
    for room in 0..7 {
        let store = Arc::new(Small::default());
        let first = one_by_one(&store, Some(room));
        let handle = first.create("s", chain("read", 6)).await.unwrap();
        let refused = match handle.run_plan().await {
            Ok(()) => handle.rested().await.unwrap_err(),
            Err(refused) => refused,
        };
        assert_eq!(refused.code, RefusalCode::NotDurable);
        assert_eq!(journal(&*store, "s").len() as u64, room);
        kill(first).await;
        let second = one_by_one(&store, None);
        let handle = second.open("s").await.unwrap();
        let reply = match handle.rested().await.unwrap() {
            Some(reply) => reply,
            None => {
                assert_eq!(room, 0);
                run_plan(&handle).await
            }
        };
        assert_eq!(reply.ends, TurnEnd::Output, "{room}");
        assert_eq!(handle.inspect(|session| session.context().to_json()).await.unwrap(), expected, "{room}");
    }
}

#[tokio::test]
async fn no_call_starts_before_its_cause_is_durable() {
    for room in 1..6 {
        let (store, calls) = (Arc::new(Small::default()), Arc::new(AtomicUsize::new(0)));
        let host = counted(&store, &calls, Some(room));
        let handle = host.create("s", chain("create", 6)).await.unwrap();
        handle.run_plan().await.unwrap();
        assert_eq!(handle.rested().await.unwrap_err().code, RefusalCode::NotDurable);
        assert_eq!(handle.rested().await.unwrap_err().code, RefusalCode::NotDurable, "still full");
        assert_eq!(calls.load(Ordering::SeqCst) as u64, room);
        store.make_room(None);
        assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
        assert_eq!((calls.load(Ordering::SeqCst), journal(&*store, "s").len()), (6, 7));
    }
}

#[tokio::test]
async fn a_chain_of_quick_reads_is_stored_in_few_commits() {
    let (store, calls) = (Arc::new(Small::default()), Arc::new(AtomicUsize::new(0)));
    let host = counted(&store, &calls, None);
    let handle = host.create("s", chain("read", 100)).await.unwrap();
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!((calls.load(Ordering::SeqCst), journal(&*store, "s").len()), (100, 101));
    assert_eq!(store.commits.load(Ordering::SeqCst), 2, "the plan, then all reads");
}

/// `step` reads, `make` has an effect; both are counted.
fn reading_and_making(reads: &Arc<AtomicUsize>, effects: &Arc<AtomicUsize>) -> Activities {
    let (mut activities, effects) = (counting(reads), Arc::clone(effects));
    activities.register("make", move |_| {
        effects.fetch_add(1, Ordering::SeqCst);
        async move { Ok(json!("made")) }
    });
    activities
}

fn reads_and_makes() -> Value {
    json!({"step": tool("read"), "make": tool("create")})
}

#[tokio::test]
async fn the_outcome_of_an_effect_is_stored_before_reads_follow() {
    let (store, reads, effects) = (Arc::new(Small::default()), Arc::default(), Arc::default());
    let plan = json!([
        {"_tool": "make", "n": 1, "_outputPath": "†state.a"},
        {"_tool": "step", "n": "†state.a", "_outputPath": "†state.b"},
        {"_tool": "step", "n": "†state.b", "_outputPath": "†state.c"},
    ]);
    store.make_room(Some(2));
    let host = host(Connections::new(reading_and_making(&reads, &effects)), store.clone());
    let handle = host.create("s", spec(reads_and_makes(), plan)).await.unwrap();
    handle.run_plan().await.unwrap();
    assert_eq!(handle.rested().await.unwrap_err().code, RefusalCode::NotDurable);
    assert_eq!(journal(&*store, "s").len(), 2, "the plan, and the outcome of the effect");
}

#[tokio::test]
async fn an_effect_waits_until_the_reads_before_it_are_durable() {
    let (store, calls, effects) = (Arc::new(Small::default()), Arc::default(), Arc::default());
    let plan = json!([
        {"_tool": "step", "n": 0, "_outputPath": "†state.a"},
        {"_tool": "step", "n": "†state.a", "_outputPath": "†state.b"},
        {"_tool": "make", "n": "†state.b", "_outputPath": "†state.c"},
    ]);
    store.make_room(Some(1));
    let host = host(Connections::new(reading_and_making(&calls, &effects)), store.clone());
    let handle = host.create("s", spec(reads_and_makes(), plan)).await.unwrap();
    handle.run_plan().await.unwrap();
    assert_eq!(handle.rested().await.unwrap_err().code, RefusalCode::NotDurable);
    let counts = || (calls.load(Ordering::SeqCst), effects.load(Ordering::SeqCst), journal(&*store, "s").len());
    let (reads, made, records) = counts();
    assert!(reads >= 2 && made == 0 && records == 1, "{reads} reads, {made} effects, {records} records");
    store.make_room(None);
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!((effects.load(Ordering::SeqCst), read(&handle, "†state.b").await), (1, Some(json!(2))));
}

#[tokio::test]
async fn replaying_the_journal_gives_the_same_session_byte_for_byte() {
    let store = Arc::new(Small::default());
    let host = counted(&store, &Arc::default(), None);
    let live = host.create("s", chain("read", 5)).await.unwrap();
    run_plan(&live).await;
    let seen = host.view("s", None).unwrap();
    assert_eq!(seen.snapshot().to_string(), snapshot(&live).await);
    let early = host.view("s", Some(3)).unwrap();
    assert_eq!(early.context().length(), 2 + 2, "two results");
}

/// The process stopped before the outcome of the first call of the chain was stored.
async fn interrupted(effect: &str) -> (Host, Arc<AtomicUsize>) {
    interrupted_in(&Arc::default(), effect).await
}

async fn interrupted_in(store: &Arc<Small>, effect: &str) -> (Host, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let first = counted(store, &calls, Some(1));
    let handle = first.create("s", chain(effect, 2)).await.unwrap();
    handle.run_plan().await.unwrap();
    handle.rested().await.unwrap_err();
    // Reads may run again, and need no stored intent.
    let runs = calls.swap(0, Ordering::SeqCst);
    assert!(runs == 1 || (effect == "read" && runs > 1), "{runs}");
    kill(first).await;
    (counted(store, &calls, None), calls)
}

const HOUR: i64 = 60 * 60 * 1_000;

#[tokio::test]
async fn ask_8_a_doubt_seen_before_its_session_is_opened_has_a_stable_deadline_and_never_expires() {
    let store = Arc::new(Small::default());
    interrupted_in(&store, "create").await;
    let deadline = |clock: fn() -> Time| {
        let connections = Connections::new(counting(&Arc::default()));
        let host = Host::builder(connections).store(store.clone()).clock(clock).build();
        let questions = host.view_interrupted("s").unwrap().questions();
        assert!(questions[0].is_open() && questions[0].expires_at > clock());
        questions[0].expires_at.0 - clock().0
    };
    assert_eq!(deadline(clock), 24 * HOUR);
    assert_eq!(deadline(|| Time(clock().0 + HOUR)), 23 * HOUR);
    assert_eq!(deadline(|| Time(clock().0 + 50 * HOUR)), 22 * HOUR, "it counts as asked anew each day");
}

#[tokio::test]
async fn idempotent_calls_are_repeated_and_others_become_questions() {
    let (host, calls) = interrupted("read").await;
    let reader = host.open("s").await.unwrap();
    assert_eq!(reader.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!(calls.load(Ordering::SeqCst), 2);

    for (decision, runs) in [(Decision::Happened { result: json!(1) }, 1), (Decision::DidNot, 2)] {
        let (host, calls) = interrupted("create").await;
        let creator = host.open("s").await.unwrap();
        assert_eq!(creator.rested().await.unwrap().unwrap().ends, TurnEnd::Waiting);
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        let open = open_questions(&creator).await;
        assert_eq!((open.len(), open[0].about), (1, About::InDoubt));
        creator.answer(open[0].id.clone(), decision, "a person").await.unwrap();
        assert_eq!(creator.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
        assert_eq!(calls.load(Ordering::SeqCst), runs);
        assert_eq!(read(&creator, "†state.v1").await, Some(json!(2)));
    }
}

#[tokio::test]
async fn dur_11_a_paused_session_still_asks_about_an_effect_in_doubt_and_takes_the_answer() {
    for is_asked_first in [false, true] {
        let (store, counted_calls) = (Arc::new(Small::default()), Arc::default());
        let (host, calls) = interrupted_in(&store, "create").await;
        let handle = host.open("s").await.unwrap();
        if is_asked_first {
            handle.rested().await.unwrap();
        }
        handle.pause("ann").await.unwrap();
        let open = open_questions(&handle).await;
        assert_eq!((open.len(), open[0].about), (1, About::InDoubt));
        kill(host).await;
        // Another process answers it, and resumes the session.
        let host = counted(&store, &counted_calls, None);
        assert!(host.view_interrupted("s").unwrap().questions()[0].is_open());
        let handle = host.open("s").await.unwrap();
        handle.answer(open[0].id.clone(), Decision::Happened { result: json!(1) }, "a person").await.unwrap();
        handle.finished().await.unwrap();
        assert_eq!(counted_calls.load(Ordering::SeqCst), 0, "nothing starts during the pause");
        handle.tell(Input::Resume { by: "ann".to_owned() }).await.unwrap();
        assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
        assert_eq!(calls.load(Ordering::SeqCst) + counted_calls.load(Ordering::SeqCst), 1, "the second step");
    }
}

#[tokio::test]
async fn a_session_paused_while_its_call_runs_asks_about_it_after_a_crash() {
    let store = Arc::new(Small::default());
    let mut activities = Activities::new();
    activities.register("step", |_| std::future::pending::<Result<Value, CallError>>());
    let host = host(Connections::new(activities), store.clone());
    let handle = host.create("s", chain("create", 2)).await.unwrap();
    handle.run_plan().await.unwrap();
    handle.pause("ann").await.unwrap();
    kill(host).await;
    let calls = Arc::default();
    let host = counted(&store, &calls, None);
    let seen = host.view_interrupted("s").unwrap().questions();
    assert!(seen.len() == 1 && seen[0].is_open(), "the inbox has it before the session is opened");
    let handle = host.open("s").await.unwrap();
    handle.answer(seen[0].id.clone(), Decision::DidNot, "a person").await.unwrap();
    handle.finished().await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 0, "it runs when the session is resumed");
}

#[tokio::test]
async fn a_person_s_edit_of_the_state_is_shown_as_theirs_with_who_and_from_where() {
    let (store, calls) = (Arc::new(Small::default()), Arc::default());
    let host = counted(&store, &calls, None);
    let handle = host.create("s", chain("create", 2)).await.unwrap();
    run_plan(&handle).await;
    let because = |expr: &str| {
        let mut why = host.view("s", None).unwrap().why(expr, None).unwrap();
        host.name_editors("s", &mut why).unwrap();
        (why.because[0].by.clone(), why.because[0].edited_by.clone())
    };
    assert_eq!(because("†state.v1"), (Writer::Tool { name: "step".to_owned(), trusted: true }, None));
    handle.edit_state(json!({"v0": 1, "v1": 7}), "api:ann").await.unwrap();
    assert_eq!(because("†state.v1"), (Writer::User, Some("api:ann".to_owned())), "its earlier origins stay");
}

#[tokio::test]
async fn calls_that_end_together_share_one_commit() {
    let (store, calls) = (Arc::new(Small::default()), Arc::new(AtomicUsize::new(0)));
    let plan: Value =
        (0..16).map(|i| json!({"_tool": "step", "n": i, "_outputPath": format!("†state.v{i}")})).collect();
    let host = counted(&store, &calls, None);
    let handle = host.create("s", spec(json!({"step": tool("read")}), plan)).await.unwrap();
    run_plan(&handle).await;
    assert_eq!(calls.load(Ordering::SeqCst), 16);
    assert_eq!(store.commits.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_store_keeps_a_session_across_processes() {
    let folder = Folder::new("durable");
    let calls = Arc::new(AtomicUsize::new(0));
    let open = || host(Connections::new(counting(&calls)), SqliteStore::open(&folder.0).unwrap().shared());
    let first = open();
    run_plan(&first.create("s", chain("read", 3)).await.unwrap()).await;
    first.close().await;
    drop(first);
    let second = open();
    let handle = second.open("s").await.unwrap();
    assert_eq!(read(&handle, "†state.v2").await, Some(json!(3)));
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    assert_eq!(second.list().unwrap().len(), 1);
}

/// The session `s` of a store in another one, as another version makes it: with other calls, by a changed genesis.
fn remade(store: &Small, change: impl Fn(Record) -> Record) -> Arc<Small> {
    let genesis = store.genesis("s").unwrap().unwrap().to_string().replace("†state.v1", "†state.w1");
    let records = store.load("s", 0, None).unwrap().records.into_iter().map(change).collect();
    let other = Arc::new(Small::default());
    other.create("s", clock(), &serde_json::from_str(&genesis).unwrap(), records).unwrap();
    other
}

#[tokio::test]
async fn a_past_that_this_version_replays_differently_is_not_shown() {
    let (store, calls) = (Arc::new(Small::default()), Arc::default());
    let first = counted(&store, &calls, None);
    run_plan(&first.create("s", chain("read", 2)).await.unwrap()).await;
    assert!(first.history("s").unwrap().len() > 3);
    let other = counted(&remade(&store, |record| record), &calls, None);
    let Err(HostError::Restore(RestoreError::Differs { seq, what, .. })) = other.history("s") else {
        panic!("another past is shown");
    };
    assert_eq!((seq, what.contains("other tasks were handed out than now")), (2, true), "{what}");
    assert!(other.history("s").is_err(), "nor is what was read of it remembered");
    // Versions without digests wrote what cannot be compared, refused inputs among it.
    let (refused, old) = (
        Input::Decide {
            question: "q9".parse().unwrap(),
            decision: Decision::DidNot,
            by: "ann".to_owned(),
            digest: None,
        },
        remade(&store, |record| Record { digest: None, ..record }),
    );
    old.append("s", 3, vec![Record::new(clock(), refused)]).await.unwrap();
    let events = counted(&old, &calls, None).history("s").unwrap();
    assert!(events.iter().all(|event| event.number.record < 4), "a refused input is no event");
}
