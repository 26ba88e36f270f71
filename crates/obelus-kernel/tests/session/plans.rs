//! PLAN-9, PLAN-12: plans that are made first, and approved as a whole.

use obelus_kernel::session::{Decision, Ends, Input};
use serde_json::{Value, json};

use crate::desk::{Desk, call};

fn lazy(settings: Value) -> Desk {
    let mut desk = Desk::on(json!([{"type": "plan", "plan": [], "mode": "lazy"}]), settings);
    desk.start();
    desk
}

#[test]
fn a_checked_plan_without_danger_runs_by_itself() {
    let mut desk = lazy(json!({"approval": "checked"}));
    desk.solve(json!([call("read", "r", json!({})), call("make", "m", json!({"q": "†state.r"}))]), json!("over"));
    assert_eq!((desk.asked.len(), desk.started.len()), (0, 1));
}

#[test]
fn a_checked_plan_with_a_call_for_a_person_is_offered_to_one() {
    for (dangerous, settings) in [
        (call("drop", "d", json!({"id": 1})), json!({"approval": "checked"})),
        (call("change", "c", json!({"sum": "†state.r"})), json!({"approval": "checked"})),
        (call("make", "m", json!({"requires_confirmation": true})), json!({"approval": "checked"})),
        (call("make", "m", json!({})), json!({"approval": "checked", "policy": {"refuse": ["make"]}})),
    ] {
        let mut desk = lazy(settings);
        desk.solve(json!([call("read", "r", json!({})), dangerous]), json!("over"));
        assert_eq!((desk.asked.len(), desk.started.len(), desk.rested()), (1, 0, Ends::Waiting), "{dangerous}");
    }
}

#[test]
fn an_approved_plan_still_asks_about_its_dangerous_calls() {
    let mut desk = lazy(json!({}));
    desk.solve(json!([call("drop", "d", json!({"id": 1}))]), json!("over"));
    desk.approve("q1");
    assert_eq!((desk.waiting(), desk.started.len()), (vec!["q2".to_owned()], 0));
}

#[test]
fn a_denied_plan_goes_back_to_the_model() {
    let mut desk = lazy(json!({}));
    desk.solve(json!([call("read", "r", json!({}))]), json!(null));
    desk.deny("q1");
    assert_eq!((desk.errors(), desk.requests.len()), (vec!["plan_denied".to_owned()], 1));
    let refused = desk.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code, desk.started.len()), ("already_decided", 0));
}

#[test]
fn a_plan_is_approved_or_denied_as_a_whole_and_nothing_else() {
    let mut desk = lazy(json!({}));
    desk.solve(json!([call("drop", "d", json!({"id": 1}))]), json!(null));
    assert_eq!(desk.edit("q1", json!({"id": 2})).unwrap_err().code, "unfit_answer");
    let part = Decision::Approve { only: Some(vec![]) };
    assert_eq!(desk.decide("q1", part).unwrap_err().code, "unfit_answer", "the rest of it would run too");
    assert_eq!((desk.waiting().len(), desk.started.len()), (1, 0));
}

#[test]
fn a_plan_may_be_approved_while_the_model_answers_the_users_words() {
    let mut desk = lazy(json!({}));
    desk.solve(json!([call("read", "r", json!({}))]), json!(null));
    desk.user("what is this?");
    desk.approve("q1");
    assert_eq!(desk.started.len(), 1);
    desk.solve(json!([]), json!("a plan to read"));
    assert_eq!(desk.rests.len(), 1, "its calls still run");
    desk.returns("read", json!(1));
    assert_eq!((desk.rested(), desk.read("†state.r")), (Ends::Output, json!(1)));
}

#[test]
fn a_plan_run_as_it_is_asks_no_model_but_still_asks_people() {
    let plan = json!([call("read", "r", json!({})), call("drop", "d", json!({"id": "†state.r"}))]);
    let mut desk = Desk::on(json!([{"type": "plan", "plan": plan}]), json!({}));
    desk.tell(Input::RunPlan).unwrap();
    desk.returns("read", json!(7));
    assert_eq!(desk.rested(), Ends::Waiting);
    desk.approve("q1");
    desk.returns("drop", json!(true));
    assert_eq!((desk.rested(), desk.requests.len()), (Ends::Output, 0));
}

#[test]
fn a_sequence_that_was_approved_is_still_a_sequence() {
    for approval in ["person", "checked"] {
        let mut desk = lazy(json!({"approval": approval}));
        desk.solve_in_order(json!([call("read", "a", json!({})), call("read", "b", json!({}))]), json!("over"));
        if approval == "person" {
            desk.approve("q1");
        }
        assert_eq!(desk.started.len(), 1, "{approval}");
    }
}

#[test]
fn of_plans_that_wait_the_latest_is_meant() {
    let mut desk = lazy(json!({}));
    desk.solve(json!([call("make", "a", json!({"q": 1}))]), json!("over"));
    desk.user("no, two of them");
    desk.solve(json!([call("make", "a", json!({"q": 2}))]), json!("over"));
    assert_eq!(desk.waiting(), ["q2"]);
    let refused = desk.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code, desk.started.len()), ("already_decided", 0));
    assert_eq!(desk.question("q1").reason.as_deref(), Some("another plan has taken its place"));
    desk.approve("q2");
    assert_eq!(desk.handed_out("make")[0]["q"], 2);
}
