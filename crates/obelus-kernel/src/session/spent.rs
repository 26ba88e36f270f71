//! The usage of the model: tokens, and money if there is a price.

use serde::{Deserialize, Serialize};

use super::input::{Answer, Input};
pub use obelus_notebook::money::Money;

/// The usage of one or several model requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// Tokens read by the model.
    pub input: u64,
    /// Tokens written by it, including reasoning.
    pub output: u64,
    /// The cost; none without a price.
    pub cost: Option<Money>,
}

impl Used {
    /// Adds another. If a cost is unknown, the sum has the known part.
    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(two)) => Some(one.plus(two)),
            (one, two) => one.or(two),
        };
    }

    /// Whether no usage was reported.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The number of requests and their usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Answered requests, including those of delegates.
    pub requests: u64,
    /// Tokens of the answers, as far as reported.
    pub tokens: u64,
    /// Tokens read and written, and money, as far as reported, including failed requests.
    #[serde(flatten)]
    pub used: Used,
}

impl Spent {
    /// Counts the usage that an input reports.
    pub(super) fn count(&mut self, input: &Input) {
        match input {
            Input::Answer { answer, .. } => {
                self.requests += 1;
                self.tokens = self.tokens.saturating_add(match answer {
                    Answer::Solution { tokens, .. } | Answer::OutOfFormat { tokens, .. } => *tokens,
                    Answer::Failed { .. } => 0,
                });
            }
            Input::Used { used, .. } => self.used.add(*used),
            _ => {}
        }
    }

    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.used.add(other.used);
    }

    /// All tokens, including those of failed requests if reported.
    pub fn all_tokens(&self) -> u64 {
        self.tokens.max(self.used.input.saturating_add(self.used.output))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn usage_stored_without_money_is_read() {
        let old: Spent = serde_json::from_value(json!({"requests": 2, "tokens": 30})).unwrap();
        assert_eq!(old, Spent { requests: 2, tokens: 30, used: Used::default() });
        let used = Used { input: 20, output: 5, cost: Some(Money::from(0.5)) };
        let new = Spent { used, ..old };
        let written = json!({"requests": 2, "tokens": 30, "input": 20, "output": 5, "cost": 0.5});
        assert_eq!(serde_json::to_value(new).unwrap(), written);
        assert_eq!(serde_json::from_value::<Spent>(written).unwrap(), new);
    }

    #[test]
    fn the_cost_of_a_sum_adds_the_known_costs() {
        let mut sum = Used { input: 1, output: 1, cost: None };
        sum.add(Used { input: 1, output: 0, cost: Some(Money::from(2.0)) });
        sum.add(Used::default());
        assert_eq!(sum, Used { input: 2, output: 1, cost: Some(Money::from(2.0)) });
        assert_eq!((Money::from(0.25).to_string(), Money::from(12.5).to_string()), ("0.2500".into(), "12.50".into()));
    }
}
