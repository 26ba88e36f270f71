//! Sessions by their handles: commands, rests, events, creation and removal from memory.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Small, chain, clock, counting, open_questions, read, spec, tool};
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Decision, Input, Mode, TurnEnd};
use obelus_runtime::{
    Activities, Connections, EventBody, EventNumber, Host, HostError, SessionHandle, SessionSpec, Subscription,
};
use serde_json::json;

fn kept(activities: Activities) -> (Host, Arc<Small>) {
    let store = Arc::new(Small::default());
    let host = Host::builder(Connections::new(activities)).store(store.clone()).clock(clock).build();
    (host, store)
}

/// A plan with one call that needs a person.
fn asking() -> SessionSpec {
    spec(json!({"step": tool("delete")}), json!([{"_tool": "step", "n": 1, "_outputPath": "†state.a"}]))
}

/// The names of all received events.
fn names(events: &mut Subscription) -> Vec<String> {
    let all = std::iter::from_fn(|| events.try_next());
    all.map(|event| serde_json::to_value(&*event).unwrap()["event"].as_str().unwrap().to_owned()).collect()
}

/// The received events as JSON, without transient ones.
fn told(events: &mut Subscription) -> Vec<String> {
    let all = std::iter::from_fn(|| events.try_next());
    let lasting = all.filter(|event| !matches!(event.body, EventBody::Moved { .. }));
    lasting.map(|event| serde_json::to_string(&*event).unwrap()).collect()
}

async fn run(handle: &SessionHandle) -> TurnEnd {
    handle.run_plan().await.unwrap();
    handle.rested().await.unwrap().unwrap().ends
}

#[tokio::test]
async fn a_command_returns_when_accepted_and_rested_returns_the_end_of_the_turn() {
    let calls = Arc::new(AtomicUsize::new(0));
    let host = Host::new(Connections::new(counting(&calls)));
    let handle = host.create_temporary("s", chain("read", 5)).await.unwrap();
    assert!(handle.rested().await.unwrap().is_none(), "nothing has begun");
    assert_eq!(run(&handle).await, TurnEnd::Output);
    assert_eq!((calls.load(Ordering::SeqCst), read(&handle, "†state.v4").await), (5, Some(json!(5))));
    let refused = handle.answer("q9".parse().unwrap(), Decision::DidNot, "ann").await.unwrap_err();
    assert_eq!(refused.code.name(), "unknown_question");
    let known = Input::Ended { id: "0.0".parse().unwrap(), outcome: obelus_kernel::session::Outcome::Value(json!(9)) };
    assert_eq!(handle.tell(known).await.unwrap_err().code.name(), "not_from_outside");
}

#[tokio::test]
async fn quick_reads_are_stored_together_and_reported_once() {
    let (host, _) = kept(counting(&Arc::default()));
    let handle = host.create("s", chain("read", 2)).await.unwrap();
    let _all = handle.subscribe(Some(EventNumber::START));
    run(&handle).await;
    let mut later = handle.subscribe("2-1".parse().ok());
    assert_eq!(names(&mut later), ["call_began", "call_ended", "rested", "moved"]);
}

#[tokio::test]
async fn a_subscription_continues_after_its_session_is_unloaded() {
    let (host, _) = kept(counting(&Arc::default()));
    let handle = host.create("s", chain("read", 3)).await.unwrap();
    run(&handle).await;
    let mut events = handle.subscribe(None);
    host.passivate("s").await;
    run(&handle).await;
    assert_eq!(names(&mut events).iter().filter(|name| *name == "rested").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_is_unloaded_and_a_working_one_is_not() {
    let store = Arc::new(Small::default());
    let mut activities = counting(&Arc::default());
    activities.register("slow", |_| async {
        tokio::time::sleep(Duration::from_secs(50)).await;
        Ok(json!(1))
    });
    let host = Host::builder(Connections::new(activities)).store(store).idle_after(Some(Duration::from_secs(10)));
    let host = host.clock(clock).build();
    let idle = host.create("idle", chain("read", 1)).await.unwrap();
    run(&idle).await;
    let slow = spec(json!({"slow": tool("read")}), json!([{"_tool": "slow", "_outputPath": "†state.a"}]));
    let slow = host.create("slow", slow).await.unwrap();
    slow.run_plan().await.unwrap();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(host.find("idle").is_none() && host.find("slow").is_some());
    assert_eq!(slow.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(host.find("slow").is_none());
    assert_eq!(run(&idle).await, TurnEnd::Output);
}

#[tokio::test]
async fn the_same_input_sent_twice_to_a_temporary_session_acts_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (host, _) = kept(counting(&calls));
    let handle = host.create_temporary("t", chain("read", 1)).await.unwrap();
    let once = handle.with_id("first".parse().unwrap());
    for _ in 0..3 {
        once.run_plan().await.unwrap();
        handle.rested().await.unwrap();
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_handle_repeats_an_input_whose_actor_died_and_it_acts_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (host, store) = kept(counting(&calls));
    let handle = host.create("s", chain("read", 1)).await.unwrap();
    store.is_fatal.store(true, Ordering::SeqCst);
    handle.run_plan().await.unwrap();
    handle.rested().await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let begins = common::journal(&*store, "s").into_iter().filter(|input| matches!(input, Input::RunPlan));
    assert_eq!(begins.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn sessions_whose_actors_died_do_not_count_as_in_memory() {
    let store = Arc::new(Small::default());
    let connections = Connections::new(counting(&Arc::default()));
    let host = Host::builder(connections).store(store.clone()).most_live(8).clock(clock).build();
    let handle = host.create("s", chain("read", 1)).await.unwrap();
    for _ in 0..9 {
        store.is_fatal.store(true, Ordering::SeqCst);
        handle.set_mode(Mode::Full).await.unwrap();
    }
    let _other = host.create("t", chain("read", 1)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(host.find("s").is_some(), "there is room for both");
}

#[tokio::test(start_paused = true)]
async fn outcomes_are_stored_when_the_disk_has_room_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (host, store) = kept(counting(&calls));
    store.make_room(Some(2));
    let handle = host.create("s", chain("create", 3)).await.unwrap();
    handle.run_plan().await.unwrap();
    assert_eq!(handle.rested().await.unwrap_err().code.name(), "not_durable");
    assert_eq!(handle.rested().await.unwrap_err().code.name(), "not_durable", "still full");
    assert_eq!(calls.load(Ordering::SeqCst), 2, "nothing starts while nothing can be kept");
    assert_eq!(handle.say("hello").await.unwrap_err().code.name(), "not_durable");
    store.make_room(None);
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!((calls.load(Ordering::SeqCst), read(&handle, "†state.v2").await), (3, Some(json!(3))));
    // The host also retries by itself.
    store.make_room(Some(6));
    handle.run_plan().await.unwrap();
    handle.rested().await.unwrap_err();
    store.make_room(None);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(calls.load(Ordering::SeqCst), 6);
}

#[tokio::test]
async fn interrupted_work_continues_only_when_the_session_is_opened() {
    let (begun, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut activities = Activities::new();
    let counter = begun.clone();
    activities.register("step", move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    });
    let (first, store) = kept(activities);
    let handle = first.create("s", chain("read", 2)).await.unwrap();
    handle.run_plan().await.unwrap();
    drop((handle, first));
    tokio::task::yield_now().await;

    let second = Host::builder(Connections::new(counting(&calls))).store(store).clock(clock).build();
    let handle = second.open("s").await.unwrap();
    assert_eq!(read(&handle, "†state.v0").await, None);
    handle.pause("ann").await.unwrap();
    assert_eq!(handle.finished().await.unwrap().map(|reply| reply.ends), None, "it is paused in the middle");
    assert_eq!((begun.load(Ordering::SeqCst), calls.load(Ordering::SeqCst)), (1, 0));
    handle.resume("ann").await.unwrap();
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_host_without_a_store_creates_no_stored_session() {
    let alone = Host::new(Connections::new(Activities::new()));
    assert!(matches!(alone.create("s", asking()).await, Err(HostError::NoStore)));
}

#[tokio::test]
async fn sessions_end_with_their_host() {
    let (host, _) = kept(counting(&Arc::default()));
    let handle = host.create("s", asking()).await.unwrap();
    drop(host);
    assert_eq!(handle.say("hello").await.unwrap_err().code, RefusalCode::Gone);
}

/// Activities that record the idempotency keys of all calls.
fn keys_of() -> (Activities, Arc<Mutex<Vec<String>>>) {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let (mut activities, seen) = (Activities::new(), keys.clone());
    activities.register("step", move |work| {
        seen.lock().unwrap().push(work.key);
        async { Ok(json!(1)) }
    });
    (activities, keys)
}

#[tokio::test]
async fn dur_14_idempotency_keys_of_temporary_sessions_differ() {
    let (activities, keys) = keys_of();
    let (host, _) = kept(activities);
    for _ in 0..2 {
        run(&host.create_temporary("s", chain("read", 1)).await.unwrap()).await;
    }
    run(&host.create("s", chain("read", 1)).await.unwrap()).await;
    let mut all = keys.lock().unwrap().clone();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 3, "{all:?}");
}

#[tokio::test]
async fn dur_14_a_session_keeps_its_key_when_it_is_unloaded() {
    let (activities, keys) = keys_of();
    let (host, _) = kept(activities);
    let handle = host.create("s", chain("delete", 2)).await.unwrap();
    for _ in 0..2 {
        handle.run_plan().await.unwrap();
        handle.rested().await.unwrap();
        let question = open_questions(&handle).await.remove(0).id;
        host.passivate("s").await;
        let spec = chain("delete", 2);
        let again = host.open_with("s", spec).await.unwrap();
        again.answer(question, Decision::Approve { only: None }, "ann").await.unwrap();
        again.rested().await.unwrap();
    }
    let keys = keys.lock().unwrap().clone();
    let beginnings: Vec<&str> = keys.iter().map(|key| key.split(':').next().unwrap()).collect();
    assert_eq!((beginnings.len(), beginnings[0]), (2, beginnings[1]));
}

#[tokio::test]
async fn a_temporary_session_ends_with_its_last_handle() {
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let mut activities = Activities::new();
    let (begins, ends) = (begun.clone(), ended.clone());
    activities.register("step", move |_| {
        begins.fetch_add(1, Ordering::SeqCst);
        let guard = Counts(ends.clone());
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    });
    let host = Host::new(Connections::new(activities));
    let handle = host.create_temporary("s", chain("read", 1)).await.unwrap();
    handle.run_plan().await.unwrap();
    drop(handle);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!((begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test]
async fn a_thousand_sessions_work_side_by_side() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (host, _) = kept(counting(&calls));
    let mut running = tokio::task::JoinSet::new();
    for i in 0..1_000 {
        let host = host.clone();
        running.spawn(async move {
            let handle = host.create(&format!("s-{i}"), chain("read", 3)).await.unwrap();
            run(&handle).await
        });
    }
    assert!(running.join_all().await.iter().all(|ends| *ends == TurnEnd::Output));
    assert_eq!(calls.load(Ordering::SeqCst), 3_000);
    let temporary = host.create_temporary("t", chain("read", 1)).await.unwrap();
    host.close().await;
    assert!(host.find("s-1").is_none());
    assert_eq!(temporary.run_plan().await.unwrap_err().code, RefusalCode::Gone);
}

#[tokio::test(start_paused = true)]
async fn a_question_expires_even_if_its_session_is_unloaded() {
    let store = Arc::new(Small::default());
    let host = Host::builder(Connections::new(counting(&Arc::default()))).store(store);
    let host = host.idle_after(Some(Duration::from_secs(1))).clock(moving).build();
    let mut spec = asking();
    (spec.settings.question_seconds, spec.settings.reminder_seconds) = (100, 0);
    let handle = host.create("s", spec).await.unwrap();
    assert_eq!(run(&handle).await, TurnEnd::Waiting);
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert!(host.find("s").is_none());
    let mut events = handle.subscribe(None);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(names(&mut events).contains(&"rested".to_owned()));
    assert!(open_questions(&handle).await.is_empty());
}

/// The time of the paused runtime.
fn moving() -> obelus_kernel::Time {
    thread_local! { static BEGAN: tokio::time::Instant = tokio::time::Instant::now(); }
    let since = BEGAN.with(tokio::time::Instant::elapsed);
    obelus_kernel::Time(clock().0 + i64::try_from(since.as_millis()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_host_can_end_while_an_unloaded_session_waits_for_a_person() {
    let store = Arc::new(Small::default());
    let host = Host::builder(Connections::new(counting(&Arc::default()))).store(store);
    let host = host.idle_after(Some(Duration::from_secs(1))).clock(moving).build();
    let handle = host.create("s", asking()).await.unwrap();
    assert_eq!(run(&handle).await, TurnEnd::Waiting);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(host.find("s").is_none());
    let before = moving();
    host.close().await;
    assert!(moving().0 - before.0 < 1_000, "nobody waits until the question lapses");
}

#[tokio::test(start_paused = true)]
async fn the_longest_idle_sessions_are_unloaded_first() {
    let store = Arc::new(Small::default());
    let mut activities = counting(&Arc::default());
    activities.register("slow", |_| async {
        tokio::time::sleep(Duration::from_secs(50)).await;
        Ok(json!(1))
    });
    let host = Host::builder(Connections::new(activities)).store(store).most_live(8).clock(clock).build();
    let slow = spec(json!({"slow": tool("read")}), json!([{"_tool": "slow", "_outputPath": "†state.a"}]));
    let slow = host.create("slow", slow).await.unwrap();
    slow.run_plan().await.unwrap();
    for n in 0..20 {
        let handle = host.create(&format!("s{n}"), chain("read", 1)).await.unwrap();
        run(&handle).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let live: Vec<usize> = (0..20).filter(|n| host.find(&format!("s{n}")).is_some()).collect();
    assert!(live.len() <= 8 && live.contains(&19) && !live.contains(&0), "{live:?}");
    assert!(host.find("slow").is_some(), "what is at work stays");
    let first = host.open("s0").await.unwrap();
    assert_eq!(run(&first).await, TurnEnd::Output);
}

#[tokio::test]
async fn watching_a_resting_session_does_not_load_it_and_delivers_later_events() {
    let store = Arc::new(Small::default());
    let open = || Host::builder(Connections::new(counting(&Arc::default()))).store(store.clone()).clock(clock).build();
    let first = open();
    run(&first.create("s", chain("read", 1)).await.unwrap()).await;
    common::kill(first).await;
    let host = open();
    let watched = host.watch("s").await.unwrap();
    let mut events = watched.subscribe(None);
    let mut all = watched.history(EventNumber::START).unwrap();
    assert!(host.find("s").is_none());
    let earlier = told(&mut all);
    assert!(earlier.len() > 1 && !earlier[0].contains("missed"), "{earlier:?}");
    run(&host.open("s").await.unwrap()).await;
    let news = told(&mut events);
    assert!(!news.is_empty() && news == told(&mut all), "{news:?}");
    assert!(host.watch("none").await.is_err());
}
