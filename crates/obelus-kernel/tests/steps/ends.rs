//! The first node of a turn, its counters, and its ends.

use std::sync::Arc;

use obelus_kernel::session::{CallError, Input, Outcome, TurnEnd};
use obelus_kernel::steps::Steps;
use serde_json::{Value, json};

use crate::story::{Story, decided, session};

/// Counts to five, then asks. "continue" skips the question of what to count.
fn counting() -> Value {
    json!({
        "start": [{"when": ".state.what != null and (.user | test(\"^continue\"))", "to": "count"}, {"to": "what"}],
        "max_steps": 4, "at_limit": "limit", "at_stop": "stopped",
        "nodes": {
            "what": {"request": {}, "_outputPath": "†state.what", "next": [{"to": "count"}]},
            "count": {
                "request": {}, "_outputPath": "†state.n",
                "next": [{"when": ".state.n > 5", "to": "done"}, {"when": ".state.n == 5", "to": "ask"}, {"to": "count"}],
            },
            "ask": {"ask": {"question": "More?", "schema": {"type": "string"}}, "_outputPath": "†state.more",
                "next": [{"when": ".last.status == \"answered\"", "to": "count"}, {"to": "stopped"}]},
            "done": {"end": {"name": "done"}},
            "limit": {"end": {"name": "limit", "reply": {"jq": "\"So far \\(.state.n) of \\(.state.what): \\(.reason.message)\""}}},
            "stopped": {"end": {"name": "cancelled", "reply": {"jq": "\"Stopped at \\(.state.n)\""}}},
        },
    })
}

#[test]
fn the_limit_ends_the_turn_with_its_text_and_the_next_turn_starts_at_the_chosen_node() {
    let mut story = Story::new(counting());
    story.user_says("sheep").model_answers(json!({"output": "sheep"}));
    for n in 1..=3 {
        story.model_answers(json!({"output": n}));
    }
    assert_eq!(story.ends(), (TurnEnd::Limit, Some("limit"), &json!("So far 3 of sheep: 4 steps in one turn")));
    assert_eq!(story.session.node(), Some("limit"));
    assert_eq!(story.session.context().latest().next().unwrap().to_json()["role"], "assistant");

    story.user_says("continue");
    assert_eq!(story.session.node(), Some("count"), "what to count is known");
    story.model_answers(json!({"output": 9}));
    assert_eq!(story.ends().1, Some("done"));
    story.user_says("goats");
    assert_eq!(story.session.node(), Some("what"));
}

#[test]
fn a_limit_of_requests_leads_to_the_same_end() {
    let mut graph = counting();
    graph["max_steps"] = json!(100);
    let mut story = Story::new(graph);
    story.user_says("sheep").model_answers(json!({"output": "sheep"}));
    while story.asked.is_some() {
        story.model_answers(json!({"output": 1}));
    }
    assert_eq!(story.ends().1, Some("limit"));
    assert!(story.ends().2.as_str().unwrap().contains("requests to the model"), "{}", story.ends().2);
}

#[test]
fn a_stop_leads_to_its_end_while_working_and_while_waiting() {
    let mut story = Story::new(counting());
    story.user_says("sheep").model_answers(json!({"output": "sheep"})).model_answers(json!({"output": 2}));
    story.tell(Input::Stop);
    assert_eq!(story.ends(), (TurnEnd::Stopped, Some("cancelled"), &json!("Stopped at 2")));

    story.user_says("continue").model_answers(json!({"output": 5}));
    assert_eq!(story.ends().0, TurnEnd::Waiting);
    story.tell(Input::Stop);
    assert_eq!(story.ends(), (TurnEnd::Stopped, Some("cancelled"), &json!("Stopped at 5")));
    assert!(story.session.questions().iter().all(|question| !question.is_open()));
    story.user_says("continue").model_answers(json!({"output": 7}));
    assert_eq!(story.ends().1, Some("done"));
}

#[test]
fn denied_and_answered_questions_are_distinguished() {
    let mut story = Story::new(counting());
    let no = obelus_kernel::session::Decision::Deny { reason: "enough".to_owned() };
    story.user_says("sheep").model_answers(json!({"output": "sheep"})).model_answers(json!({"output": 5}));
    story.tell(Input::Decide {
        question: "q1".parse().unwrap(),
        decision: no,
        by: "a person".to_owned(),
        digest: None,
    });
    assert_eq!(story.ends().1, Some("cancelled"));
    story.user_says("continue").model_answers(json!({"output": 5})).tell(decided("q2", json!("yes")));
    assert_eq!(story.session.node(), Some("count"));
}

/// Tries until it succeeds, or until it fails three times in a row.
fn trying() -> Value {
    json!({
        "start": "try", "max_steps": 20,
        "nodes": {
            "try": {
                "call": {"_tool": "look", "_outputPath": "†state.seen"},
                "next": [
                    {"when": ".last.status == \"done\" and .counters.visits.try >= 5", "to": "done"},
                    {"when": ".counters.failed.try >= 3", "to": "blocked"},
                    {"to": "think"},
                ],
            },
            "think": {"request": {}, "_outputPath": "†state.thought", "next": [{"to": "try"}]},
            "done": {"end": {"name": "done", "reply": {"jq": ".counters | tojson"}}},
            "blocked": {"end": {"name": "blocked", "reply": {"jq": "\"\\(.last.tool): \\(.calls.try.error.message)\""}}},
        },
    })
}

fn failure() -> Outcome {
    Outcome::Error(CallError::new("dark", "it is dark"))
}

#[test]
fn failures_of_a_node_are_counted_in_a_row_and_left_to_the_graph() {
    let mut story = Story::new(trying());
    story.user_says("go");
    for outcome in [failure(), failure(), Outcome::Value(json!(1)), failure()] {
        story.call_ends(outcome).model_answers(json!({"output": "again"}));
    }
    story.call_ends(Outcome::Value(json!(2)));
    let counters = r#"{"steps":10,"calls":5,"visits":{"done":1,"think":4,"try":5},"failed":{}}"#;
    assert_eq!(story.ends(), (TurnEnd::Output, Some("done"), &json!(counters)));

    story.user_says("once more");
    for _ in 0..2 {
        story.call_ends(failure()).model_answers(json!({"output": "again"}));
    }
    story.call_ends(failure());
    assert_eq!(story.ends(), (TurnEnd::Output, Some("blocked"), &json!("look: it is dark")));
}

#[test]
fn a_request_shows_only_the_failures_since_the_previous_one() {
    let mut story = Story::new(trying());
    story.user_says("go").call_ends(failure());
    let prompt = story.prompt();
    assert_eq!((prompt.errors.len(), prompt.plan.len()), (1, 1));
    assert_eq!(prompt.errors[0]["error"]["message"], "it is dark");
    story.model_answers(json!({"output": "again"})).call_ends(Outcome::Value(json!(1)));
    let prompt = story.prompt();
    assert_eq!((prompt.errors.len(), prompt.plan.len()), (0, 1));
    assert_eq!(prompt.plan[0].status.name(), "done");
}

#[test]
fn a_session_restored_at_a_question_keeps_its_counters() {
    let mut story = Story::new(counting());
    story.user_says("sheep").model_answers(json!({"output": "sheep"})).model_answers(json!({"output": 5}));
    let kept = story.session.checkpoint().expect("it is at rest");
    let past = story.session.past();
    let mut again = Story::made(session(counting()).restore(&kept, Arc::new(move || Ok(past.clone()))).unwrap());
    assert_eq!(again.session.snapshot(), story.session.snapshot());
    again.tell(decided("q1", json!("yes"))).model_answers(json!({"output": 3}));
    assert_eq!(again.ends().0, TurnEnd::Limit, "what, count, ask and count are four");
}

#[test]
fn invalid_starts_and_ends_are_named() {
    let mut graph = counting();
    graph["start"] = json!([{"when": ".x |", "to": "what"}, {"when": "true", "to": "nowhere"}]);
    graph["at_limit"] = json!("count");
    graph["at_stop"] = json!("nosuch");
    let steps: Steps = serde_json::from_value(graph).unwrap();
    let faults = steps.check(|_| true).into_iter().map(|fault| fault.text).collect::<Vec<_>>().join("\n");
    for words in [
        "start[0].when",
        "start[1]: there is no node `nowhere`",
        "start: the last way has no `when`",
        "at_limit: `count` is no end",
        "at_stop: there is no node `nosuch`",
    ] {
        assert!(faults.contains(words), "{words} in\n{faults}");
    }
}
