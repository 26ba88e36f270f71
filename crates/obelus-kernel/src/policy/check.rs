//! Checks a policy before anything runs: unknown names, and examples with another result (POL-3).

use std::fmt;

use super::matching::Match;
use super::rules::{Policy, example_origins};
use crate::glob;
use crate::tool::{Effect, Tool};
use crate::wording::closest;

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

/// The tools that a policy applies to.
pub struct PolicyTools<'a> {
    /// The known ones.
    pub known: Vec<&'a Tool>,
    /// Whether a name or pattern may match a tool that is not known yet, such as a server's.
    pub may_exist: &'a dyn Fn(&str) -> bool,
}

/// Values of a rule's `from`, besides tool names.
const SOURCES: [&str; 5] = ["user", "author", "model", "trusted", "untrusted"];

impl Policy {
    /// All errors: names that match no tool, parameter or origin, and examples with another result.
    pub fn faults(&self, tools: &PolicyTools<'_>) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        for (list, patterns) in self.lists() {
            for (index, pattern) in patterns.iter().enumerate() {
                faults.extend(tools.fault_of_name(pattern).map(|text| fault(format!("{list}[{index}]"), text)));
            }
        }
        for (index, rule) in self.rules().iter().enumerate() {
            let place = format!("rules[{index}]");
            let found = tools.fault_of_match(&rule.matching);
            faults.extend(found.map(|(field, text)| fault(format!("{place}.match.{field}"), text)));
        }
        faults.extend(self.faults_of_examples(&tools.known));
        faults
    }

    /// Examples with another result than stated.
    pub(super) fn faults_of_examples(&self, tools: &[&Tool]) -> Vec<PolicyFault> {
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

impl<'a> PolicyTools<'a> {
    /// The error in a name or pattern of tools.
    fn fault_of_name(&self, pattern: &str) -> Option<String> {
        let is_known = self.known.iter().any(|tool| glob::matches(pattern, &tool.name));
        (!is_known && !(self.may_exist)(pattern)).then(|| {
            let names: Vec<&str> = self.known.iter().map(|tool| tool.name.as_str()).collect();
            unknown("tool", pattern, &names)
        })
    }

    /// The invalid field of a rule's `match`, and why.
    fn fault_of_match(&self, matching: &Match) -> Option<(&'static str, String)> {
        let Match { tool, effect, param, from } = matching;
        if let Some(text) = tool.as_deref().and_then(|pattern| self.fault_of_name(pattern)) {
            return Some(("tool", text));
        }
        if let Some(name) = effect.as_deref().filter(|name| !Effect::is_name(name)) {
            return Some(("effect", unknown("effect", name, &Effect::names())));
        }
        if let Some(text) = from.as_deref().and_then(|from| self.fault_of_source(from)) {
            return Some(("from", text));
        }
        if (self.may_exist)(tool.as_deref().unwrap_or("*")) {
            return None;
        }
        let fits = |known: &&&Tool| {
            tool.as_ref().is_none_or(|pattern| glob::matches(pattern, &known.name))
                && effect.as_ref().is_none_or(|name| known.effect.name() == name)
        };
        let meant: Vec<&&Tool> = self.known.iter().filter(fits).collect();
        if let (Some(name), true) = (effect, meant.is_empty()) {
            return Some(("effect", format!("no tool that it is about has the effect `{name}`")));
        }
        let path = param.as_deref()?;
        let mut strays = meant.iter().map(|tool| tool.stray_param(path));
        let first = strays.next()??;
        strays.all(|stray| stray.is_some()).then_some(("param", first))
    }

    fn fault_of_source(&self, from: &str) -> Option<String> {
        if SOURCES.contains(&from) {
            return None;
        }
        let name = ["trusted:", "untrusted:"].iter().find_map(|trust| from.strip_prefix(trust)).unwrap_or(from);
        let names: Vec<&str> = self.known.iter().map(|tool| tool.name.as_str()).chain(SOURCES).collect();
        let is_known = self.known.iter().any(|tool| tool.name == name) || (self.may_exist)(name);
        (!is_known).then(|| unknown("origin", name, &names))
    }
}

/// The error for an unknown name, with the most similar one.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match closest(name, known) {
        Some(near) => format!("there is no {what} `{name}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("there is no {what} `{name}`"),
        None => {
            let more = if known.len() > 12 { ", …" } else { "" };
            let some: Vec<&str> = known.iter().take(12).copied().collect();
            format!("there is no {what} `{name}`; there are: {}{more}", some.join(", "))
        }
    }
}
