//! POL-1, POL-2: what the mode and the policy let through.

use obelus_kernel::session::Ends;
use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// What became of one call under these settings: its state, questions, and errors.
fn judged(call: &Value, settings: &Value) -> (&'static str, usize, Vec<String>) {
    let mut harness = Harness::at_work(settings.clone());
    harness.solve(json!([call]), json!("over"));
    let tool = call["_tool"].as_str().unwrap();
    (harness.states(tool)[0], harness.asked.len(), harness.errors())
}

#[test]
fn the_strictest_verdict_wins() {
    let change = call("change", "c", json!({"id": 1}));
    let risky = call("change", "c", json!({"id": 1, "sum": 5}));
    let asked = call("read", "r", json!({"requires_confirmation": true}));
    let drop = call("drop", "d", json!({"id": 1}));
    let refused = |rule: &str| ("refused", 0, vec![rule.to_owned()]);
    let waits = || ("waiting", 1, vec![]);
    let runs = || ("running", 0, vec![]);
    for (call, settings, expected) in [
        (&change, json!({}), runs()),
        (&risky, json!({}), waits()),
        (&asked, json!({}), waits()),
        (&drop, json!({}), waits()),
        (&drop, json!({"policy": {"allow": ["*"]}}), waits()),
        (&change, json!({"policy": {"confirm": ["ch*"]}}), waits()),
        (&change, json!({"policy": {"confirm": ["change"], "refuse": ["change"]}}), refused("POL-2")),
        (&change, json!({"policy": {"allow": ["read"]}}), refused("POL-2")),
        (&drop, json!({"policy": {"refuse": ["drop"]}}), refused("POL-2")),
        (&drop, json!({"mode": "canary"}), refused("POL-1")),
        (&change, json!({"mode": "canary", "policy": {"allow": ["change"]}}), refused("POL-1")),
        (&asked, json!({"mode": "canary"}), waits()),
    ] {
        assert_eq!(judged(call, &settings), expected, "{call} under {settings}");
    }
}

#[test]
fn what_depends_on_a_refused_call_does_not_run() {
    let mut harness = Harness::at_work(json!({"policy": {"refuse": ["read"]}}));
    harness.solve(json!([call("read", "r", json!({})), call("make", "m", json!({"q": "†state.r"}))]), json!("over"));
    assert_eq!((harness.states("read"), harness.states("make")), (vec!["refused"], vec!["skipped"]));
    assert_eq!(harness.rested(), Ends::Output);
}
