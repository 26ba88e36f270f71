//! An operator without a browser. Planned calls of servers' tools pass unchanged; there is no page to observe.

use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::{Activity, ActivityFuture, Work};
use serde_json::{Value, json};

/// The observation without a browser.
const NOTHING: &str = "There is no browser here, and no page. What the tools bring is shown to you as `did`.";

/// Reports that there is nothing to observe.
pub(super) struct Observe;

impl Activity for Observe {
    fn run(&self, _: Work) -> ActivityFuture {
        let nothing = json!({"about": {"browser": false}, "text": NOTHING});
        Box::pin(async move { Outcome::Value(nothing) })
    }
}

/// Passes planned calls on unchanged.
pub(super) struct Aim;

impl Activity for Aim {
    fn run(&self, work: Work) -> ActivityFuture {
        let outcome = match aimed(&work.call) {
            Ok(call) => Outcome::Value(call),
            Err(error) => Outcome::Error(error),
        };
        Box::pin(async move { outcome })
    }
}

fn aimed(call: &Value) -> Result<Value, CallError> {
    let Some(tool) = call.get("tool").and_then(Value::as_str) else {
        return Err(CallError::new("bad_params", "nothing is planned: give one call in `calls`"));
    };
    // Browser tools are refused, because nothing here judges them.
    if tool.rsplit('.').next().is_some_and(|name| name.starts_with("browser_")) {
        return Err(no_browser());
    }
    let params = call.get("params").filter(|params| params.is_object()).cloned().unwrap_or_else(|| json!({}));
    Ok(json!({"tool": tool, "params": params}))
}

/// There is no page to act on.
pub(super) struct Act;

impl Activity for Act {
    fn run(&self, _: Work) -> ActivityFuture {
        Box::pin(async { Outcome::Error(no_browser()) })
    }
}

fn no_browser() -> CallError {
    let words = "there is no browser: the agent's file has no section `browser`, or it cannot be started here \
                 (`obelus doctor` says what is missing)";
    CallError::new("no_browser", words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_browser_server_tools_pass_unchanged_and_browser_tools_are_refused() {
        let call = json!({"tool": "notes.add", "params": {"text": "x"}, "_tool": "aim"});
        assert_eq!(aimed(&call), Ok(json!({"tool": "notes.add", "params": {"text": "x"}})));
        assert_eq!(
            aimed(&json!({"tool": "notes.list", "params": null})),
            Ok(json!({"tool": "notes.list", "params": {}}))
        );
        for tool in ["browser.browser_click", "browser_click", "web.browser_evaluate"] {
            assert_eq!(aimed(&json!({"tool": tool})).unwrap_err().code, "no_browser");
        }
        assert_eq!(aimed(&json!({"tool": null})).unwrap_err().code, "bad_params");
    }
}
