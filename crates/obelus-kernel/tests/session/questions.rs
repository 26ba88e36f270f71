//! ASK-1 to ASK-3: one question for one thing, answered once, and what runs is what was shown.

use obelus_kernel::session::{AskedAgain, Decision, Ends, QuestionStatus};
use serde_json::{Value, json};

use crate::desk::{Desk, call};

fn two_instances() -> Value {
    json!([
        {"type": "data", "kind": "deal", "_instance": "ada", "data": {"id": 1}},
        {"type": "data", "kind": "deal", "_instance": "bob", "data": {"id": 2}},
    ])
}

/// A call of a template: it runs for each instance, and each time a person is asked.
fn drop_each() -> Value {
    json!({"_tool": "drop", "id": "†deal.id", "_outputPath": "†deal.gone"})
}

#[test]
fn an_identical_call_joins_the_one_that_waits() {
    let mut desk = Desk::at_work(json!({}));
    let drop = call("drop", "a", json!({"id": 1}));
    desk.solve(json!([drop, drop, call("drop", "a", json!({"id": 2}))]), json!(null));
    assert_eq!(desk.asked, ["q1", "q2"], "two of the three are the same call");
    desk.approve("q1");
    assert_eq!(desk.handed_out("drop").len(), 1);
    desk.returns("drop", json!("gone"));
    assert_eq!(desk.states("drop"), ["done", "done", "waiting"]);
}

#[test]
fn an_identical_call_of_a_later_turn_joins_too() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    desk.user("and what about the deal?");
    let again = call("drop", "a", json!({"id": 1, "comment": "said otherwise", "_reasoningForCall": "for"}));
    desk.solve(json!([again]), json!(null));
    assert_eq!((desk.asked.len(), desk.waiting().len()), (1, 1));
    desk.deny("q1");
    assert_eq!(desk.states("drop"), ["denied", "denied"]);
}

#[test]
fn a_template_over_instances_is_one_question_approved_in_part() {
    let mut desk = Desk::on(two_instances(), json!({}));
    desk.start();
    desk.solve(json!([drop_each()]), json!("over"));
    assert_eq!((desk.asked.len(), desk.question("q1").calls.len()), (1, 2));
    desk.decide("q1", Decision::Approve { only: Some(vec![1]) }).unwrap();
    assert_eq!(desk.handed_out("drop")[0]["_instance"], "bob");
    desk.returns("drop", json!(true));
    assert_eq!((desk.states("drop"), desk.rested()), (vec!["waiting", "done"], Ends::Waiting));
    desk.deny("q1");
    assert_eq!((desk.states("drop"), desk.rested()), (vec!["denied", "done"], Ends::Output));
    assert_eq!(desk.started.len(), 1);
}

#[test]
fn an_answer_for_a_call_that_is_not_open_is_refused_as_a_whole() {
    let mut desk = Desk::on(two_instances(), json!({}));
    desk.start();
    desk.solve(json!([drop_each()]), json!("over"));
    desk.decide("q1", Decision::Approve { only: Some(vec![0]) }).unwrap();
    let refused = desk.decide("q1", Decision::Approve { only: Some(vec![0, 1]) }).unwrap_err();
    assert_eq!((refused.code, desk.started.len()), ("unknown_call", 1));
    let refused = desk.decide("q1", Decision::Approve { only: Some(vec![7]) }).unwrap_err();
    assert_eq!((refused.code, desk.started.len()), ("unknown_call", 1));
}

#[test]
fn naming_a_call_twice_runs_it_once() {
    let mut desk = Desk::on(two_instances(), json!({"max_parallel": 1}));
    desk.start();
    desk.solve(json!([drop_each()]), json!("over"));
    desk.decide("q1", Decision::Approve { only: Some(vec![0, 0, 1]) }).unwrap();
    desk.returns("drop", json!(true));
    desk.returns("drop", json!(true));
    assert_eq!((desk.started.len(), desk.rested()), (2, Ends::Output));
}

#[test]
fn an_edit_that_breaks_the_schema_is_refused_and_the_question_stays() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    for (params, code) in [(json!({"id": "one"}), "bad_edit"), (json!({"_outputPath": "†state.b"}), "bad_edit")] {
        assert_eq!(desk.edit("q1", params).unwrap_err().code, code);
        assert_eq!((desk.waiting().len(), desk.started.len()), (1, 0));
    }
    assert_eq!(desk.question("q1").calls[0].call["id"], 1, "what is shown is as it was");
    desk.edit("q1", json!({"id": 2})).unwrap();
    assert_eq!(desk.handed_out("drop")[0]["id"], 2);
}

#[test]
fn an_edit_that_the_policy_forbids_is_refused() {
    let rules = json!([{"match": {"param": "sum"}, "verdict": "refuse", "reason": "no sums"}]);
    let mut desk = Desk::at_work(json!({"policy": rules}));
    desk.solve(json!([call("change", "a", json!({"id": 1, "requires_confirmation": true}))]), json!("over"));
    assert_eq!(desk.edit("q1", json!({"sum": 5})).unwrap_err().text, "no sums");
    assert_eq!((desk.waiting().len(), desk.started.len()), (1, 0));
}

#[test]
fn somebody_is_reminded_once_before_a_question_lapses() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(desk.session.timeout(), Some(desk.now.plus_seconds(20 * 3600)));
    desk.wait(19);
    assert_eq!((desk.asked_again.len(), desk.rests.len()), (0, 1));
    desk.wait(1);
    assert_eq!(desk.asked_again, [("q1".to_owned(), AskedAgain::ItWillLapse)]);
    assert_eq!((desk.session.timeout(), desk.rests.len()), (Some(desk.now.plus_seconds(4 * 3600)), 1));
    desk.wait(2);
    assert_eq!(desk.asked_again.len(), 1);
    desk.approve("q1");
    assert_eq!((desk.handed_out("drop").len(), desk.session.timeout()), (1, None));
}

#[test]
fn a_short_question_is_reminded_of_at_half_its_time_and_one_that_has_lapsed_never() {
    let mut desk = Desk::at_work(json!({"question_seconds": 7200}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(desk.session.timeout(), Some(desk.now.plus_seconds(3600)));
    desk.wait(5);
    assert_eq!((desk.asked_again.len(), desk.status_of("q1")), (0, QuestionStatus::Expired));
    let mut silent = Desk::at_work(json!({"reminder_seconds": 0}));
    silent.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(silent.session.timeout(), Some(silent.now.plus_seconds(24 * 3600)));
}

#[test]
fn an_answer_that_comes_too_late_is_refused_even_where_nobody_told_the_time() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    desk.now = desk.now.plus_seconds(25 * 3600);
    let refused = desk.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code, desk.started.len()), ("expired", 0));
    assert!(refused.text.contains("lapsed at"), "{refused}");
}

#[test]
fn a_question_lapses_after_a_day_and_the_call_is_denied() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(desk.question("q1").expires_at, desk.now.plus_seconds(24 * 3600));
    desk.wait(23);
    assert_eq!(desk.states("drop"), ["waiting"]);
    desk.wait(1);
    assert_eq!((desk.status_of("q1"), desk.session.timeout()), (QuestionStatus::Expired, None));
    let report = desk.rests.last().unwrap().calls[0].clone();
    assert_eq!((report.status, report.error.unwrap()["message"].clone()), ("denied", json!("nobody answered in time")));
    assert_eq!(desk.rested(), Ends::Output);
    let refused = desk.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert!(refused.text.contains("expired"), "{refused}");
}

#[test]
fn a_second_answer_is_refused_with_what_was_decided_and_by_whom() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1})), call("drop", "b", json!({"id": 2}))]), json!("over"));
    desk.approve("q1");
    desk.deny("q2");
    for (question, words) in [("q1", "approved"), ("q2", "denied")] {
        let refused = desk.decide(question, Decision::Deny { reason: String::new() }).unwrap_err();
        assert_eq!(refused.code, "already_decided");
        assert!(refused.text.contains(words) && refused.text.contains("ann"), "{refused}");
    }
    assert_eq!(desk.decide("q9", Decision::DidNot).unwrap_err().code, "unknown_question");
    assert_eq!(desk.started.len(), 1);
}

#[test]
fn an_answer_of_another_sort_is_refused_and_the_question_stays() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    for unfit in [Decision::Value { value: json!(1) }, Decision::DidNot, Decision::Happened { result: json!(1) }] {
        assert_eq!(desk.decide("q1", unfit).unwrap_err().code, "unfit_answer");
    }
    assert_eq!((desk.waiting().len(), desk.started.len()), (1, 0));
}

#[test]
fn confirmed_later_joins_the_result_and_nothing_runs_again() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    desk.approve("q1");
    desk.returns("drop", json!("gone"));
    desk.solve(json!([call("drop", "a", json!({"id": 1, "confirmed": true}))]), json!("over"));
    assert_eq!((desk.started.len(), desk.asked.len(), desk.rested()), (1, 1, Ends::Output));
    assert_eq!(desk.states("drop"), ["done", "done"]);
    desk.user("again");
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(desk.asked.len(), 2, "without the claim it is a new wish, and needs its own yes");
}

#[test]
fn confirmed_while_it_runs_joins_it() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    desk.user("how is it going?");
    desk.approve("q1");
    desk.solve(json!([call("drop", "a", json!({"id": 1, "confirmed": true}))]), json!("over"));
    assert_eq!((desk.started.len(), desk.rests.len()), (1, 1));
    desk.returns("drop", json!("gone"));
    assert_eq!((desk.states("drop"), desk.rested()), (vec!["done", "done"], Ends::Output));
}

#[test]
fn a_yes_is_used_up_by_a_call_that_fails() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    desk.approve("q1");
    desk.fails("drop");
    desk.solve(json!([call("drop", "a", json!({"id": 1, "confirmed": true}))]), json!(null));
    assert_eq!((desk.started.len(), desk.asked.len()), (1, 2));
}

#[test]
fn held_back_output_is_delivered_after_the_decision() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("dropped it"));
    assert_eq!((desk.rested(), &desk.rests[0].output), (Ends::Waiting, &json!(null)));
    desk.approve("q1");
    desk.returns("drop", json!(true));
    assert_eq!((desk.rested(), &desk.rests[1].output), (Ends::Output, &json!("dropped it")));
}

#[test]
fn every_answer_brings_the_turn_to_rest_again() {
    let mut desk = Desk::at_work(json!({}));
    desk.solve(json!([call("drop", "a", json!({"id": 1})), call("drop", "b", json!({"id": 2}))]), json!("over"));
    desk.deny("q1");
    assert_eq!((desk.rests.len(), desk.rested()), (2, Ends::Waiting));
    desk.deny("q2");
    assert_eq!((desk.rests.len(), desk.rested()), (3, Ends::Output));
}

#[test]
fn identical_templates_are_one_question_and_run_once_for_each_instance() {
    let mut desk = Desk::on(two_instances(), json!({}));
    desk.start();
    desk.solve(json!([drop_each(), drop_each()]), json!("over"));
    assert_eq!(desk.asked.len(), 1, "the same calls are asked about once");
    desk.approve("q1");
    assert_eq!(desk.started.len(), 2);
    desk.returns("drop", json!(true));
    desk.returns("drop", json!(true));
    assert_eq!((desk.states("drop"), desk.rested()), (vec!["done"; 4], Ends::Output));
}

#[test]
fn a_denied_call_is_ignored_until_it_is_asked_anew_after_the_users_next_words() {
    let mut desk = Desk::at_work(json!({}));
    let drop = |asides: Value| {
        let mut call = call("drop", "a", json!({"id": 1}));
        call.as_object_mut().unwrap().extend(asides.as_object().unwrap().clone());
        json!([call])
    };
    desk.solve(drop(json!({})), json!(null));
    desk.deny("q1");
    desk.solve(drop(json!({"requires_confirmation": true})), json!(null));
    assert_eq!(desk.asked.len(), 1, "nobody has spoken since");
    desk.solve(json!([]), json!("well then"));
    desk.user("do drop it after all");
    desk.solve(drop(json!({})), json!(null));
    desk.solve(drop(json!({"confirmed": true})), json!(null));
    assert_eq!((desk.asked.len(), desk.states("drop")), (1, vec!["denied", "denied"]));
    desk.solve(drop(json!({"requires_confirmation": true})), json!(null));
    assert_eq!(desk.asked, ["q1", "q2"], "the user's words are later than the denial, whatever came between");
    desk.approve("q2");
    assert_eq!(desk.handed_out("drop").len(), 1);
}

#[test]
fn the_models_no_is_about_its_own_call_alone() {
    let mut desk = Desk::on(two_instances(), json!({}));
    desk.start();
    desk.solve(json!([drop_each()]), json!(null));
    desk.user("leave ada alone");
    let mut declined = drop_each();
    declined["_instance"] = "ada".into();
    declined["confirmation_decision"] = "deny".into();
    desk.solve(json!([declined]), json!("over"));
    assert_eq!(desk.states("drop"), ["denied", "denied", "waiting"], "bob was not spoken of");
    desk.decide("q1", Decision::Approve { only: None }).unwrap();
    assert_eq!(desk.handed_out("drop")[0]["_instance"], "bob");
}

#[test]
fn a_call_that_chooses_another_executor_is_another_call() {
    let tool = json!({"type": "tool", "tool": {
        "hand": {"x-effect": "delete", "properties": {"_delegate": {"type": "string"}}},
    }});
    let mut desk = Desk::on(json!([tool]), json!({}));
    desk.start();
    let hand = |to: &str| json!({"_tool": "hand", "_delegate": to, "_outputPath": "†state.a"});
    desk.solve(json!([hand("a.json"), hand("b.json")]), json!("over"));
    assert_eq!(desk.asked.len(), 2);
    assert_eq!(desk.question("q1").calls[0].call["_delegate"], "a.json", "a person sees who would do it");
}
