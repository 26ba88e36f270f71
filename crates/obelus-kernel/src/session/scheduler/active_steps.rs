//! The active steps, by number.

use std::ops::Index;

use super::step::ActiveStep;

/// Steps in order of their numbers. Calls are looked up here often, nearly always in the latest step.
#[derive(Default)]
pub(super) struct ActiveSteps(Vec<(u32, ActiveStep)>);

impl ActiveSteps {
    fn place(&self, number: u32) -> Option<usize> {
        match self.0.last() {
            Some((latest, _)) if *latest == number => Some(self.0.len() - 1),
            _ => self.0.binary_search_by_key(&number, |(known, _)| *known).ok(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, number: u32) -> Option<&ActiveStep> {
        self.place(number).map(|place| &self.0[place].1)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut ActiveStep> {
        self.place(number).map(|place| &mut self.0[place].1)
    }

    /// Adds a step with a greater number than all others.
    pub(super) fn insert(&mut self, number: u32, step: ActiveStep) {
        debug_assert!(self.0.last().is_none_or(|(latest, _)| *latest < number));
        self.0.push((number, step));
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<ActiveStep> {
        self.place(number).map(|place| self.0.remove(place).1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &ActiveStep)> {
        self.0.iter().map(|(number, step)| (*number, step))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ActiveStep> {
        self.0.iter_mut().map(|(_, step)| step)
    }
}

impl Index<u32> for ActiveSteps {
    type Output = ActiveStep;

    fn index(&self, number: u32) -> &ActiveStep {
        self.get(number).expect("a step of this number is under way")
    }
}
