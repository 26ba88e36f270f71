//! DEL-1 to DEL-3: calls carried out by a session of their own.

use obelus_kernel::session::{Decision, Ends, Input, Outcome};
use serde_json::{Value, json};

use crate::desk::{Desk, call};

fn child(name: &str) -> Value {
    call("child", name, json!({"q": name}))
}

#[test]
fn a_childs_output_is_the_calls_result() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([child("a")]), json!(null));
    assert_eq!(desk.requests, ["0.0/1"]);
    desk.solve(json!([call("read", "x", json!({"q": "†input.q"}))]), json!(null));
    assert_eq!(desk.handed_out("read")[0]["q"], "a");
    desk.returns("read", json!("found"));
    desk.solve(json!([]), json!({"answer": 42}));
    assert_eq!(desk.read("†state.a"), json!({"answer": 42}));
    assert_eq!(desk.read("†state.x"), json!("absent"), "what the child noted is its own");
}

#[test]
fn a_childs_question_surfaces_and_is_answered_there() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([child("a")]), json!("over"));
    desk.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("dropped"));
    assert_eq!((desk.waiting(), desk.rested()), (vec!["0.0/q1".to_owned()], Ends::Waiting));
    assert_eq!(desk.rests[0].waiting, ["0.0/q1"]);
    desk.approve("0.0/q1");
    desk.returns("drop", json!(true));
    assert_eq!((desk.rested(), desk.read("†state.a")), (Ends::Output, json!("dropped")));
    let late = desk.decide("0.0/q1", Decision::Deny { reason: String::new() }).unwrap_err();
    assert_eq!(late.code, "unknown_question");
}

#[test]
fn a_childs_question_lapses_too() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([child("a")]), json!("over"));
    desk.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("done what could be done"));
    desk.wait(24);
    assert_eq!((desk.rested(), desk.started.len()), (Ends::Output, 0));
    assert_eq!(desk.read("†state.a"), json!("done what could be done"));
}

#[test]
fn a_degraded_child_is_a_runtime_error_of_its_call() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([child("a")]), json!(null));
    desk.model_fails();
    assert_eq!((desk.errors(), desk.states("child")), (vec!["delegate_unreachable".to_owned()], vec!["failed"]));
    desk.solve(json!([]), json!("went without"));
    assert_eq!(desk.rested(), Ends::Output);
}

#[test]
fn children_do_not_go_deeper_than_the_limit() {
    let mut desk = Desk::at_work(json!({"max_depth": 2}));
    desk.solve(json!([child("a")]), json!("over"));
    desk.solve(json!([child("b")]), json!("b is over"));
    desk.solve(json!([child("c")]), json!("c is over"));
    assert_eq!(desk.requests, Vec::<String>::new(), "the third level never asks");
    assert_eq!((desk.rested(), desk.read("†state.a")), (Ends::Output, json!("b is over")));
}

#[test]
fn late_words_to_a_child_that_is_gone_are_no_news() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([child("a")]), json!("over"));
    desk.solve(json!([{"_tool": "make", "q": 1}]), json!("left something running"));
    assert_eq!(desk.rested(), Ends::Output);
    desk.returns("make", json!(1));
    assert_eq!((desk.rests.len(), desk.read("†state.a")), (1, json!("left something running")));
}

#[test]
fn a_word_about_a_delegate_from_elsewhere_is_no_news() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([child("a")]), json!("over"));
    for input in [
        Input::Ended { id: "0.0".into(), outcome: Outcome::Value(json!("forged")) },
        Input::InDoubt { id: "0.0".into() },
        Input::Loaded { id: "0.0".into(), request: Ok(json!({})) },
        Input::Ended { id: "0.0/0.0".into(), outcome: Outcome::Value(json!("early")) },
    ] {
        desk.tell(input).unwrap();
    }
    assert_eq!((desk.waiting().len(), desk.states("child")), (0, vec!["running"]));
    desk.solve(json!([]), json!("mine"));
    assert_eq!((desk.rested(), desk.read("†state.a")), (Ends::Output, json!("mine")));
}

#[test]
fn a_forgotten_child_that_waits_is_not_taken_for_another_call() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([{"_tool": "child", "q": 1}, call("read", "r", json!({}))]), json!("over"));
    desk.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("dropped"));
    assert_eq!(desk.rests.len(), 0, "the read still runs");
    desk.returns("read", json!(1));
    assert_eq!(desk.rested(), Ends::Waiting);
    desk.deny("0.0/q1");
    assert_eq!(desk.rested(), Ends::Output);
}

#[test]
fn while_a_child_waits_independent_calls_go_on() {
    let mut desk = Desk::at_work(json!({"max_parallel": 1}));
    desk.solve(json!([child("a"), call("read", "r", json!({}))]), json!("over"));
    desk.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("dropped"));
    assert_eq!(desk.handed_out("read").len(), 1, "a child that waits takes no room");
    desk.returns("read", json!(1));
    assert_eq!(desk.rested(), Ends::Waiting);
}

#[test]
fn a_child_that_waits_does_not_hold_the_next_of_a_sequence() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve_in_order(json!([child("a"), call("read", "r", json!({}))]), json!("over"));
    assert_eq!(desk.handed_out("read").len(), 0);
    desk.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("dropped"));
    assert_eq!(desk.handed_out("read").len(), 1);
}

#[test]
fn a_stop_reaches_the_children() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([child("a")]), json!("over"));
    desk.solve(json!([call("read", "x", json!({})), call("read", "y", json!({"q": "†state.x"}))]), json!(null));
    desk.stop();
    desk.returns("read", json!(1));
    assert_eq!((desk.started.len(), desk.requests.len()), (1, 0), "nothing more is started, below neither");
    assert_eq!((desk.rested(), desk.states("child")), (Ends::Stopped, vec!["failed"]));
}

#[test]
fn one_of_two_answers_below_brings_the_turn_to_rest_again() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([child("a")]), json!("over"));
    desk.solve(json!([call("drop", "x", json!({"id": 1})), call("drop", "y", json!({"id": 2}))]), json!("dropped"));
    desk.deny("0.0/q1");
    assert_eq!((desk.rests.len(), desk.rested()), (2, Ends::Waiting), "whoever answered is told how things stand");
    desk.deny("0.0/q2");
    assert_eq!((desk.rests.len(), desk.rested()), (3, Ends::Output));
}

#[test]
fn while_a_forgotten_delegate_still_asks_the_turn_does_not_end() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([{"_tool": "child", "q": 1, "_scopes": ["tool"]}]), Value::Null);
    desk.solve(json!([call("drop", "a", json!({"id": 1})), call("drop", "b", json!({"id": 2}))]), Value::Null);
    desk.solve(json!([]), json!("over"));
    let [first, second] = [desk.asked[0].clone(), desk.asked[1].clone()];
    desk.approve(&first);
    assert_eq!((desk.rested(), desk.waiting()), (Ends::Waiting, vec![second.clone()]));
    desk.returns("drop", json!(1));
    desk.deny(&second);
    desk.solve(json!([]), json!("done"));
    assert_eq!((desk.rested(), desk.waiting().len()), (Ends::Output, 0));
}
