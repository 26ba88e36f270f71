//! Sessions with delegates, and the model that their delegates ask.

use obelus_kernel::session::{Answer, Prompt, Solution};
use obelus_runtime::{AnswerFuture, Model, SessionSpec};
use serde_json::json;

use super::{spec, tool};

/// A model for delegates: it calls their tool this often, each time with the result before, and ends with `done`.
#[derive(Clone, Copy)]
pub(crate) struct DelegateModel(pub(crate) usize);

impl Model for DelegateModel {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        let tool = prompt.tools.iter().find(|tool| tool.name != "child").map(|tool| tool.name.clone());
        let call = |i: usize| {
            let n = if i == 0 { json!("†input.n") } else { json!(format!("†state.v{}", i - 1)) };
            json!({"_tool": tool, "n": n, "_outputPath": format!("†state.v{i}")}).into()
        };
        let calls = (0..self.0).map(call).collect();
        let solution = Solution { calls, output: json!("done"), ..Solution::default() };
        Box::pin(std::future::ready(Answer::Solution { solution, tokens: 1 }))
    }
}

/// A session with this many delegates at once, which call a tool of this name and effect. The delegate `i` gets `i`,
/// and its result becomes `†state.d{i}`.
pub(crate) fn delegating(name: &str, effect: &str, delegates: usize) -> SessionSpec {
    let child = json!({"type": "object", "properties": {"n": {}}, "x-effect": "read", "x-trust": "trusted", "x-target": [],
        "_delegate": "anonymous", "_scopes": ["tool"]});
    let plan = (0..delegates).map(|i| json!({"_tool": "child", "n": i, "_outputPath": format!("†state.d{i}")}));
    let mut spec = spec(json!({name: tool(effect), "child": child}), plan.collect());
    spec.settings.max_parallel = 1_000;
    spec
}
