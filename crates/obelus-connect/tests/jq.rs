//! Filters as activities.
#![cfg(feature = "jq")]

mod hands;

use hands::{activity, error, reading, run};
use obelus_kernel::session::Outcome;
use serde_json::json;

#[tokio::test]
async fn a_filter_sees_the_call_and_the_scope() {
    let mut work = reading(json!({"min": 2}));
    work.scope = vec![json!({"n": 1}), json!({"n": 3})];
    let binding = json!({"jq": ".call.min as $min | [.scope[].n | select(. >= $min)]"});
    assert_eq!(run(binding, work).await, Outcome::Value(json!([3])));
}

#[tokio::test]
async fn tool_7_a_filter_gets_the_schema_of_its_tool() {
    let binding = json!({"jq": ".tool | {effect: .[\"x-effect\"], type}"});
    assert_eq!(run(binding, reading(json!({}))).await, Outcome::Value(json!({"effect": "read", "type": "object"})));
}

#[tokio::test]
async fn call_5_a_filter_can_return_messages() {
    let binding = json!({"jq": "if .call.late then {_messages: [{state: {late: .call.n}}]} else .call.n end"});
    let late = run(binding.clone(), reading(json!({"late": true, "n": 7}))).await;
    assert_eq!(late, Outcome::Messages(vec![json!({"state": {"late": 7}})]));
    assert_eq!(run(binding, reading(json!({"n": 7}))).await, Outcome::Value(json!(7)));
    let more = json!({"jq": "{_messages: [], more: 1}"});
    assert_eq!(run(more, reading(json!({}))).await, Outcome::Value(json!({"_messages": [], "more": 1})));
    assert_eq!(error(json!({"jq": "{_messages: 1}"}), reading(json!({}))).await.code, "bad_output");
}

#[tokio::test]
async fn failures_of_a_filter_have_codes() {
    assert_eq!(error(json!({"jq": ".call.a.b"}), reading(json!({"a": 1}))).await.code, "jq");
    assert!(error(json!({"jq": "1, 2"}), reading(json!({}))).await.message.contains("collect them"));
}

#[tokio::test]
async fn an_endless_filter_ends_at_its_time_limit() {
    let endless =
        json!({"jq": "if .call.end then 1 else reduce range(1000000000000) as $i (0; $i) end", "timeout": 0.2});
    let ended = error(endless, reading(json!({}))).await;
    assert_eq!(ended.code, "timeout");
    // Other calls of the same activity still run.
    let both = activity(json!({"jq": "if .call.end then 1 else reduce range(1000000000000) as $i (0; $i) end"}));
    let stuck = tokio::spawn(both.run(reading(json!({}))));
    assert_eq!(both.run(reading(json!({"end": true}))).await, Outcome::Value(json!(1)));
    stuck.abort();
    // The test also checks that the runtime can shut down.
}
