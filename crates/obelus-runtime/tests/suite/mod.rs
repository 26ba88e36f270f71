//! The behaviour of sessions, the same on every engine. Each engine implements [`World`] and runs all cases.

mod delegates;
mod imports;
mod reconcile;
mod work;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use obelus_kernel::session::{About, Decision, Input, Mode, TurnEnd};
use obelus_runtime::{Activities, Connections, EventBody, EventNumber, Host, HostError, SessionHandle, Subscription};
use obelus_runtime::{SessionSpec, StoreError};
use serde_json::{Value, json};

pub(crate) use delegates::*;
pub(crate) use imports::*;
pub(crate) use reconcile::*;
pub(crate) use work::*;

use super::common::{chain, counting, open_questions, read, run_plan, snapshot, spec, tool};

/// An engine.
pub(crate) trait World {
    /// A host of the engine. All its hosts see the same sessions.
    fn host(&self, connections: Connections) -> Host;

    /// An id of a session that is unique to the case.
    fn id(&self, name: &str) -> String;
}

/// The cases of the suite.
macro_rules! cases {
    ($($name:ident;)*) => {
        /// Makes a test of each case, with a new world from `$world`.
        macro_rules! suite {
            ($world:expr) => {
                $(
                    #[tokio::test]
                    async fn $name() {
                        $crate::suite::$name(&$world(stringify!($name))).await;
                    }
                )*
            };
        }
    };
}

cases! {
    a_plan_runs_to_its_rest_and_returns_its_end;
    a_question_is_answered_through_a_clone_of_the_handle;
    events_are_numbered_by_record_and_a_client_can_resume;
    a_client_that_resumes_at_another_process_misses_nothing;
    an_unloaded_session_continues_through_the_same_handle;
    dur_13_the_same_input_sent_twice_acts_once;
    dur_13_an_input_id_used_for_another_input_is_refused;
    dur_11_a_paused_session_starts_nothing_until_it_is_resumed;
    a_session_that_does_not_exist_or_exists_already_is_an_error;
    dur_14_idempotency_keys_differ_between_sessions;
    ask_1_a_new_session_of_the_same_name_does_not_reuse_question_ids;
    an_imported_state_is_accepted_completely_or_nothing_is_stored;
    dur_1_replaying_the_journal_gives_the_same_session;
    dur_6_a_fork_does_not_change_the_original;
    the_inbox_and_the_list_show_the_stored_sessions;
    dur_4_a_panicking_call_becomes_a_question_and_is_not_repeated;
    dur_4_an_effect_found_by_reconciliation_is_not_repeated;
    dur_4_an_effect_that_did_not_happen_is_repeated;
    dur_4_without_reconciliation_a_person_is_asked_with_the_known_facts;
    dur_4_a_call_that_ran_when_its_session_was_moved_is_reconciled;
    independent_calls_run_at_once_up_to_the_limit;
    a_hanging_call_is_ended_and_the_others_continue;
    an_activity_that_panics_is_an_error_of_its_call;
    a_detached_call_does_not_delay_the_turn_and_ends_later;
    rows_with_the_same_id_are_an_error_and_none_is_lost;
    a_message_is_answered_after_the_calls_of_the_model;
    a_further_message_begins_a_one_off_request_anew;
    a_stop_ends_the_turn_after_running_calls_have_ended;
    a_stopped_turn_ends_its_running_calls;
    a_question_expires_by_itself;
    an_export_is_imported_under_its_own_name;
    dur_11_an_import_that_is_paused_starts_nothing_until_it_is_resumed;
    dur_11_an_imported_pause_does_not_hide_that_of_the_import;
    dur_11_the_fork_of_a_paused_session_is_paused_wherever_it_begins;
    sessions_work_side_by_side;
    del_3_the_calls_of_delegates_run_at_once;
    del_3_a_question_of_a_delegate_is_in_the_inbox_and_its_answer_reaches_it;
}

/// A plan with one call that needs a person.
fn asking() -> SessionSpec {
    spec(json!({"step": tool("delete")}), json!([{"_tool": "step", "n": 1, "_outputPath": "†state.a"}]))
}

fn counted(world: &dyn World) -> (Host, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    (world.host(Connections::new(counting(&calls))), calls)
}

/// The received events as JSON, without transient ones.
fn told(events: &mut Subscription) -> Vec<String> {
    let all = std::iter::from_fn(|| events.try_next());
    let lasting = all.filter(|event| !matches!(event.body, EventBody::Moved { .. }));
    lasting.map(|event| serde_json::to_string(&*event).unwrap()).collect()
}

async fn approve(handle: &SessionHandle) {
    let question = open_questions(handle).await.remove(0).id;
    handle.answer(question, Decision::Approve { only: None }, "ann").await.unwrap();
}

pub(crate) async fn a_plan_runs_to_its_rest_and_returns_its_end(world: &dyn World) {
    let (host, calls) = counted(world);
    let handle = host.create(&world.id("s"), chain("read", 5)).await.unwrap();
    assert!(handle.rested().await.unwrap().is_none(), "nothing has begun");
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!((calls.load(Ordering::SeqCst), read(&handle, "†state.v4").await), (5, Some(json!(5))));
    let refused = handle.answer("q9".parse().unwrap(), Decision::DidNot, "ann").await.unwrap_err();
    assert_eq!(refused.code.name(), "unknown_question");
    assert!(handle.finished().await.unwrap().is_some());
}

pub(crate) async fn a_question_is_answered_through_a_clone_of_the_handle(world: &dyn World) {
    let (host, calls) = counted(world);
    let handle = host.create(&world.id("s"), asking()).await.unwrap();
    let (mut events, person) = (handle.subscribe(None), handle.clone());
    let answering = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            if let EventBody::QuestionAsked { question } = &event.body {
                person.answer(question.id.clone(), Decision::Approve { only: None }, "ann").await.unwrap();
                return person.rested().await.unwrap().unwrap().ends;
            }
        }
        panic!("nobody asked");
    });
    handle.run_plan().await.unwrap();
    assert_eq!(answering.await.unwrap(), TurnEnd::Output);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

pub(crate) async fn events_are_numbered_by_record_and_a_client_can_resume(world: &dyn World) {
    let (host, _) = counted(world);
    let handle = host.create(&world.id("s"), chain("read", 2)).await.unwrap();
    let mut all = handle.subscribe(Some(EventNumber::START));
    run_plan(&handle).await;
    let mut seen = Vec::new();
    while let Some(event) = all.try_next() {
        if !matches!(event.body, EventBody::Moved { .. }) {
            seen.push((event.number.to_string(), serde_json::to_value(&*event).unwrap()["event"].clone()));
        }
    }
    let expected =
        [("1-1", "call_began"), ("2-1", "call_ended"), ("2-2", "call_began"), ("3-1", "call_ended"), ("3-2", "rested")];
    assert_eq!(seen, expected.map(|(number, name)| (number.to_owned(), json!(name))));
    let later = told(&mut handle.subscribe("2-1".parse().ok()));
    assert_eq!(later.len(), 3, "{later:?}");
}

pub(crate) async fn a_client_that_resumes_at_another_process_misses_nothing(world: &dyn World) {
    let id = world.id("s");
    let connections = Connections::new(counting(&Arc::default()));
    let first = world.host(connections.clone());
    let handle = first.create(&id, asking()).await.unwrap();
    let mut live = handle.subscribe(Some(EventNumber::START));
    run_plan(&handle).await;
    let mut seen = told(&mut live);
    approve(&handle).await;
    handle.rested().await.unwrap();
    seen.extend(told(&mut live));
    assert!(seen.len() > 4 && seen.iter().any(|event| event.contains("question_asked")), "{seen:?}");
    first.close().await;
    let second = world.host(connections);
    let handle = second.open(&id).await.unwrap();
    // This process has none of the old events: the stream says so, and the journal has them.
    assert!(told(&mut handle.subscribe(Some(EventNumber::START)))[0].contains("missed"));
    for (at, number) in [(0, "0-0"), (1, "1-1"), (2, "1-2")] {
        assert_eq!(told(&mut handle.history(number.parse().unwrap()).unwrap()), seen[at..], "after {number}");
    }
    let mut events = handle.history("1-1".parse().unwrap()).unwrap();
    handle.set_mode(Mode::Shadow).await.unwrap();
    handle.finished().await.unwrap();
    assert!(told(&mut events).last().unwrap().contains("mode_changed"), "and it goes on from there");
}

pub(crate) async fn an_unloaded_session_continues_through_the_same_handle(world: &dyn World) {
    let (host, calls) = counted(world);
    let id = world.id("s");
    let handle = host.create(&id, chain("read", 3)).await.unwrap();
    run_plan(&handle).await;
    host.passivate(&id).await;
    assert!(host.find(&id).is_none());
    assert_eq!(read(&handle, "†state.v2").await, Some(json!(3)));
    assert!(host.find(&id).is_some());
    run_plan(&handle).await;
    assert_eq!(calls.load(Ordering::SeqCst), 6);
}

pub(crate) async fn dur_13_the_same_input_sent_twice_acts_once(world: &dyn World) {
    let (host, calls) = counted(world);
    let id = world.id("s");
    let handle = host.create(&id, chain("read", 1)).await.unwrap();
    let once = handle.with_id("first".parse().unwrap());
    for _ in 0..2 {
        once.run_plan().await.unwrap();
        handle.rested().await.unwrap();
    }
    host.passivate(&id).await;
    once.run_plan().await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

pub(crate) async fn dur_13_an_input_id_used_for_another_input_is_refused(world: &dyn World) {
    let (host, _) = counted(world);
    let handle = host.create(&world.id("s"), chain("read", 1)).await.unwrap();
    let once = handle.with_id("it's first".parse().unwrap());
    once.run_plan().await.unwrap();
    handle.rested().await.unwrap();
    assert_eq!(once.pause("anna").await.unwrap_err().code.name(), "id_reused");
    assert!(handle.inspect(|session| session.paused().is_none()).await.unwrap());
    // A message of an earlier version, which did not say who sent it, is sent again after an upgrade.
    let once = handle.with_id("second".parse().unwrap());
    once.say("hello").await.unwrap();
    let by = |text: &str| Input::User { text: text.to_owned(), by: Some("api:anna".to_owned()) };
    once.tell(by("hello")).await.unwrap();
    assert_eq!(once.tell(by("goodbye")).await.unwrap_err().code.name(), "id_reused");
}

pub(crate) async fn dur_11_a_paused_session_starts_nothing_until_it_is_resumed(world: &dyn World) {
    let (host, calls) = counted(world);
    let handle = host.create(&world.id("s"), chain("read", 2)).await.unwrap();
    handle.pause("ann").await.unwrap();
    handle.run_plan().await.unwrap();
    assert!(handle.finished().await.unwrap().is_none(), "it is paused in the middle");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    handle.resume("ann").await.unwrap();
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

pub(crate) async fn a_session_that_does_not_exist_or_exists_already_is_an_error(world: &dyn World) {
    let (host, _) = counted(world);
    let id = world.id("s");
    assert!(matches!(host.open(&id).await, Err(HostError::Store(StoreError::Unknown(_)))));
    host.create(&id, asking()).await.unwrap();
    assert!(matches!(host.create(&id, asking()).await, Err(HostError::Store(StoreError::Exists(_)))));
    assert!(matches!(host.create("no name", asking()).await, Err(HostError::Store(StoreError::BadName(_)))));
}

pub(crate) async fn dur_14_idempotency_keys_differ_between_sessions(world: &dyn World) {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let (mut activities, seen) = (Activities::new(), keys.clone());
    activities.register("step", move |work| {
        seen.lock().unwrap().push(work.key);
        async { Ok(json!(1)) }
    });
    let host = world.host(Connections::new(activities));
    let (id, fork) = (world.id("s"), world.id("t"));
    for _ in 0..2 {
        run_plan(&host.create(&id, chain("read", 1)).await.unwrap()).await;
        host.remove(&id).await.unwrap();
    }
    run_plan(&host.create(&id, chain("read", 1)).await.unwrap()).await;
    host.fork(&id, &fork, Some(0)).unwrap();
    run_plan(&host.open(&fork).await.unwrap()).await;
    let mut all = keys.lock().unwrap().clone();
    assert_eq!(all.len(), 4);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4, "{all:?}");
}

pub(crate) async fn ask_1_a_new_session_of_the_same_name_does_not_reuse_question_ids(world: &dyn World) {
    let (host, _) = counted(world);
    let (id, fork) = (world.id("s"), world.id("t"));
    let first = host.create(&id, asking()).await.unwrap();
    run_plan(&first).await;
    let old = open_questions(&first).await.remove(0).id;
    host.remove(&id).await.unwrap();
    let second = host.create(&id, asking()).await.unwrap();
    run_plan(&second).await;
    let refused = second.answer(old.clone(), Decision::Approve { only: None }, "ann").await.unwrap_err();
    assert_eq!(refused.code.name(), "unknown_question");
    assert_ne!(open_questions(&second).await.remove(0).id, old);
    assert!(host.fork(&id, &fork, None).is_ok());
    host.remove(&fork).await.unwrap();
    let copied = host.fork(&id, &fork, None).unwrap_err().to_string();
    assert!(copied.contains("choose another name"), "{copied}");
}

pub(crate) async fn an_imported_state_is_accepted_completely_or_nothing_is_stored(world: &dyn World) {
    let (host, _) = counted(world);
    let id = world.id("s");
    let wrong = host.adopt(&id, asking(), json!("no state"), None, "ann").await;
    assert!(matches!(wrong, Err(HostError::Refused(_))), "{wrong:?}");
    assert!(host.spec(&id).unwrap().is_none());
    let handle = host.adopt(&id, asking(), json!({"a": 7}), None, "ann").await.unwrap();
    assert_eq!(read(&handle, "†state.a").await, Some(json!(7)));
}

pub(crate) async fn dur_1_replaying_the_journal_gives_the_same_session(world: &dyn World) {
    let (host, _) = counted(world);
    let id = world.id("s");
    let live = host.create(&id, chain("read", 5)).await.unwrap();
    run_plan(&live).await;
    let seen = host.view(&id, None).unwrap();
    assert_eq!(seen.snapshot().to_string(), snapshot(&live).await);
    let early = host.view(&id, Some(3)).unwrap();
    assert_eq!(early.context().length(), 2 + 2, "two results");
    // After some turns there is a checkpoint; the journal before it remains.
    for _ in 0..6 {
        run_plan(&live).await;
    }
    host.passivate(&id).await;
    assert_eq!(read(&host.open(&id).await.unwrap(), "†state.v4").await, Some(json!(5)));
    assert_eq!(
        host.history(&id).unwrap().iter().filter(|event| matches!(event.body, EventBody::Rested { .. })).count(),
        7
    );
}

pub(crate) async fn dur_6_a_fork_does_not_change_the_original(world: &dyn World) {
    let (host, calls) = counted(world);
    let (id, fork) = (world.id("s"), world.id("t"));
    let original = host.create(&id, asking()).await.unwrap();
    run_plan(&original).await;
    let forked = host.fork(&id, &fork, None).unwrap();
    assert_eq!((forked.at, forked.is_paused), (1, false));
    let copy = host.open(&fork).await.unwrap();
    approve(&copy).await;
    assert_eq!(copy.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!((calls.load(Ordering::SeqCst), open_questions(&original).await.len()), (1, 1));
}

pub(crate) async fn the_inbox_and_the_list_show_the_stored_sessions(world: &dyn World) {
    let (host, _) = counted(world);
    let (asks, done) = (world.id("asks"), world.id("done"));
    let asking = host.create(&asks, asking()).await.unwrap();
    run_plan(&asking).await;
    run_plan(&host.create(&done, chain("read", 1)).await.unwrap()).await;
    host.close().await;
    let questions = inbox_of(&host, &asks, 1).await;
    assert_eq!(questions[0]["id"], "q1");
    assert!(inbox_of(&host, &done, 0).await.is_empty());
    let listed = host.list().unwrap().into_iter().find(|row| row.id == done).unwrap();
    assert_eq!(listed.records, 2);
    approve(&asking).await;
    asking.finished().await.unwrap();
    host.close().await;
    assert!(inbox_of(&host, &asks, 0).await.is_empty());
}

/// The open questions of a session, once there are `count`. A store may write them later.
async fn inbox_of(host: &Host, id: &str, count: usize) -> Vec<Value> {
    for _ in 0..500 {
        let row = host.inbox().unwrap().into_iter().find(|row| row.session == id);
        match row.map_or(Some(Vec::new()), |row| row.questions).filter(|questions| questions.len() == count) {
            Some(questions) => return questions,
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("`{id}` never had {count} questions in the inbox");
}

pub(crate) async fn dur_4_a_panicking_call_becomes_a_question_and_is_not_repeated(world: &dyn World) {
    let calls = Arc::new(AtomicUsize::new(0));
    let (mut activities, counter) = (Activities::new(), calls.clone());
    activities.register("step", move |work| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            assert!(work.attempt > 1, "on purpose");
            Ok(json!(1))
        }
    });
    let host = world.host(Connections::new(activities));
    let handle = host.create(&world.id("s"), chain("create", 1)).await.unwrap();
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Waiting);
    let open = open_questions(&handle).await;
    assert_eq!((open.len(), open[0].about, calls.load(Ordering::SeqCst)), (1, About::InDoubt, 1));
    handle.answer(open[0].id.clone(), Decision::DidNot, "ann").await.unwrap();
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

pub(crate) async fn a_stopped_turn_ends_its_running_calls(world: &dyn World) {
    let begun = Arc::new(AtomicUsize::new(0));
    let (mut activities, counter) = (Activities::new(), begun.clone());
    activities.register("step", move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    });
    let host = world.host(Connections::new(activities));
    let handle = host.create(&world.id("s"), chain("read", 2)).await.unwrap();
    handle.run_plan().await.unwrap();
    while begun.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.stop().await.unwrap();
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Stopped);
    assert!(handle.finished().await.is_ok());
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}

pub(crate) async fn a_question_expires_by_itself(world: &dyn World) {
    let (host, calls) = counted(world);
    let mut spec = asking();
    (spec.settings.question_seconds, spec.settings.reminder_seconds) = (1, 0);
    let handle = host.create(&world.id("s"), spec).await.unwrap();
    let mut events = handle.subscribe(None);
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Waiting);
    loop {
        let event = events.next().await.unwrap();
        if matches!(event.body, EventBody::QuestionExpired { .. }) {
            break;
        }
    }
    assert!(open_questions(&handle).await.is_empty());
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

pub(crate) async fn sessions_work_side_by_side(world: &dyn World) {
    let (host, calls) = counted(world);
    let mut running = tokio::task::JoinSet::new();
    for i in 0..16 {
        let (host, id) = (host.clone(), world.id(&format!("s-{i}")));
        running.spawn(async move {
            let handle = host.create(&id, chain("create", 3)).await.unwrap();
            run_plan(&handle).await.ends
        });
    }
    assert!(running.join_all().await.iter().all(|ends| *ends == TurnEnd::Output));
    assert_eq!(calls.load(Ordering::SeqCst), 48);
}
