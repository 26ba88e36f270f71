//! Compares a run with its expectation.

use obelus_kernel::{Expr, Message, Path};
use serde_json::Value;

use super::script::contains;
use super::{CaseRun, FinalSession};

pub(super) fn differences(run: &CaseRun, end: &FinalSession, expect: &Value) -> Vec<String> {
    let Value::Object(fields) = expect else { return vec!["`expect` is not an object".to_owned()] };
    let mut why = Vec::new();
    for (name, expected) in fields {
        let difference = match name.as_str() {
            "output" => output(run, expected),
            "state" => state(end, None, expected),
            "instances" => {
                let each = expected.as_object().into_iter().flatten();
                each.filter_map(|(instance, value)| state(end, Some(instance), value)).next()
            }
            "absent" => absent(end, expected),
            "calls" => {
                let received: Vec<Value> = run.received.iter().map(|received| (*received.call).clone()).collect();
                one_to_one("calls", &received, expected, contains)
            }
            "waiting" => one_to_one("waiting", &end.waiting, expected, contains),
            "errors" => one_to_one("errors", &errors(end), expected, error_fits),
            "never" => never(run, expected),
            "order" => order(run, expected),
            "status" => status(run, end, expected),
            "requests" => differs("requests", &run.requests.into(), expected),
            "questions" => differs("questions", &run.asked.len().into(), expected),
            "ends" => differs("ends", &run.ends().into(), expected),
            other => Some(format!("unknown expectation `{other}`")),
        };
        why.extend(difference);
    }
    why
}

fn differs(what: &str, found: &Value, expected: &Value) -> Option<String> {
    (found != expected).then(|| format!("{what}: {found} instead of {expected}"))
}

fn output(run: &CaseRun, expected: &Value) -> Option<String> {
    let found = run.reply.as_ref().map(|reply| reply.output.clone()).unwrap_or_default();
    differs("output", &found, expected)
}

fn state(end: &FinalSession, instance: Option<&String>, expected: &Value) -> Option<String> {
    let found = end.context.read(&Path::root("state"), instance.map(String::as_str));
    match found {
        Some(found) if *found == *expected => None,
        Some(found) => Some(format!("state of {instance:?}: {found} instead of {expected}")),
        None => Some(format!("state of {instance:?} is absent")),
    }
}

fn absent(end: &FinalSession, expected: &Value) -> Option<String> {
    expected.as_array()?.iter().filter_map(Value::as_str).find_map(|text| {
        let expr = Expr::parse(text).ok()?;
        let value = end.context.resolve(&expr, None)?;
        Some(format!("{text} is {value}"))
    })
}

fn errors(end: &FinalSession) -> Vec<Value> {
    let errors = end.context.messages().iter().filter_map(|message| match message {
        Message::Data(data) if data.kind == "error" => Some(data.data().into_owned()),
        _ => None,
    });
    errors.collect()
}

fn error_fits(error: &Value, expected: &Value) -> bool {
    expected.get("rule").is_none_or(|rule| error["error"]["rule"] == *rule)
        && expected["contains"].as_str().is_none_or(|part| error.to_string().contains(part))
}

/// Checks that the expected patterns and the found values match one to one.
fn one_to_one(what: &str, found: &[Value], expected: &Value, fits: impl Fn(&Value, &Value) -> bool) -> Option<String> {
    let expected = expected.as_array()?;
    let mut rest: Vec<&Value> = found.iter().collect();
    // Longer patterns come first, so that a general pattern does not take the match of a specific one.
    let mut patterns: Vec<&Value> = expected.iter().collect();
    patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.to_string().len()));
    for pattern in patterns {
        match rest.iter().position(|value| fits(value, pattern)) {
            Some(index) => drop(rest.remove(index)),
            None => return Some(format!("{what}: none like {pattern} among {}", Value::from(found.to_vec()))),
        }
    }
    (!rest.is_empty()).then(|| format!("{what}: besides, there are {rest:?}"))
}

fn never(run: &CaseRun, expected: &Value) -> Option<String> {
    expected.as_array()?.iter().find_map(|pattern| {
        let hit = run.received.iter().find(|received| contains(&received.call, pattern))?;
        Some(format!("{} was called", hit.call))
    })
}

fn order(run: &CaseRun, expected: &Value) -> Option<String> {
    let of =
        |tool: &Value| run.received.iter().filter(|received| received.call.tool() == tool.as_str()).collect::<Vec<_>>();
    expected.as_array()?.iter().find_map(|pair| {
        let (first, second) = (of(&pair[0]), of(&pair[1]));
        let last_end = first.iter().map(|received| received.ended.unwrap_or(u64::MAX)).max();
        let first_start = second.iter().map(|received| received.began).min();
        match (last_end, first_start) {
            (Some(end), Some(start)) if end < start => None,
            _ => Some(format!("{} did not end before {} began", pair[0], pair[1])),
        }
    })
}

fn status(run: &CaseRun, end: &FinalSession, expected: &Value) -> Option<String> {
    let reports: Vec<_> = run.history.iter().chain(&end.calls).collect();
    expected.as_object()?.iter().find_map(|(tool, expected)| {
        let of: Vec<_> = reports.iter().filter(|report| report.call.tool() == Some(tool.as_str())).collect();
        if of.is_empty() {
            return Some(format!("status: `{tool}` was never called"));
        }
        let other = of.iter().find(|report| expected != report.status.name())?;
        Some(format!("status of {tool}: {} instead of {expected}", other.status.name()))
    })
}
