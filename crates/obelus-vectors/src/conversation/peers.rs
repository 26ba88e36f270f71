//! Who is at the other end of a conversation.

use std::sync::Arc;

use obelus_kernel::Effect;
use obelus_kernel::session::{Answer, CallError, Outcome, Prompt, Start};
use serde_json::Value;

/// Who answers the requests to the model and the calls to the portal. What is otherwise than the case has it goes to
/// `trouble`.
pub(crate) trait Peers {
    /// A turn begins.
    fn begin(&mut self, turn: &Value);

    /// The model's answer to a request.
    fn answer(&mut self, prompt: Prompt, trouble: &mut Vec<String>) -> Answer;

    /// What comes of a call.
    fn outcome(&mut self, called: &Called, trouble: &mut Vec<String>) -> Outcome;

    /// What should have been asked or called in this turn, and was not.
    fn left(&mut self) -> Vec<String>;

    /// How the calls of a turn differ from those that were expected.
    fn calls_differ(&self, made: &[Called], expected: &[&str]) -> Option<String>;
}

/// A call as the portal sees it.
pub(crate) struct Called {
    pub(crate) method: String,
    pub(crate) call: Arc<Value>,
    /// Whether it leaves the world as it is.
    pub(crate) is_read: bool,
}

impl Called {
    pub(crate) fn new(start: &Start) -> Self {
        // A tool may call another method than the one it is named after.
        let named = start.tool.schema.get("x-bitrix24").and_then(|said| said.get("method")?.as_str());
        let method = named.unwrap_or(&start.tool.name).to_owned();
        Self { method, call: Arc::clone(&start.call), is_read: start.tool.effect == Effect::Read }
    }

    /// Whether an answer of the script is for this method.
    pub(crate) fn is_for(&self, answer: &Value) -> bool {
        super::expect::same_method(answer["method"].as_str().unwrap_or_default(), &self.method)
    }

    /// Whether it has the parameters that an answer of the script asks for.
    pub(crate) fn fits(&self, answer: &Value) -> bool {
        let params = &answer["params"];
        params.is_null() || super::expect::fits(&self.call, params)
    }
}

/// What an answer of the script comes to.
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
