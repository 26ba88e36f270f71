//! The running delegates, and what the callers of a session leave to it if it is a delegate itself.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Session;
use super::ids::JobRef;
use super::input::Input;
use crate::context::Context;

/// The running delegates.
#[derive(Default)]
pub(super) struct Delegates {
    /// By job.
    running: BTreeMap<JobRef, Box<Session>>,
    /// What its callers leave to the session, if it is a delegate.
    allowance: Option<Allowance>,
    /// The calls that have started since then, here and below.
    started: u32,
}

/// The share of its callers' limits that a delegate may use while it takes an input.
#[derive(Clone, Copy)]
pub(super) struct Allowance {
    /// The calls that may still start, with the limit that they come from.
    pub(super) calls: (u32, u32),
    /// The tokens that may still be used, with the limit that they come from, if they are limited.
    pub(super) tokens: Option<(u64, u64)>,
    /// The calls that may run at once, here and below.
    pub(super) places: u32,
}

impl Delegates {
    pub(super) fn get(&self, at: JobRef) -> Option<&Session> {
        self.running.get(&at).map(|child| &**child)
    }

    pub(super) fn get_mut(&mut self, at: JobRef) -> Option<&mut Session> {
        self.running.get_mut(&at).map(|child| &mut **child)
    }

    pub(super) fn add(&mut self, at: JobRef, child: Session) {
        self.running.insert(at, Box::new(child));
    }

    pub(super) fn remove(&mut self, at: JobRef) -> Option<Box<Session>> {
        if self.running.is_empty() { None } else { self.running.remove(&at) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (JobRef, &Session)> {
        self.running.iter().map(|(at, child)| (*at, &**child))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        self.running.values_mut().map(|child| &mut **child)
    }

    pub(super) fn jobs(&self) -> Vec<JobRef> {
        self.running.keys().copied().collect()
    }

    /// The changed and removed tools for each delegate: those that it has from this context, the caller's. A saved request keeps its own.
    pub(super) fn rules_below(
        &self,
        context: &Context,
        tools: &Map<String, Value>,
        removed: &[String],
    ) -> Vec<(JobRef, Input)> {
        let mut below = Vec::new();
        for (at, child) in self.iter() {
            let is_from_here = |name: &str| {
                let [own, theirs] = [context, child.context()].map(|context| context.tool(name));
                own.zip(theirs).is_some_and(|(own, theirs)| own.schema == theirs.schema)
            };
            let tools: Map<String, Value> = tools
                .iter()
                .filter(|(name, _)| is_from_here(name))
                .map(|(name, tool)| (name.clone(), tool.clone()))
                .collect();
            let removed: Vec<String> = removed.iter().filter(|name| is_from_here(name)).cloned().collect();
            if !tools.is_empty() || !removed.is_empty() {
                let settings = Box::new(child.rules().clone());
                below.push((at, Input::Rules { settings, tools, removed }));
            }
        }
        below
    }

    /// The callers give the session another allowance.
    pub(super) fn set_allowance(&mut self, allowance: Allowance) {
        (self.allowance, self.started) = (Some(allowance), 0);
    }

    /// Counts calls that have started, here or below.
    pub(super) fn count_calls(&mut self, started: u32) {
        self.started += started;
    }

    /// The calls that have started since the callers gave an allowance, here and below.
    pub(super) fn started(&self) -> u32 {
        self.started
    }

    /// The calls that may still start, with the limit that they come from. `own`: those by the session's own limit.
    pub(super) fn calls_left(&self, own: (u32, u32)) -> (u32, u32) {
        let above = self.allowance.map(|above| (above.calls.0.saturating_sub(self.started), above.calls.1));
        above.map_or(own, |above| above.min(own))
    }

    /// The tokens that may still be used, with the limit that they come from, if they are limited.
    pub(super) fn tokens_left(&self, own: Option<(u64, u64)>) -> Option<(u64, u64)> {
        own.into_iter().chain(self.allowance.and_then(|above| above.tokens)).min()
    }

    /// The calls that may run at once, here and below.
    pub(super) fn places(&self, own: u32) -> u32 {
        self.allowance.map_or(own, |above| above.places.min(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_two_limits_counts_and_started_calls_use_up_an_allowance() {
        let mut delegates = Delegates::default();
        assert_eq!((delegates.calls_left((3, 9)), delegates.tokens_left(None), delegates.places(2)), ((3, 9), None, 2));
        delegates.set_allowance(Allowance { calls: (4, 7), tokens: Some((10, 50)), places: 1 });
        assert_eq!((delegates.calls_left((3, 9)), delegates.places(2)), ((3, 9), 1));
        assert_eq!(
            (delegates.tokens_left(None), delegates.tokens_left(Some((8, 20)))),
            (Some((10, 50)), Some((8, 20)))
        );
        delegates.count_calls(2);
        assert_eq!((delegates.started(), delegates.calls_left((3, 9))), (2, (2, 7)));
        delegates.set_allowance(Allowance { calls: (4, 7), tokens: None, places: 1 });
        assert_eq!((delegates.started(), delegates.calls_left((9, 9))), (0, (4, 7)));
    }
}
