//! POL-1, POL-2: what the mode and the policy permit.

use obelus_kernel::session::{Input, Mode, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// The outcome of one call under these settings: state, number of questions, errors.
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
fn calls_that_depend_on_a_refused_call_do_not_run() {
    let mut harness = Harness::at_work(json!({"policy": {"refuse": ["read"]}}));
    harness.solve(json!([call("read", "r", json!({})), call("make", "m", json!({"q": "†state.r"}))]), json!("over"));
    assert_eq!((harness.states("read"), harness.states("make")), (vec!["refused"], vec!["skipped"]));
    assert_eq!(harness.rested(), TurnEnd::Output);
}

/// New settings and tools from the agent's file.
fn rules(settings: Value, tools: Value) -> Input {
    serde_json::from_value(json!({"rules": {"settings": settings, "tools": tools}})).expect("an input")
}

#[test]
fn pol_9_an_earlier_approval_does_not_run_what_the_policy_now_refuses() {
    for (now, runs) in [
        (json!({"mode": "full"}), true),
        (json!({"mode": "full", "policy": {"refuse": ["drop"]}}), false),
        (json!({"mode": "full", "policy": {"allow": ["read"]}}), false),
    ] {
        let mut harness = Harness::at_work(json!({}));
        harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!("over"));
        harness.tell(rules(now.clone(), json!({}))).expect("it is taken");
        harness.approve("q1");
        assert_eq!(harness.handed_out("drop").len(), usize::from(runs), "{now}");
        assert_eq!(harness.states("drop")[0] == "refused", !runs, "{now}");
    }
}

#[test]
fn pol_9_a_mode_chosen_by_a_person_holds_until_the_file_changes_it() {
    let mut harness = Harness::with(json!({"mode": "canary"}));
    harness.tell(Input::Mode { mode: Mode::Full }).expect("it is taken");
    harness.tell(rules(json!({"mode": "canary", "max_calls": 5}), json!({}))).expect("it is taken");
    assert_eq!((harness.session.settings().mode, harness.session.settings().max_calls), (Mode::Full, 5));
    harness.tell(rules(json!({"mode": "shadow"}), json!({}))).expect("it is taken");
    assert_eq!(harness.session.settings().mode, Mode::Shadow);
    assert!(harness.session.settings().activities.contains("read"), "what carries out calls stays");
}

#[test]
fn pol_9_a_checkpoint_contains_the_current_rules_and_tools() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([]), json!("over"));
    let read = json!({"x-effect": "delete", "properties": {"q": {}}});
    harness.tell(rules(json!({"mode": "full", "policy": {"refuse": ["make"]}}), json!({"read": read}))).expect("taken");
    let kept = harness.session.checkpoint().expect("it rests");
    let past = harness.session.past();
    let made = Harness::with(json!({}));
    let restored = made.session.restore(&kept, std::sync::Arc::new(move || Ok(past.clone()))).expect("it is restored");
    assert_eq!(restored.rules(), harness.session.rules());
    assert_eq!(restored.context().tool("read").map(|tool| tool.effect.name()), Some("delete"));
    assert_eq!(restored.snapshot(), harness.session.snapshot());
}
