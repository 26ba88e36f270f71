//! ASK-6: a consent that the model claims counts only if the user's words give it.

use obelus_kernel::session::TurnEnd;
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn drop(id: u64, asides: Value) -> Value {
    let mut call = call("drop", &format!("d{id}"), json!({"id": id}));
    call.as_object_mut().unwrap().extend(asides.as_object().unwrap().clone());
    call
}

/// A change that needs approval because `sum` is a risky parameter.
fn change(asides: Value) -> Value {
    let mut call = call("change", "c", json!({"id": 1, "sum": 5}));
    call.as_object_mut().unwrap().extend(asides.as_object().unwrap().clone());
    call
}

/// With one open question the user says `words`, and the model claims a consent.
fn claimed_after(words: &str, settings: Value) -> Harness {
    let mut harness = Harness::at_work(settings);
    harness.solve(json!([change(json!({}))]), json!(null));
    harness.user(words);
    harness.solve(json!([change(json!({"confirmed": true}))]), json!("over"));
    harness
}

#[test]
fn a_yes_of_the_user_approves_the_only_open_question() {
    let mut harness = claimed_after("yes, please", json!({}));
    assert_eq!(harness.question("q1").by.as_deref(), Some("the user, in conversation"));
    harness.returns("change", json!(true));
    assert_eq!((harness.started.len(), harness.rested()), (1, TurnEnd::Output));
}

#[test]
fn other_messages_do_not_approve_and_consent_in_conversation_can_be_disabled() {
    for (words, settings) in
        [("yes, but wait", json!({})), ("show me first", json!({})), ("yes", json!({"model_may_confirm": "never"}))]
    {
        let harness = claimed_after(words, settings);
        assert_eq!((harness.started.len(), harness.waiting().len()), (0, 1), "{words}");
    }
}

#[test]
fn ask_6_a_yes_approves_a_deletion_that_was_shown_last() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([drop(1, json!({}))]), json!(null));
    harness.user("Yes, please!");
    assert_eq!(harness.question("q1").by.as_deref(), Some("the user, in conversation"));
    assert_eq!((harness.started.len(), harness.requests.len()), (1, 0));
    harness.returns("drop", json!(true));
    assert_eq!(harness.waiting().len(), 0);
}

#[test]
fn ask_6_a_deletion_is_not_approved_by_the_model_or_by_a_yes_to_a_later_text() {
    for words in ["yes, show it please", "yes"] {
        let mut harness = Harness::at_work(json!({}));
        harness.solve(json!([drop(1, json!({}))]), json!(null));
        harness.user("how many are there?");
        harness.solve(json!([]), json!("Two. Shall I show them?"));
        harness.user(words);
        harness.solve(json!([drop(1, json!({"confirmed": true}))]), json!("over"));
        assert_eq!((harness.started.len(), harness.waiting().len()), (0, 1), "{words}");
    }
}

/// A question about a change that pays, if `pays`; then the user consents with more than one word, and the model claims it.
fn payment_claimed(pays: bool) -> Harness {
    let tool = json!({"x-trust": "trusted", "x-effect": "update", "x-risky": ["sum"], "x-pays": pays,
                      "properties": {"id": {"type": "integer"}, "sum": {}}});
    let mut harness = Harness::on(json!([{"type": "tool", "tool": {"change": tool}}]), json!({}));
    harness.start();
    harness.solve(json!([change(json!({}))]), json!(null));
    harness.user("yes, do it today");
    harness.solve(json!([change(json!({"confirmed": true}))]), json!("over"));
    harness
}

#[test]
fn ask_6_a_payment_is_not_approved_by_the_model() {
    for (pays, expected) in [(true, (0, 1)), (false, (1, 0))] {
        let harness = payment_claimed(pays);
        assert_eq!((harness.started.len(), harness.waiting().len()), expected, "pays {pays}");
    }
}

#[test]
fn ask_6_a_yes_approves_a_payment_that_was_shown_last() {
    let tool = json!({"x-trust": "trusted", "x-effect": "update", "x-risky": ["sum"], "x-pays": true,
                      "properties": {"id": {"type": "integer"}, "sum": {}}});
    let mut harness = Harness::on(json!([{"type": "tool", "tool": {"change": tool}}]), json!({}));
    harness.start();
    harness.solve(json!([change(json!({}))]), json!(null));
    harness.user("Yes, please!");
    assert_eq!((harness.started.len(), harness.requests.len()), (1, 0));
}

#[test]
fn a_claimed_consent_without_a_question_creates_a_question() {
    let mut harness = Harness::at_work(json!({}));
    harness.user("yes");
    harness.solve(json!([drop(1, json!({"confirmed": true}))]), json!(null));
    assert_eq!((harness.started.len(), harness.waiting().len()), (0, 1));
}

#[test]
fn a_yes_does_not_approve_when_several_questions_are_open() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([drop(1, json!({})), drop(2, json!({}))]), json!(null));
    harness.user("yes");
    harness.solve(json!([drop(1, json!({"confirmed": true}))]), json!(null));
    assert_eq!(harness.started.len(), 0);
}

#[test]
fn a_yes_before_the_question_was_shown_does_not_approve_it() {
    let mut harness = Harness::at_work(json!({}));
    harness.user("yes");
    // The session takes the queued words when the turn rests. The question exists by then.
    harness.solve(json!([drop(1, json!({}))]), json!(null));
    assert_eq!(harness.asked, ["q1"]);
    harness.solve(json!([drop(1, json!({"confirmed": true}))]), json!(null));
    assert_eq!((harness.started.len(), harness.waiting().len()), (0, 1));
}

#[test]
fn declining_other_questions_does_not_make_an_earlier_yes_count() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([drop(1, json!({})), drop(2, json!({}))]), json!(null));
    harness.user("yes");
    let decline = drop(1, json!({"confirmation_decision": "deny"}));
    harness.solve(json!([decline, drop(2, json!({"confirmed": true}))]), json!(null));
    assert_eq!(harness.started.len(), 0, "when the user said yes, two questions were open");
    assert_eq!(harness.waiting(), ["q2"]);
}
