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
async fn what_goes_wrong_has_a_code() {
    assert_eq!(error(json!({"jq": ".call.a.b"}), reading(json!({"a": 1}))).await.code, "jq");
    assert!(error(json!({"jq": "1, 2"}), reading(json!({}))).await.message.contains("collect them"));
}

#[tokio::test]
async fn a_filter_that_never_ends_only_meets_its_time_limit() {
    let endless =
        json!({"jq": "if .call.end then 1 else reduce range(1000000000000) as $i (0; $i) end", "timeout": 0.2});
    let ended = error(endless, reading(json!({}))).await;
    assert_eq!(ended.code, "timeout");
    // Others of its name still run.
    let both = activity(json!({"jq": "if .call.end then 1 else reduce range(1000000000000) as $i (0; $i) end"}));
    let stuck = tokio::spawn(both.run(reading(json!({}))));
    assert_eq!(both.run(reading(json!({"end": true}))).await, Outcome::Value(json!(1)));
    stuck.abort();
    // And the runtime of this test must come to its end.
}
