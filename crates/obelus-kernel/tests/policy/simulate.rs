//! Simulation of a plan under a policy.

use obelus_kernel::Context;
use obelus_kernel::policy::{Gate, Policy, simulate};
use obelus_kernel::session::Mode;
use obelus_notebook::message::PlanMode;
use obelus_notebook::plan;
use serde_json::json;

#[test]
fn each_branch_lists_skipped_calls_and_calls_that_need_approval() {
    let context = Context::from_value(json!([
        {"type": "input", "city": "Сочи"},
        {"type": "tool", "tool": {
            "forecast": {"properties": {"city": {}}, "x-effect": "read", "x-trust": "trusted"},
            "walk": {"properties": {"f": {}}, "x-effect": "delete"},
            "museum": {"properties": {"f": {}}, "x-effect": "create"},
        }},
    ]))
    .unwrap();
    let calls = [
        json!({"_tool": "forecast", "city": "†input.city", "_outputPath": "†state.sunny || †state.rainy"}),
        json!({"_tool": "walk", "f": "†state.sunny", "_outputPath": "†state.a"}),
        json!({"_tool": "museum", "f": "†state.rainy"}),
    ];
    let check = plan::check(&calls.map(Into::into), PlanMode::Lazy, &context);
    let dry = simulate(&check, &context, Gate::new(&Policy::default(), Mode::Full), |_| false);
    assert_eq!(dry.calls[0]["params"], json!({"city": "Сочи"}));
    assert_eq!(dry.calls[1]["params"], json!({"f": "†state.sunny"}));
    assert_eq!((&dry.calls[1]["verdict"], &dry.calls[2]["verdict"]), (&json!("confirm"), &json!("allow")));
    let skipped: Vec<_> = dry.branches.iter().map(|branch| branch["skipped"].clone()).collect();
    assert_eq!(skipped, [json!([2]), json!([1])]);
}

#[test]
fn a_branching_call_that_reads_instances_is_not_skipped_by_its_own_branches() {
    let context = Context::from_value(json!([
        {"type": "state", "_instance": "anna", "data": {"name": "Anna"}},
        {"type": "state", "_instance": "boris", "data": {"name": "Boris"}},
        {"type": "tool", "tool": {
            "make": {"properties": {"name": {}}, "x-effect": "read", "x-trust": "trusted"},
            "good": {"properties": {"a": {}, "name": {}}, "x-effect": "read"},
            "bad": {"properties": {"a": {}}, "x-effect": "read"},
        }},
    ]))
    .unwrap();
    let calls = [
        json!({"_tool": "make", "name": "†state.name", "_outputPath": "†state.invoice || †state.trouble"}),
        json!({"_tool": "good", "a": "†state.invoice", "name": "†state.name", "_outputPath": "†state.g"}),
        json!({"_tool": "bad", "a": "†state.trouble", "_outputPath": "†state.b"}),
    ];
    let check = plan::check(&calls.map(Into::into), PlanMode::Lazy, &context);
    let dry = simulate(&check, &context, Gate::new(&Policy::default(), Mode::Full), |_| false);
    let skipped: Vec<_> = dry.branches.iter().map(|branch| branch["skipped"].clone()).collect();
    assert_eq!(skipped, [json!([2]), json!([1])]);
}
