//! LOOP-2, LOOP-3, PLAN-5: the limits of a turn.

use obelus_kernel::session::{FailureCode, Outcome, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn reason(harness: &Harness) -> String {
    let reason = harness.rests.last().and_then(|reply| reply.reason.as_ref());
    reason.map(|reason| reason.code.to_string()).unwrap_or_default()
}

#[test]
fn calls_beyond_the_limit_are_not_started() {
    let mut harness = Harness::at_work(json!({"max_calls": 2}));
    let reads: Vec<Value> = (0..5).map(|n| call("read", &format!("r{n}"), json!({"q": n}))).collect();
    harness.solve(reads.into(), json!("over"));
    harness.returns("read", json!(1));
    harness.returns("read", json!(2));
    assert_eq!((harness.rested(), harness.started.len()), (TurnEnd::Limit, 2));
    assert_eq!(harness.states("read"), ["done", "done", "skipped", "skipped", "skipped"]);
    harness.user("continue");
    harness.solve(json!([call("read", "r2", json!({"q": 2}))]), json!("over"));
    assert_eq!(harness.started.len(), 3, "the next turn has limits of its own");
}

#[test]
fn calls_beyond_the_limit_are_skipped_even_if_the_turn_rests_when_their_time_comes() {
    let mut harness = Harness::at_work(json!({"max_calls": 1, "max_requests": 1}));
    let reads = ["a", "b", "c"].map(|name| call("read", name, json!({"q": name})));
    harness.solve_in_order(json!(reads), json!(null));
    harness.asks("0.0", "k", "Which?", json!({"type": "object", "properties": {"n": {"type": "number"}}}));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
    harness.user("go on");
    harness.solve(json!([]), json!(null));
    assert_eq!((harness.rested(), harness.rests.len()), (TurnEnd::Limit, 2));
    harness.returns("read", json!(1));
    harness.returns("read", json!(2));
    assert_eq!(harness.states("read"), ["done", "done", "skipped"]);
    assert_eq!((harness.rested(), harness.rests.len()), (TurnEnd::Limit, 3));
    harness.user("thanks");
    assert_eq!((harness.started.len(), harness.requests.len()), (2, 1), "the old plan is over");
}

#[test]
fn an_approved_call_runs_after_a_limit() {
    let mut harness = Harness::at_work(json!({"max_calls": 1}));
    harness.solve(
        json!([call("drop", "d", json!({"id": 1})), call("read", "a", json!({})), call("read", "b", json!({}))]),
        json!("over"),
    );
    harness.returns("read", json!(1));
    assert_eq!((harness.rested(), harness.waiting().len()), (TurnEnd::Limit, 1));
    harness.approve("q1");
    assert_eq!(harness.handed_out("drop").len(), 1);
}

#[test]
fn the_same_failure_three_times_in_a_row_ends_the_turn() {
    let mut harness = Harness::at_work(json!({}));
    for fails in [true, true, false, true, true, true] {
        assert_eq!((harness.rests.len(), harness.requests.len()), (0, 1));
        harness.solve(json!([call("read", "r", json!({}))]), json!(null));
        if fails { harness.fails("read") } else { harness.returns("read", json!(1)) }
    }
    assert_eq!(
        (harness.rested(), reason(&harness).as_str(), harness.requests.len()),
        (TurnEnd::Limit, "same_failure", 0)
    );
}

#[test]
fn model_calls_respect_the_parallel_limit() {
    let lazy = json!([{"type": "plan", "plan": [], "mode": "lazy"}]);
    let mut harness = Harness::on(lazy, json!({"max_parallel": 2}));
    harness.start();
    let muses: Vec<Value> = (0..5).map(|n| call("muse", &format!("m{n}"), json!({"q": n}))).collect();
    harness.solve(muses.into(), json!("over"));
    harness.approve("q1");
    for thought in 0..5 {
        assert_eq!(harness.requests.len(), (5 - thought).min(2));
        harness.solve(json!([]), json!(thought));
    }
    assert_eq!((harness.rested(), harness.states("muse")), (TurnEnd::Output, vec!["done"; 5]));
}

#[test]
fn tokens_of_model_calls_count_towards_the_limit() {
    let lazy = json!([{"type": "plan", "plan": [], "mode": "lazy"}]);
    let mut harness = Harness::on(lazy, json!({"max_tokens": 25}));
    harness.start();
    harness.solve(json!([call("muse", "a", json!({})), call("muse", "b", json!({}))]), json!(null));
    harness.approve("q1");
    harness.solve(json!([]), json!("ten more"));
    harness.solve(json!([]), json!("and ten"));
    assert_eq!((harness.rested(), harness.requests.len()), (TurnEnd::Limit, 0), "thirty are spent");
}

#[test]
fn an_oversized_result_is_an_error_in_every_form() {
    let long = "x".repeat(200);
    for outcome in [
        Outcome::Value(json!(long)),
        Outcome::Messages(vec![json!({"type": "state", "data": {"r": long}})]),
        Outcome::Messages(vec![json!({"type": "state", "data": {"r": "x".repeat(60)}}); 2]),
    ] {
        let mut harness = Harness::at_work(json!({"max_result_bytes": 100}));
        harness.solve(json!([call("read", "r", json!({}))]), json!(null));
        harness.ends("read", outcome);
        assert_eq!(
            (harness.errors(), harness.read("†state.r")),
            (vec!["result_too_large".to_owned()], json!("absent"))
        );
    }
}

#[test]
fn loop_2_calls_stopped_by_a_limit_name_the_limit() {
    let mut harness = Harness::at_work(json!({"max_calls": 1}));
    harness.solve(json!([call("make", "a", json!({"q": 1})), call("make", "b", json!({"q": 2}))]), json!(null));
    harness.returns("make", json!(1));
    assert_eq!(harness.rested(), TurnEnd::Limit);
    let calls = harness.rests.last().unwrap().calls.clone();
    assert_eq!(calls[1].error.as_ref().unwrap().code, Some(FailureCode::NotStarted));
}

#[test]
fn loop_2_an_effect_with_an_oversized_result_is_not_reported_as_undone() {
    let mut harness = Harness::at_work(json!({"max_result_bytes": 10}));
    harness.solve(json!([call("make", "a", json!({})), call("read", "b", json!({}))]), json!(null));
    harness.returns("make", json!("x".repeat(50)));
    harness.returns("read", json!("x".repeat(50)));
    let prompt = harness.session.prompt(harness.requests.last().unwrap()).unwrap();
    let words: Vec<String> = prompt.errors.iter().map(|error| error["error"]["message"].to_string()).collect();
    assert!(words[0].contains("the effect happened") && words[1].contains("ask for less"), "{words:?}");
}

#[test]
fn loop_3_a_faulty_call_of_a_plan_counts_as_a_failure() {
    let lazy = json!([{"type": "plan", "plan": [], "mode": "lazy"}]);
    let mut harness = Harness::on(lazy, json!({}));
    harness.start();
    for number in 0..3 {
        assert_eq!(harness.requests.len(), 1, "request {number}");
        let faulty = json!({"_tool": "nobody", "q": 1, "comment": format!("try {number}"), "_outputPath": "†state.x"});
        let other = call("read", &format!("r{number}"), json!({}));
        let calls = if number == 1 { json!([other, faulty]) } else { json!([faulty, other]) };
        harness.solve(calls, json!(null));
    }
    assert_eq!((harness.rested(), harness.requests.len()), (TurnEnd::Limit, 0));
}
