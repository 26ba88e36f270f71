//! The names of instances, in the order in which they were added.

use std::collections::BTreeMap;

/// Names of instances, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instances {
    /// The number of earlier instances, by name.
    came: BTreeMap<String, usize>,
    /// Whether they are ordered by name.
    by_name: bool,
}

impl Instances {
    /// Whether an instance has this name.
    pub fn contains(&self, name: &str) -> bool {
        self.came.contains_key(name)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.came.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.came.len()
    }

    /// The names in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.came.keys()
    }

    /// The names in the order for processing and display: by addition, or by name in sessions of earlier versions.
    pub fn in_order(&self) -> Vec<&String> {
        let mut all: Vec<(&String, &usize)> = self.came.iter().collect();
        if !self.by_name {
            all.sort_by_key(|(_, came)| **came);
        }
        all.into_iter().map(|(name, _)| name).collect()
    }

    pub(super) fn add(&mut self, name: &str) {
        if !self.contains(name) {
            self.came.insert(name.to_owned(), self.came.len());
        }
    }

    pub(super) fn order_by_name(&mut self, by_name: bool) {
        self.by_name = by_name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_keep_their_order_of_arrival_except_in_older_sessions() {
        let mut instances = Instances::default();
        ["set 9", "set 10", "set 1", "set 10"].into_iter().for_each(|name| instances.add(name));
        assert_eq!(instances.in_order(), ["set 9", "set 10", "set 1"]);
        instances.order_by_name(true);
        assert_eq!(instances.in_order(), ["set 1", "set 10", "set 9"]);
    }
}
