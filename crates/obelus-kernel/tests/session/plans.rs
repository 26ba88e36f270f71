//! PLAN-9, PLAN-12: plans that a person approves as a whole before they run.

use obelus_kernel::PlanMode;
use obelus_kernel::policy::{Gate, Policy, simulate};
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Decision, Input, Mode, QuestionStatus, TranscriptEvent, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn lazy(settings: Value) -> Harness {
    let mut harness = Harness::on(json!([{"type": "plan", "plan": [], "mode": "lazy"}]), settings);
    harness.start();
    harness
}

#[test]
fn a_checked_plan_without_risky_calls_runs_without_approval() {
    let mut harness = lazy(json!({"approval": "checked"}));
    harness.solve(json!([call("read", "r", json!({})), call("make", "m", json!({"q": "†state.r"}))]), json!("over"));
    assert_eq!((harness.asked.len(), harness.started.len()), (0, 1));
}

#[test]
fn a_checked_plan_with_a_risky_call_needs_approval() {
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
            (1, 0, TurnEnd::Waiting),
            "{dangerous}"
        );
    }
}

#[test]
fn an_approved_plan_still_asks_about_its_deletions() {
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
    assert_eq!((refused.code.name(), harness.started.len()), ("already_decided", 0));
}

/// The statuses of the calls, in their order.
fn statuses(harness: &Harness) -> Vec<&'static str> {
    harness.session.calls().iter().map(|report| report.status.name()).collect()
}

fn only(calls: &[usize]) -> Decision {
    Decision::Approve { only: Some(calls.to_vec()) }
}

#[test]
fn a_plan_approved_in_part_runs_that_part_and_skips_what_needs_the_rest() {
    let mut harness = lazy(json!({}));
    let calls = json!([
        call("read", "r", json!({})),
        call("make", "m", json!({"q": "†state.r"})),
        call("make", "x", json!({"q": "mine"})),
    ]);
    harness.solve(calls, json!("over"));
    harness.decide("q1", only(&[1, 2])).unwrap();
    assert_eq!(statuses(&harness), ["denied", "skipped", "running"]);
    assert_eq!((harness.handed_out("make")[0]["q"].clone(), harness.started.len()), (json!("mine"), 1));
    assert_eq!((harness.requests.len(), harness.waiting().len()), (0, 0), "nobody is asked again");
    let question = harness.question("q1");
    assert_eq!(question.status, QuestionStatus::Approved);
    assert_eq!(question.calls.iter().map(|asked| asked.decided).collect::<Vec<_>>(), [Some(false), None, None]);
    harness.returns("make", json!(1));
    assert_eq!((harness.rested(), harness.read("†state.x")), (TurnEnd::Output, json!(1)));
}

#[test]
fn an_earlier_value_does_not_replace_the_result_of_a_call_that_was_left_out() {
    let plan = json!({"type": "plan", "plan": [], "mode": "lazy"});
    let before = json!({"type": "state", "data": {"r": "old"}});
    let mut harness = Harness::on(json!([before, plan]), json!({}));
    harness.start();
    assert_eq!(harness.read("†state.r"), json!("old"));
    let calls = json!([call("read", "r", json!({})), call("make", "m", json!({"q": "†state.r"}))]);
    harness.solve(calls, json!("over"));
    harness.decide("q1", only(&[1])).unwrap();
    assert_eq!((harness.started.len(), harness.rested()), (0, TurnEnd::Output));
}

#[test]
fn an_approval_of_no_call_or_of_an_unknown_one_is_refused_and_the_plan_still_waits() {
    let mut harness = lazy(json!({}));
    harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!(null));
    for (calls, code) in [(&[][..], "unfit_answer"), (&[0, 1], "unknown_call")] {
        assert_eq!(harness.decide("q1", only(calls)).unwrap_err().code.name(), code);
    }
    assert_eq!((harness.waiting().len(), harness.started.len()), (1, 0));
}

#[test]
fn in_a_sequence_the_next_call_runs_after_one_that_was_left_out() {
    let mut harness = lazy(json!({}));
    let calls = json!([call("read", "a", json!({})), call("make", "b", json!({})), call("read", "c", json!({}))]);
    harness.solve_in_order(calls, json!("over"));
    harness.decide("q1", only(&[0, 2])).unwrap();
    harness.returns("read", json!(1));
    assert_eq!((harness.handed_out("make").len(), harness.handed_out("read").len()), (0, 2));
}

#[test]
fn a_plan_can_be_approved_while_the_model_answers_a_message() {
    let mut harness = lazy(json!({}));
    harness.solve(json!([call("read", "r", json!({}))]), json!(null));
    harness.user("what is this?");
    harness.approve("q1");
    assert_eq!(harness.started.len(), 1);
    harness.solve(json!([]), json!("a plan to read"));
    assert_eq!(harness.rests.len(), 1, "its calls still run");
    harness.returns("read", json!(1));
    assert_eq!((harness.rested(), harness.read("†state.r")), (TurnEnd::Output, json!(1)));
}

#[test]
fn a_given_plan_runs_without_a_model_and_still_needs_approvals() {
    let plan = json!([call("read", "r", json!({})), call("drop", "d", json!({"id": "†state.r"}))]);
    let mut harness = Harness::on(json!([{"type": "plan", "plan": plan}]), json!({}));
    harness.tell(Input::RunPlan).unwrap();
    harness.returns("read", json!(7));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
    harness.approve("q1");
    harness.returns("drop", json!(true));
    assert_eq!((harness.rested(), harness.requests.len()), (TurnEnd::Output, 0));
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
fn a_new_plan_closes_the_question_of_the_former_one() {
    let mut harness = lazy(json!({}));
    harness.solve(json!([call("make", "a", json!({"q": 1}))]), json!("over"));
    harness.user("no, two of them");
    harness.solve(json!([call("make", "a", json!({"q": 2}))]), json!("over"));
    assert_eq!(harness.waiting(), ["q2"]);
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code.name(), harness.started.len()), ("already_decided", 0));
    assert_eq!(harness.question("q1").reason.as_deref(), Some("another plan has taken its place"));
    harness.approve("q2");
    assert_eq!(harness.handed_out("make")[0]["q"], 2);
}

/// The states of calls in the latest prompt: open ones, and ended ones.
fn shown(harness: &Harness) -> (Vec<&'static str>, Vec<&'static str>) {
    let prompt = harness.session.prompt(harness.requests.last().expect("a request")).expect("a prompt");
    let ended = prompt.transcript.iter().filter_map(|entry| match &entry.what {
        TranscriptEvent::Call(call) => Some(call.status.name()),
        _ => None,
    });
    (prompt.open.iter().map(|report| report.status.name()).collect(), ended.collect())
}

#[test]
fn plan_10_after_a_limit_the_model_sees_completed_and_open_calls() {
    let mut harness = Harness::with(json!({"max_calls": 2, "persistent": true}));
    harness.user("Three letters");
    harness.solve(
        json!((1..=3).map(|n| call("make", &format!("m{n}"), json!({"q": n}))).collect::<Vec<_>>()),
        json!(null),
    );
    harness.returns("make", json!(1));
    harness.returns("make", json!(2));
    assert_eq!(harness.rested(), TurnEnd::Limit);
    harness.user("continue");
    assert_eq!(shown(&harness), (vec![], vec!["done", "done", "skipped"]));
    // An answer without calls does not change the plan.
    harness.solve(json!([]), json!("Shall I?"));
    harness.user("yes");
    assert_eq!(shown(&harness).1, ["done", "done", "skipped"]);
    harness.solve(json!([call("make", "m3", json!({"q": 3}))]), json!(null));
    harness.returns("make", json!(3));
    harness.solve(json!([]), json!("over"));
    harness.user("thanks");
    assert_eq!(shown(&harness).1, ["done", "done", "skipped", "done"]);
}

#[test]
fn plan_10_a_denied_or_unstarted_plan_is_shown_to_the_model() {
    let mut harness = lazy(json!({"persistent": true}));
    harness.solve(json!([call("make", "m", json!({}))]), json!(null));
    harness.deny("q1");
    assert_eq!(shown(&harness).0, ["denied"]);
    harness.solve(json!([]), json!("over"));
    harness.user("And now?");
    assert_eq!(shown(&harness).0, ["denied"]);

    let plan = json!([{"type": "plan", "plan": [call("read", "r", json!({}))]}]);
    let mut harness = Harness::on(plan, json!({}));
    harness.user("Is the plan good?");
    assert_eq!(shown(&harness).0, ["planned"]);
}

#[test]
fn a_waiting_plan_can_be_changed_and_is_asked_about_again() {
    let mut harness = lazy(json!({}));
    let calls = json!([call("read", "r", json!({"q": "old"})), call("make", "m", json!({"q": "†state.r"}))]);
    harness.solve(calls, json!("over"));
    harness.edit("q1", json!({"0": {"q": "new"}})).unwrap();
    assert_eq!(
        (harness.waiting(), harness.started.len(), harness.rested()),
        (vec!["q2".to_owned()], 0, TurnEnd::Waiting)
    );
    assert!(harness.question("q2").description.contains("new"));
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!(refused.code.name(), "already_decided", "nobody approves by it what it did not show");
    harness.edit("q2", json!({"plan": [call("make", "m", json!({"q": "mine"}))]})).unwrap();
    harness.approve("q3");
    assert_eq!((harness.handed_out("make")[0]["q"].clone(), harness.handed_out("read").len()), (json!("mine"), 0));
    harness.returns("make", json!(1));
    assert_eq!(harness.rested(), TurnEnd::Output);
}

#[test]
fn a_change_that_makes_a_plan_invalid_is_refused_and_the_plan_still_waits() {
    let mut harness = lazy(json!({}));
    let calls = json!([call("change", "c", json!({"id": 1})), call("make", "m", json!({"q": "†state.c"}))]);
    harness.solve(calls, json!("over"));
    for (change, words) in [
        (json!({"id": 2}), "index"),
        (json!({"5": {"id": 2}}), "index"),
        (json!({"0": {"idd": 2}}), "did you mean `id`"),
        (json!({"0": {"_outputPath": "†state.x"}}), "_outputPath"),
        (json!({"0": {"id": "two"}}), "integer"),
        (json!({"1": {"q": "†state.nothing"}}), "†state.nothing"),
        (json!({"plan": []}), "deny"),
        (json!({"plan": {}}), "array"),
        (json!({"plan": [5]}), "object"),
        (json!({"plan": [{"_tool": "fly"}]}), "unknown tool"),
    ] {
        let refused = harness.edit("q1", change.clone()).unwrap_err();
        assert!(refused.code == RefusalCode::BadEdit && refused.text.contains(words), "{change}: {}", refused.text);
    }
    assert_eq!((harness.waiting(), harness.started.len()), (vec!["q1".to_owned()], 0));
}

#[test]
fn plan_12_a_plan_of_the_model_never_runs_as_the_users_plan() {
    let given = json!([{"type": "plan", "plan": [call("read", "r", json!({}))], "mode": "lazy"}]);
    for (messages, runs) in [(given, vec!["read"]), (json!([]), vec![])] {
        let mut harness = Harness::on(messages, json!({"planning": "before_reading"}));
        harness.start();
        harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!(null));
        assert_eq!(harness.rested(), TurnEnd::Waiting);
        let taken = harness.tell(Input::RunPlan).map_err(|refused| refused.code.name());
        assert_eq!(taken, if runs.is_empty() { Err("no_plan") } else { Ok(()) });
        let started: Vec<&str> = harness.started.iter().map(|start| start.tool.name.as_str()).collect();
        assert_eq!(started, runs, "what the model proposed still waits for its approval");
    }
}

/// The methods of the planned steps in the state.
fn planned(harness: &Harness) -> Vec<String> {
    let state = harness.session.state();
    let steps = state["next"].as_array().cloned().unwrap_or_default();
    steps.iter().map(|step| step["method"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn in_shadow_mode_a_plan_stays_planned_until_it_is_replaced() {
    for mode in ["lazy", "eager"] {
        let context = json!([{"type": "plan", "plan": [], "mode": mode}, {"type": "state", "data": {"r": "old"}}]);
        let mut harness = Harness::on(context, json!({"mode": "shadow", "kept": {"planned": "next"}}));
        harness.start();
        let thought = call("muse", "t", json!({"q": "†state.r"}));
        let calls = json!([call("read", "r", json!({})), thought, call("make", "m", json!({"q": "†state.t"}))]);
        harness.solve(calls, json!(null));
        assert_eq!(
            (planned(&harness), harness.started.len()),
            (["read", "muse", "make"].map(str::to_owned).into(), 0),
            "{mode}"
        );
        assert_eq!(harness.rested(), TurnEnd::Output);
        for words in ["thanks", "yes"] {
            harness.user(words);
            assert_eq!(planned(&harness).len(), 3, "{mode}: while the model is asked");
            harness.solve(json!([]), json!("words"));
            assert_eq!(planned(&harness).len(), 3, "{mode}: after {words}");
        }
        let state = harness.session.state();
        harness.tell(Input::State { state, by: "ann".to_owned(), is_whole: false }).unwrap();
        assert_eq!(planned(&harness).len(), 3, "{mode}: after the state was read back");
        harness.tell(Input::Mode { mode: Mode::Canary }).unwrap();
        assert_eq!(planned(&harness).len(), 3, "{mode}: in another mode");
        harness.user("something that does not exist");
        harness.solve(json!([{"_tool": "fly"}]), json!(null));
        assert_eq!(planned(&harness).len(), 3, "{mode}: what cannot be read is no plan");
        harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!(null));
        assert_eq!(planned(&harness), ["drop"], "{mode}");
    }
}

/// The verdict of the dry run for the last call of a plan.
fn dry_run(context: &Value, plan: &Value) -> String {
    let harness = Harness::on(context.clone(), json!({}));
    let calls: Vec<_> = plan.as_array().expect("calls").iter().cloned().map(Into::into).collect();
    let memory = harness.session.context();
    let check = obelus_kernel::plan::check(&calls, PlanMode::Eager, memory);
    assert!(check.is_valid(), "{:?}", check.errors);
    let dry = simulate(&check, memory, Gate::new(&Policy::default(), Mode::Full), |tool| tool.name == "muse");
    dry.calls.last().expect("a call")["verdict"].as_str().expect("a verdict").to_owned()
}

/// Whether the last call needs a person when the plan runs.
fn asks(context: &Value, plan: &Value) -> bool {
    let mut messages = context.as_array().expect("messages").clone();
    messages.push(json!({"type": "plan", "plan": plan}));
    let mut harness = Harness::on(messages.into(), json!({}));
    harness.tell(Input::RunPlan).expect("it runs");
    while !harness.open.is_empty() || !harness.requests.is_empty() {
        match harness.open.first().map(|start| start.tool.name.clone()) {
            Some(tool) => harness.returns(&tool, json!({"id": 7, "to": "ann", "text": "words"})),
            None => harness.solve(json!([]), json!("a thought")),
        }
    }
    !harness.waiting().is_empty()
}

#[test]
fn calls_allowed_by_a_dry_run_need_no_approval_when_the_plan_runs() {
    let page = json!({"x-effect": "read", "x-trust": "untrusted", "x-issued": ["id"], "_activity": "look", "properties": {"q": {}}});
    let mixed = json!({"x-effect": "read", "x-trust": {"": "trusted", "text": "untrusted"}, "_activity": "look", "properties": {}});
    let leaves = json!([{"to": "†state.left", "value": ".result.text"}]);
    let leaver =
        json!({"x-effect": "read", "x-trust": "untrusted", "x-leaves": leaves, "_activity": "look", "properties": {}});
    let shown = json!({"x-effect": "create", "x-trust": "trusted", "x-target": [], "_scopes": {}, "_activity": "make", "properties": {}});
    let context = json!([
        {"type": "state", "data": {"old": {"to": "bob"}, "page": "known"}},
        {"type": "data", "kind": "row", "_instance": "a", "data": {"n": 1}},
        {"type": "data", "kind": "row", "_instance": "b", "data": {"n": 2}},
        {"type": "tool", "tool": {"page": page, "mixed": mixed, "leaver": leaver, "shown": shown}},
    ]);
    let read = |tool: &str| call(tool, "page", json!({}));
    let make = |q: &str| call("make", "m", json!({"q": q}));
    for (plan, verdict) in [
        (json!([read("read"), make("†state.page.to")]), "allow"),
        (json!([read("page"), make("†state.page.to")]), "confirm"),
        (json!([read("page"), make("†state.page.id")]), "allow"),
        (json!([read("page"), make("†state.page")]), "confirm"),
        (json!([read("page"), make("†state.old.to")]), "allow"),
        (json!([read("page"), make("†state.old.to || †state.page.to")]), "confirm"),
        (json!([read("page"), make("to {†state.page.to}")]), "confirm"),
        (
            json!([read("page"), call("read", "copy", json!({"q": "†state.page.text"})), make("†state.copy.to")]),
            "confirm",
        ),
        (
            json!([read("page"), call("muse", "thought", json!({"q": "†state.page"})), make("†state.thought")]),
            "confirm",
        ),
        (json!([read("mixed"), make("†state.page.to")]), "allow"),
        (json!([read("mixed"), make("†state.page.text")]), "confirm"),
        (json!([read("mixed"), make("†state.page")]), "confirm"),
        (json!([{"_tool": "leaver", "_outputPath": "†state.x"}, make("†state.left")]), "confirm"),
        (json!([read("page"), call("shown", "s", json!({"_scopes": ["†state.page"]}))]), "confirm"),
        (json!([read("read"), call("shown", "s", json!({"_scopes": ["†state.page"]}))]), "allow"),
        (
            json!([{"_tool": "page", "q": "†row.n", "_outputPath": "†row.page"}, {"_tool": "make", "q": "†row.page.to", "_outputPath": "†row.m"}]),
            "confirm",
        ),
    ] {
        assert_eq!(dry_run(&context, &plan), verdict, "{plan}");
        // A dry run does not know which alternative of `||` is read.
        let may_be_either = plan.to_string().contains("||");
        assert!(may_be_either || asks(&context, &plan) == (verdict == "confirm"), "{plan}");
    }
}
