//! PLAN-9, PLAN-12: plans that are made first, and approved as a whole.

use obelus_kernel::session::{Decision, Ends, Input};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn lazy(settings: Value) -> Harness {
    let mut harness = Harness::on(json!([{"type": "plan", "plan": [], "mode": "lazy"}]), settings);
    harness.start();
    harness
}

#[test]
fn a_checked_plan_without_danger_runs_by_itself() {
    let mut harness = lazy(json!({"approval": "checked"}));
    harness.solve(json!([call("read", "r", json!({})), call("make", "m", json!({"q": "†state.r"}))]), json!("over"));
    assert_eq!((harness.asked.len(), harness.started.len()), (0, 1));
}

#[test]
fn a_checked_plan_with_a_call_for_a_person_is_offered_to_one() {
    for (dangerous, settings) in [
        (call("drop", "d", json!({"id": 1})), json!({"approval": "checked"})),
        (call("change", "c", json!({"sum": "†state.r"})), json!({"approval": "checked"})),
        (call("make", "m", json!({"requires_confirmation": true})), json!({"approval": "checked"})),
        (call("make", "m", json!({})), json!({"approval": "checked", "policy": {"refuse": ["make"]}})),
    ] {
        let mut harness = lazy(settings);
        harness.solve(json!([call("read", "r", json!({})), dangerous]), json!("over"));
        assert_eq!(
            (harness.asked.len(), harness.started.len(), harness.rested()),
            (1, 0, Ends::Waiting),
            "{dangerous}"
        );
    }
}

#[test]
fn an_approved_plan_still_asks_about_its_dangerous_calls() {
    let mut harness = lazy(json!({}));
    harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!("over"));
    harness.approve("q1");
    assert_eq!((harness.waiting(), harness.started.len()), (vec!["q2".to_owned()], 0));
}

#[test]
fn a_denied_plan_goes_back_to_the_model() {
    let mut harness = lazy(json!({}));
    harness.solve(json!([call("read", "r", json!({}))]), json!(null));
    harness.deny("q1");
    assert_eq!((harness.errors(), harness.requests.len()), (vec!["plan_denied".to_owned()], 1));
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code, harness.started.len()), ("already_decided", 0));
}

#[test]
fn a_plan_is_approved_or_denied_as_a_whole_and_nothing_else() {
    let mut harness = lazy(json!({}));
    harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!(null));
    assert_eq!(harness.edit("q1", json!({"id": 2})).unwrap_err().code, "unfit_answer");
    let part = Decision::Approve { only: Some(vec![]) };
    assert_eq!(harness.decide("q1", part).unwrap_err().code, "unfit_answer", "the rest of it would run too");
    assert_eq!((harness.waiting().len(), harness.started.len()), (1, 0));
}

#[test]
fn a_plan_may_be_approved_while_the_model_answers_the_users_words() {
    let mut harness = lazy(json!({}));
    harness.solve(json!([call("read", "r", json!({}))]), json!(null));
    harness.user("what is this?");
    harness.approve("q1");
    assert_eq!(harness.started.len(), 1);
    harness.solve(json!([]), json!("a plan to read"));
    assert_eq!(harness.rests.len(), 1, "its calls still run");
    harness.returns("read", json!(1));
    assert_eq!((harness.rested(), harness.read("†state.r")), (Ends::Output, json!(1)));
}

#[test]
fn a_plan_run_as_it_is_asks_no_model_but_still_asks_people() {
    let plan = json!([call("read", "r", json!({})), call("drop", "d", json!({"id": "†state.r"}))]);
    let mut harness = Harness::on(json!([{"type": "plan", "plan": plan}]), json!({}));
    harness.tell(Input::RunPlan).unwrap();
    harness.returns("read", json!(7));
    assert_eq!(harness.rested(), Ends::Waiting);
    harness.approve("q1");
    harness.returns("drop", json!(true));
    assert_eq!((harness.rested(), harness.requests.len()), (Ends::Output, 0));
}

#[test]
fn a_sequence_that_was_approved_is_still_a_sequence() {
    for approval in ["person", "checked"] {
        let mut harness = lazy(json!({"approval": approval}));
        harness.solve_in_order(json!([call("read", "a", json!({})), call("read", "b", json!({}))]), json!("over"));
        if approval == "person" {
            harness.approve("q1");
        }
        assert_eq!(harness.started.len(), 1, "{approval}");
    }
}

#[test]
fn of_plans_that_wait_the_latest_is_meant() {
    let mut harness = lazy(json!({}));
    harness.solve(json!([call("make", "a", json!({"q": 1}))]), json!("over"));
    harness.user("no, two of them");
    harness.solve(json!([call("make", "a", json!({"q": 2}))]), json!("over"));
    assert_eq!(harness.waiting(), ["q2"]);
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code, harness.started.len()), ("already_decided", 0));
    assert_eq!(harness.question("q1").reason.as_deref(), Some("another plan has taken its place"));
    harness.approve("q2");
    assert_eq!(harness.handed_out("make")[0]["q"], 2);
}

#[test]
fn plan_12_a_plan_of_the_model_is_never_run_as_the_users() {
    let given = json!([{"type": "plan", "plan": [call("read", "r", json!({}))], "mode": "lazy"}]);
    for (messages, runs) in [(given, vec!["read"]), (json!([]), vec![])] {
        let mut harness = Harness::on(messages, json!({"planning": "before_reading"}));
        harness.start();
        harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!(null));
        assert_eq!(harness.rested(), Ends::Waiting);
        let taken = harness.tell(Input::RunPlan).map_err(|refused| refused.code);
        assert_eq!(taken, if runs.is_empty() { Err("no_plan") } else { Ok(()) });
        let started: Vec<&str> = harness.started.iter().map(|start| start.tool.name.as_str()).collect();
        assert_eq!(started, runs, "what the model proposed still waits for its approval");
    }
}
