//! Resolve cases: a context and the values of expressions in it.

use obelus_kernel::{Context, Expr};
use serde_json::Value;

use crate::case::Case;

pub(crate) fn run(case: &Case<'_>) -> Result<Vec<String>, String> {
    let context = Context::from_json(case.raw("context")?);
    if case.get("rejected")? == Value::Bool(true) {
        return Ok(match context {
            Ok(_) => vec!["the context was accepted but should be refused".to_owned()],
            Err(_) => Vec::new(),
        });
    }
    let context = context.map_err(|fault| format!("the context was refused: {fault}"))?;
    let checks = case.get("checks")?;
    Ok(checks.as_array().into_iter().flatten().filter_map(|check| check_expression(check, &context)).collect())
}

fn check_expression(check: &Value, context: &Context) -> Option<String> {
    let text = check["expr"].as_str().unwrap_or_default();
    let expr = match Expr::parse(text) {
        Ok(_) if check["error"] == true => return Some(format!("{text}: no error")),
        Err(_) if check["error"] == true => return None,
        Err(fault) => return Some(format!("{text}: {fault}")),
        Ok(expr) => expr,
    };
    let value = context.resolve(&expr, check["instance"].as_str());
    match (value, check.get("value")) {
        (Some(value), Some(expected)) if *value == *expected => None,
        (None, None) if check["absent"] == true => None,
        (Some(value), _) => Some(format!("{text}: {value}")),
        (None, _) => Some(format!("{text}: absent")),
    }
}
