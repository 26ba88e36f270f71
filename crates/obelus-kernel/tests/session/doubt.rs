//! DUR-4: effects in doubt.

use obelus_kernel::policy::Reason;
use obelus_kernel::session::{Decision, FailureCode, Input, Outcome, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// A session whose first call was running when its driver died.
fn in_doubt(doubtful: Value, others: &[Value]) -> Harness {
    let mut harness = Harness::at_work(json!({}));
    let calls: Vec<Value> = std::iter::once(doubtful).chain(others.iter().cloned()).collect();
    harness.solve(calls.into(), json!("over"));
    harness.tell(Input::InDoubt { id: "0.0".parse().unwrap() }).unwrap();
    harness
}

#[test]
fn an_idempotent_call_in_doubt_is_repeated_under_the_same_key() {
    let harness = in_doubt(call("read", "r", json!({})), &[]);
    let starts: Vec<_> = harness.started.iter().map(|start| (start.key.as_str(), start.attempt)).collect();
    assert_eq!((starts, harness.asked.len()), (vec![("s:0.0", 1), ("s:0.0", 2)], 0));
}

#[test]
fn a_call_in_doubt_can_be_resolved_as_happened_with_its_result() {
    let mut harness = in_doubt(call("change", "c", json!({"id": 1})), &[]);
    assert_eq!((harness.rested(), harness.started.len()), (TurnEnd::Waiting, 1));
    harness.decide("q1", Decision::Happened { result: json!("changed") }).unwrap();
    assert_eq!(
        (harness.rested(), harness.read("†state.c"), harness.started.len()),
        (TurnEnd::Output, json!("changed"), 1)
    );
}

#[test]
fn a_call_that_needs_a_result_nobody_gave_is_skipped_and_says_so() {
    let mut harness =
        in_doubt(call("change", "c", json!({"id": 1})), &[call("change", "d", json!({"id": "†state.c"}))]);
    harness.decide("q1", Decision::Happened { result: Value::Null }).unwrap();
    let reply = harness.rests.last().unwrap();
    let (done, skipped) = (&reply.calls[0], &reply.calls[1]);
    assert_eq!((done.status.name(), skipped.status.name()), ("done", "skipped"));
    let error = skipped.error.as_ref().unwrap();
    assert_eq!((error.code.clone(), skipped.is_off_branch()), (Some(FailureCode::NoResult), false));
    assert!(error.message.ends_with("happened, and its result was not given"), "{error:?}");
}

#[test]
fn a_call_that_did_not_happen_is_repeated_under_the_same_key() {
    let mut harness = in_doubt(call("change", "c", json!({"id": 1})), &[]);
    harness.decide("q1", Decision::DidNot).unwrap();
    assert_eq!(harness.started[1].key, harness.started[0].key);
    harness.returns("change", json!("first answer wins"));
    assert_eq!((harness.started.len(), harness.rested()), (2, TurnEnd::Output));
}

#[test]
fn an_unanswered_doubt_ends_as_an_error() {
    let mut harness = in_doubt(call("change", "c", json!({"id": 1})), &[]);
    harness.wait(24);
    assert_eq!((harness.states("change"), harness.errors()), (vec!["failed"], vec!["in_doubt".to_owned()]));
    assert_eq!(harness.started.len(), 1);
}

#[test]
fn doubt_about_a_model_call_is_ignored() {
    let mut harness = Harness::on(json!([{"type": "plan", "plan": [], "mode": "lazy"}]), json!({}));
    harness.start();
    harness.solve(json!([call("muse", "m", json!({}))]), json!("over"));
    harness.approve("q1");
    harness.tell(Input::InDoubt { id: "0.0".parse().unwrap() }).unwrap();
    harness.tell(Input::Ended { id: "0.0".parse().unwrap(), outcome: Outcome::Value(json!("forged")) }).unwrap();
    assert_eq!((harness.waiting().len(), harness.states("muse")), (0, vec!["running"]));
    harness.solve(json!([]), json!("thought"));
    assert_eq!((harness.read("†state.m"), harness.rested()), (json!("thought"), TurnEnd::Output));
}

#[test]
fn a_detached_call_in_doubt_is_not_confused_with_another_call() {
    let mut harness = in_doubt(json!({"_tool": "change", "id": 1}), &[call("read", "r", json!({}))]);
    assert_eq!(harness.rests.len(), 0, "the read still runs");
    harness.returns("read", json!(1));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
    harness.decide("q1", Decision::Happened { result: json!(null) }).unwrap();
    assert_eq!((harness.rested(), harness.states("change")), (TurnEnd::Output, vec!["done"]));
}

#[test]
fn doubt_is_asked_about_once() {
    let mut harness = in_doubt(call("change", "c", json!({"id": 1})), &[]);
    harness.tell(Input::InDoubt { id: "0.0".parse().unwrap() }).unwrap();
    assert_eq!(harness.waiting(), ["q1"]);
    harness.decide("q1", Decision::Happened { result: json!(1) }).unwrap();
    assert_eq!(harness.rested(), TurnEnd::Output);
}

#[test]
fn a_late_result_resolves_the_doubt() {
    let mut harness = in_doubt(call("change", "c", json!({"id": 1})), &[]);
    harness.tell(Input::Ended { id: "0.0".parse().unwrap(), outcome: Outcome::Value(json!("late")) }).unwrap();
    assert_eq!(
        (harness.rested(), harness.read("†state.c"), harness.waiting().len()),
        (TurnEnd::Output, json!("late"), 0)
    );
    assert_eq!(harness.decide("q1", Decision::DidNot).unwrap_err().code.name(), "already_decided");
}

#[test]
fn a_call_in_doubt_can_be_resolved_as_happened_without_a_result() {
    let mut harness = in_doubt(call("count", "n", json!({})), &[]);
    harness.decide("q1", Decision::Happened { result: json!(null) }).unwrap();
    assert_eq!(harness.states("count"), ["done"], "called failed, it would be done a second time");
    assert_eq!((harness.read("†state.n"), harness.errors().len()), (json!("absent"), 0));
}

#[test]
fn a_call_in_doubt_does_not_block_the_next_call_of_a_sequence() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve_in_order(json!([call("change", "c", json!({"id": 1})), call("read", "r", json!({}))]), json!("over"));
    harness.tell(Input::InDoubt { id: "0.0".parse().unwrap() }).unwrap();
    assert_eq!(harness.handed_out("read").len(), 1);
}

/// A session whose call was sent and whose answer was lost.
fn lost(doubtful: Value) -> Harness {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([doubtful]), json!("over"));
    harness.tell(lost_answer()).unwrap();
    harness
}

fn lost_answer() -> Input {
    Input::Ended { id: "0.0".parse().unwrap(), outcome: Outcome::Lost { message: "the line went dead".into() } }
}

#[test]
fn a_read_with_a_lost_answer_is_retried_and_then_fails() {
    let mut harness = lost(call("read", "r", json!({})));
    assert_eq!((harness.started.len(), harness.asked.len()), (2, 0));
    harness.tell(lost_answer()).unwrap();
    harness.tell(lost_answer()).unwrap();
    assert_eq!(
        (harness.started.len(), harness.states("read"), harness.errors()),
        (3, vec!["failed"], vec!["lost".to_owned()])
    );
}

#[test]
fn an_effect_with_a_lost_answer_becomes_a_question_with_the_known_facts() {
    let mut harness = lost(call("change", "c", json!({"id": 1})));
    assert_eq!((harness.rested(), harness.started.len()), (TurnEnd::Waiting, 1));
    harness.tell(lost_answer()).unwrap();
    assert_eq!(harness.waiting(), ["q1"]);
    let question = harness.question("q1");
    assert!(question.reasons[0].to_string().contains("the line went dead"), "{:?}", question.reasons);
    harness.decide("q1", Decision::Happened { result: json!("changed") }).unwrap();
    assert_eq!((harness.rested(), harness.read("†state.c")), (TurnEnd::Output, json!("changed")));
}

#[test]
fn a_reconciled_call_that_did_not_happen_is_repeated_once_per_attempt() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("change", "c", json!({"id": 1}))]), json!("over"));
    let did_not = |attempt| Input::DidNot { id: "0.0".parse().unwrap(), attempt };
    harness.tell(did_not(1)).unwrap();
    harness.tell(did_not(1)).unwrap();
    let starts: Vec<_> = harness.started.iter().map(|start| (start.key.as_str(), start.attempt)).collect();
    assert_eq!((starts, harness.asked.len()), (vec![("s:0.0", 1), ("s:0.0", 2)], 0));
    (2..=10).for_each(|attempt| harness.tell(did_not(attempt)).unwrap());
    assert_eq!(
        (harness.started.len(), harness.states("change"), harness.errors()),
        (10, vec!["failed"], vec!["lost".to_owned()])
    );
}

#[test]
fn a_reconciliation_can_answer_the_open_question() {
    let mut harness = lost(call("change", "c", json!({"id": 1})));
    harness.tell(Input::DidNot { id: "0.0".parse().unwrap(), attempt: 1 }).unwrap();
    assert_eq!((harness.waiting().len(), harness.started.len()), (0, 2));
    harness.returns("change", json!("changed"));
    assert_eq!((harness.rested(), harness.read("†state.c")), (TurnEnd::Output, json!("changed")));
}

#[test]
fn a_call_that_did_not_happen_is_not_repeated_in_a_mode_that_forbids_it() {
    let mut harness = in_doubt(call("change", "c", json!({"id": 1})), &[]);
    harness.tell(Input::Mode { mode: obelus_kernel::session::Mode::Canary }).unwrap();
    harness.decide("q1", Decision::DidNot).unwrap();
    assert_eq!(
        (harness.started.len(), harness.states("change"), harness.errors()),
        (1, vec!["failed"], vec!["POL-1".to_owned()])
    );
}

#[test]
fn ask_8_the_question_says_when_the_call_was_started() {
    let mut harness = Harness::at_work(json!({}));
    harness.wait(1);
    let started = harness.now;
    harness.solve(json!([call("change", "c", json!({"id": 1}))]), json!("over"));
    harness.wait(2);
    harness.tell(Input::InDoubt { id: "0.0".parse().unwrap() }).unwrap();
    let reasons: Vec<String> = harness.question("q1").reasons.iter().map(ToString::to_string).collect();
    assert!(reasons.iter().any(|reason| reason.contains(&format!("started at {started}"))), "{reasons:?}");
}

/// A call in doubt, and a call in the model's next answer.
fn proposed_again(again: &Value) -> Harness {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("count", "n", json!({"q": 1}))]), json!("over"));
    harness.tell(Input::InDoubt { id: "0.0".parse().unwrap() }).unwrap();
    harness.user("go on");
    harness.solve(json!([again]), json!("over"));
    harness
}

#[test]
fn a_call_that_is_in_doubt_already_waits_for_the_same_answer_and_takes_its_outcome() {
    let same = call("count", "n", json!({"q": 1}));
    let happened = Decision::Happened { result: json!(7) };
    for (answer, runs) in [(happened, 1), (Decision::Happened { result: Value::Null }, 1), (Decision::DidNot, 2)] {
        let mut harness = proposed_again(&same);
        assert_eq!((harness.waiting(), harness.states("count")), (vec!["q1".to_owned()], vec!["running", "waiting"]));
        harness.decide("q1", answer).unwrap();
        assert_eq!(harness.handed_out("count").len(), runs);
        if runs == 2 {
            assert_eq!(harness.states("count"), ["running", "waiting"]);
            harness.returns("count", json!(7));
        }
        assert_eq!((harness.states("count"), harness.rested()), (vec!["done", "done"], TurnEnd::Output));
        assert_eq!((harness.handed_out("count").len(), harness.asked.len()), (runs, 1));
    }
}

#[test]
fn a_call_that_waits_for_a_doubt_fails_with_it_if_nobody_answers() {
    let mut harness = proposed_again(&call("count", "n", json!({"q": 1})));
    harness.wait(25);
    assert_eq!((harness.states("count"), harness.handed_out("count").len()), (vec!["failed", "failed"], 1));
}

#[test]
fn a_call_of_the_same_effect_with_another_result_path_asks_with_a_reason_that_follows_the_doubt() {
    let mut harness = proposed_again(&call("count", "m", json!({"q": 1})));
    assert_eq!(harness.waiting(), ["q1", "q2"]);
    assert_eq!(harness.question("q2").reasons, [Reason::MayHaveHappened]);
    let before = harness.question("q2").digest();
    harness.decide("q1", Decision::Happened { result: json!(7) }).unwrap();
    assert_eq!(harness.question("q2").reasons, [Reason::WasInDoubt]);
    assert_ne!(harness.question("q2").digest(), before, "an answer to the earlier text does not count");
    assert_eq!(harness.handed_out("count").len(), 1);
    harness.approve("q2");
    assert_eq!(harness.handed_out("count").len(), 2, "a person may repeat it");
}
