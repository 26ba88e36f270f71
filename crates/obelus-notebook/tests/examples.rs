//! Checks the plans under `examples/`, because newcomers try them first.

use obelus_notebook::context::Context;
use obelus_notebook::plan::check;
use serde_json::Value;

#[test]
fn the_demonstration_is_a_valid_plan_of_ten_calls() {
    let request: Value = serde_json::from_str(include_str!("../../../examples/demo/plan.json")).unwrap();
    let context = Context::from_value(request["context"].clone()).unwrap();
    assert_eq!(context.ignored(), []);
    let plan = context.plan().unwrap();
    let check = check(&plan.calls, plan.mode, &context);
    assert_eq!((check.calls.len(), check.waves.len()), (10, 6));
    assert_eq!((check.errors, check.warnings), (vec![], vec![]));
}
