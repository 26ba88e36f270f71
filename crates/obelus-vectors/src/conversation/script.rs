//! A scripted model and portal, which answer exactly in the order of the script. They test the runtime.

use obelus_kernel::session::{Answer, Outcome, Prompt, Solution};
use serde_json::Value;

use super::expect::same_method;
use super::peers::{Called, Peers, names, outcome_of};

/// The rest of the current turn's script.
#[derive(Default)]
pub(crate) struct TurnScript {
    model: std::vec::IntoIter<Value>,
    portal: std::vec::IntoIter<Value>,
}

impl Peers for TurnScript {
    fn begin(&mut self, turn: &Value) {
        let list = |name: &str| turn[name].as_array().cloned().unwrap_or_default().into_iter();
        (self.model, self.portal) = (list("model"), list("portal"));
    }

    fn answer(&mut self, prompt: Prompt, _: &mut Vec<String>) -> Answer {
        match self.model.next() {
            Some(Value::String(text)) => match prompt.dialect.read(&text) {
                Ok(solution) => Answer::Solution { solution, tokens: 0 },
                Err(error) => Answer::OutOfFormat { text, error, tokens: 0 },
            },
            Some(other) => {
                let code = other["error"].as_str().unwrap_or("unreachable");
                Answer::Failed { code: code.into(), message: format!("the model is {code}") }
            }
            // The model proposes nothing more, and the turn ends.
            None => Answer::Solution { solution: Solution::default(), tokens: 0 },
        }
    }

    fn outcome(&mut self, called: &Called, problems: &mut Vec<String>) -> Outcome {
        let method = &called.method;
        match self.portal.next() {
            Some(answer) if !called.is_for(&answer) => {
                problems.push(format!("the portal expected {} and was called for {method}", answer["method"]));
                Outcome::Value(Value::Null)
            }
            Some(answer) => {
                if !called.fits(&answer) {
                    problems.push(format!("{method} was called with {} instead of {}", called.call, answer["params"]));
                }
                outcome_of(&answer)
            }
            None => {
                problems.push(format!("the portal was called for {method}, which the script does not expect"));
                Outcome::Value(Value::Null)
            }
        }
    }

    fn unused(&mut self) -> Vec<String> {
        let asked = self.model.next().map(|unused| format!("the model was not asked for {unused}"));
        let called = self.portal.next().map(|unused| format!("the portal was not called for {unused}"));
        asked.into_iter().chain(called).collect()
    }

    fn calls_differ(&self, made: &[Called], expected: &[&str]) -> Option<String> {
        let same = made.len() == expected.len() && made.iter().zip(expected).all(|(a, b)| same_method(&a.method, b));
        (!same).then(|| format!("calls: {:?} instead of {expected:?}", names(made)))
    }
}
