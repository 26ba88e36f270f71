//! The policy of an agent's file: rules that a manager can read.

use std::fmt;
use std::sync::Arc;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::gate::Ruling;
use super::grounding::AfterReading;
use super::index::{Index, RuleId};
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
    /// Finds rules that may match a call without checking the others.
    #[serde(skip)]
    index: Arc<Index>,
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
        let index = Arc::new(Index::of(&allow, &confirm, &refuse, &rules));
        Policy { allow, confirm, refuse, rules, after_reading, index }
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
        !tool.risky.is_empty() || self.index.looks_at_params()
    }

    /// Whether the verdict depends on origins, beyond whether they are trusted.
    pub(crate) fn looks_at_origins(&self) -> bool {
        self.index.looks_at_origins()
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
    pub fn refusing(self, names: &[String], reason: &str) -> Self {
        let Self { allow, confirm, refuse, mut rules, after_reading, .. } = self;
        rules.extend(names.iter().map(|name| PolicyRule {
            matching: Match { tool: Some(name.clone()), ..Match::default() },
            verdict: Ruling::Refuse,
            reason: Some(reason.to_owned()),
            examples: None,
        }));
        PolicyFields { allow, confirm, refuse, rules, after_reading }.into()
    }

    /// Whether a tool that no rule names is refused.
    pub(super) fn has_allow_list(&self) -> bool {
        self.index.has_allow_list()
    }

    /// The ruling of a rule, and its author's reason.
    pub(super) fn says(&self, line: RuleId) -> (Ruling, Option<&str>) {
        match line {
            RuleId::Allow(_) => (Ruling::Allow, None),
            RuleId::Confirm(_) => (Ruling::Confirm, None),
            RuleId::Refuse(_) => (Ruling::Refuse, None),
            RuleId::Rule(index) => (self.rules[index].verdict, self.rules[index].reason.as_deref()),
        }
    }

    /// The rule, if it is about origins.
    pub(super) fn rule_on_origins(&self, line: RuleId) -> Option<&PolicyRule> {
        let RuleId::Rule(index) = line else { return None };
        self.rules.get(index).filter(|rule| rule.matching.from.is_some())
    }

    /// The rules, in the order of the file.
    pub fn rules(&self) -> &[PolicyRule] {
        &self.rules
    }

    /// The lists of names and patterns, by their names in the file.
    pub fn lists(&self) -> [(&'static str, &[String]); 3] {
        [("allow", &self.allow), ("confirm", &self.confirm), ("refuse", &self.refuse)]
    }

    /// The rules that match a call, in the order of the file; of each list, the first one.
    pub(super) fn rules_about(
        &self,
        tool: &Tool,
        params: &Value,
        origins: &dyn Fn(Option<&str>) -> Origins,
    ) -> Vec<RuleId> {
        let mut lines = self.index.candidates(tool, params, origins);
        lines.retain(|line| match *line {
            RuleId::Allow(index) => glob::matches(&self.allow[index], &tool.name),
            RuleId::Confirm(index) => glob::matches(&self.confirm[index], &tool.name),
            RuleId::Refuse(index) => glob::matches(&self.refuse[index], &tool.name),
            RuleId::Rule(index) => self.rules[index].matching.holds(&tool.name, tool.effect, params, origins),
        });
        lines.dedup_by_key(|line| match *line {
            RuleId::Rule(index) => RuleId::Rule(index),
            RuleId::Allow(_) => RuleId::Allow(0),
            RuleId::Confirm(_) => RuleId::Confirm(0),
            RuleId::Refuse(_) => RuleId::Refuse(0),
        });
        lines
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
    use proptest::prelude::*;
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

    /// Names, paths and origins that often match each other, with all forms of patterns.
    fn any_match() -> impl Strategy<Value = Value> {
        let one_of = |words: &'static [&'static str]| prop::option::of(prop::sample::select(words));
        let tool =
            one_of(&["crm.deal.get", "crm.deal.*", "crm.*", "*.get", "*deal*", "*", "c*t", "pay", "", "**", "платёж*"]);
        let effect = one_of(&["read", "update", "delete"]);
        let param = one_of(&["fields", "FIELDS.sum", "fields.SUM.x", "rows.id", "to", "a.b", ""]);
        let from = one_of(&["user", "untrusted", "trusted:crm", "mail", "untrusted:mail", "model"]);
        (tool, effect, param, from).prop_map(|(tool, effect, param, from)| {
            let said = [("tool", tool), ("effect", effect), ("param", param), ("from", from)];
            said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?)))).collect()
        })
    }

    fn any_params() -> impl Strategy<Value = Value> {
        let sum = prop::sample::select(vec![json!(1), json!({"X": 1}), json!("†state.x"), json!([{"x": 1}, {}])]);
        let fields = sum.prop_flat_map(|sum| {
            let name = prop::sample::select(vec!["sum", "SUM", "title", "a.b"]);
            name.prop_map(move |name| json!({name: sum, "Sum": 2}))
        });
        let fields = prop_oneof![fields, Just(json!("†state.f")), Just(json!([{"id": 1}, {"ID": 2}])), Just(json!(5))];
        let name = prop::sample::select(vec!["fields", "Fields", "rows", "to", "a", "a.b", ""]);
        prop::collection::vec((name, fields), 0..4)
            .prop_map(|all| all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    proptest! {
        #[test]
        fn the_index_finds_the_same_rules_as_a_full_scan(
            rules in prop::collection::vec(any_match(), 0..12),
            lists in prop::collection::vec(prop::sample::select(vec!["crm.*", "*", "pay", "*get", "crm.deal.get"]), 0..4),
            name in prop::sample::select(vec!["crm.deal.get", "crm.deal.update", "pay", "cat", "платёж", "get"]),
            effect in prop::sample::select(vec!["read", "update", "delete", "create"]),
            params in any_params(),
            labels in prop::collection::vec(prop::sample::select(vec!["user", "model", "trusted:crm", "untrusted:mail"]), 0..3),
        ) {
            let rule = |matching: &Value| json!({"match": matching, "verdict": "confirm"});
            let policy: Policy = serde_json::from_value(json!({
                "confirm": lists, "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            })).unwrap();
            let tool = Tool::parse(name, &json!({"x-effect": effect})).unwrap();
            let origins = |path: Option<&str>| match path {
                // Not all parameters come from the same places.
                Some(path) if path.to_lowercase().starts_with('t') => Origins::default(),
                _ => Origins::from_json(&json!(labels)),
            };
            let mut all: Vec<RuleId> = Vec::new();
            all.extend(policy.confirm.iter().position(|pattern| glob::matches(pattern, name)).map(RuleId::Confirm));
            let holds = |rule: &PolicyRule| rule.matching.holds(name, tool.effect, &params, &origins);
            all.extend((0..policy.rules.len()).filter(|index| holds(&policy.rules[*index])).map(RuleId::Rule));
            prop_assert_eq!(policy.rules_about(&tool, &params, &origins), all);
        }
    }
}
