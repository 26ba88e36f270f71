//! The other side of a conversation: the model and the portal.

use obelus_kernel::CallJson;
use obelus_kernel::Effect;
use obelus_kernel::session::{Answer, CallError, Outcome, Prompt};
use obelus_runtime::Work;
use serde_json::Value;

/// Answers requests to the model and calls to the portal. Deviations from the case are added to `problems`.
pub(crate) trait Peers {
    /// A turn begins.
    fn begin(&mut self, turn: &Value);

    /// The model's answer to a request.
    fn answer(&mut self, prompt: Prompt, problems: &mut Vec<String>) -> Answer;

    /// The outcome of a call.
    fn outcome(&mut self, called: &Called, problems: &mut Vec<String>) -> Outcome;

    /// Scripted answers that were not used in this turn.
    fn unused(&mut self) -> Vec<String>;

    /// How the calls of a turn differ from those that were expected.
    fn calls_differ(&self, made: &[Called], expected: &[&str]) -> Option<String>;
}

/// A call as the portal sees it.
pub(crate) struct Called {
    pub(crate) method: String,
    pub(crate) call: CallJson,
    /// Whether it changes nothing in the portal.
    pub(crate) is_read: bool,
}

impl Called {
    pub(crate) fn new(work: &Work) -> Self {
        // A tool may call a method with another name than its own.
        let named = work.tool.schema.get("x-bitrix24").and_then(|said| said.get("method")?.as_str());
        let method = named.unwrap_or(&work.tool.name).to_owned();
        Self { method, call: work.call.clone(), is_read: work.tool.effect == Effect::Read }
    }

    /// Whether a scripted answer is for this method.
    pub(crate) fn is_for(&self, answer: &Value) -> bool {
        super::expect::same_method(answer["method"].as_str().unwrap_or_default(), &self.method)
    }

    /// Whether the call has the parameters that a scripted answer requires.
    pub(crate) fn fits(&self, answer: &Value) -> bool {
        let params = &answer["params"];
        params.is_null() || super::expect::fits(&self.call, params)
    }
}

/// The outcome in a scripted answer.
pub(crate) fn outcome_of(answer: &Value) -> Outcome {
    match answer["error"].as_str() {
        Some(code) => {
            let words = answer["error_description"].as_str().unwrap_or_default();
            Outcome::Error(CallError::new(code, words))
        }
        None => Outcome::Value(answer["result"].clone()),
    }
}

/// The names of methods that were called.
pub(crate) fn names(made: &[Called]) -> Vec<&str> {
    made.iter().map(|called| called.method.as_str()).collect()
}
