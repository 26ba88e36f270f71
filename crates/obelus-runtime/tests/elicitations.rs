//! Running calls that ask a person: the question reaches the person, and the answer reaches the call.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Small, host, journal, kill, open_questions, read, run_plan, spec};
use obelus_kernel::session::{About, Decision, Input, Outcome, QuestionStatus, Refused, TurnEnd};
use obelus_runtime::{
    Activities, Activity, ActivityFuture, Connections, Elicited, Host, SessionHandle, SessionSpec, Work, system_clock,
};
use serde_json::{Value, json};

/// Asks for a name and returns the answer.
struct Asks;

impl Activity for Asks {
    fn run(&self, work: Work) -> ActivityFuture {
        Box::pin(async move {
            let schema = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}});
            // In a separate task, as the connection to a server does.
            let elicitor = work.elicitor.clone();
            let asked = tokio::spawn(async move { elicitor.ask("Whose is it?".to_owned(), schema).await });
            Outcome::Value(match asked.await.unwrap() {
                Elicited::Value(value) => json!({"value": value}),
                Elicited::Declined(reason) => json!({"declined": reason}),
                Elicited::Gone => json!("gone"),
            })
        })
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_millis(200))
    }
}

fn asking(effect: &str, question_seconds: u64) -> SessionSpec {
    planned(json!([{"_tool": "notes", "_outputPath": "†state.a"}]), effect, question_seconds)
}

fn planned(plan: Value, effect: &str, question_seconds: u64) -> SessionSpec {
    let tool = json!({"type": "object", "x-effect": effect, "x-target": []});
    let mut spec = spec(json!({"notes": tool}), plan);
    spec.settings.question_seconds = question_seconds;
    spec
}

fn connections(notes: impl Activity) -> Connections {
    let mut activities = Activities::new();
    activities.add("notes", notes);
    Connections::new(activities)
}

/// A session whose call asks, and its host.
async fn open(spec: SessionSpec) -> (Host, SessionHandle) {
    let host = Host::builder(connections(Asks)).clock(system_clock).build();
    let handle = host.create_temporary("s", spec).await.unwrap();
    (host, handle)
}

async fn decide(handle: &SessionHandle, decision: Decision) -> Result<TurnEnd, Refused> {
    handle.answer("q1".parse().unwrap(), decision, "ann").await?;
    Ok(handle.rested().await?.unwrap().ends)
}

fn ada() -> Decision {
    Decision::Value { value: json!({"name": "Ada"}) }
}

async fn brought(handle: &SessionHandle) -> Value {
    read(handle, "†state.a").await.unwrap_or_default()
}

#[tokio::test]
async fn an_answer_reaches_its_call_and_the_call_continues() {
    let store = Arc::new(Small::default());
    let host = host(connections(Asks), store.clone());
    let handle = host.create("s", asking("create", 3600)).await.unwrap();
    let reply = run_plan(&handle).await;
    assert_eq!((reply.ends, reply.waiting), (TurnEnd::Waiting, vec!["q1".parse().unwrap()]));
    assert_eq!(decide(&handle, ada()).await, Ok(TurnEnd::Output));
    assert_eq!(brought(&handle).await, json!({"value": {"name": "Ada"}}));
    let journal = journal(&*store, "s");
    let asks = journal.iter().filter(|input| matches!(input, Input::Elicit { .. })).count();
    assert_eq!((asks, journal.len()), (1, 4), "what is asked is in the journal: {journal:?}");
}

#[tokio::test]
async fn concurrent_calls_each_get_their_own_answer() {
    let plan = json!([{"_tool": "notes", "_outputPath": "†state.a"}, {"_tool": "notes", "_outputPath": "†state.b"}]);
    let (_host, handle) = open(planned(plan, "create", 3600)).await;
    assert_eq!(run_plan(&handle).await.waiting.len(), 2);
    for question in open_questions(&handle).await {
        // The question has the call that asks.
        let name = question.calls[0].call["_outputPath"].clone();
        let decision = Decision::Value { value: json!({"name": name}) };
        handle.answer(question.id, decision, "ann").await.unwrap();
        handle.rested().await.unwrap();
    }
    for path in ["†state.a", "†state.b"] {
        assert_eq!(read(&handle, path).await, Some(json!({"value": {"name": path}})));
    }
}

#[tokio::test]
async fn waiting_for_a_person_does_not_count_towards_the_time_limit() {
    let (_host, handle) = open(asking("create", 3600)).await;
    run_plan(&handle).await;
    // Longer than the time limit of the call.
    let waited = tokio::time::timeout(Duration::from_millis(400), handle.finished()).await;
    assert!(waited.is_err(), "{waited:?}");
    decide(&handle, ada()).await.unwrap();
    assert_eq!(brought(&handle).await, json!({"value": {"name": "Ada"}}));
}

#[tokio::test]
async fn a_denial_reaches_the_call() {
    let (_host, handle) = open(asking("create", 3600)).await;
    run_plan(&handle).await;
    decide(&handle, Decision::Deny { reason: "none of its business".to_owned() }).await.unwrap();
    assert_eq!(brought(&handle).await, json!({"declined": "none of its business"}));
}

#[tokio::test]
async fn finished_waits_for_the_answer_to_an_elicitation() {
    let (_host, handle) = open(asking("create", 3600)).await;
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Waiting);
    let (reply, taken) = tokio::join!(handle.finished(), handle.answer("q1".parse().unwrap(), ada(), "ann"));
    taken.unwrap();
    assert_eq!(reply.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!(brought(&handle).await, json!({"value": {"name": "Ada"}}));
}

#[tokio::test]
async fn an_unanswered_elicitation_expires_without_a_client() {
    let (_host, handle) = open(asking("create", 0)).await;
    run_plan(&handle).await;
    assert_eq!(handle.finished().await.unwrap().unwrap().ends, TurnEnd::Output);
    assert_eq!(brought(&handle).await, json!("gone"));
}

#[tokio::test]
async fn an_elicitation_is_declined_if_nobody_can_answer() {
    let mut spec = asking("create", 3600);
    spec.local.unattended = true;
    let (_host, handle) = open(spec).await;
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!(brought(&handle).await, json!({"declined": "nobody is there to answer"}));
    assert!(handle.inspect(|session| session.questions().is_empty()).await.unwrap());
}

/// Asks a question that is too long, then a thousand more.
struct Pesters;

impl Activity for Pesters {
    fn run(&self, work: Work) -> ActivityFuture {
        Box::pin(async move {
            let too_much = work.elicitor.ask("x".repeat(100_000), json!({})).await;
            let mut answers = std::collections::BTreeSet::from([format!("{too_much:?}")]);
            for _ in 0..1000 {
                // The schema is invalid, so no answer is possible.
                answers.insert(format!("{:?}", work.elicitor.ask("?".to_owned(), json!("none")).await));
            }
            Outcome::Value(json!(answers))
        })
    }
}

#[tokio::test]
async fn the_number_of_elicitations_of_a_call_is_limited() {
    let store = Arc::new(Small::default());
    let host = host(connections(Pesters), store.clone());
    let handle = host.create("s", asking("create", 3600)).await.unwrap();
    run_plan(&handle).await;
    let records = journal(&*store, "s").len();
    assert!(records < 110, "{records}");
    let answers = brought(&handle).await.to_string();
    assert!(answers.contains("more than 100 times") && answers.contains("at most 65536 bytes"), "{answers}");
}

#[tokio::test]
async fn a_stop_ends_the_call_and_its_question() {
    let (_host, handle) = open(asking("read", 3600)).await;
    run_plan(&handle).await;
    handle.stop().await.unwrap();
    assert_eq!(handle.finished().await.unwrap().unwrap().ends, TurnEnd::Stopped);
    let open = open_questions(&handle).await;
    assert!(open.is_empty(), "{open:?}");
}

#[tokio::test]
async fn after_a_crash_the_old_question_is_closed_and_the_call_is_in_doubt() {
    let store = Arc::new(Small::default());
    let first = host(connections(Asks), store.clone());
    run_plan(&first.create("s", asking("create", 3600)).await.unwrap()).await;
    kill(first).await;
    let second = host(connections(Asks), store);
    let again = second.open("s").await.unwrap();
    assert_eq!(again.rested().await.unwrap().unwrap().ends, TurnEnd::Waiting);
    let questions = again.inspect(obelus_kernel::session::Session::questions).await.unwrap();
    assert_eq!((questions[0].status, questions[1].about), (QuestionStatus::Expired, About::InDoubt));
    let refused = decide(&again, ada()).await.unwrap_err();
    assert!(refused.text.contains("not at work any more"), "{refused}");
}
