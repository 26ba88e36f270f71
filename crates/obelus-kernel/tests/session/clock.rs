//! Clocks that jump: the time of a session never goes back, and no approval is extended.

use obelus_kernel::session::{Decision, Input, TurnEnd};
use serde_json::json;

use crate::harness::{Harness, call};

#[test]
fn setting_the_clock_back_does_not_extend_a_question() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!("over"));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
    let lapses = harness.question("q1").expires_at;
    harness.now.0 -= 10 * 3_600_000;
    harness.tell(Input::Tick).unwrap();
    assert_eq!(harness.question("q1").expires_at, lapses);
    harness.now = lapses;
    harness.tell(Input::Tick).unwrap();
    assert!(harness.decide("q1", Decision::Approve { only: None }).is_err(), "it has lapsed");
    assert_eq!(harness.started.len(), 0);
}

#[test]
fn times_do_not_decrease_after_a_clock_jump() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("read", "a", json!({})), call("read", "b", json!({"q": "†state.a"}))]), json!("over"));
    harness.returns("read", json!(1));
    harness.now.0 -= 86_400_000;
    harness.returns("read", json!(2));
    let context = harness.session.context().to_json();
    let dates: Vec<&str> = context.as_array().unwrap().iter().filter_map(|message| message["_date"].as_str()).collect();
    assert_eq!(dates.len(), 2);
    assert!(dates.is_sorted(), "{dates:?}");
}

#[test]
fn a_clock_jump_ahead_expires_questions_and_runs_nothing() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!("over"));
    harness.wait(1_000);
    assert_eq!((harness.waiting().len(), harness.started.len()), (0, 0));
}
