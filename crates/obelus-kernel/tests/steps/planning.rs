//! Calls that one node plans and another runs.

use obelus_kernel::session::{Outcome, TurnEnd};
use obelus_kernel::steps::Steps;
use serde_json::{Value, json};

use crate::story::Story;

/// read → decide → act → decide …; the read is not trusted.
fn acting() -> Value {
    json!({
        "start": "read", "max_steps": 20, "at_limit": "limit",
        "nodes": {
            "read": {"call": {"_tool": "page.read", "_outputPath": "†state.page"}, "next": [{"to": "decide"}]},
            "decide": {
                "request": {"schema": {"type": "object", "required": ["go"]}, "plans": {"tools": ["page.*"], "to": "†action"}},
                "_outputPath": "†state.step",
                "next": [{"when": ".action == null", "to": "done"}, {"to": "act"}],
            },
            "act": {
                "call": {"_tool": "†action.tool", "params": "†action.params", "_outputPath": "†state.did"},
                "next": [{"when": ".last.status == \"denied\"", "to": "denied"}, {"to": "decide"}],
            },
            "done": {"end": {"name": "done"}},
            "limit": {"end": {"name": "limit"}},
            "denied": {"end": {"name": "denied", "reply": {"jq": "\"Not done: \\(.last.error.message)\""}}},
        },
    })
}

fn click(target: &str) -> Value {
    json!({"_tool": "page.click", "target": target})
}

fn at_decide() -> Story {
    let mut story = Story::new(acting());
    story.user_says("go").call_ends(Outcome::Value(json!("a page")));
    assert_eq!(story.session.node(), Some("decide"));
    story
}

#[test]
fn a_planned_call_is_written_and_carried_out_by_another_node() {
    let mut story = at_decide();
    story.model_answers(json!({"output": {"go": 1}, "calls": [click("e1")]}));
    assert_eq!(story.session.node(), Some("act"));
    assert_eq!(story.read("†action"), Some(json!({"tool": "page.click", "params": {"target": "e1"}})));
    assert_eq!(story.ends().0, TurnEnd::Waiting, "it acts, and was proposed after reading what is not trusted");
}

#[test]
fn the_prompt_offers_the_tools_for_one_call_and_says_so() {
    let story = at_decide();
    let prompt = story.prompt();
    let names: Vec<&str> = prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["page.read", "page.click", "page.wipe"]);
    assert_eq!(prompt.answer.schema["properties"]["calls"]["maxItems"], 1);
    assert!(prompt.step.iter().any(|words| words.contains("at most one call")));
}

#[test]
fn a_faulty_plan_is_reported_and_requested_again() {
    for (calls, words) in [
        (json!([click("e1"), click("e2")]), "one call is planned at a time, and 2 came"),
        (json!([{"_tool": "page.click"}]), "target"),
        (json!([{"_tool": "page.clik", "target": "e1"}]), "did you mean `page.click`?"),
        (json!([{"_tool": "page.click", "target": "†state.nothing"}]), "†state.nothing has no value"),
        (json!([{"_tool": "look"}]), "does not offer"),
    ] {
        let mut story = at_decide();
        story.model_answers(json!({"output": {"go": 1}, "calls": calls}));
        assert_eq!(story.session.node(), Some("decide"), "{words}");
        assert!(story.read("†state.step").is_none(), "the output of a faulty answer is not kept: {words}");
        let errors = Value::from(story.prompt().errors).to_string();
        assert!(errors.contains(words), "{words} in {errors}");
        story.model_answers(json!({"output": {"go": 1}, "calls": [click("e1")]}));
        assert_eq!(story.session.node(), Some("act"));
    }
}

#[test]
fn the_same_faulty_plan_three_times_ends_the_turn() {
    let mut story = at_decide();
    for _ in 0..3 {
        story.model_answers(json!({"output": {"go": 1}, "calls": [{"_tool": "page.click"}]}));
    }
    assert_eq!((story.ends().0, story.ends().1), (TurnEnd::Limit, Some("limit")));
}

#[test]
fn a_missing_plan_is_null_and_plans_end_with_the_turn() {
    let mut story = at_decide();
    story.model_answers(json!({"output": {"go": 1}, "calls": [click("e1")]}));
    story.user_says("да").call_ends(Outcome::Value(json!(true)));
    assert_eq!(story.session.node(), Some("decide"));
    story.model_answers(json!({"output": {"go": 0}}));
    assert_eq!((story.ends().1, story.read("†action")), (Some("done"), Some(Value::Null)));

    let mut story = at_decide();
    story.model_answers(json!({"output": {"go": 1}, "calls": [click("e1")]}));
    story.tell(obelus_kernel::session::Input::Stop);
    assert_eq!((story.ends().0, story.ends().1), (TurnEnd::Stopped, None), "the graph has no end for a stop");
    assert_eq!(story.read("†action"), Some(Value::Null));
}

#[test]
fn references_in_a_plan_are_resolved_when_it_is_made() {
    let mut story = at_decide();
    story.model_answers(json!({"output": {"go": 1}, "calls": [click("†state.page")]}));
    assert_eq!(story.read("†action.params.target"), Some(json!("a page")));
}

#[test]
fn the_origin_of_the_tool_name_is_the_proposer_of_the_call() {
    let mut story = at_decide();
    story.model_answers(json!({"output": {"go": 1}, "calls": [click("e1")]}));
    let question = story.session.questions().remove(0);
    let reasons = question.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(reasons.contains("proposed after reading what is not trusted: \"page.read\""), "{reasons}");
}

#[test]
fn invalid_plans_are_named() {
    let mut graph = acting();
    graph["nodes"]["decide"]["request"]["tools"] = json!(["look"]);
    graph["nodes"]["decide"]["request"]["plans"] = json!({"tools": ["look", "nosuch", "page.*"], "to": "action"});
    let steps: Steps = serde_json::from_value(graph).unwrap();
    let faults = steps
        .check(|name| name == "look" || name == "page.read")
        .into_iter()
        .map(|fault| fault.text)
        .collect::<Vec<_>>()
        .join("\n");
    for words in ["`look` is among `request.tools`", "there is no tool `nosuch`", "request.plans.to"] {
        assert!(faults.contains(words), "{words} in\n{faults}");
    }
    assert!(!faults.contains("page.*"), "{faults}");
}
