//! B24-2: where a solution says so, results of calls without an output path are kept in `†results`.

use obelus_kernel::session::{Decision, Solution};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// A solution whose calls run in order and keep their results.
fn kept(calls: Value) -> Solution {
    let calls = calls.as_array().expect("calls").iter().cloned().map(Into::into).collect();
    Solution { calls, sequential: true, keeps_results: true, ..Solution::default() }
}

#[test]
fn b24_2_results_without_an_output_path_are_pushed_in_order() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve_as(kept(json!([{"_tool": "read", "q": 1}, {"_tool": "read", "q": 2}])));
    assert_eq!(harness.open.len(), 1, "the second waits for the first");
    harness.returns("read", json!({"ID": 7}));
    harness.returns("read", json!([1, 2]));
    assert_eq!(harness.read("†results"), json!([{"ID": 7}, [1, 2]]));
    assert_eq!(harness.requests.len(), 1, "the model sees them in its next request");
}

#[test]
fn a_later_call_can_refer_to_an_earlier_result() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve_as(kept(json!([{"_tool": "read", "q": 1}, {"_tool": "make", "q": "†results[-1].ID"}])));
    harness.returns("read", json!({"ID": 7}));
    assert_eq!(harness.handed_out("make"), [json!({"_tool": "make", "q": 7})]);
}

#[test]
fn a_named_output_path_is_used() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve_as(kept(json!([call("read", "r", json!({"q": 1}))])));
    harness.returns("read", json!(5));
    assert_eq!((harness.read("†state.r"), harness.read("†results")), (json!(5), json!("absent")));
}

#[test]
fn an_invalid_output_path_is_an_error() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve_as(kept(json!([{"_tool": "read", "_outputPath": "state.r"}])));
    assert_eq!((harness.errors(), harness.open.len()), (vec!["CTX-12".to_owned()], 0));
}

#[test]
fn b24_2_the_added_output_path_is_not_part_of_the_question_or_of_the_identity() {
    let change = json!({"_tool": "change", "id": 1, "sum": 5});
    let mut harness = Harness::at_work(json!({}));
    harness.solve_as(kept(json!([change])));
    let question = harness.question("q1");
    assert_eq!(*question.calls[0].call, change);
    assert!(!question.description.contains("results"), "{}", question.description);
    // The same call without that setting is the same call: it stays denied.
    harness.decide("q1", Decision::Deny { reason: "no".to_owned() }).expect("taken");
    harness.solve_in_order(json!([change]), json!(null));
    assert_eq!(harness.waiting(), Vec::<String>::new());
    assert_eq!(harness.states("change"), ["denied", "denied"]);
}

#[test]
fn an_approved_call_writes_its_result_to_the_added_path() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve_as(kept(json!([{"_tool": "change", "id": 1, "sum": 5}])));
    harness.approve("q1");
    harness.returns("change", json!(true));
    assert_eq!(harness.read("†results"), json!([true]));
}

#[test]
fn a_lazy_plan_keeps_its_results_too() {
    let lazy = json!([{"type": "plan", "plan": [], "mode": "lazy"}]);
    let mut harness = Harness::on(lazy, json!({}));
    harness.start();
    let calls = json!([
        {"_tool": "read", "q": 1},
        {"_tool": "read", "q": "†results[0].a"},
        {"_tool": "read", "q": "†results[1].b"},
    ]);
    harness.solve_as(kept(calls));
    assert_eq!(harness.errors(), Vec::<String>::new());
    harness.approve("q1");
    harness.returns("read", json!({"a": 1}));
    harness.returns("read", json!({"b": 2}));
    assert_eq!(harness.handed_out("read").last(), Some(&json!({"_tool": "read", "q": 2})));
}

#[test]
fn keeping_results_does_not_make_a_call_run_for_every_instance() {
    let instances = json!([
        {"type": "state", "_instance": "ada", "data": {"x": 1}},
        {"type": "state", "_instance": "bob", "data": {"x": 2}},
    ]);
    let mut harness = Harness::on(instances, json!({}));
    harness.start();
    harness.solve_as(kept(json!([{"_tool": "read", "q": 1, "_instance": "ada"}, {"_tool": "read", "q": 2}])));
    harness.returns("read", json!("for ada"));
    harness.returns("read", json!("for all"));
    assert_eq!(harness.handed_out("read").len(), 2);
    assert_eq!(harness.read("†results"), json!(["for all"]));
}
