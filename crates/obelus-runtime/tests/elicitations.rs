//! A call that asks a person while it is at work: the driver carries the question out and the answer back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use obelus_kernel::session::{
    About, Decision, Ends, Input, Mode, Outcome, Question, QuestionStatus, Session, Settings,
};
use obelus_kernel::{Context, Expr, Time};
use obelus_runtime::{
    Activities, Activity, ActivityFuture, Driver, Durable, Elicited, Idle, Journal, NoModel, Work, system_clock,
};
use serde_json::{Value, json};

/// Asks for a name, and brings what it was told.
struct Asks;

impl Activity for Asks {
    fn run(&self, work: Work) -> ActivityFuture {
        Box::pin(async move {
            let schema = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}});
            // In a task of its own, as a server's connection asks.
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

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<(Time, Input)>>>);

impl Journal for Paper {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Durable {
        self.0.lock().unwrap().extend(inputs.iter().cloned());
        Box::pin(std::future::ready(Ok(())))
    }
}

fn driver(effect: &str, question_seconds: u64) -> Driver {
    let mut activities = Activities::new();
    activities.add("notes", Asks);
    driver_with(activities, effect, question_seconds)
}

fn driver_with(activities: Activities, effect: &str, question_seconds: u64) -> Driver {
    let plan = json!([{"_tool": "notes", "_outputPath": "†state.a"}]);
    driver_for(plan, activities, effect, question_seconds)
}

fn driver_for(plan: Value, activities: Activities, effect: &str, question_seconds: u64) -> Driver {
    let tool = json!({"type": "object", "x-effect": effect, "x-target": []});
    let context =
        Context::from_value(json!([{"type": "tool", "tool": {"notes": tool}}, {"type": "plan", "plan": plan}]))
            .unwrap();
    let activity_names = activities.names();
    let settings = Settings { mode: Mode::Full, activities: activity_names, question_seconds, ..Settings::default() };
    let session = Session::new("s", context, None, Arc::new(settings)).unwrap();
    Driver::new(session, Arc::new(activities), Arc::new(NoModel), system_clock)
}

fn read(driver: &Driver) -> Value {
    let expr = Expr::parse("†state.a").unwrap();
    driver.session().context().resolve(&expr, None).map_or(Value::Null, std::borrow::Cow::into_owned)
}

fn decide(decision: Decision) -> Input {
    Input::Decide { question: "q1".to_owned(), decision, by: "ann".to_owned() }
}

fn ada() -> Input {
    decide(Decision::Value { value: json!({"name": "Ada"}) })
}

#[tokio::test]
async fn the_answer_reaches_the_call_and_the_call_goes_on() {
    let paper = Paper::default();
    let mut driver = driver("create", 3600).journaled_by(paper.clone());
    let reply = driver.turn(Input::RunPlan).await.unwrap();
    assert_eq!((reply.ends, reply.waiting, driver.is_asked()), (Ends::Waiting, vec!["q1".to_owned()], true));
    let reply = driver.turn(ada()).await.unwrap();
    assert_eq!((reply.ends, read(&driver)), (Ends::Output, json!({"value": {"name": "Ada"}})));
    assert!(!driver.is_asked());
    let journal = paper.0.lock().unwrap();
    let asks = journal.iter().filter(|(_, input)| matches!(input, Input::Elicit { .. })).count();
    assert_eq!((asks, journal.len()), (1, 4), "what is asked is in the journal: {journal:?}");
}

#[tokio::test]
async fn calls_that_ask_at_once_are_each_told_their_own() {
    let mut activities = Activities::new();
    activities.add("notes", Asks);
    let plan = json!([{"_tool": "notes", "_outputPath": "†state.a"}, {"_tool": "notes", "_outputPath": "†state.b"}]);
    let mut driver = driver_for(plan, activities, "create", 3600);
    assert_eq!(driver.turn(Input::RunPlan).await.unwrap().waiting.len(), 2);
    for question in driver.session().questions() {
        // The question says which call asks.
        let name = question.calls[0].call["_outputPath"].clone();
        let decision = Decision::Value { value: json!({"name": name}) };
        driver.turn(Input::Decide { question: question.id, decision, by: "ann".to_owned() }).await.unwrap();
    }
    for path in ["†state.a", "†state.b"] {
        let value = driver.session().context().resolve(&Expr::parse(path).unwrap(), None).unwrap().into_owned();
        assert_eq!(value, json!({"value": {"name": path}}));
    }
}

#[tokio::test]
async fn the_time_a_person_takes_is_not_the_calls() {
    let mut driver = driver("create", 3600);
    driver.turn(Input::RunPlan).await.unwrap();
    // Longer than the call may take by itself.
    let waited = tokio::time::timeout(Duration::from_millis(400), driver.idle()).await;
    assert!(waited.is_err(), "{waited:?}");
    driver.turn(ada()).await.unwrap();
    assert_eq!(read(&driver), json!({"value": {"name": "Ada"}}));
}

#[tokio::test]
async fn a_no_is_an_answer_too() {
    let mut driver = driver("create", 3600);
    driver.turn(Input::RunPlan).await.unwrap();
    driver.turn(decide(Decision::Deny { reason: "none of its business".to_owned() })).await.unwrap();
    assert_eq!(read(&driver), json!({"declined": "none of its business"}));
}

#[tokio::test]
async fn whoever_is_done_with_everything_else_waits_for_the_answer_at_the_counter() {
    let mut driver = driver("create", 3600);
    let counter = driver.counter();
    assert_eq!(driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Waiting);
    let (reply, taken) = tokio::join!(driver.finish(), counter.tell(ada()));
    taken.unwrap();
    assert_eq!((reply.unwrap().ends, read(&driver)), (Ends::Output, json!({"value": {"name": "Ada"}})));
}

#[tokio::test]
async fn what_nobody_answers_in_time_is_gone_without_anybody_looking() {
    let mut driver = driver("create", 0);
    let reply = driver.turn(Input::RunPlan).await.unwrap();
    let reply = match reply.ends {
        Ends::Waiting => match driver.idle().await {
            Idle::Rested(reply) => *reply,
            Idle::Told(_) => panic!("nobody told anything"),
        },
        _ => reply,
    };
    assert_eq!((reply.ends, read(&driver)), (Ends::Output, json!("gone")));
}

#[tokio::test]
async fn where_nobody_could_answer_nobody_is_asked() {
    let mut driver = driver("create", 3600).alone();
    assert_eq!(driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Output);
    assert_eq!(read(&driver), json!({"declined": "nobody is there to answer"}));
    assert!(driver.session().questions().is_empty());
}

/// Asks without end, and then for too much.
struct Pesters;

impl Activity for Pesters {
    fn run(&self, work: Work) -> ActivityFuture {
        Box::pin(async move {
            let too_much = work.elicitor.ask("x".repeat(100_000), json!({})).await;
            let mut answers = std::collections::BTreeSet::from([format!("{too_much:?}")]);
            for _ in 0..1000 {
                // No schema: nobody could answer that.
                answers.insert(format!("{:?}", work.elicitor.ask("?".to_owned(), json!("none")).await));
            }
            Outcome::Value(json!(answers))
        })
    }
}

#[tokio::test]
async fn a_call_that_asks_without_end_does_not_fill_the_journal() {
    let mut activities = Activities::new();
    activities.add("notes", Pesters);
    let paper = Paper::default();
    let mut driver = driver_with(activities, "create", 3600).journaled_by(paper.clone());
    driver.turn(Input::RunPlan).await.unwrap();
    let journal = paper.0.lock().unwrap();
    assert!(journal.len() < 110, "{}", journal.len());
    let answers = read(&driver).to_string();
    assert!(answers.contains("more than 100 times") && answers.contains("at most 65536 bytes"), "{answers}");
}

#[tokio::test]
async fn a_stop_ends_the_call_and_its_question() {
    let mut driver = driver("read", 3600);
    let inlet = driver.inlet();
    driver.turn(Input::RunPlan).await.unwrap();
    inlet.send(Input::Stop).unwrap();
    assert_eq!(driver.finish().await.unwrap().ends, Ends::Stopped);
    let open = driver.session().questions().into_iter().find(Question::is_open);
    assert!(open.is_none() && !driver.is_asked(), "{open:?}");
}

#[tokio::test]
async fn after_a_crash_the_old_question_is_closed_and_the_call_is_in_doubt() {
    let paper = Paper::default();
    let mut first = driver("create", 3600).journaled_by(paper.clone());
    first.turn(Input::RunPlan).await.unwrap();
    drop(first);
    let journal = paper.0.lock().unwrap().clone();
    let mut again = driver("create", 3600).journaled_by(paper);
    assert_eq!(again.recover(journal).in_doubt, 1);
    assert_eq!(again.resume().await.unwrap().unwrap().ends, Ends::Waiting);
    let questions = again.session().questions();
    assert_eq!((questions[0].status, questions[1].about), (QuestionStatus::Expired, About::InDoubt));
    let refused = again.turn(ada()).await.unwrap_err();
    assert!(refused.text.contains("not at work any more"), "{refused}");
}
