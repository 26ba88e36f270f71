//! Work for activities, as a driver makes it.
#![allow(dead_code, reason = "each test uses some of it")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use obelus_connect::activity::bind;
use obelus_kernel::Tool;
use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::{Activity, Elicitor, Work};
use serde_json::{Value, json};

/// A call of a tool that reads.
pub(crate) fn reading(call: Value) -> Work {
    work(call, "read")
}

/// A call of a tool with this effect.
pub(crate) fn work(call: Value, effect: &str) -> Work {
    let tool = Tool::parse("try", &json!({"type": "object", "x-effect": effect})).unwrap();
    let (key, elicitor, slot) = ("key-1".to_owned(), Elicitor::nobody(), Arc::default());
    Work { call: call.into(), tool: Arc::new(tool), scope: Vec::new(), key, attempt: 1, elicitor, slot }
}

/// The activity of a binding.
#[expect(clippy::needless_pass_by_value, reason = "a binding written in place reads better")]
pub(crate) fn activity(binding: Value) -> Arc<dyn Activity> {
    let bindings = json!({"try": binding});
    let activities = bind(bindings.as_object().unwrap(), Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    Arc::clone(activities.get("try").unwrap())
}

/// The outcome of an activity within its time limit, which a driver enforces in the same way.
pub(crate) async fn run(binding: Value, work: Work) -> Outcome {
    let activity = activity(binding);
    let limit = activity.time_limit().unwrap_or(Duration::MAX);
    match tokio::time::timeout(limit, activity.run(work)).await {
        Ok(outcome) => outcome,
        Err(_) => Outcome::Error(CallError::new("timeout", "")),
    }
}

/// The error of an activity.
pub(crate) async fn error(binding: Value, work: Work) -> CallError {
    match run(binding, work).await {
        Outcome::Error(error) => error,
        other => panic!("no error: {other:?}"),
    }
}

/// Waits until a condition holds, at most ten seconds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within ten seconds: {what}");
}
