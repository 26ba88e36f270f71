//! `batch`: up to fifty commands in one request. A command may refer to the results of earlier ones.

use serde_json::{Map, Value, json};

use crate::entity::text;
use crate::wire::answer::php_map;
use crate::wire::{MethodAnswer, RestError, RestParams};

const MAX_COMMANDS: usize = 50;

/// The result of one command and the `time` object of its answer.
pub(crate) type CommandOutcome = (Result<MethodAnswer, RestError>, Option<Value>);

/// Runs the commands in order; `run` performs one. The answer has one map each for results, errors, totals, next
/// pages and times.
pub(crate) fn batch(
    params: &RestParams,
    mut run: impl FnMut(&str, RestParams) -> CommandOutcome,
) -> Result<MethodAnswer, RestError> {
    let commands = params.object("cmd")?.unwrap_or_default();
    let halt = params.get("halt").is_some_and(is_true);
    let mut all = Outcomes::default();
    for (at, (key, command)) in commands.iter().enumerate() {
        let (outcome, time) = if at < MAX_COMMANDS {
            run_command(command, &all.result, &mut run)
        } else {
            (Err(RestError::new(400, "ERROR_BATCH_LENGTH_EXCEEDED", "Max batch length exceeded")), None)
        };
        if let Some(time) = time {
            all.time.insert(key.clone(), time);
        }
        match outcome {
            Ok(answer) => {
                all.result.insert(key.clone(), answer.result);
                if let Some(total) = answer.total {
                    all.total.insert(key.clone(), json!(total));
                }
                if let Some(next) = answer.next {
                    all.next.insert(key.clone(), json!(next));
                }
            }
            Err(fault) => {
                all.error.insert(key.clone(), fault.json());
                if halt {
                    break;
                }
            }
        }
    }
    Ok(json!({
        "result": php_map(all.result), "result_error": php_map(all.error), "result_total": php_map(all.total),
        "result_next": php_map(all.next), "result_time": php_map(all.time)
    })
    .into())
}

#[derive(Default)]
struct Outcomes {
    result: Map<String, Value>,
    error: Map<String, Value>,
    total: Map<String, Value>,
    next: Map<String, Value>,
    time: Map<String, Value>,
}

fn run_command(
    command: &Value,
    earlier: &Map<String, Value>,
    run: &mut impl FnMut(&str, RestParams) -> CommandOutcome,
) -> CommandOutcome {
    let Some(command) = command.as_str() else {
        return (Err(RestError::new(404, "ERROR_METHOD_NOT_FOUND", "Method not found!")), None);
    };
    let (method, query) = command.split_once('?').unwrap_or((command, ""));
    let method = method.trim();
    let is_batch = method.trim_end_matches(".json").eq_ignore_ascii_case("batch");
    if is_batch {
        let words = "Method is not allowed for batch usage";
        return (Err(RestError::new(400, "ERROR_BATCH_METHOD_NOT_ALLOWED", words)), None);
    }
    let mut params = RestParams::of_query(query);
    resolve(params.value_mut(), earlier);
    run(method, params)
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::String(text) => !matches!(text.to_ascii_lowercase().as_str(), "" | "0" | "false" | "n"),
        other => crate::entity::is_yes(other),
    }
}

/// Replaces `$result[…]` by the results of earlier commands.
fn resolve(value: &mut Value, earlier: &Map<String, Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| resolve(item, earlier)),
        Value::Object(members) => members.values_mut().for_each(|member| resolve(member, earlier)),
        Value::String(text) if text.contains("$result[") => *value = resolve_text(text, earlier),
        _ => {}
    }
}

/// A text that is exactly one reference becomes the referenced value, of any type. A reference inside a longer text
/// is replaced by text.
fn resolve_text(given: &str, earlier: &Map<String, Value>) -> Value {
    let mut out = String::new();
    let mut rest = given;
    while let Some(at) = rest.find("$result[") {
        let (before, reference) = rest.split_at(at);
        let (found, after) = look_up(&reference["$result".len()..], earlier);
        if before.is_empty() && out.is_empty() && after.is_empty() && rest.len() == given.len() {
            return found;
        }
        out.push_str(before);
        out.push_str(&match &found {
            Value::Array(_) | Value::Object(_) => "Array".to_owned(),
            scalar => text(scalar).unwrap_or_default(),
        });
        rest = after;
    }
    out.push_str(rest);
    Value::String(out)
}

/// Follows `[key][0][ID]` through the earlier results. If a key is missing, the result is the deepest value reached,
/// as on real portals; it is not an error.
fn look_up<'a>(path: &'a str, earlier: &Map<String, Value>) -> (Value, &'a str) {
    let mut value = Value::Object(earlier.clone());
    let mut lost = false;
    let mut rest = path;
    while let Some((key, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        rest = after;
        let inner = match &value {
            Value::Object(members) => members.get(key).cloned(),
            Value::Array(items) => key.parse::<usize>().ok().and_then(|at| items.get(at).cloned()),
            _ => None,
        };
        match inner.filter(|_| !lost) {
            Some(inner) => value = inner,
            None => lost = true,
        }
    }
    (value, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn earlier() -> Map<String, Value> {
        json!({"deals": [{"ID": "7", "TITLE": "Окна"}], "id": 12, "1": [{"ID": "1"}]})
            .as_object()
            .cloned()
            .unwrap_or_default()
    }

    #[test]
    fn references_are_replaced_by_their_values() {
        for (given, expected) in [
            ("$result[deals][0][ID]", json!("7")),
            ("$result[id]", json!(12)),
            ("$result[deals]", json!([{"ID": "7", "TITLE": "Окна"}])),
            ("Сделка $result[deals][0][TITLE] № $result[id]!", json!("Сделка Окна № 12!")),
            ("x $result[deals]", json!("x Array")),
            ("$result", json!("$result")),
            ("$result[open", json!(earlier())),
        ] {
            let mut value = json!(given);
            resolve(&mut value, &earlier());
            match given {
                "$result[open" => assert!(value.is_string() || value.is_object(), "{value}"),
                _ => assert_eq!(value, expected, "{given}"),
            }
        }
    }

    #[test]
    fn a_broken_reference_becomes_the_deepest_value_reached() {
        for (given, expected) in [
            ("$result[deals][49][ID]", json!([{"ID": "7", "TITLE": "Окна"}])),
            ("$result[deals][0][NOPE][ID]", json!({"ID": "7", "TITLE": "Окна"})),
            ("$result[nope][ID]", json!(earlier())),
            ("$result[id][ID]", json!(12)),
        ] {
            let mut value = json!(given);
            resolve(&mut value, &earlier());
            assert_eq!(value, expected, "{given}");
        }
    }
}
