//! DEL-1 to DEL-3: calls that a separate session carries out.

use obelus_kernel::session::{Decision, Input, Outcome, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn child(name: &str) -> Value {
    call("child", name, json!({"q": name}))
}

#[test]
fn the_output_of_a_delegate_is_the_result_of_its_call() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!(null));
    assert_eq!(harness.requests, ["0.0/1".parse().unwrap()]);
    harness.solve(json!([call("read", "x", json!({"q": "†input.q"}))]), json!(null));
    assert_eq!(harness.handed_out("read")[0]["q"], "a");
    harness.returns("read", json!("found"));
    harness.solve(json!([]), json!({"answer": 42}));
    assert_eq!(harness.read("†state.a"), json!({"answer": 42}));
    assert_eq!(harness.read("†state.x"), json!("absent"), "what the child noted is its own");
}

#[test]
fn a_delegates_question_is_shown_and_answered_at_the_top() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!("over"));
    harness.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("dropped"));
    assert_eq!((harness.waiting(), harness.rested()), (vec!["0.0/q1".to_owned()], TurnEnd::Waiting));
    assert_eq!(harness.rests[0].waiting, ["0.0/q1".parse().unwrap()]);
    harness.approve("0.0/q1");
    harness.returns("drop", json!(true));
    assert_eq!((harness.rested(), harness.read("†state.a")), (TurnEnd::Output, json!("dropped")));
    let late = harness.decide("0.0/q1", Decision::Deny { reason: String::new() }).unwrap_err();
    assert_eq!(late.code.name(), "unknown_question");
}

#[test]
fn a_delegates_question_expires() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!("over"));
    harness.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("done what could be done"));
    harness.wait(24);
    assert_eq!((harness.rested(), harness.started.len()), (TurnEnd::Output, 0));
    assert_eq!(harness.read("†state.a"), json!("done what could be done"));
}

#[test]
fn a_degraded_delegate_is_a_runtime_error_of_its_call() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!(null));
    harness.model_fails();
    assert_eq!((harness.errors(), harness.states("child")), (vec!["delegate_unreachable".to_owned()], vec!["failed"]));
    harness.solve(json!([]), json!("went without"));
    assert_eq!(harness.rested(), TurnEnd::Output);
}

#[test]
fn delegates_are_limited_in_depth() {
    let mut harness = Harness::at_work(json!({"max_depth": 2}));
    harness.solve(json!([child("a")]), json!("over"));
    harness.solve(json!([child("b")]), json!("b is over"));
    harness.solve(json!([child("c")]), json!("c is over"));
    assert_eq!(harness.requests, Vec::new(), "the third level never asks");
    assert_eq!((harness.rested(), harness.read("†state.a")), (TurnEnd::Output, json!("b is over")));
}

#[test]
fn results_for_an_ended_delegate_are_ignored() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!("over"));
    harness.solve(json!([{"_tool": "make", "q": 1}]), json!("left something running"));
    assert_eq!(harness.rested(), TurnEnd::Output);
    harness.returns("make", json!(1));
    assert_eq!((harness.rests.len(), harness.read("†state.a")), (1, json!("left something running")));
}

#[test]
fn forged_inputs_about_a_delegate_are_ignored() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!("over"));
    for input in [
        Input::Ended { id: "0.0".parse().unwrap(), outcome: Outcome::Value(json!("forged")) },
        Input::InDoubt { id: "0.0".parse().unwrap() },
        Input::Loaded { id: "0.0".parse().unwrap(), request: Ok(json!({})) },
        Input::Ended { id: "0.0/0.0".parse().unwrap(), outcome: Outcome::Value(json!("early")) },
    ] {
        harness.tell(input).unwrap();
    }
    assert_eq!((harness.waiting().len(), harness.states("child")), (0, vec!["running"]));
    harness.solve(json!([]), json!("mine"));
    assert_eq!((harness.rested(), harness.read("†state.a")), (TurnEnd::Output, json!("mine")));
}

#[test]
fn a_detached_waiting_delegate_is_not_confused_with_another_call() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([{"_tool": "child", "q": 1}, call("read", "r", json!({}))]), json!("over"));
    harness.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("dropped"));
    assert_eq!(harness.rests.len(), 0, "the read still runs");
    harness.returns("read", json!(1));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
    harness.deny("0.0/q1");
    assert_eq!(harness.rested(), TurnEnd::Output);
}

#[test]
fn independent_calls_continue_while_a_delegate_waits() {
    let mut harness = Harness::at_work(json!({"max_parallel": 1}));
    harness.solve(json!([child("a"), call("read", "r", json!({}))]), json!("over"));
    harness.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("dropped"));
    assert_eq!(harness.handed_out("read").len(), 1, "a child that waits takes no room");
    harness.returns("read", json!(1));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
}

#[test]
fn a_waiting_delegate_does_not_block_the_next_call_of_a_sequence() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve_in_order(json!([child("a"), call("read", "r", json!({}))]), json!("over"));
    assert_eq!(harness.handed_out("read").len(), 0);
    harness.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("dropped"));
    assert_eq!(harness.handed_out("read").len(), 1);
}

#[test]
fn a_stop_reaches_the_delegates() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!("over"));
    harness.solve(json!([call("read", "x", json!({})), call("read", "y", json!({"q": "†state.x"}))]), json!(null));
    harness.stop();
    harness.returns("read", json!(1));
    assert_eq!((harness.started.len(), harness.requests.len()), (1, 0), "nothing more is started, below neither");
    assert_eq!((harness.rested(), harness.states("child")), (TurnEnd::Stopped, vec!["failed"]));
}

#[test]
fn the_turn_rests_again_after_one_of_two_delegate_questions_is_answered() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!("over"));
    harness.solve(json!([call("drop", "x", json!({"id": 1})), call("drop", "y", json!({"id": 2}))]), json!("dropped"));
    harness.deny("0.0/q1");
    assert_eq!(
        (harness.rests.len(), harness.rested()),
        (2, TurnEnd::Waiting),
        "whoever answered is told how things stand"
    );
    harness.deny("0.0/q2");
    assert_eq!((harness.rests.len(), harness.rested()), (3, TurnEnd::Output));
}

#[test]
fn detached_delegates_with_open_questions_keep_the_turn_open() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([{"_tool": "child", "q": 1, "_scopes": ["tool"]}]), Value::Null);
    harness.solve(json!([call("drop", "a", json!({"id": 1})), call("drop", "b", json!({"id": 2}))]), Value::Null);
    harness.solve(json!([]), json!("over"));
    let [first, second] = [harness.asked[0].clone(), harness.asked[1].clone()];
    harness.approve(&first);
    assert_eq!((harness.rested(), harness.waiting()), (TurnEnd::Waiting, vec![second.clone()]));
    harness.returns("drop", json!(1));
    harness.deny(&second);
    harness.solve(json!([]), json!("done"));
    assert_eq!((harness.rested(), harness.waiting().len()), (TurnEnd::Output, 0));
}

#[test]
fn a_delegate_is_loaded_from_an_address_only_if_the_settings_allow_it() {
    for (allowed, loads) in [(json!([]), 0), (json!(["https://example.test/"]), 1)] {
        let tool = json!({"type": "tool", "tool": {"far": {"_delegate": "https://example.test/far.yaml", "x-effect": "read"}}});
        let mut harness = Harness::on(json!([tool]), json!({"delegates": allowed}));
        harness.start();
        harness.solve(json!([call("far", "x", json!({}))]), json!("over"));
        assert_eq!(harness.loads.len(), loads);
        if loads == 0 {
            assert_eq!(harness.errors(), ["DEL-1"]);
            continue;
        }
        let request = json!({"context": [], "schema": {"type": "string"}});
        harness.tell(Input::Loaded { id: "0.0".parse().unwrap(), request: Ok(request) }).unwrap();
        harness.solve(json!([]), json!("from afar"));
        assert_eq!(harness.read("†state.x"), json!("from afar"));
    }
}

/// DEL-2: parameters must fit the input schema of the saved request.
#[test]
fn parameters_that_violate_the_input_schema_of_a_saved_request_fail_the_call() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let saved = json!({"context": [{"type": "input", "schema": schema}], "schema": {"type": "string"}});
    for (params, runs) in [(json!({"n": 5}), true), (json!({"n": "str"}), false), (json!({}), false)] {
        let tool = json!({"type": "tool", "tool": {"sum": {"_delegate": "sum.yaml", "x-effect": "read", "properties": {"n": {}}}}});
        let mut harness = Harness::on(json!([tool]), json!({}));
        harness.start();
        harness.solve(json!([call("sum", "x", params.clone())]), json!(null));
        let before = harness.requests.len();
        harness.tell(Input::Loaded { id: "0.0".parse().unwrap(), request: Ok(saved.clone()) }).unwrap();
        if runs {
            harness.solve(json!([]), json!("five"));
            assert_eq!(harness.read("†state.x"), json!("five"));
        } else {
            assert_eq!(
                (harness.errors(), harness.states("sum")),
                (vec!["DEL-2".to_owned()], vec!["failed"]),
                "{params}"
            );
            assert_eq!(harness.requests.len(), before + 1, "the model is asked again, and no child is");
        }
    }
}
