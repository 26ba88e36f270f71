//! ASK-3: what a person denied, or took out of a plan, does not run later without a person.

use obelus_kernel::session::{Decision, QuestionStatus};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// A conversation whose plans run without approval if no call is risky, or each with approval.
fn lazy(approval: &str) -> Harness {
    let plan = json!([{"type": "plan", "plan": [], "mode": "lazy"}]);
    let settings = json!({"approval": approval, "follow_up": "until_done"});
    let mut harness = Harness::on(plan, settings);
    harness.user("Tidy up");
    harness
}

fn only(calls: &[usize]) -> Decision {
    Decision::Approve { only: Some(calls.to_vec()) }
}

fn note() -> Value {
    call("make", "m", json!({"q": "note"}))
}

fn risky() -> Value {
    call("drop", "d", json!({"id": 1}))
}

/// Leaves the note out, and lets the other call end.
fn note_left_out(approval: &str) -> Harness {
    let mut harness = lazy(approval);
    harness.solve(json!([note(), risky()]), json!(null));
    harness.decide("q1", only(&[1])).unwrap();
    harness.approve("q2");
    harness.returns("drop", json!(1));
    harness
}

#[test]
fn a_call_that_was_left_out_is_ignored_when_it_is_proposed_again() {
    let mut harness = note_left_out("checked");
    harness.solve(json!([note()]), json!(null));
    assert_eq!((harness.handed_out("make").len(), harness.waiting().len()), (0, 0));
    harness.solve(json!([]), json!("over"));
    harness.user("thanks");
    harness.solve(json!([note()]), json!(null));
    assert_eq!(harness.handed_out("make").len(), 0, "the user has not asked for it either");
}

#[test]
fn the_same_effect_with_another_path_needs_a_person() {
    let mut harness = note_left_out("checked");
    harness.solve(json!([call("make", "elsewhere", json!({"q": "note"}))]), json!(null));
    assert_eq!((harness.handed_out("make").len(), harness.waiting().len()), (0, 1));
    let open = harness.waiting().remove(0);
    assert!(harness.question(&open).reasons.iter().any(|why| why.to_string().contains("left out of a plan")));
    harness.approve(&open);
    harness.returns("make", json!(1));
    harness.solve(json!([call("make", "third", json!({"q": "note"}))]), json!(null));
    assert_eq!(harness.handed_out("make").len(), 2, "once it was approved, the next one is judged like any other");
}

#[test]
fn a_call_with_references_that_was_left_out_needs_a_person() {
    let mut harness = lazy("checked");
    let reader = call("make", "m", json!({"q": "†state.r"}));
    harness.solve(json!([call("read", "r", json!({})), reader, risky()]), json!(null));
    harness.decide("q1", only(&[0, 2])).unwrap();
    harness.approve("q2");
    harness.returns("read", json!("it"));
    harness.returns("drop", json!(1));
    harness.solve(json!([reader]), json!(null));
    assert_eq!((harness.handed_out("make").len(), harness.waiting().len()), (0, 1));
}

#[test]
fn calls_of_a_denied_plan_need_a_person_when_they_come_without_the_risky_one() {
    let mut harness = lazy("checked");
    harness.solve(json!([note(), risky()]), json!(null));
    harness.deny("q1");
    harness.solve(json!([note()]), json!(null));
    assert_eq!((harness.handed_out("make").len(), harness.waiting().len()), (0, 1));
}

#[test]
fn a_plan_that_a_person_approves_runs_what_was_denied_before() {
    for decision in [only(&[1]), Decision::Deny { reason: "not now".to_owned() }] {
        let mut harness = lazy("person");
        harness.solve(json!([note(), call("read", "r", json!({}))]), json!(null));
        harness.decide("q1", decision).unwrap();
        if !harness.started.is_empty() {
            harness.returns("read", json!(1));
        }
        harness.solve(json!([note()]), json!(null));
        harness.approve("q2");
        assert_eq!((harness.handed_out("make").len(), harness.waiting().len()), (1, 0));
    }
}

#[test]
fn of_two_equal_calls_the_one_that_is_approved_runs() {
    let mut harness = lazy("person");
    harness.solve(json!([note(), note()]), json!(null));
    harness.decide("q1", only(&[1])).unwrap();
    assert_eq!((harness.handed_out("make").len(), harness.waiting().len()), (1, 0));
}

#[test]
fn an_edited_plan_is_decided_before_the_model_is_asked() {
    for approval in ["person", "checked"] {
        let mut harness = lazy(approval);
        harness.solve(json!([note(), risky()]), json!(null));
        let requests = harness.requests.len();
        harness.edit("q1", json!({"plan": [risky()]})).unwrap();
        assert_eq!((harness.requests.len(), harness.waiting()), (requests, vec!["q2".to_owned()]), "{approval}");
        harness.approve("q2");
        harness.approve("q3");
        harness.returns("drop", json!(1));
        assert_eq!(harness.status_of("q2"), QuestionStatus::Approved);
        harness.solve(json!([note()]), json!(null));
        assert_eq!((harness.handed_out("make").len(), harness.waiting().len()), (0, 1), "it was taken out: {approval}");
    }
}

#[test]
fn a_call_that_reads_a_value_of_which_a_part_was_left_out_is_left_out_too() {
    let plan = json!({"type": "plan", "plan": [], "mode": "lazy"});
    let before = json!({"type": "state", "data": {"letter": {"body": "old", "to": "a"}}});
    let mut harness = Harness::on(json!([before, plan]), json!({}));
    harness.start();
    let send = call("make", "sent", json!({"q": "†state.letter"}));
    let after = call("change", "c", json!({"sum": "†state.sent"}));
    harness.solve(json!([send, call("read", "letter.body", json!({})), after]), json!("over"));
    harness.decide("q1", only(&[0, 2])).unwrap();
    assert_eq!(harness.started.len(), 0, "the old letter is not sent");
}

#[test]
fn an_effect_that_was_denied_alone_needs_a_person_however_it_is_written() {
    let asked = |path: &str, number: &str| -> Value {
        let params = format!(r#"{{"q": {number}, "requires_confirmation": true}}"#);
        call("make", path, serde_json::from_str(&params).unwrap())
    };
    let plain = |path: &str, number: &str| -> Value {
        let mut call = asked(path, number);
        call.as_object_mut().unwrap().shift_remove("requires_confirmation");
        call
    };
    for (again, ignored) in [(plain("m", "5"), true), (plain("m", "5.0"), true), (plain("n", "5"), false)] {
        let mut harness = Harness::with(json!({}));
        harness.user("Write it down");
        harness.solve(json!([asked("m", "5")]), json!(null));
        harness.deny("q1");
        harness.solve(json!([again]), json!(null));
        assert_eq!(harness.handed_out("make").len(), 0, "{again}");
        assert_eq!(harness.waiting().is_empty(), ignored, "{again}");
    }
}
