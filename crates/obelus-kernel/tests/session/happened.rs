//! DUR-4: effects that happened although their result could not be kept are not repeated without a person.

use obelus_kernel::Time;
use obelus_kernel::policy::{FindingSource, Gate, Reason, Ruling, explain};
use obelus_kernel::session::{CallError, Decision, Outcome};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn with_integer_state(settings: Value) -> Harness {
    let schema = json!({"type": "object", "properties": {"c": {"type": "integer"}}});
    let mut harness = Harness::on(json!([{"type": "state", "data": {}, "schema": schema}]), settings);
    harness.start();
    harness
}

/// The error of the only call of a tool.
fn error_of(harness: &Harness, tool: &str) -> Value {
    let calls = harness.session.calls();
    calls.iter().find(|report| report.call["_tool"] == tool).map(|report| json!(report.error)).expect("a call")
}

#[test]
fn an_effect_with_an_unusable_result_is_reported_as_happened_and_asks_before_a_repetition() {
    let unreadable = || Outcome::Error(CallError::new("bad_output", "stdout is not JSON").after_success());
    let outside = || Outcome::Messages(vec![json!({"type": "state", "data": {"other": 1}})]);
    for (tool, outcome, why) in [
        ("count", Outcome::Value(json!("many")), "not what the tool returns"),
        ("count", Outcome::Value(json!("x".repeat(3000))), "larger than the 2000 bytes"),
        ("make", Outcome::Value(json!("not an integer")), "would break the schema of `state`"),
        ("make", outside(), "outside of"),
        ("make", unreadable(), "stdout is not JSON"),
    ] {
        let mut harness = with_integer_state(json!({"max_result_bytes": 2000}));
        harness.solve(json!([call(tool, "c", json!({"q": 1}))]), json!(null));
        harness.ends(tool, outcome);
        let error = error_of(&harness, tool);
        assert_eq!((harness.states(tool), &error["code"]), (vec!["failed"], &json!("result_not_kept")), "{why}");
        let text = error["message"].as_str().unwrap();
        assert!(text.starts_with("the effect happened, its result could not be kept: "), "{text}");
        assert!(text.contains(why) && text.contains("Do not repeat this call"), "{text}");
        // Another path makes no other effect.
        harness.solve(json!([call(tool, "d", json!({"q": 1})), call(tool, "e", json!({"q": 2}))]), json!(null));
        assert_eq!(harness.handed_out(tool).len(), 2, "{why}: only the other one runs");
        let question = harness.question("q1");
        assert!(matches!(&question.reasons[..], [Reason::Happened(known)] if known.contains(why)), "{question:?}");
        harness.approve("q1");
        assert_eq!(harness.handed_out(tool).len(), 3, "a person may repeat it");
    }
}

#[test]
fn an_effect_whose_service_failed_asks_before_a_repetition_and_a_read_does_not() {
    let failed = || Outcome::Error(CallError::new("http_500", "oops").perhaps_after_effect());
    for (tool, questions) in [("make", 1), ("count", 1), ("read", 0)] {
        let mut harness = with_integer_state(json!({}));
        harness.solve(json!([call(tool, "c", json!({"q": 1}))]), json!(null));
        harness.ends(tool, failed());
        assert_eq!((harness.states(tool), &error_of(&harness, tool)["code"]), (vec!["failed"], &json!("http_500")));
        harness.solve(json!([call(tool, "c", json!({"q": 1}))]), json!(null));
        assert_eq!(harness.waiting().len(), questions, "{tool}");
        if questions > 0 {
            assert_eq!(harness.question("q1").reasons, [Reason::MayHaveHappened]);
        }
    }
}

#[test]
fn a_usable_result_ends_the_questions_about_its_effect() {
    let mut harness = with_integer_state(json!({}));
    for result in [json!("many"), json!(7)] {
        harness.solve(json!([call("count", "n", json!({}))]), json!(null));
        harness.waiting().iter().for_each(|id| harness.approve(id));
        harness.returns("count", result);
    }
    harness.solve(json!([call("count", "n", json!({}))]), json!(null));
    assert_eq!((harness.asked.len(), harness.handed_out("count").len()), (1, 3));
}

#[test]
fn a_read_with_an_unusable_result_fails() {
    let mut harness = with_integer_state(json!({"max_result_bytes": 2000}));
    harness.solve(json!([call("read", "r", json!({}))]), json!(null));
    harness.returns("read", json!("x".repeat(3000)));
    assert_eq!(harness.errors(), ["result_too_large"]);
    harness.solve(json!([call("read", "r", json!({}))]), json!(null));
    assert_eq!((harness.asked.len(), harness.handed_out("read").len()), (0, 2));
}

#[test]
fn neither_the_model_nor_a_standing_consent_can_approve_a_repetition() {
    let mut harness = with_integer_state(json!({}));
    harness.solve(json!([call("count", "n", json!({}))]), json!(null));
    harness.returns("count", json!("many"));
    harness.solve(json!([call("count", "n", json!({}))]), json!(null));
    assert!(harness.session.consent_offers(&"q1".parse().unwrap()).is_empty());
    harness.user("yes, go on");
    let mut again = call("count", "n", json!({}));
    again["confirmed"] = true.into();
    harness.solve(json!([again]), json!("over"));
    assert_eq!((harness.waiting(), harness.handed_out("count").len()), (vec!["q1".to_owned()], 1));
}

#[test]
fn an_explanation_names_the_past_of_its_session() {
    let mut harness = with_integer_state(json!({}));
    harness.solve(json!([call("count", "n", json!({"q": 1}))]), json!(null));
    harness.returns("count", json!("many"));
    let explained = |q: u64| {
        let (session, proposed) = (&harness.session, call("count", "n", json!({"q": q})));
        let settings = session.settings();
        let gate = Gate::new(&settings.policy, settings.mode);
        let plain = explain(&proposed, session.context(), gate).unwrap().verdict.ruling();
        (plain, session.explain(&proposed, session.context(), gate).unwrap())
    };
    let (plain, again) = explained(1);
    assert_eq!((plain, again.verdict.ruling()), (Ruling::Allow, Ruling::Confirm));
    assert!(matches!(again.verdict.reasons(), [Reason::Happened(_)]));
    assert!(again.findings.iter().any(|one| one.by == FindingSource::Session && one.says == Ruling::Confirm));
    assert_eq!(explained(2).1.verdict.ruling(), Ruling::Allow, "another effect");
}

#[test]
fn an_effect_with_an_unresolved_doubt_asks_before_a_repetition() {
    let mut harness = with_integer_state(json!({}));
    harness.solve(json!([call("make", "m", json!({"q": 1}))]), json!(null));
    harness.ends("make", Outcome::Lost { message: "the line went dead".into() });
    harness.wait(25);
    harness.user("again");
    harness.solve(json!([call("make", "m", json!({"q": 1}))]), json!(null));
    assert_eq!(harness.question("q2").reasons, [Reason::MayHaveHappened]);
}

#[test]
fn a_denied_repetition_of_what_may_have_happened_asks_again_even_in_an_approved_plan() {
    let plan = json!([{"type": "plan", "plan": [], "mode": "lazy"}]);
    let mut harness = Harness::on(plan, json!({"approval": "person", "follow_up": "until_done"}));
    harness.user("count");
    let count = json!([call("count", "n", json!({}))]);
    harness.solve(count.clone(), json!(null));
    harness.approve("q1");
    harness.ends("count", Outcome::Error(CallError::new("http_500", "oops").perhaps_after_effect()));
    harness.solve(count.clone(), json!(null));
    harness.deny("q2");
    harness.user("count after all");
    harness.solve(count, json!(null));
    let plan = harness.waiting();
    harness.approve(&plan[0]);
    assert_eq!(harness.handed_out("count").len(), 1, "a plan's approval does not repeat it");
    let asked = harness.waiting();
    assert_eq!(harness.question(&asked[0]).reasons, [Reason::MayHaveHappened]);
}

#[test]
fn a_success_without_a_path_ends_the_questions_about_its_effect() {
    let mut harness = with_integer_state(json!({}));
    let count = json!([{"_tool": "count", "q": 1}]);
    harness.solve(count.clone(), json!(null));
    harness.ends("count", Outcome::Error(CallError::new("http_500", "oops").perhaps_after_effect()));
    harness.user("again");
    harness.solve(count.clone(), json!(null));
    harness.approve("q1");
    harness.returns("count", json!(7));
    harness.user("once more");
    harness.solve(count, json!(null));
    assert_eq!((harness.asked.len(), harness.handed_out("count").len()), (1, 3));
}

#[test]
fn an_effect_whose_rows_cannot_become_instances_has_happened() {
    let tool = json!({"x-trust": "trusted", "x-effect": "update", "x-instances": "id", "properties": {"q": {}}});
    let tools = json!([{"type": "tool", "tool": {"look": tool}}]);
    let mut harness = Harness::on(tools, json!({}));
    harness.start();
    let look = json!([{"_tool": "look", "q": 1, "_outputPath": "†rows"}]);
    harness.solve(look.clone(), json!(null));
    harness.returns("look", json!([{"id": 1}, {"id": "1"}]));
    let error = error_of(&harness, "look");
    assert_eq!(error["code"], "result_not_kept", "{error}");
    assert!(error["message"].as_str().unwrap().contains("two rows have the same `id`, 1"), "{error}");
    harness.solve(look, json!(null));
    assert_eq!((harness.waiting().len(), harness.handed_out("look").len()), (1, 1));
}

#[test]
fn happened_effects_are_known_after_a_restart() {
    let mut harness = with_integer_state(json!({}));
    harness.solve(json!([call("count", "n", json!({}))]), json!(null));
    harness.returns("count", json!("many"));
    harness.solve(json!([]), json!("over"));
    let kept = harness.session.checkpoint().expect("a checkpoint");
    let other = with_integer_state(json!({})).session.restore(&kept, std::sync::Arc::new(|| Ok(Vec::new())));
    harness.session = other.expect("the same session");
    harness.user("again");
    harness.solve(json!([call("count", "n", json!({}))]), json!(null));
    assert_eq!(harness.asked.len(), 1);
}

#[test]
fn an_answer_to_a_doubt_must_match_the_result_schema() {
    let mut harness = with_integer_state(json!({}));
    harness.solve(json!([call("count", "n", json!({}))]), json!(null));
    harness.ends("count", Outcome::Lost { message: "the line went dead".into() });
    let refused = harness.decide("q1", Decision::Happened { result: json!("many") }).unwrap_err();
    assert_eq!(refused.code.name(), "bad_answer");
    assert!(refused.text.contains("integer"), "{}", refused.text);
    harness.decide("q1", Decision::Happened { result: json!(7) }).unwrap();
    assert_eq!(harness.read("†state.n"), json!(7));
}

#[test]
fn an_edit_can_set_only_parameters() {
    let tools = json!([{"type": "tool", "tool": {"drop": {"x-effect": "delete", "x-trust": "trusted"}}}]);
    let mut harness = Harness::on(tools, json!({}));
    harness.start();
    harness.solve(json!([{"_tool": "drop", "id": 1, "comment": "why"}]), json!("over"));
    for remark in ["comment", "confirmed", "http_method"] {
        assert_eq!(harness.edit("q1", json!({remark: "x"})).unwrap_err().code.name(), "bad_edit", "{remark}");
    }
    harness.edit("q1", json!({"id": 2, "any": 3})).unwrap();
    assert_eq!(harness.handed_out("drop"), [json!({"_tool": "drop", "id": 2, "comment": "why", "any": 3})]);
}

/// When the calls of a question were done before.
fn done_before(harness: &Harness, question: &str) -> Vec<Option<Time>> {
    harness.session.done_before(&harness.question(question))
}

#[test]
fn a_question_knows_when_the_same_effect_was_done_before() {
    let mut harness = Harness::at_work(json!({}));
    let pay = |path: &str, sum: u64| call("change", path, json!({"id": 1, "sum": sum}));
    harness.solve(json!([pay("a", 100)]), json!(null));
    assert_eq!(done_before(&harness, "q1"), [None]);
    harness.approve("q1");
    assert_eq!(done_before(&harness, "q1"), [None], "it is at work");
    harness.returns("change", json!(true));
    let then = harness.now;
    harness.wait(2);
    // The path of the result makes no other effect; other values do.
    harness.solve(json!([pay("b", 100), pay("c", 101)]), json!(null));
    let reasons = |id: &str| harness.question(id).reasons;
    assert_eq!(reasons("q2"), reasons("q1"), "it is asked about for the same reasons as before");
    assert_eq!((done_before(&harness, "q2"), done_before(&harness, "q3")), (vec![Some(then)], vec![None]));
}

#[test]
fn an_effect_that_failed_or_was_edited_is_not_known_as_done() {
    let mut harness = with_integer_state(json!({}));
    let pay = |sum: u64| call("change", "a", json!({"id": 1, "sum": sum}));
    harness.solve(json!([pay(100)]), json!(null));
    harness.approve("q1");
    harness.fails("change");
    harness.solve(json!([pay(100)]), json!(null));
    assert_eq!(done_before(&harness, "q2"), [None]);
    harness.edit("q2", json!({"sum": 200})).unwrap();
    harness.returns("change", json!(true));
    harness.solve(json!([pay(100), pay(200)]), json!(null));
    assert_eq!(done_before(&harness, "q3"), [None], "a person has changed it");
    assert_eq!(done_before(&harness, "q4"), [Some(harness.now)]);
}

#[test]
fn done_effects_are_known_after_a_restart() {
    let pay = || call("change", "a", json!({"id": 1, "sum": 100}));
    let mut harness = with_integer_state(json!({}));
    harness.solve(json!([pay()]), json!(null));
    harness.approve("q1");
    harness.returns("change", json!(true));
    harness.solve(json!([]), json!("over"));
    let kept = harness.session.checkpoint().expect("a checkpoint");
    let other = with_integer_state(json!({})).session.restore(&kept, std::sync::Arc::new(|| Ok(Vec::new())));
    harness.session = other.expect("the same session");
    harness.user("again");
    harness.solve(json!([pay()]), json!(null));
    assert_eq!(done_before(&harness, "q2"), [Some(harness.now)]);
}

#[test]
fn an_answer_without_a_result_keeps_the_questions_about_an_effect() {
    for (result, questions) in [(json!(null), 1), (json!(7), 0)] {
        let mut harness = with_integer_state(json!({}));
        harness.solve(json!([call("count", "n", json!({}))]), json!(null));
        harness.returns("count", json!("many"));
        harness.solve(json!([call("count", "n", json!({}))]), json!(null));
        harness.approve("q1");
        harness.ends("count", Outcome::Lost { message: "the line went dead".into() });
        harness.decide("q2", Decision::Happened { result: result.clone() }).unwrap();
        harness.solve(json!([call("count", "m", json!({}))]), json!(null));
        assert_eq!(harness.waiting().len(), questions, "{result}");
    }
}
