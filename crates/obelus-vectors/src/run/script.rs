//! Scripted activities and a scripted model.

use std::collections::{BTreeMap, BTreeSet};

use obelus_kernel::session::{Answer, CallError, Outcome, Solution};
use obelus_runtime::Work;
use serde_json::Value;

pub(super) struct ScriptedActivities {
    behaviours: Value,
    /// The number of calls of each activity.
    counts: BTreeMap<String, usize>,
}

impl ScriptedActivities {
    pub(super) fn new(behaviours: Value) -> Self {
        Self { behaviours, counts: BTreeMap::new() }
    }

    pub(super) fn names(&self) -> BTreeSet<String> {
        self.behaviours.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn takes(&self, name: &str) -> u64 {
        self.behaviours[name]["takes"].as_u64().unwrap_or(0)
    }

    pub(super) fn run(&mut self, activity: &str, work: &Work) -> Outcome {
        let behaviour = &self.behaviours[activity];
        let count = self.counts.entry(activity.to_owned()).or_default();
        *count += 1;
        let does = |name: &str| behaviour.get(name);
        if let Some(value) = does("returns") {
            return Outcome::Value(value.clone());
        }
        if let Some(values) = does("returns_each").and_then(Value::as_array) {
            let turn = (*count - 1).min(values.len().saturating_sub(1));
            return Outcome::Value(values.get(turn).cloned().unwrap_or_default());
        }
        if let Some(param) = does("echo").and_then(Value::as_str) {
            return Outcome::Value(work.call.get(param).cloned().unwrap_or_default());
        }
        if let Some(error) = does("fails") {
            let text = |name: &str| error[name].as_str().unwrap_or_default();
            return Outcome::Error(CallError::new(text("code"), text("message")));
        }
        if let Some(times) = does("fails_times").and_then(Value::as_u64) {
            return if *count as u64 <= times {
                Outcome::Error(CallError::new("failed", "failed, as the script says"))
            } else {
                Outcome::Value(behaviour["then"].clone())
            };
        }
        if let Some(messages) = does("messages").and_then(Value::as_array) {
            return Outcome::Messages(messages.clone());
        }
        if does("scope").is_some() {
            return Outcome::Value(work.scope.clone().into());
        }
        if does("call").is_some() {
            return Outcome::Value((*work.call).clone());
        }
        Outcome::Error(CallError::new("script", format!("unknown behaviour {behaviour}")))
    }
}

/// The scripted model's answer.
pub(super) fn answer(solution: Value) -> Answer {
    if let Some(code) = solution["error"].as_str() {
        return Answer::Failed { code: code.into(), message: format!("the model is {code}") };
    }
    let read = match solution["raw"].as_str() {
        Some(text) => Solution::from_text(text).map_err(|error| (text.to_owned(), error)),
        None => Solution::from_value(solution.clone()).map_err(|error| (solution.to_string(), error)),
    };
    match read {
        Ok(solution) => Answer::Solution { solution, tokens: 0 },
        Err((text, error)) => Answer::OutOfFormat { text, error, tokens: 0 },
    }
}

/// Whether `whole` contains all members of `part`.
pub(super) fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, value)| whole.get(name).is_some_and(|own| contains(own, value)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(own, value)| contains(own, value))
        }
        (whole, part) => whole == part,
    }
}
