//! CALL-3, POL-9: calls that wait while the agent's file changes their tool.

use obelus_kernel::session::{Decision, Input, QuestionStatus};
use serde_json::{Map, Value, json};

use crate::harness::{Harness, call};

/// A session with two open questions, each about a call of `drop`.
fn waiting() -> Harness {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1})), call("drop", "b", json!({"id": 2}))]), json!(null));
    assert_eq!(harness.waiting(), ["q1", "q2"]);
    harness
}

/// The agent's file has changed: these tools, and without those.
fn take_rules(harness: &mut Harness, tools: Value, removed: &[&str]) {
    let settings = Box::new(harness.session.rules().clone());
    let Value::Object(tools) = tools else { panic!("an object") };
    let removed = removed.iter().map(|name| (*name).to_owned()).collect();
    harness.tell(Input::Rules { settings, tools, removed }).unwrap();
}

/// `drop` with this type of its parameter.
fn drop_taking(kind: &str) -> Value {
    json!({"drop": {
        "x-trust": "trusted", "x-effect": "delete", "required": ["id"], "properties": {"id": {"type": kind}},
    }})
}

#[test]
fn a_waiting_call_whose_tool_takes_it_no_longer_expires_and_cannot_be_approved() {
    let mut harness = waiting();
    take_rules(&mut harness, drop_taking("string"), &[]);
    assert_eq!((harness.status_of("q1"), harness.status_of("q2")), (QuestionStatus::Expired, QuestionStatus::Expired));
    assert_eq!(harness.states("drop"), ["denied", "denied"]);
    let reason = harness.question("q1").reason.unwrap();
    assert_eq!(reason, "the tool has changed, and this call no longer fits it");
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!(refused.code.name(), "already_decided");
    assert!(refused.text.contains(&reason), "{}", refused.text);
    assert!(harness.handed_out("drop").is_empty());
}

#[test]
fn a_waiting_call_whose_tool_was_removed_expires_and_says_so() {
    let mut harness = waiting();
    take_rules(&mut harness, json!({}), &["drop"]);
    assert!(harness.waiting().is_empty());
    assert_eq!(harness.question("q2").reason.as_deref(), Some("the agent's file no longer has this tool"));
    assert_eq!(harness.states("drop"), ["denied", "denied"]);
}

#[test]
fn a_waiting_call_that_still_fits_waits_on_and_runs_as_shown() {
    let mut harness = waiting();
    take_rules(&mut harness, drop_taking("number"), &["change"]);
    assert_eq!(harness.waiting(), ["q1", "q2"]);
    harness.approve("q1");
    assert_eq!(harness.handed_out("drop")[0]["id"], 1);
}

/// POL-9: an old approval does not override a current refusal, however deep the call is.
#[test]
fn a_call_of_a_delegate_that_is_refused_by_the_present_rules_does_not_run_on_an_old_approval() {
    for depth in 1..=3 {
        let mut harness = Harness::at_work(json!({}));
        for level in 0..depth {
            harness.solve(json!([call("child", "a", json!({"q": level}))]), json!("over"));
        }
        harness.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("dropped"));
        let question = format!("{}q1", "0.0/".repeat(depth));
        assert_eq!(harness.waiting(), [question.as_str()]);
        let mut settings = Box::new(harness.session.rules().clone());
        assert!(!settings.activities.is_empty(), "the journal of this version names them");
        settings.policy = serde_json::from_value(json!({"refuse": ["drop"]})).unwrap();
        harness.tell(Input::Rules { settings, tools: Map::new(), removed: Vec::new() }).unwrap();
        harness.approve(&question);
        assert!(harness.handed_out("drop").is_empty(), "depth {depth}");
    }
}
