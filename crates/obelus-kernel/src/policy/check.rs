//! Checks the examples in a policy before anything runs (POL-3).

use std::fmt;

use super::rules::{Policy, example_origins};
use crate::tool::Tool;

/// An error in a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// The place in the policy, such as `refuse[0]` or `rules[1].match.tool`.
    pub field: String,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "POL-3: `{}`: {}", self.field, self.text)
    }
}

impl Policy {
    /// Examples with another result than stated.
    pub fn faults_of_examples(&self, tools: &[&Tool]) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        for (index, rule) in self.rules().iter().enumerate() {
            let Some(examples) = &rule.examples else { continue };
            let expected = [("matching", true, &examples.matching), ("not_matching", false, &examples.not_matching)];
            for (list, matches, calls) in expected {
                for (number, example) in calls.iter().enumerate() {
                    let name = example.tool_name();
                    let effect = tools.iter().find(|tool| tool.name == name).map(|tool| tool.effect);
                    let origins = |path: Option<&str>| example_origins(example, path);
                    if rule.matching.holds(name, effect.unwrap_or_default(), example, &origins) != matches {
                        let what = if matches { "should match" } else { "should not match" };
                        let text = format!("rule {index} {what} its example {example}");
                        faults.push(fault(format!("rules[{index}].examples.{list}[{number}]"), text));
                    }
                }
            }
        }
        faults
    }
}

fn fault(field: String, text: String) -> PolicyFault {
    PolicyFault { field, text }
}
