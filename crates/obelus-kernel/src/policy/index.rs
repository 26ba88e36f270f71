//! Finds the rules of a policy that may match a call, without checking all of them.
//!
//! Rules are grouped by tool: by the whole name, by a pattern's prefix, by its suffix, or as matching any tool.
//! Within a group they are sorted by parameter, origin or effect. The result is a superset: each rule is still
//! matched against the call.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::gate::Ruling;
use super::matching::Match;
use super::matching::names_of;
use super::rules::PolicyRule;
use crate::names::folded;
use crate::origin::Origins;
use crate::tool::Tool;

/// A rule of a policy, by its list and index. Ordered as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleId {
    Allow(usize),
    Confirm(usize),
    Refuse(usize),
    Rule(usize),
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleId::Allow(index) => write!(f, "policy.allow[{index}]"),
            RuleId::Confirm(index) => write!(f, "policy.confirm[{index}]"),
            RuleId::Refuse(index) => write!(f, "policy.refuse[{index}]"),
            RuleId::Rule(index) => write!(f, "policy.rules[{index}]"),
        }
    }
}

/// The index of all rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Index {
    /// Whether there are any rules.
    has_rules: bool,
    has_allow_list: bool,
    looks_at_params: bool,
    looks_at_origins: bool,
    exact: BTreeMap<String, ToolRules>,
    prefixes: Affixes,
    suffixes: Affixes,
    any: ToolRules,
}

/// Patterns by their prefixes or suffixes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Affixes {
    rules: BTreeMap<String, ToolRules>,
    /// Only these lengths of a name need to be looked up.
    lengths: BTreeSet<usize>,
}

/// The rules for a tool name.
#[derive(Clone, Debug, Default, PartialEq)]
struct ToolRules {
    plain: Vec<RuleId>,
    effects: BTreeMap<String, Vec<RuleId>>,
    /// Rules about the origin of any value, by their word for it.
    origins: BTreeMap<String, Vec<RuleId>>,
    params: ParamRules,
}

/// Rules about a parameter, by the steps of its path in normalised form.
#[derive(Clone, Debug, Default, PartialEq)]
struct ParamRules {
    plain: Vec<RuleId>,
    origins: BTreeMap<String, Vec<RuleId>>,
    below: BTreeMap<String, ParamRules>,
}

/// Beyond this many results, duplicates are removed on the way.
const MANY: usize = 1_000;

type OriginFn<'a> = &'a dyn Fn(Option<&str>) -> Origins;

impl Index {
    pub(super) fn of(allow: &[String], confirm: &[String], refuse: &[String], rules: &[PolicyRule]) -> Self {
        let mut index = Self {
            has_rules: !(allow.is_empty() && confirm.is_empty() && refuse.is_empty() && rules.is_empty()),
            has_allow_list: !allow.is_empty() || rules.iter().any(|rule| rule.verdict == Ruling::Allow),
            looks_at_params: rules.iter().any(|rule| rule.matching.param.is_some()),
            looks_at_origins: rules.iter().any(|rule| rule.matching.from.is_some()),
            ..Self::default()
        };
        let allow = allow.iter().enumerate().map(|(place, glob)| (glob, RuleId::Allow(place)));
        let confirm = confirm.iter().enumerate().map(|(place, glob)| (glob, RuleId::Confirm(place)));
        let refuse = refuse.iter().enumerate().map(|(place, glob)| (glob, RuleId::Refuse(place)));
        for (glob, line) in allow.chain(confirm).chain(refuse) {
            index.rules_for(Some(glob)).plain.push(line);
        }
        for (place, rule) in rules.iter().enumerate() {
            index.rules_for(rule.matching.tool.as_deref()).add(&rule.matching, RuleId::Rule(place));
        }
        index
    }

    pub(super) fn has_allow_list(&self) -> bool {
        self.has_allow_list
    }

    pub(super) fn looks_at_params(&self) -> bool {
        self.looks_at_params
    }

    pub(super) fn looks_at_origins(&self) -> bool {
        self.looks_at_origins
    }

    /// The rules that may match a call, in the order of the file.
    pub(super) fn candidates(&self, tool: &Tool, params: &Value, origins: OriginFn<'_>) -> Vec<RuleId> {
        let mut found = Vec::new();
        if !self.has_rules {
            return found;
        }
        let name = tool.name.as_str();
        let prefixes = self.prefixes.lengths.iter().filter_map(|length| self.prefixes.rules.get(name.get(..*length)?));
        let suffixes = self.suffixes.lengths.iter().filter_map(|length| {
            let from = name.len().checked_sub(*length)?;
            self.suffixes.rules.get(name.get(from..)?)
        });
        for rules in self.exact.get(name).into_iter().chain(prefixes).chain(suffixes).chain([&self.any]) {
            rules.collect(tool, params, origins, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn rules_for(&mut self, glob: Option<&str>) -> &mut ToolRules {
        let Some(glob) = glob else { return &mut self.any };
        match (glob.split_once('*'), glob.rsplit_once('*')) {
            (Some((head, _)), _) if !head.is_empty() => self.prefixes.rules_for(head),
            (_, Some((_, tail))) if !tail.is_empty() => self.suffixes.rules_for(tail),
            (Some(_), _) => &mut self.any,
            (None, _) => self.exact.entry(glob.to_owned()).or_default(),
        }
    }
}

impl Affixes {
    fn rules_for(&mut self, part: &str) -> &mut ToolRules {
        self.lengths.insert(part.len());
        self.rules.entry(part.to_owned()).or_default()
    }
}

impl ToolRules {
    fn add(&mut self, matching: &Match, line: RuleId) {
        let lines = match (&matching.param, &matching.from, &matching.effect) {
            (Some(path), from, _) => {
                let node =
                    path.split('.').fold(&mut self.params, |node, step| node.below.entry(folded(step)).or_default());
                match from {
                    Some(from) => node.origins.entry(from.clone()).or_default(),
                    None => &mut node.plain,
                }
            }
            (None, Some(from), _) => self.origins.entry(from.clone()).or_default(),
            (None, None, Some(effect)) => self.effects.entry(effect.clone()).or_default(),
            (None, None, None) => &mut self.plain,
        };
        lines.push(line);
    }

    fn collect(&self, tool: &Tool, params: &Value, origins: OriginFn<'_>, found: &mut Vec<RuleId>) {
        found.extend_from_slice(&self.plain);
        if !self.effects.is_empty() {
            found.extend(self.effects.get(tool.effect.name()).into_iter().flatten());
        }
        of_origins(&self.origins, None, origins, found);
        if let (false, Value::Object(_)) = (self.params.below.is_empty(), params) {
            self.params.collect(params, &mut String::new(), origins, found);
        }
    }
}

impl ParamRules {
    /// Collects rules about this value and the values below it.
    fn collect(&self, value: &Value, path: &mut String, origins: OriginFn<'_>, found: &mut Vec<RuleId>) {
        if self.below.is_empty() {
            return;
        }
        match value {
            Value::Array(items) => {
                for item in items {
                    self.collect(item, path, origins, found);
                    // Many elements may lead to the same rules.
                    if found.len() > MANY {
                        found.sort_unstable();
                        found.dedup();
                    }
                }
            }
            Value::Object(fields) => {
                for (name, inner) in fields {
                    let node = self.below.get(&folded(name));
                    if let Some(node) = node {
                        node.collect_at(name, inner, path, origins, found);
                    }
                }
            }
            // The value of a reference is not known yet, so it may be anything.
            Value::String(text) if text.starts_with('†') => {
                for (name, node) in &self.below {
                    node.collect_at(name, value, path, origins, found);
                }
            }
            _ => {}
        }
    }

    fn collect_at(&self, name: &str, value: &Value, path: &mut String, origins: OriginFn<'_>, found: &mut Vec<RuleId>) {
        let length = path.len();
        path.push_str(if length == 0 { "" } else { "." });
        path.push_str(name);
        found.extend_from_slice(&self.plain);
        of_origins(&self.origins, Some(path), origins, found);
        self.collect(value, path, origins, found);
        path.truncate(length);
    }
}

/// Collects rules that name an origin of the value at a path.
fn of_origins(all: &BTreeMap<String, Vec<RuleId>>, path: Option<&str>, origins: OriginFn<'_>, found: &mut Vec<RuleId>) {
    if all.is_empty() {
        return;
    }
    for name in origins(path).iter().flat_map(names_of) {
        found.extend(all.get(&name).into_iter().flatten());
    }
}
