//! Values of the request itself: in the prompt they stand before the conversation, as long as nothing changes them.

use obelus_kernel::session::Outcome;
use serde_json::{Value, json};

use super::harness::Harness;

fn latest(harness: &Harness) -> (Vec<Value>, Vec<Value>) {
    let prompt = harness.session.prompt(harness.requests.last().expect("a request")).expect("a prompt");
    (prompt.given, prompt.state)
}

#[test]
fn prompt_2_unchanged_initial_data_is_shown_only_before_the_conversation() {
    let office = json!({"kind": "office", "value": {"staff": ["Anna"]}});
    let messages = json!([
        {"type": "data", "kind": "office", "data": {"staff": ["Anna"]}},
        {"type": "state", "data": {"step": 1}},
    ]);
    let mut harness = Harness::on(messages, json!({}));
    harness.start();
    let state = json!({"kind": "state", "value": {"step": 1}});
    assert_eq!(latest(&harness), (vec![office.clone()], vec![state.clone()]));
    harness.solve(json!([{"_tool": "read", "q": 1, "_outputPath": "†found"}]), Value::Null);
    harness.ends("read", Outcome::Value(json!("x")));
    assert_eq!(latest(&harness), (vec![office], vec![state.clone()]));
    harness.solve(json!([{"_tool": "read", "q": 2, "_outputPath": "†office.guest"}]), Value::Null);
    harness.ends("read", Outcome::Value(json!("Boris")));
    let (given, changed) = latest(&harness);
    assert!(given.is_empty(), "{given:?}");
    assert!(
        changed.contains(&json!({"kind": "office", "value": {"staff": ["Anna"]}})),
        "the guest is under the results"
    );
}
