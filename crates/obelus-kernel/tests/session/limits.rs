//! LOOP-2, LOOP-3, PLAN-5: how far a turn goes.

use obelus_kernel::session::{Ends, Outcome};
use serde_json::{Value, json};

use crate::desk::{Desk, call};

fn reason(desk: &Desk) -> String {
    desk.rests.last().and_then(|reply| reply.reason.clone()).map(|reason| reason.code).unwrap_or_default()
}

#[test]
fn calls_beyond_the_limit_are_not_started() {
    let mut desk = Desk::at_work(json!({"max_calls": 2}));
    let reads: Vec<Value> = (0..5).map(|n| call("read", &format!("r{n}"), json!({"q": n}))).collect();
    desk.solve(reads.into(), json!("over"));
    desk.returns("read", json!(1));
    desk.returns("read", json!(2));
    assert_eq!((desk.rested(), desk.started.len()), (Ends::Limit, 2));
    assert_eq!(desk.states("read"), ["done", "done", "skipped", "skipped", "skipped"]);
    desk.user("continue");
    desk.solve(json!([call("read", "r2", json!({"q": 2}))]), json!("over"));
    assert_eq!(desk.started.len(), 3, "the next turn has limits of its own");
}

#[test]
fn what_a_person_lets_run_runs_after_a_limit() {
    let mut desk = Desk::at_work(json!({"max_calls": 1}));
    desk.solve(
        json!([call("drop", "d", json!({"id": 1})), call("read", "a", json!({})), call("read", "b", json!({}))]),
        json!("over"),
    );
    desk.returns("read", json!(1));
    assert_eq!((desk.rested(), desk.waiting().len()), (Ends::Limit, 1));
    desk.approve("q1");
    assert_eq!(desk.handed_out("drop").len(), 1);
}

#[test]
fn the_same_failure_three_times_in_a_row_ends_the_turn() {
    let mut desk = Desk::at_work(json!({}));
    for _ in 0..3 {
        desk.solve(json!([call("read", "r", json!({}))]), json!(null));
        desk.fails("read");
    }
    assert_eq!((desk.rested(), reason(&desk).as_str(), desk.requests.len()), (Ends::Limit, "same_failure", 0));
}

#[test]
fn a_success_between_failures_begins_the_count_anew() {
    let mut desk = Desk::at_work(json!({}));
    for fails in [true, true, false, true, true] {
        desk.solve(json!([call("read", "r", json!({}))]), json!(null));
        if fails { desk.fails("read") } else { desk.returns("read", json!(1)) }
    }
    assert_eq!((desk.rests.len(), desk.requests.len()), (0, 1));
}

#[test]
fn thoughts_run_no_more_at_once_than_other_calls() {
    let lazy = json!([{"type": "plan", "plan": [], "mode": "lazy"}]);
    let mut desk = Desk::on(lazy, json!({"max_parallel": 2}));
    desk.start();
    let muses: Vec<Value> = (0..5).map(|n| call("muse", &format!("m{n}"), json!({"q": n}))).collect();
    desk.solve(muses.into(), json!("over"));
    desk.approve("q1");
    for thought in 0..5 {
        assert_eq!(desk.requests.len(), (5 - thought).min(2));
        desk.solve(json!([]), json!(thought));
    }
    assert_eq!((desk.rested(), desk.states("muse")), (Ends::Output, vec!["done"; 5]));
}

#[test]
fn tokens_of_thoughts_count() {
    let lazy = json!([{"type": "plan", "plan": [], "mode": "lazy"}]);
    let mut desk = Desk::on(lazy, json!({"max_tokens": 25}));
    desk.start();
    desk.solve(json!([call("muse", "a", json!({})), call("muse", "b", json!({}))]), json!(null));
    desk.approve("q1");
    desk.solve(json!([]), json!("ten more"));
    desk.solve(json!([]), json!("and ten"));
    assert_eq!((desk.rested(), desk.requests.len()), (Ends::Limit, 0), "thirty are spent");
}

#[test]
fn a_result_larger_than_is_kept_is_an_error_in_whatever_form_it_comes() {
    let long = "x".repeat(200);
    for outcome in [
        Outcome::Value(json!(long)),
        Outcome::Messages(vec![json!({"type": "state", "data": {"r": long}})]),
        Outcome::Messages(vec![json!({"type": "state", "data": {"r": "x".repeat(60)}}); 2]),
    ] {
        let mut desk = Desk::at_work(json!({"max_result_bytes": 100}));
        desk.solve(json!([call("read", "r", json!({}))]), json!(null));
        desk.ends("read", outcome);
        assert_eq!((desk.errors(), desk.read("†state.r")), (vec!["result_too_large".to_owned()], json!("absent")));
    }
}
