//! Plan cases: a plan and the result of its check.

use std::collections::BTreeSet;

use obelus_kernel::Context;
use obelus_kernel::plan::check;
use serde_json::Value;

use crate::case::Case;

pub(crate) fn run(case: &Case<'_>) -> Result<Vec<String>, String> {
    let context =
        Context::from_json(case.raw("context")?).map_err(|fault| format!("the context was refused: {fault}"))?;
    let plan = context.plan().ok_or("the context has no plan")?;
    let check = check(&plan.calls, plan.mode, &context);
    let found = check.to_json();
    let expect = case.get("expect")?;
    let mut why = Vec::new();
    if expect["valid"] != found["valid"] {
        why.push(format!("valid is {}: {}", found["valid"], found["errors"]));
    }
    if let Some(waves) = expect.get("waves")
        && *waves != found["waves"]
    {
        why.push(format!("waves are {}", found["waves"]));
    }
    if let Some(edges) = expect.get("edges")
        && set(edges) != set(&found["edges"])
    {
        why.push(format!("edges are {}", found["edges"]));
    }
    for rule in expect["rules"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !check.errors.iter().any(|fault| fault.rule.name() == rule) {
            why.push(format!("no error {rule} among {}", found["errors"]));
        }
    }
    Ok(why)
}

fn set(edges: &Value) -> BTreeSet<String> {
    edges.as_array().into_iter().flatten().map(Value::to_string).collect()
}
