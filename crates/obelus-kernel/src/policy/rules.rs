//! The policy of an agent's file: rules that a manager can read.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::finding::FindingSource;
use super::gate::Ruling;
use super::grounding::AfterReading;
use super::matching::Match;
use crate::glob;
use crate::names::folded;
use crate::origin::Origins;
use crate::tool::Tool;
use obelus_notebook::call_json::CallJson;

/// The policy in an agent's file: lists of tools, rules, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Policy {
    /// Tools that run; with such a list, what no rule names is refused.
    allow: Vec<String>,
    /// Tools that a person confirms.
    confirm: Vec<String>,
    /// Tools that never run.
    refuse: Vec<String>,
    /// Rules.
    rules: Vec<PolicyRule>,
    /// The rule for creations proposed after untrusted data was shown.
    #[serde(skip_serializing_if = "is_default")]
    after_reading: AfterReading,
}

/// One rule: matching calls get the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a rule such as {match: {tool: NAME}, verdict: confirm}")]
pub struct PolicyRule {
    /// Its condition.
    #[serde(rename = "match", default)]
    pub matching: Match,
    /// Its verdict.
    pub verdict: Ruling,
    /// Its reason, for people.
    #[serde(default)]
    pub reason: Option<String>,
    /// Calls that it must and must not match, checked when the file is loaded.
    #[serde(default)]
    pub examples: Option<Examples>,
}

/// Examples of a rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Examples {
    /// It matches these.
    pub matching: Vec<CallJson>,
    /// It does not match these.
    pub not_matching: Vec<CallJson>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PolicyFields {
    allow: Vec<String>,
    confirm: Vec<String>,
    refuse: Vec<String>,
    rules: Vec<PolicyRule>,
    after_reading: AfterReading,
}

fn is_default(after_reading: &AfterReading) -> bool {
    *after_reading == AfterReading::default()
}

impl From<PolicyFields> for Policy {
    fn from(fields: PolicyFields) -> Self {
        let PolicyFields { allow, confirm, refuse, rules, after_reading } = fields;
        Policy { allow, confirm, refuse, rules, after_reading }
    }
}

/// A bare list contains rules. Errors inside are reported with their place.
impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PolicyVisitor)
    }
}

struct PolicyVisitor;

impl<'de> Visitor<'de> for PolicyVisitor {
    type Value = Policy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lists of tools, or a list of rules")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Policy, A::Error> {
        let rules = Deserialize::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(PolicyFields { rules, ..PolicyFields::default() }.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Policy, A::Error> {
        PolicyFields::deserialize(MapAccessDeserializer::new(map)).map(Policy::from)
    }

    fn visit_unit<E>(self) -> Result<Policy, E> {
        Ok(Policy::default())
    }
}

impl Policy {
    /// Whether the verdict on this tool's calls depends on which parameters they have.
    pub(crate) fn looks_at_params(&self, tool: &Tool) -> bool {
        !tool.risky.is_empty() || self.rules.iter().any(|rule| rule.matching.param.is_some())
    }

    /// Whether the verdict depends on origins, beyond whether they are trusted.
    pub(crate) fn looks_at_origins(&self) -> bool {
        self.rules.iter().any(|rule| rule.matching.from.is_some())
    }

    /// The rule for creations proposed after untrusted data was shown (POL-7).
    pub(crate) fn after_reading(&self) -> AfterReading {
        self.after_reading
    }

    /// Replaces the rule for creations after reading.
    #[must_use]
    pub fn with_after_reading(self, after_reading: AfterReading) -> Self {
        Self { after_reading, ..self }
    }

    /// Also refuses these tools, for this reason.
    #[must_use]
    pub fn refusing(mut self, names: &[String], reason: &str) -> Self {
        self.rules.extend(names.iter().map(|name| PolicyRule {
            matching: Match { tool: Some(name.clone()), ..Match::default() },
            verdict: Ruling::Refuse,
            reason: Some(reason.to_owned()),
            examples: None,
        }));
        self
    }

    /// Whether a tool that no rule names is refused.
    pub(super) fn has_allow_list(&self) -> bool {
        !self.allow.is_empty() || self.rules.iter().any(|rule| rule.verdict == Ruling::Allow)
    }

    /// The rule that made a finding.
    pub(super) fn rule(&self, by: FindingSource) -> Option<&PolicyRule> {
        let FindingSource::Rule(index) = by else { return None };
        self.rules.get(index)
    }

    /// The rules, in the order of the file.
    pub fn rules(&self) -> &[PolicyRule] {
        &self.rules
    }

    /// The lists of names and patterns, by their names in the file.
    pub fn lists(&self) -> [(&'static str, &[String]); 3] {
        [("allow", &self.allow), ("confirm", &self.confirm), ("refuse", &self.refuse)]
    }

    /// Visits what matches a call: of each list the first pattern, and then the rules in the order of the file, each
    /// with its ruling and its author's reason.
    pub(super) fn each_rule_about(
        &self,
        tool: &Tool,
        params: &Value,
        origins: &dyn Fn(Option<&str>) -> Origins,
        visit: &mut dyn FnMut(FindingSource, Ruling, Option<&str>),
    ) {
        let lists = [(Ruling::Allow, &self.allow), (Ruling::Confirm, &self.confirm), (Ruling::Refuse, &self.refuse)];
        for (ruling, patterns) in lists {
            if let Some(index) = patterns.iter().position(|pattern| glob::matches(pattern, &tool.name)) {
                visit(FindingSource::List(ruling, index), ruling, None);
            }
        }
        for (index, rule) in self.rules.iter().enumerate() {
            if rule.matching.holds(&tool.name, tool.effect, params, origins) {
                visit(FindingSource::Rule(index), rule.verdict, rule.reason.as_deref());
            }
        }
    }
}

/// The origins in an example call's `_from`: a list of labels for all parameters, or a list for each path.
pub(super) fn example_origins(example: &Value, path: Option<&str>) -> Origins {
    match (example.get("_from"), path) {
        (Some(Value::Object(each)), None) => {
            each.values().map(Origins::from_json).fold(Origins::default(), |a, b| a.joined(&b))
        }
        (Some(Value::Object(each)), Some(path)) => {
            // A label of a whole applies to its parts, and a label of a part to the whole.
            let within = |a: &str, b: &str| a == b || a.strip_prefix(b).is_some_and(|rest| rest.starts_with('.'));
            let path = folded(path);
            let about = |name: &str| within(&folded(name), &path) || within(&path, &folded(name));
            let said = each.iter().filter(|(name, _)| about(name)).map(|(_, labels)| Origins::from_json(labels));
            said.fold(Origins::default(), |all, of| all.joined(&of))
        }
        (Some(labels), _) => Origins::from_json(labels),
        (None, _) => Origins::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_example_with_another_verdict_is_an_error() {
        let faults = |examples| {
            let policy: Policy = serde_json::from_value(
                json!([{"match": {"tool": "pay*"}, "verdict": "confirm", "examples": examples}]),
            )
            .unwrap();
            policy.faults_of_examples(&[]).len()
        };
        assert_eq!(faults(json!({"matching": [{"_tool": "pay_out"}], "not_matching": [{"_tool": "read"}]})), 0);
        assert_eq!(faults(json!({"matching": [{"_tool": "read"}]})), 1);
    }
}
