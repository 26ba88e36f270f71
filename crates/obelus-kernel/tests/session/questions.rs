//! ASK-1 to ASK-3: one question per call, one answer per question; what runs is what was shown.

use obelus_kernel::session::{Decision, Input, Mode, QuestionStatus, RepeatReason, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn two_instances() -> Value {
    json!([
        {"type": "data", "kind": "deal", "_instance": "ada", "data": {"id": 1}},
        {"type": "data", "kind": "deal", "_instance": "bob", "data": {"id": 2}},
    ])
}

/// A call that runs once per instance; each run needs approval.
fn drop_each() -> Value {
    json!({"_tool": "drop", "id": "†deal.id", "_outputPath": "†deal.gone"})
}

#[test]
fn an_identical_call_joins_the_one_that_waits() {
    let mut harness = Harness::at_work(json!({}));
    let drop = call("drop", "a", json!({"id": 1}));
    harness.solve(json!([drop, drop, call("drop", "a", json!({"id": 2}))]), json!(null));
    assert_eq!(harness.asked, ["q1", "q2"], "two of the three are the same call");
    harness.approve("q1");
    assert_eq!(harness.handed_out("drop").len(), 1);
    harness.returns("drop", json!("gone"));
    assert_eq!(harness.states("drop"), ["done", "done", "waiting"]);
}

/// The calls of the latest reply, each with its parameter and its status.
fn reported(harness: &Harness) -> Vec<(Value, &'static str)> {
    let reply = harness.session.reply().expect("it rests");
    reply.calls.iter().map(|report| (report.call["id"].clone(), report.status.name())).collect()
}

#[test]
fn a_joined_call_is_not_reported_as_a_second_effect() {
    let mut harness = Harness::at_work(json!({}));
    let drop = call("drop", "a", json!({"id": 1}));
    harness.solve(json!([drop, drop]), json!("over"));
    assert_eq!(reported(&harness), [(json!(1), "waiting")]);
    harness.approve("q1");
    harness.returns("drop", json!("gone"));
    assert_eq!(reported(&harness), [(json!(1), "done")]);
    assert_eq!(harness.session.plan_graph(9).calls.len(), 1);
}

#[test]
fn a_call_that_joined_an_edited_one_is_told_as_edited() {
    let mut harness = Harness::at_work(json!({}));
    let drop = call("drop", "a", json!({"id": 1}));
    harness.solve(json!([drop, drop]), json!(null));
    harness.edit("q1", json!({"id": 9})).unwrap();
    harness.returns("drop", json!("gone"));
    let calls: Value = harness.session.calls().iter().map(|report| report.call["id"].clone()).collect();
    assert_eq!((calls, harness.handed_out("drop").len()), (json!([9, 9]), 1));
}

#[test]
fn an_identical_call_of_a_later_turn_joins_too() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    harness.user("and what about the deal?");
    let again = call("drop", "a", json!({"id": 1, "comment": "said otherwise", "_reasoningForCall": "for"}));
    harness.solve(json!([again]), json!(null));
    assert_eq!((harness.asked.len(), harness.waiting().len()), (1, 1));
    harness.deny("q1");
    assert_eq!(harness.states("drop"), ["denied", "denied"]);
}

#[test]
fn a_template_over_instances_is_one_question_approved_in_part() {
    let mut harness = Harness::on(two_instances(), json!({}));
    harness.start();
    harness.solve(json!([drop_each()]), json!("over"));
    assert_eq!((harness.asked.len(), harness.question("q1").calls.len()), (1, 2));
    harness.decide("q1", Decision::Approve { only: Some(vec![1]) }).unwrap();
    assert_eq!(harness.handed_out("drop")[0]["_instance"], "bob");
    harness.returns("drop", json!(true));
    assert_eq!((harness.states("drop"), harness.rested()), (vec!["waiting", "done"], TurnEnd::Waiting));
    harness.deny("q1");
    assert_eq!((harness.states("drop"), harness.rested()), (vec!["denied", "done"], TurnEnd::Output));
    assert_eq!(harness.started.len(), 1);
}

#[test]
fn an_answer_for_a_call_that_is_not_open_is_refused_as_a_whole() {
    let mut harness = Harness::on(two_instances(), json!({}));
    harness.start();
    harness.solve(json!([drop_each()]), json!("over"));
    harness.decide("q1", Decision::Approve { only: Some(vec![0]) }).unwrap();
    let refused = harness.decide("q1", Decision::Approve { only: Some(vec![0, 1]) }).unwrap_err();
    assert_eq!((refused.code.name(), harness.started.len()), ("unknown_call", 1));
    let refused = harness.decide("q1", Decision::Approve { only: Some(vec![7]) }).unwrap_err();
    assert_eq!((refused.code.name(), harness.started.len()), ("unknown_call", 1));
}

#[test]
fn naming_a_call_twice_runs_it_once() {
    let mut harness = Harness::on(two_instances(), json!({"max_parallel": 1}));
    harness.start();
    harness.solve(json!([drop_each()]), json!("over"));
    harness.decide("q1", Decision::Approve { only: Some(vec![0, 0, 1]) }).unwrap();
    harness.returns("drop", json!(true));
    harness.returns("drop", json!(true));
    assert_eq!((harness.started.len(), harness.rested()), (2, TurnEnd::Output));
}

#[test]
fn an_edit_that_violates_the_schema_is_refused_and_the_question_stays_open() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    for (params, code) in [(json!({"id": "one"}), "bad_edit"), (json!({"_outputPath": "†state.b"}), "bad_edit")] {
        assert_eq!(harness.edit("q1", params).unwrap_err().code.name(), code);
        assert_eq!((harness.waiting().len(), harness.started.len()), (1, 0));
    }
    assert_eq!(harness.question("q1").calls[0].call["id"], 1, "what is shown is as it was");
    harness.edit("q1", json!({"id": 2})).unwrap();
    assert_eq!(harness.handed_out("drop")[0]["id"], 2);
}

#[test]
fn the_result_of_an_edited_call_belongs_to_the_edited_call() {
    let mut harness = Harness::on(json!([{"type": "state", "data": {"n": 5}}]), json!({}));
    harness.user("change it");
    harness.solve(json!([call("change", "c", json!({"id": "†state.n", "sum": 1}))]), json!("over"));
    harness.edit("q1", json!({"id": 7})).unwrap();
    harness.returns("change", json!(true));
    let mut latest = harness.session.context().latest().map(obelus_kernel::Message::to_json);
    let call = latest.find(|message| message["_call"]["_tool"] == "change").expect("a result")["_call"].clone();
    assert_eq!((&call["id"], &call["sum"]), (&json!(7), &json!(1)), "{call}");
}

#[test]
fn an_edit_that_the_policy_forbids_is_refused() {
    let rules = json!([{"match": {"param": "sum"}, "verdict": "refuse", "reason": "no sums"}]);
    let mut harness = Harness::at_work(json!({"policy": rules}));
    harness.solve(json!([call("change", "a", json!({"id": 1, "requires_confirmation": true}))]), json!("over"));
    assert_eq!(harness.edit("q1", json!({"sum": 5})).unwrap_err().text, "no sums");
    assert_eq!((harness.waiting().len(), harness.started.len()), (1, 0));
}

#[test]
fn one_reminder_is_sent_before_a_question_expires() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(harness.session.timeout(), Some(harness.now.plus_seconds(20 * 3600)));
    harness.wait(19);
    assert_eq!((harness.asked_again.len(), harness.rests.len()), (0, 1));
    harness.wait(1);
    assert_eq!(harness.asked_again, [("q1".to_owned(), RepeatReason::ItWillLapse)]);
    assert_eq!((harness.session.timeout(), harness.rests.len()), (Some(harness.now.plus_seconds(4 * 3600)), 1));
    harness.wait(2);
    assert_eq!(harness.asked_again.len(), 1);
    harness.approve("q1");
    assert_eq!((harness.handed_out("drop").len(), harness.session.timeout()), (1, None));
}

#[test]
fn a_short_question_is_reminded_at_half_its_time_and_an_expired_one_never() {
    let mut harness = Harness::at_work(json!({"question_seconds": 7200}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(harness.session.timeout(), Some(harness.now.plus_seconds(3600)));
    harness.wait(5);
    assert_eq!((harness.asked_again.len(), harness.status_of("q1")), (0, QuestionStatus::Expired));
    let mut silent = Harness::at_work(json!({"reminder_seconds": 0}));
    silent.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(silent.session.timeout(), Some(silent.now.plus_seconds(24 * 3600)));
}

#[test]
fn a_late_answer_is_refused_even_without_a_tick() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    harness.now = harness.now.plus_seconds(25 * 3600);
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code.name(), harness.started.len()), ("expired", 0));
    assert!(refused.text.contains("lapsed at"), "{refused}");
}

#[test]
fn a_question_expires_after_a_day_and_its_call_is_denied() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(harness.question("q1").expires_at, harness.now.plus_seconds(24 * 3600));
    harness.wait(23);
    assert_eq!(harness.states("drop"), ["waiting"]);
    harness.wait(1);
    assert_eq!((harness.status_of("q1"), harness.session.timeout()), (QuestionStatus::Expired, None));
    let report = harness.rests.last().unwrap().calls[0].clone();
    assert_eq!((report.status.name(), report.error.unwrap().message.as_str()), ("denied", "nobody answered in time"));
    assert_eq!(harness.rested(), TurnEnd::Output);
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert!(refused.text.contains("closed without an answer: nobody answered in time"), "{refused}");
}

#[test]
fn a_second_answer_is_refused_with_the_first_decision_and_its_author() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1})), call("drop", "b", json!({"id": 2}))]), json!("over"));
    harness.approve("q1");
    harness.deny("q2");
    for (question, words) in [("q1", "approved"), ("q2", "denied")] {
        let refused = harness.decide(question, Decision::Deny { reason: String::new() }).unwrap_err();
        assert_eq!(refused.code.name(), "already_decided");
        assert!(refused.text.contains(words) && refused.text.contains("ann"), "{refused}");
    }
    assert_eq!(harness.decide("q9", Decision::DidNot).unwrap_err().code.name(), "unknown_question");
    assert_eq!(harness.started.len(), 1);
}

#[test]
fn an_answer_of_the_wrong_type_is_refused_and_the_question_stays_open() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    for unfit in [Decision::Value { value: json!(1) }, Decision::DidNot, Decision::Happened { result: json!(1) }] {
        assert_eq!(harness.decide("q1", unfit).unwrap_err().code.name(), "unfit_answer");
    }
    assert_eq!((harness.waiting().len(), harness.started.len()), (1, 0));
}

#[test]
fn a_call_confirmed_after_its_end_joins_the_result_and_does_not_run_again() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    harness.approve("q1");
    harness.returns("drop", json!("gone"));
    harness.solve(json!([call("drop", "a", json!({"id": 1, "confirmed": true}))]), json!("over"));
    assert_eq!((harness.started.len(), harness.asked.len(), harness.rested()), (1, 1, TurnEnd::Output));
    assert_eq!(harness.states("drop"), ["done", "done"]);
    harness.user("again");
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    assert_eq!(harness.asked.len(), 2, "without the claim it is a new wish, and needs its own yes");
}

#[test]
fn a_call_confirmed_while_it_runs_joins_the_running_call() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    harness.user("how is it going?");
    harness.approve("q1");
    harness.solve(json!([call("drop", "a", json!({"id": 1, "confirmed": true}))]), json!("over"));
    assert_eq!((harness.started.len(), harness.rests.len()), (1, 1));
    harness.returns("drop", json!("gone"));
    assert_eq!((harness.states("drop"), harness.rested()), (vec!["done", "done"], TurnEnd::Output));
    assert_eq!(reported(&harness), [(json!(1), "done")]);
}

#[test]
fn an_approval_is_used_up_by_a_call_that_fails() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    harness.approve("q1");
    harness.fails("drop");
    harness.solve(json!([call("drop", "a", json!({"id": 1, "confirmed": true}))]), json!(null));
    assert_eq!((harness.started.len(), harness.asked.len()), (1, 2));
}

#[test]
fn held_back_output_is_delivered_after_the_decision() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("dropped it"));
    assert_eq!((harness.rested(), &harness.rests[0].output), (TurnEnd::Waiting, &json!(null)));
    harness.approve("q1");
    harness.returns("drop", json!(true));
    assert_eq!((harness.rested(), &harness.rests[1].output), (TurnEnd::Output, &json!("dropped it")));
}

#[test]
fn output_is_not_held_back_by_questions_of_an_earlier_turn() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("dropped it"));
    harness.user("what else is there?");
    harness.solve(json!([]), json!("three deals"));
    assert_eq!((harness.rested(), &harness.said[..]), (TurnEnd::Waiting, &["three deals".to_owned()][..]));
    harness.approve("q1");
    harness.returns("drop", json!(true));
    // The earlier words are not repeated; the model reports the result of the approval.
    harness.solve(json!([]), json!("it is gone"));
    assert_eq!((harness.rested(), &harness.rests.last().unwrap().output), (TurnEnd::Output, &json!("it is gone")));
    assert_eq!(harness.said.len(), 1);
}

#[test]
fn a_turn_continues_after_a_read_while_an_earlier_question_waits() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    harness.user("what else is there?");
    harness.solve(json!([call("read", "b", json!({}))]), json!(null));
    harness.returns("read", json!([1, 2, 3]));
    harness.solve(json!([]), json!("three deals"));
    assert_eq!((harness.rested(), &harness.said[..]), (TurnEnd::Waiting, &["three deals".to_owned()][..]));
}

#[test]
fn output_is_held_back_while_a_call_joins_an_earlier_question() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!(null));
    harness.user("well?");
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("it is gone"));
    assert_eq!((harness.rested(), harness.said.len(), harness.asked.len()), (TurnEnd::Waiting, 0, 1));
    harness.approve("q1");
    harness.returns("drop", json!(true));
    assert_eq!((harness.rested(), &harness.rests.last().unwrap().output), (TurnEnd::Output, &json!("it is gone")));
}

#[test]
fn the_turn_rests_again_after_every_answer() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1})), call("drop", "b", json!({"id": 2}))]), json!("over"));
    harness.deny("q1");
    assert_eq!((harness.rests.len(), harness.rested()), (2, TurnEnd::Waiting));
    harness.deny("q2");
    assert_eq!((harness.rests.len(), harness.rested()), (3, TurnEnd::Output));
}

#[test]
fn identical_templates_are_one_question_and_run_once_for_each_instance() {
    let mut harness = Harness::on(two_instances(), json!({}));
    harness.start();
    harness.solve(json!([drop_each(), drop_each()]), json!("over"));
    assert_eq!(harness.asked.len(), 1, "the same calls are asked about once");
    harness.approve("q1");
    assert_eq!(harness.started.len(), 2);
    harness.returns("drop", json!(true));
    harness.returns("drop", json!(true));
    assert_eq!((harness.states("drop"), harness.rested()), (vec!["done"; 4], TurnEnd::Output));
}

#[test]
fn a_denied_call_is_ignored_until_it_is_proposed_after_the_users_next_message() {
    let mut harness = Harness::at_work(json!({}));
    let drop = |asides: Value| {
        let mut call = call("drop", "a", json!({"id": 1}));
        call.as_object_mut().unwrap().extend(asides.as_object().unwrap().clone());
        json!([call])
    };
    harness.solve(drop(json!({})), json!(null));
    harness.deny("q1");
    harness.solve(drop(json!({"requires_confirmation": true})), json!(null));
    assert_eq!(harness.asked.len(), 1, "nobody has spoken since");
    harness.solve(json!([]), json!("well then"));
    harness.user("do drop it after all");
    harness.solve(drop(json!({})), json!(null));
    harness.solve(drop(json!({"confirmed": true})), json!(null));
    assert_eq!((harness.asked.len(), harness.states("drop")), (1, vec!["denied", "denied"]));
    harness.solve(drop(json!({"requires_confirmation": true})), json!(null));
    assert_eq!(harness.asked, ["q1", "q2"], "the user's words are later than the denial, whatever came between");
    harness.approve("q2");
    assert_eq!(harness.handed_out("drop").len(), 1);
}

#[test]
fn a_denial_by_the_model_applies_to_its_own_call_only() {
    let mut harness = Harness::on(two_instances(), json!({}));
    harness.start();
    harness.solve(json!([drop_each()]), json!(null));
    harness.user("leave ada alone");
    let mut declined = drop_each();
    declined["_instance"] = "ada".into();
    declined["confirmation_decision"] = "deny".into();
    harness.solve(json!([declined]), json!("over"));
    assert_eq!(harness.states("drop"), ["denied", "denied", "waiting"], "bob was not spoken of");
    harness.decide("q1", Decision::Approve { only: None }).unwrap();
    assert_eq!(harness.handed_out("drop")[0]["_instance"], "bob");
}

#[test]
fn a_call_with_another_executor_is_a_different_call() {
    let tool = json!({"type": "tool", "tool": {
        "hand": {"x-effect": "delete", "properties": {"_delegate": {"type": "string"}}},
    }});
    let mut harness = Harness::on(json!([tool]), json!({}));
    harness.start();
    let hand = |to: &str| json!({"_tool": "hand", "_delegate": to, "_outputPath": "†state.a"});
    harness.solve(json!([hand("a.json"), hand("b.json")]), json!("over"));
    assert_eq!(harness.asked.len(), 2);
    assert_eq!(harness.question("q1").calls[0].call["_delegate"], "a.json", "a person sees who would do it");
}

#[test]
fn ask_3_an_approval_that_the_mode_forbids_is_refused_and_the_question_stays_open() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!("over"));
    harness.tell(Input::Mode { mode: Mode::Canary }).unwrap();
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code.name(), harness.waiting().len(), harness.started.len()), ("not_in_this_mode", 1, 0));
    harness.tell(Input::Mode { mode: Mode::Full }).unwrap();
    harness.approve("q1");
    assert_eq!(harness.started.len(), 1);
}

/// POL-4: the text about a denied call is from the person or the program, not from the untrusted tool.
#[test]
fn a_denied_tool_adds_no_origins() {
    let tools = json!([{"type": "tool", "tool": {
        "drop": {"x-effect": "delete", "x-target": [], "properties": {"id": {}}},
    }}]);
    let mut harness = Harness::on(tools, json!({}));
    harness.start();
    harness.solve(json!([call("drop", "a", json!({"id": 5}))]), json!("over"));
    harness.deny("q1");
    harness.user("then write it down");
    harness.solve(json!([call("make", "b", json!({"q": "a note"}))]), json!("over"));
    assert_eq!(harness.asked.len(), 1, "only the deletion");
}

/// POL-4: the text about a refused call is from the mode or the policy, not from the untrusted tool.
#[test]
fn a_refused_tool_adds_no_origins() {
    let tools = json!([{"type": "tool", "tool": {
        "drop": {"x-effect": "delete", "x-target": [], "properties": {"id": {}}},
    }}]);
    let mut harness = Harness::on(tools, json!({}));
    harness.tell(Input::Mode { mode: Mode::Shadow }).unwrap();
    harness.start();
    harness.solve(json!([call("drop", "a", json!({"id": 5}))]), json!("over"));
    harness.tell(Input::Mode { mode: Mode::Full }).unwrap();
    harness.user("now write it down");
    harness.solve(json!([call("make", "b", json!({"q": "another"}))]), json!("over"));
    assert!(harness.asked.is_empty());
}
