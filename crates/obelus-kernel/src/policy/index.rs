//! Finds the lines of a policy that may speak of a call without looking at all of them.
//!
//! A line stands on the shelf of its tool: by the whole name, by what a pattern begins with, by what it ends with, or
//! on the shelf of those that any tool may match. There it stands by its parameter, its origin or its effect. What is
//! found is a superset: each line is still held against the call.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::gate::Ruling;
use super::matching::Match;
use super::matching::names_of;
use super::rules::Rule;
use crate::names::folded;
use crate::origin::Origins;
use crate::tool::Tool;

/// A line of a policy, by its list and its place there. Ordered as they stand in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    Allow(usize),
    Confirm(usize),
    Refuse(usize),
    Rule(usize),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Allow(index) => write!(f, "policy.allow[{index}]"),
            Line::Confirm(index) => write!(f, "policy.confirm[{index}]"),
            Line::Refuse(index) => write!(f, "policy.refuse[{index}]"),
            Line::Rule(index) => write!(f, "policy.rules[{index}]"),
        }
    }
}

/// Every line where it is looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Index {
    /// Whether there is a line at all.
    speaks: bool,
    has_allow_list: bool,
    looks_at_params: bool,
    looks_at_origins: bool,
    exact: BTreeMap<String, Shelf>,
    heads: Ends,
    tails: Ends,
    any: Shelf,
}

/// Patterns by their beginnings or their endings.
#[derive(Clone, Debug, Default, PartialEq)]
struct Ends {
    shelves: BTreeMap<String, Shelf>,
    /// Only these lengths of a name need be looked up.
    lengths: BTreeSet<usize>,
}

/// The lines that the name of a tool leads to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Shelf {
    plain: Vec<Line>,
    effects: BTreeMap<String, Vec<Line>>,
    /// Lines about where anything comes from, by the word they use for it.
    origins: BTreeMap<String, Vec<Line>>,
    params: Params,
}

/// Lines about a parameter, step by step along its path, whose names are in the form in which they are compared.
#[derive(Clone, Debug, Default, PartialEq)]
struct Params {
    plain: Vec<Line>,
    origins: BTreeMap<String, Vec<Line>>,
    below: BTreeMap<String, Params>,
}

/// With more lines than this found, those found twice are taken out on the way.
const MANY: usize = 1_000;

type OriginsOf<'a> = &'a dyn Fn(Option<&str>) -> Origins;

impl Index {
    pub(super) fn of(allow: &[String], confirm: &[String], refuse: &[String], rules: &[Rule]) -> Self {
        let mut index = Self {
            speaks: !(allow.is_empty() && confirm.is_empty() && refuse.is_empty() && rules.is_empty()),
            has_allow_list: !allow.is_empty() || rules.iter().any(|rule| rule.verdict == Ruling::Allow),
            looks_at_params: rules.iter().any(|rule| rule.matching.param.is_some()),
            looks_at_origins: rules.iter().any(|rule| rule.matching.from.is_some()),
            ..Self::default()
        };
        let allow = allow.iter().enumerate().map(|(place, glob)| (glob, Line::Allow(place)));
        let confirm = confirm.iter().enumerate().map(|(place, glob)| (glob, Line::Confirm(place)));
        let refuse = refuse.iter().enumerate().map(|(place, glob)| (glob, Line::Refuse(place)));
        for (glob, line) in allow.chain(confirm).chain(refuse) {
            index.shelf(Some(glob)).plain.push(line);
        }
        for (place, rule) in rules.iter().enumerate() {
            index.shelf(rule.matching.tool.as_deref()).add(&rule.matching, Line::Rule(place));
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

    /// The lines that may speak of a call, in the order of the file.
    pub(super) fn candidates(&self, tool: &Tool, params: &Value, origins: OriginsOf<'_>) -> Vec<Line> {
        let mut found = Vec::new();
        if !self.speaks {
            return found;
        }
        let name = tool.name.as_str();
        let heads = self.heads.lengths.iter().filter_map(|length| self.heads.shelves.get(name.get(..*length)?));
        let tails = self.tails.lengths.iter().filter_map(|length| {
            let from = name.len().checked_sub(*length)?;
            self.tails.shelves.get(name.get(from..)?)
        });
        for shelf in self.exact.get(name).into_iter().chain(heads).chain(tails).chain([&self.any]) {
            shelf.collect(tool, params, origins, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn shelf(&mut self, glob: Option<&str>) -> &mut Shelf {
        let Some(glob) = glob else { return &mut self.any };
        match (glob.split_once('*'), glob.rsplit_once('*')) {
            (Some((head, _)), _) if !head.is_empty() => self.heads.shelf(head),
            (_, Some((_, tail))) if !tail.is_empty() => self.tails.shelf(tail),
            (Some(_), _) => &mut self.any,
            (None, _) => self.exact.entry(glob.to_owned()).or_default(),
        }
    }
}

impl Ends {
    fn shelf(&mut self, part: &str) -> &mut Shelf {
        self.lengths.insert(part.len());
        self.shelves.entry(part.to_owned()).or_default()
    }
}

impl Shelf {
    fn add(&mut self, matching: &Match, line: Line) {
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

    fn collect(&self, tool: &Tool, params: &Value, origins: OriginsOf<'_>, found: &mut Vec<Line>) {
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

impl Params {
    /// Lines about what lies at this place and below it, as far as it is there.
    fn collect(&self, value: &Value, path: &mut String, origins: OriginsOf<'_>, found: &mut Vec<Line>) {
        if self.below.is_empty() {
            return;
        }
        match value {
            Value::Array(items) => {
                for item in items {
                    self.collect(item, path, origins, found);
                    // Of many elements, each may lead to the same lines.
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
            // What a reference leads to is not known yet, so it may hold anything.
            Value::String(text) if text.starts_with('†') => {
                for (name, node) in &self.below {
                    node.collect_at(name, value, path, origins, found);
                }
            }
            _ => {}
        }
    }

    fn collect_at(&self, name: &str, value: &Value, path: &mut String, origins: OriginsOf<'_>, found: &mut Vec<Line>) {
        let length = path.len();
        path.push_str(if length == 0 { "" } else { "." });
        path.push_str(name);
        found.extend_from_slice(&self.plain);
        of_origins(&self.origins, Some(path), origins, found);
        self.collect(value, path, origins, found);
        path.truncate(length);
    }
}

/// Lines that name one of the origins of what lies at a path.
fn of_origins(lines: &BTreeMap<String, Vec<Line>>, path: Option<&str>, origins: OriginsOf<'_>, found: &mut Vec<Line>) {
    if lines.is_empty() {
        return;
    }
    for name in origins(path).iter().flat_map(names_of) {
        found.extend(lines.get(&name).into_iter().flatten());
    }
}
