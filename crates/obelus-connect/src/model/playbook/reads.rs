//! Which facts a playbook reads. Others are not converted: the texts of a long conversation are many.

use std::collections::BTreeSet;

use obelus_kernel::jq::Filter;

use super::facts::Find;
use super::rule::{PlaybookRule, RuleReply};
use super::template::Templates;

/// The facts that a playbook reads.
pub(super) enum Reads {
    /// Only these facts.
    Named(BTreeSet<String>),
    /// Possibly all facts.
    All,
}

impl Reads {
    /// The facts that the filters and templates of a playbook read.
    pub(super) fn of(
        find: &[Find],
        rules: &[PlaybookRule],
        otherwise: Option<&RuleReply>,
        templates: &Templates,
    ) -> Self {
        let replies = rules.iter().map(|rule| &rule.reply).chain(otherwise);
        let filters = find.iter().chain(rules.iter().flat_map(|rule| &rule.find)).map(|find| &find.filter);
        let filters = filters.chain(rules.iter().filter_map(|rule| rule.when.as_ref()));
        let filters = filters.chain(replies.filter_map(RuleReply::calls_from));
        let mut names = templates.names();
        for filter in filters {
            match Filter::fields(filter) {
                Some(more) => names.extend(more),
                None => return Self::All,
            }
        }
        Self::Named(names)
    }

    /// Whether it reads this fact.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Named(names) => names.contains(name),
            Self::All => true,
        }
    }
}
