//! ASK-6: a model that claims a consent is believed when the user's own words say so.

use obelus_kernel::session::Ends;
use serde_json::{Value, json};

use crate::desk::{Desk, call};

fn drop(id: u64, asides: Value) -> Value {
    let mut call = call("drop", &format!("d{id}"), json!({"id": id}));
    call.as_object_mut().unwrap().extend(asides.as_object().unwrap().clone());
    call
}

/// One question waits, the user speaks, and the model claims a consent.
fn claimed_after(words: &str, settings: Value) -> Desk {
    let mut desk = Desk::at_work(settings);
    desk.solve(json!([drop(1, json!({}))]), json!(null));
    desk.user(words);
    desk.solve(json!([drop(1, json!({"confirmed": true}))]), json!("over"));
    desk
}

#[test]
fn the_users_yes_to_the_only_question_counts() {
    let mut desk = claimed_after("yes, please", json!({}));
    assert_eq!(desk.question("q1").by.as_deref(), Some("the user, in conversation"));
    desk.returns("drop", json!(true));
    assert_eq!((desk.started.len(), desk.rested()), (1, Ends::Output));
}

#[test]
fn other_words_do_not_count_nor_any_where_the_author_says_never() {
    for (words, settings) in
        [("yes, but wait", json!({})), ("show me first", json!({})), ("yes", json!({"model_may_confirm": "never"}))]
    {
        let desk = claimed_after(words, settings);
        assert_eq!((desk.started.len(), desk.waiting().len()), (0, 1), "{words}");
    }
}

#[test]
fn a_claim_without_a_question_is_a_question() {
    let mut desk = Desk::at_work(json!({}));
    desk.user("yes");
    desk.solve(json!([drop(1, json!({"confirmed": true}))]), json!(null));
    assert_eq!((desk.started.len(), desk.waiting().len()), (0, 1));
}

#[test]
fn a_yes_to_several_questions_is_a_yes_to_none() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([drop(1, json!({})), drop(2, json!({}))]), json!(null));
    desk.user("yes");
    desk.solve(json!([drop(1, json!({"confirmed": true}))]), json!(null));
    assert_eq!(desk.started.len(), 0);
}

#[test]
fn a_yes_said_before_the_question_was_shown_is_no_answer_to_it() {
    let mut desk = Desk::at_work(json!({}));
    desk.user("yes");
    // The words are heard when the turn has come to rest, and by then there is a question.
    desk.solve(json!([drop(1, json!({}))]), json!(null));
    assert_eq!(desk.asked, ["q1"]);
    desk.solve(json!([drop(1, json!({"confirmed": true}))]), json!(null));
    assert_eq!((desk.started.len(), desk.waiting().len()), (0, 1));
}

#[test]
fn the_model_cannot_make_a_question_the_only_one_by_declining_the_others() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([drop(1, json!({})), drop(2, json!({}))]), json!(null));
    desk.user("yes");
    let decline = drop(1, json!({"confirmation_decision": "deny"}));
    desk.solve(json!([decline, drop(2, json!({"confirmed": true}))]), json!(null));
    assert_eq!(desk.started.len(), 0, "when the user said yes, two questions were open");
    assert_eq!(desk.waiting(), ["q2"]);
}
