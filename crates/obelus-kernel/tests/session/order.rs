//! PLAN-1, PLAN-3: which calls wait for which.

use obelus_kernel::session::{FailureCode, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

#[test]
fn a_sequence_runs_in_the_order_of_writing() {
    let mut harness = Harness::at_work(json!({}));
    let reads: Vec<Value> = (0..3).map(|n| call("read", &format!("r{n}"), json!({"q": n}))).collect();
    harness.solve_in_order(reads.into(), json!("over"));
    for done in 1..=3 {
        assert_eq!(harness.started.len(), done, "one at a time");
        harness.returns("read", json!(done));
    }
    assert_eq!(harness.rested(), TurnEnd::Output);
}

#[test]
fn a_failure_in_a_sequence_stops_only_calls_that_need_its_result() {
    let mut harness = Harness::at_work(json!({}));
    let needs = call("make", "m", json!({"q": "†state.r"}));
    harness.solve_in_order(json!([call("read", "r", json!({})), needs, call("count", "n", json!({}))]), json!("over"));
    harness.fails("read");
    assert_eq!((harness.states("make"), harness.states("count")), (vec!["skipped"], vec!["running"]));
}

#[test]
fn in_a_sequence_a_call_reads_what_was_written_before_it() {
    let mut harness = Harness::on(json!([{"type": "state", "data": {"deal": {"id": 1}}}]), json!({}));
    harness.start();
    let update = call("change", "c", json!({"id": "†state.deal.id"}));
    harness.solve_in_order(json!([update, call("read", "deal", json!({})), update]), json!("over"));
    assert_eq!(harness.handed_out("change")[0]["id"], 1, "it does not wait for the read that comes after it");
    harness.returns("change", json!(true));
    harness.returns("read", json!({"id": 2}));
    assert_eq!(harness.handed_out("change")[1]["id"], 2);
}

#[test]
fn a_call_awaiting_approval_does_not_block_the_next_call_of_a_sequence() {
    let mut harness = Harness::at_work(json!({}));
    let drop = call("drop", "d", json!({"id": 1}));
    // The second drop joins the first one's question, so it waits for a person too.
    harness
        .solve_in_order(json!([call("make", "m", json!({})), drop, drop, call("read", "r", json!({}))]), json!("over"));
    assert_eq!((harness.asked.len(), harness.started.len()), (0, 1));
    harness.returns("make", json!(1));
    assert_eq!((harness.asked.len(), harness.handed_out("read").len()), (1, 1));
    harness.returns("read", json!(1));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
}

#[test]
fn a_detached_call_does_not_block_the_next_call_of_a_sequence() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve_in_order(json!([{"_tool": "make", "q": 1}, call("read", "r", json!({}))]), json!("over"));
    assert_eq!(harness.started.len(), 2);
    harness.returns("read", json!(1));
    assert_eq!(harness.rested(), TurnEnd::Output);
    harness.returns("make", json!(1));
    assert_eq!(harness.rests.len(), 1, "its end is no news to the turn");
}

#[test]
fn too_many_dependencies_are_an_error_and_nothing_runs() {
    let mut harness = Harness::at_work(json!({}));
    let entangled: Vec<Value> = vec![json!({"_tool": "read", "q": "†state", "_outputPath": "†state"}); 1_500];
    harness.solve(entangled.into(), json!(null));
    assert_eq!((harness.errors(), harness.started.len()), (vec!["PLAN-2".to_owned()], 0));
    assert!(harness.states("read").iter().all(|state| *state == "skipped"));
}

#[test]
fn a_turn_does_not_end_while_a_call_waits_for_a_free_slot() {
    let mut harness = Harness::at_work(json!({"max_parallel": 1}));
    harness.solve(json!([{"_tool": "make", "q": 1}, call("read", "r", json!({}))]), json!("over"));
    assert_eq!((harness.started.len(), harness.rests.len()), (1, 0), "the read has not even begun");
    harness.returns("make", json!(1));
    harness.returns("read", json!(2));
    assert_eq!((harness.rested(), harness.read("†state.r")), (TurnEnd::Output, json!(2)));
}

#[test]
fn a_template_over_no_instances_is_reported() {
    let mut harness = Harness::at_work(json!({}));
    let ghost = json!({"_tool": "read", "_instance": "ghost", "_outputPath": "†state.a"});
    harness.solve(
        json!([ghost, call("make", "b", json!({})), {"_tool": "unknown", "_outputPath": "†state.c"}]),
        json!("over"),
    );
    assert_eq!(harness.session.calls().len(), 3, "every call is accounted for");
    assert_eq!((harness.errors(), harness.started.len()), (vec!["CALL-3".to_owned(); 3], 0));
}

/// Large enough that work quadratic in the number of calls would take very long.
const MANY: usize = 10_000;

fn many(tool: &str, params: impl Fn(usize) -> Value) -> Value {
    (0..MANY).map(|n| call(tool, &format!("x{n}"), params(n))).collect()
}

fn big() -> Value {
    json!({"max_calls": MANY * 2, "max_parallel": 64})
}

#[test]
fn ten_thousand_calls_in_a_row_run() {
    let mut harness = Harness::at_work(big());
    harness.solve_in_order(many("read", |n| json!({"q": n})), json!("over"));
    for n in 0..MANY {
        harness.returns("read", json!(n));
    }
    assert_eq!(harness.rested(), TurnEnd::Output);
}

#[test]
fn ten_thousand_faults_are_reported() {
    let mut harness = Harness::at_work(big());
    harness.solve(many("drop", |n| json!({"id": format!("{n}")})), json!(null));
    assert_eq!((harness.errors().len(), harness.requests.len()), (MANY, 1));
}

#[test]
fn ten_thousand_questions_can_be_answered() {
    let mut harness = Harness::at_work(big());
    harness.solve(many("drop", |n| json!({"id": n})), json!("over"));
    assert_eq!(harness.asked.len(), MANY);
    harness.wait(24);
    assert_eq!((harness.waiting().len(), harness.rested()), (0, TurnEnd::Output));
}

#[test]
fn ten_thousand_parallel_calls_run_beside_an_open_question() {
    let mut harness = Harness::at_work(big());
    harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!(null));
    harness.deny("q1");
    harness.solve(many("read", |n| json!({"q": n})), json!("over"));
    while let Some(start) = harness.open.pop() {
        let outcome = obelus_kernel::session::Outcome::Value(json!(1));
        harness.tell(obelus_kernel::session::Input::Ended { id: start.id, outcome }).unwrap();
    }
    assert_eq!((harness.started.len(), harness.rested()), (MANY, TurnEnd::Output));
}

#[test]
fn plan_3_a_former_value_does_not_satisfy_a_read_of_a_pending_write() {
    for (method, before, brought, path, served) in [
        ("merge", json!({"k": "old"}), json!({"m": 1}), "†state.a.k", None),
        ("merge", json!({"k": "old"}), json!({"k": "new"}), "†state.a.k", Some(json!("new"))),
        ("assign", json!({"k": "old"}), json!({"m": 1}), "†state.a.k", None),
        ("merge", json!({"k": "old"}), json!({"m": 1}), "†state.a", Some(json!({"k": "old", "m": 1}))),
        ("push", json!(["old"]), json!("new"), "†state.a[0]", None),
        ("push", json!(["old"]), json!("new"), "†state.a[1]", Some(json!("new"))),
        ("concat", json!(["old"]), json!(["x", "y"]), "†state.a[1]", Some(json!("x"))),
        ("set", json!({"k": "old"}), json!({"m": 1}), "†state.a.k", None),
    ] {
        let mut harness = Harness::on(json!([{"type": "state", "data": {"a": before}}]), json!({}));
        harness.start();
        let mut writer = call("read", "a", json!({}));
        writer["_outputMethod"] = method.into();
        harness.solve(json!([writer, call("make", "m", json!({"q": path}))]), json!("over"));
        harness.returns("read", brought);
        let made = harness.handed_out("make").first().map(|call| call["q"].clone());
        assert_eq!(made, served, "{method} {path}");
    }
}

#[test]
fn ctx_13_a_value_that_does_not_fit_in_a_text_is_an_error_or_skips_the_call() {
    let mut harness = Harness::on(json!([{"type": "state", "data": {"a": {}, "n": null}}]), json!({}));
    harness.start();
    let text = |path: &str| json!({"q": format!("T {{†state.{path}}}")});
    let calls = json!([
        call("make", "m1", text("a")),
        call("make", "m2", text("n")),
        call("read", "r", json!({})),
        call("make", "m3", text("r")),
    ]);
    harness.solve(calls, json!(null));
    harness.returns("read", json!([1]));
    let prompt = harness.session.prompt(harness.requests.last().expect("a request")).expect("a prompt");
    let ended: Vec<_> = prompt.plan.iter().map(|report| (report.status.name(), report.error.is_some())).collect();
    assert_eq!(ended, [("failed", true), ("failed", true), ("done", false), ("skipped", true)], "{:?}", prompt.plan);
    assert!(prompt.errors.iter().any(|error| error["error"]["rule"] == "PLAN-4"), "{:?}", prompt.errors);
}

/// A session whose tool `look` returns rows that become instances.
fn with_rows(settings: Value) -> Harness {
    with_rows_that_need("†set.id", settings)
}

/// The same with this expression as the parameter of the call for each row.
fn with_rows_that_need(expr: &str, settings: Value) -> Harness {
    let look =
        json!({"x-trust": "trusted", "x-effect": "read", "x-instances": "id", "x-issued": ["id"], "properties": {}});
    let mut harness = Harness::on(json!([{"type": "tool", "tool": {"look": look}}]), settings);
    harness.start();
    let change = json!({"_tool": "change", "id": expr, "_outputPath": "†set.changed"});
    let tell = json!({"_tool": "make", "q": "†set.changed", "_outputPath": "†set.told"});
    let look = json!({"_tool": "look", "_outputPath": "†set"});
    harness.solve_in_order(json!([look, change, tell]), json!("over"));
    harness
}

#[test]
fn an_empty_list_of_rows_runs_nothing_and_does_not_fail() {
    let mut harness = with_rows(json!({}));
    harness.returns("look", json!([]));
    assert_eq!((harness.states("change"), harness.states("make")), (vec!["skipped"], vec!["skipped"]));
    let reply = harness.rests.last().expect("the turn is over");
    for report in reply.calls.iter().filter(|report| report.call["_tool"] != "look") {
        assert_eq!(json!(report.error), json!({"code": "no_rows", "message": "no rows, nothing to do"}));
        assert!(report.is_off_branch(), "nothing is amiss");
    }
}

#[test]
fn a_row_without_a_value_that_a_call_needs_is_not_an_empty_list() {
    let mut harness = with_rows_that_need("†set.email", json!({}));
    harness.returns("look", json!([{"id": 9}, {"id": 10, "email": "olga@x.test"}]));
    let calls = harness.session.calls();
    let skipped = calls.iter().find(|report| report.call["_tool"] == "change" && report.status.name() == "skipped");
    let error = skipped.and_then(|report| report.error.as_deref()).expect("a reason");
    assert_eq!(error.code, Some(FailureCode::NoValue), "{error:?}");
    assert_eq!(error.message, "†set.email has no value: call 0 `look` did not bring it");
    assert!(calls.iter().all(|report| !report.is_off_branch()), "the command fails");
}

#[test]
fn rows_are_processed_in_their_order() {
    let mut harness = with_rows(json!({}));
    harness.returns("look", json!([{"id": 9}, {"id": 10}, {"id": 1}]));
    let ids: Vec<Value> = harness.handed_out("change").iter().map(|call| call["id"].clone()).collect();
    assert_eq!(ids, [9, 10, 1].map(Value::from));
}
