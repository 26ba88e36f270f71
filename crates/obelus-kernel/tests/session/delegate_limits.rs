//! LOOP-2, PLAN-5: a session and its delegates together keep the limits of the session.

use obelus_kernel::session::{Input, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn children(count: usize) -> Value {
    (0..count).map(|n| call("child", &format!("c{n}"), json!({"q": n}))).collect()
}

fn reads(count: usize) -> Value {
    (0..count).map(|n| call("read", &format!("r{n}"), json!({"q": n}))).collect()
}

/// Ends all that runs, until nothing does.
fn run_out(harness: &mut Harness) {
    while !harness.open.is_empty() || !harness.requests.is_empty() {
        if harness.open.is_empty() {
            harness.solve(json!([]), json!("over"));
        } else {
            harness.returns("read", json!(1));
        }
    }
}

#[test]
fn delegates_together_start_no_more_calls_than_the_session_may() {
    let mut harness = Harness::at_work(json!({"max_calls": 8}));
    harness.solve(children(3), json!(null));
    for _ in 0..3 {
        harness.solve(reads(3), json!(null));
    }
    assert_eq!(harness.handed_out("read").len(), 5, "three of the eight are the delegates themselves");
    run_out(&mut harness);
    assert_eq!(harness.states("child"), ["done", "failed", "failed"]);
    harness.user("go on");
    harness.solve(children(1), json!(null));
    harness.solve(reads(2), json!(null));
    assert_eq!(harness.handed_out("read").len(), 7, "the next turn has limits of its own");
}

#[test]
fn calls_of_ended_and_of_nested_delegates_count_too() {
    let mut harness = Harness::at_work(json!({"max_calls": 12}));
    for _ in 0..2 {
        harness.solve(children(1), json!(null));
        harness.solve(children(1), json!(null));
        harness.solve(reads(3), json!("over"));
        while !harness.open.is_empty() {
            harness.returns("read", json!(1));
        }
        harness.solve(json!([]), json!("over"));
    }
    assert_eq!(harness.started.len(), 6);
    harness.solve(reads(9), json!("over"));
    assert_eq!(harness.started.len(), 8, "four were delegates");
    run_out(&mut harness);
    assert_eq!(harness.rested(), TurnEnd::Limit);
}

#[test]
fn delegates_together_use_no_more_tokens_than_the_session_may() {
    let mut harness = Harness::at_work(json!({"max_tokens": 60, "max_calls": 1000}));
    harness.solve(children(3), json!(null));
    let mut answers = 1;
    while !harness.requests.is_empty() {
        harness.solve(reads(1), json!(null));
        answers += 1;
        while !harness.open.is_empty() {
            harness.returns("read", json!(1));
        }
    }
    // Each answer has ten tokens, and two requests were under way when the limit was met.
    assert_eq!((answers, harness.rested()), (8, TurnEnd::Limit));
}

#[test]
fn delegates_together_run_no_more_calls_at_once_than_the_session_may() {
    for most in [1, 2, 3] {
        let mut harness = Harness::at_work(json!({"max_parallel": most}));
        harness.solve(children(3), json!("over"));
        let mut at_once = 0;
        while !harness.open.is_empty() || !harness.requests.is_empty() {
            at_once = at_once.max(harness.open.len());
            match harness.requests.first().map(ToString::to_string) {
                None => harness.returns("read", json!(1)),
                // The first delegate has delegates of its own.
                Some(id) if id.starts_with("0.0/") && id.matches('/').count() == 1 => {
                    harness.solve(children(2), json!("over"));
                }
                Some(_) => harness.solve(reads(3), json!("over")),
            }
        }
        assert_eq!((at_once, harness.handed_out("read").len()), (most, 12));
        assert_eq!((harness.rested(), harness.states("child")), (TurnEnd::Output, vec!["done"; 3]));
    }
}

#[test]
fn calls_that_start_early_in_delegates_count_among_those_at_once() {
    let mut harness = Harness::at_work(json!({"max_parallel": 2}));
    harness.solve(children(2), json!("over"));
    for id in harness.requests.clone() {
        for (index, read) in (0..).zip(reads(2).as_array().unwrap()) {
            harness.tell(Input::Partial { id: id.clone(), index, call: read.clone().into() }).unwrap();
        }
    }
    assert_eq!((harness.requests.len(), harness.open.len()), (2, 2));
    for _ in 0..2 {
        harness.solve(reads(2), json!("over"));
    }
    assert_eq!(harness.open.len(), 2, "the first uses its early calls, the second waits");
    run_out(&mut harness);
    assert_eq!((harness.handed_out("read").len(), harness.rested()), (4, TurnEnd::Output));
}

/// As at the top: a limit is for the agent, and a person's answer goes on.
#[test]
fn an_approved_call_of_a_delegate_runs_after_a_limit_of_the_session() {
    let talk = json!({"max_calls": 2, "follow_up": "until_done", "persistent": true});
    for settings in [json!({"max_calls": 2}), talk] {
        let mut harness = Harness::with(settings);
        harness.user("go");
        let calls = [call("child", "a", json!({"q": 1})), call("read", "x", json!({})), call("read", "y", json!({}))];
        harness.solve(json!(calls), json!("over"));
        let drop = call("drop", "d", json!({"id": 1}));
        harness.solve(json!([drop]), json!(null));
        harness.returns("read", json!(1));
        assert_eq!((harness.rested(), harness.waiting().len()), (TurnEnd::Limit, 1));
        harness.approve("0.0/q1");
        assert_eq!(harness.handed_out("drop").len(), 1);
        harness.returns("drop", json!(1));
        assert_eq!(harness.requests.len(), 1, "the delegate goes on");
    }
}
