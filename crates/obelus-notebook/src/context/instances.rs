//! The names of instances, in the order in which they were added.

use std::collections::BTreeMap;

/// Names of instances, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instances {
    /// The number of earlier instances, by name.
    came: BTreeMap<String, usize>,
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
    pub(crate) fn len(&self) -> usize {
        self.came.len()
    }

    /// The names in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.came.keys()
    }

    /// The names in the order of addition, for processing and display.
    pub fn in_order(&self) -> Vec<&String> {
        let mut all: Vec<(&String, &usize)> = self.came.iter().collect();
        all.sort_by_key(|(_, came)| **came);
        all.into_iter().map(|(name, _)| name).collect()
    }

    pub(super) fn add(&mut self, name: &str) {
        if !self.contains(name) {
            self.came.insert(name.to_owned(), self.came.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_keep_their_order_of_arrival() {
        let mut instances = Instances::default();
        ["set 9", "set 10", "set 1", "set 10"].into_iter().for_each(|name| instances.add(name));
        assert_eq!(instances.in_order(), ["set 9", "set 10", "set 1"]);
    }
}
