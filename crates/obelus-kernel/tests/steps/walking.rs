//! The way through a graph, and mistakes in graphs.

use obelus_kernel::Time;
use obelus_kernel::session::{Outcome, TurnEnd};
use obelus_kernel::steps::Steps;
use serde_json::{Value, json};

use crate::story::{Story, decided};

/// understand → ask → book → done; a known answer skips the question.
pub(crate) fn table() -> Value {
    json!({
        "start": "understand",
        "max_steps": 8,
        "nodes": {
            "understand": {
                "request": {"schema": {"type": "object", "required": ["when"]}, "tools": ["look"]},
                "_outputPath": "†state.wish",
                "next": [{"when": ".state.people != null", "to": "book"}, {"to": "ask"}],
            },
            "ask": {
                "ask": {"question": "How many?", "schema": {"type": "integer", "minimum": 1}},
                "_outputPath": "†state.people",
                "next": [{"when": ".state.people == null", "to": "blocked"}, {"to": "book"}],
            },
            "book": {
                "call": {"_tool": "book", "params": {"when": "†state.wish.when", "people": "†state.people"}, "_outputPath": "†state.table"},
                "next": [{"when": ".last.status == \"done\"", "to": "done"}, {"to": "blocked"}],
            },
            "done": {"end": {"name": "done", "reply": {"jq": "\"Table \\(.state.table) for \\(.state.people)\""}}},
            "blocked": {"end": {"name": "blocked", "reply": "Nothing was booked."}},
        },
    })
}

#[test]
fn a_turn_moves_from_node_to_node_and_waits_at_a_question() {
    let mut story = Story::new(table());
    story.user_says("Book a table").model_answers(json!({"output": {"when": "friday"}}));
    assert_eq!(story.ends().0, TurnEnd::Waiting);
    assert_eq!(story.session.node(), Some("ask"));
    let question = story.session.questions().remove(0);
    assert_eq!((question.id.to_string().as_str(), question.description.as_str()), ("q1", "How many?"));

    let refused = story.session.handle(Time(0), decided("q1", json!("many"))).unwrap_err();
    assert_eq!(refused.code.name(), "bad_answer");
    story.tell(decided("q1", json!(4))).call_ends(Outcome::Value(json!(7)));
    assert_eq!(story.ends(), (TurnEnd::Output, Some("done"), &json!("Table 7 for 4")));
}

#[test]
fn values_known_from_an_earlier_turn_are_not_asked_again() {
    let mut story = Story::new(table());
    story.user_says("Book").model_answers(json!({"output": {"when": "friday"}})).tell(decided("q1", json!(2)));
    story.call_ends(Outcome::Value(json!(1)));
    story.user_says("And for Monday").model_answers(json!({"output": {"when": "monday"}}));
    assert_eq!(story.session.node(), Some("book"));
    story.call_ends(Outcome::Value(json!(3)));
    assert_eq!(story.ends(), (TurnEnd::Output, Some("done"), &json!("Table 3 for 2")));
}

#[test]
fn a_failed_call_leads_where_the_graph_says() {
    let mut story = Story::new(table());
    story.user_says("Book").model_answers(json!({"output": {"when": "friday"}})).tell(decided("q1", json!(2)));
    story.call_ends(Outcome::Error(obelus_kernel::session::CallError::new("full", "no table")));
    assert_eq!(story.ends(), (TurnEnd::Output, Some("blocked"), &json!("Nothing was booked.")));
}

#[test]
fn a_node_offers_only_its_own_tools() {
    let mut story = Story::new(table());
    story
        .user_says("Book")
        .model_answers(json!({"calls": [{"_tool": "book", "when": "now", "people": 1, "_outputPath": "†state.x"}]}));
    assert!(story.call.is_none());
    assert!(story.read("†error").unwrap().to_string().contains("does not offer"));
    story.model_answers(json!({"calls": [{"_tool": "look", "_outputPath": "†state.seen"}]}));
    story.call_ends(Outcome::Value(json!("free on friday")));
    story.model_answers(json!({"output": {"when": "friday"}}));
    assert_eq!(story.session.node(), Some("ask"));
}

#[test]
fn an_output_that_violates_the_nodes_schema_is_requested_again() {
    let mut story = Story::new(table());
    story.user_says("Book").model_answers(json!({"output": "friday"}));
    assert_eq!(story.session.node(), Some("understand"));
    assert!(story.read("†state.wish").is_none());
    story.model_answers(json!({"output": {"when": "friday"}}));
    assert_eq!(story.read("†state.wish.when"), Some(json!("friday")));
}

#[test]
fn a_message_answers_the_waiting_node_if_it_matches_the_schema() {
    let mut graph = table();
    graph["nodes"]["ask"]["ask"]["schema"] = json!({"type": "string"});
    graph["nodes"]["book"]["call"]["params"] = json!({"when": "†state.people"});
    let mut story = Story::new(graph);
    story.user_says("Book").model_answers(json!({"output": {"when": "friday"}})).user_says("two of us");
    assert_eq!(story.read("†state.people"), Some(json!("two of us")));
    assert_eq!(story.session.node(), Some("book"));
}

#[test]
fn the_limit_of_steps_ends_the_turn_and_the_next_message_continues() {
    let graph = json!({
        "start": "a", "max_steps": 3,
        "nodes": {
            "a": {"request": {}, "_outputPath": "†state.n", "next": [{"when": ".state.n > 5", "to": "end"}, {"to": "a"}]},
            "end": {"end": {"name": "done"}},
        },
    });
    let mut story = Story::new(graph);
    story
        .user_says("count")
        .model_answers(json!({"output": 1}))
        .model_answers(json!({"output": 2}))
        .model_answers(json!({"output": 3}));
    assert_eq!(story.ends().0, TurnEnd::Limit);
    story.user_says("continue").model_answers(json!({"output": 9}));
    assert_eq!(story.ends().1, Some("done"));
}

#[test]
fn a_failing_predicate_ends_the_turn_with_its_error() {
    let mut graph = table();
    graph["nodes"]["understand"]["next"][0]["when"] = json!(".state.wish + 1");
    let mut story = Story::new(graph);
    story.user_says("Book").model_answers(json!({"output": {"when": "friday"}}));
    let reply = story.reply.as_ref().unwrap();
    assert_eq!(reply.ends, TurnEnd::Degraded);
    assert!(reply.reason.as_ref().unwrap().message.contains("understand"));
}

#[test]
fn errors_of_a_graph_are_reported_for_each_node() {
    let graph: Steps = serde_json::from_value(json!({
        "start": "nowhere",
        "nodes": {
            "a": {"request": {"tools": ["nosuch"]}, "next": [{"when": ".x |", "to": "a"}]},
            "b": {"end": {"name": "done"}, "call": {"_tool": "nosuch"}, "next": [{"to": "c"}]},
        },
    }))
    .unwrap();
    let faults = graph.check(|_| false).into_iter().map(|fault| fault.text).collect::<Vec<_>>().join("\n");
    for words in [
        "start: there is no node",
        "nodes.a: `_outputPath` is missing",
        "no tool `nosuch`",
        "next[0].when",
        "the last way",
        "nodes.b: a node is one of",
        "an end has no `next`",
        "no way leads here",
    ] {
        assert!(faults.contains(words), "{words} in\n{faults}");
    }
}

#[test]
fn loop_2_continue_after_a_limit_resumes_where_the_turn_stopped() {
    let call = |to: &str| json!({"call": {"_tool": "book", "params": {"when": to, "people": 1}, "_outputPath": "†state.t"}, "next": [{"to": to}]});
    let mut graph = json!({
        "start": "a", "max_steps": 2,
        "nodes": {"a": call("b"), "b": call("c"), "c": call("fin"), "fin": {"end": {"name": "done", "reply": "all"}}},
    });
    let mut story = Story::new(graph.clone());
    story.user_says("go").call_ends(Outcome::Value(json!(1))).call_ends(Outcome::Value(json!(2)));
    assert_eq!((story.ends().0, story.session.node()), (TurnEnd::Limit, Some("c")));
    story.user_says("continue").call_ends(Outcome::Value(json!(3)));
    assert_eq!(story.ends(), (TurnEnd::Output, Some("done"), &json!("all")));
    // Other words start from the beginning.
    graph["max_steps"] = 1.into();
    let mut story = Story::new(graph);
    story.user_says("go").call_ends(Outcome::Value(json!(1))).user_says("something else");
    assert_eq!(story.session.node(), Some("a"));
}
