//! Questions show the current values beside those that a call would set.

use obelus_kernel::session::{CallError, Decision, Input, Outcome, RepeatReason};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// Tools that read and change records. Only the stage in a read result is trusted.
fn crm() -> Value {
    let deal = json!({"id": {}, "fields": {"type": "object"}});
    let before = json!({"tool": "read", "params": {"q": "id"}, "fields": "fields", "result": "deal"});
    json!([{"type": "tool", "tool": {
        "read": {"x-effect": "read", "x-trust": {"": "untrusted", "deal.STAGE": "trusted"}, "properties": {"q": {}}},
        "change": {"x-effect": "update", "x-trust": "trusted", "x-risky": ["fields"], "x-target": ["id"],
            "properties": deal, "x-before": before},
    }}])
}

fn change(id: Value, fields: Value) -> Value {
    call("change", "done", json!({"id": id, "fields": fields}))
}

/// A session with a question about one change.
fn asked(settings: Value) -> Harness {
    let mut harness = Harness::on(crm(), settings);
    harness.start();
    harness.solve(json!([change(json!(7), json!({"stage": "WON", "NOTE": "urgent", "OLD": 1}))]), json!("over"));
    harness
}

#[test]
fn a_question_shows_current_values_beside_new_ones() {
    let mut harness = asked(json!({}));
    assert_eq!(harness.handed_out("read"), [json!({"_tool": "read", "q": 7})]);
    assert_eq!((harness.waiting(), harness.question("q1").changes.len()), (vec!["q1".to_owned()], 0));
    harness.returns("read", json!({"deal": {"STAGE": "NEW", "NOTE": "a\nb", "OTHER": 5}}));
    let question = harness.question("q1");
    assert_eq!(
        question.to_json()["changes"],
        json!([
            {"call": 0, "field": "stage", "before": "NEW", "after": "WON", "known": true},
            {"call": 0, "field": "NOTE", "before": "a\nb", "after": "urgent", "known": true, "before_untrusted": ["read"]},
            {"call": 0, "field": "OLD", "before": null, "after": 1, "known": false},
        ])
    );
    assert_eq!(harness.asked_again, [("q1".to_owned(), RepeatReason::MoreIsKnown)]);
}

#[test]
fn a_before_read_is_not_part_of_the_turn_and_the_model_does_not_see_it() {
    let mut harness = asked(json!({"persistent": true, "max_calls": 1}));
    harness.returns("read", json!({"deal": {"STAGE": "secret of the record"}}));
    assert!(harness.states("read").is_empty());
    harness.user("and now?");
    let prompt = harness.session.prompt(harness.requests.last().expect("a request")).expect("a prompt");
    let shown = serde_json::to_string(&prompt).expect("JSON");
    assert!(shown.contains("WON") && !shown.contains("secret of the record"), "{shown}");
    harness.approve("q1");
    assert_eq!(harness.handed_out("change").len(), 1);
}

#[test]
fn a_question_can_be_answered_before_its_before_read_ends() {
    let mut harness = asked(json!({}));
    harness.approve("q1");
    harness.returns("read", json!({"deal": {"STAGE": "NEW"}}));
    assert!(harness.question("q1").changes.is_empty() && harness.asked_again.is_empty());
    harness.returns("change", json!("ok"));
    assert_eq!(harness.read("†state.done"), json!("ok"));
    for outcome in [
        Outcome::Error(CallError::new("gone", "no such deal")),
        Outcome::Value(json!("no record at all")),
        Outcome::Messages(vec![json!({"type": "state", "data": {"x": 1}})]),
    ] {
        let mut harness = asked(json!({}));
        harness.ends("read", outcome.clone());
        let known = harness.question("q1").changes.iter().filter(|change| change.before.is_some()).count();
        assert_eq!((harness.waiting().len(), known, harness.errors().len()), (1, 0, 0), "{outcome:?}");
        harness.approve("q1");
        assert_eq!(harness.handed_out("change").len(), 1);
    }
}

#[test]
fn no_before_read_is_made_if_the_read_is_not_allowed() {
    assert!(asked(json!({"before": false})).handed_out("read").is_empty());
    assert!(asked(json!({"policy": {"confirm": ["read"]}})).handed_out("read").is_empty());
    assert!(asked(json!({"policy": {"allow": ["change"]}})).handed_out("read").is_empty());
    let mut harness = Harness::on(
        crm(),
        json!({"before": true, "policy": {"rules": [
            {"match": {"tool": "read", "param": "q", "from": "untrusted"}, "verdict": "refuse"},
        ]}}),
    );
    harness.start();
    harness.solve(json!([call("read", "found", json!({"q": "any"}))]), json!(null));
    harness.returns("read", json!({"id": 9}));
    harness.solve(json!([change(json!("†state.found.id"), json!({"NOTE": "x"}))]), json!("over"));
    assert_eq!((harness.waiting().len(), harness.handed_out("read").len()), (1, 1));
}

#[test]
fn changes_of_calls_over_instances_are_listed_by_call() {
    let mut messages = crm();
    let each = messages.as_array_mut().expect("messages");
    for (name, id) in [("anna", 1), ("boris", 2)] {
        each.push(json!({"type": "state", "data": {"id": id}, "_instance": name}));
    }
    let mut harness = Harness::on(messages, json!({"max_parallel": 1}));
    harness.start();
    harness.solve(json!([change(json!("†state.id"), json!({"STAGE": "WON", "N": 1}))]), json!("over"));
    assert_eq!(harness.handed_out("read").len(), 1);
    harness.returns("read", json!({"deal": {"STAGE": "NEW", "N": 1}}));
    harness.returns("read", json!({"deal": {"STAGE": "OLD"}}));
    let form = harness.question("q1").to_json();
    assert_eq!(json!([form["calls"][0]["_instance"], form["calls"][1]["_instance"]]), json!(["anna", "boris"]));
    assert_eq!(
        form["changes"],
        json!([
            {"call": 0, "field": "STAGE", "before": "NEW", "after": "WON", "known": true},
            {"call": 0, "field": "N", "before": 1, "after": 1, "known": true, "before_untrusted": ["read"]},
            {"call": 1, "field": "STAGE", "before": "OLD", "after": "WON", "known": true},
            {"call": 1, "field": "N", "before": null, "after": 1, "known": false},
        ])
    );
}

#[test]
fn an_interrupted_before_read_is_repeated_and_never_in_doubt() {
    let mut harness = asked(json!({}));
    let id = harness.open[0].id.clone();
    harness.tell(Input::InDoubt { id: id.clone() }).expect("the session takes it");
    assert_eq!((harness.started.len(), harness.waiting()), (2, vec!["q1".to_owned()]));
    assert_eq!((harness.started[0].key.clone(), harness.started[1].attempt), (harness.started[1].key.clone(), 2));
    harness.decide("q1", Decision::Deny { reason: "no".to_owned() }).expect("taken");
    harness.tell(Input::InDoubt { id }).expect("the session takes it");
    assert_eq!(harness.started.len(), 2);
}
