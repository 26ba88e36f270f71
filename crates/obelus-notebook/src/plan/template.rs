//! Plans over instances: which calls run once, and which run for each instance.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use crate::call::Call;
use crate::context::Context;

/// The instances that a call runs for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunsFor {
    /// Once, on global data.
    Once,
    /// Once for each instance.
    Each,
    /// For one instance.
    One(String),
}

/// The instances that each call runs for. A call without an instance that uses an instanced kind runs for each
/// instance. The kinds that it writes then become instanced too.
pub fn runs_for(calls: &[impl Borrow<Call>], context: &Context) -> Vec<RunsFor> {
    let calls: Vec<&Call> = calls.iter().map(Borrow::borrow).collect();
    let named = |call: &Call| call.instance.clone().map_or(RunsFor::Once, RunsFor::One);
    let mut runs_for: Vec<RunsFor> = calls.iter().copied().map(named).collect();
    let messages = context.views().filter(|(_, view)| view.is_instanced()).map(|(kind, _)| kind);
    let written = calls.iter().filter(|call| call.instance.is_some()).flat_map(|call| call.writes());
    let mut open: Vec<&str> = messages.chain(written.map(|path| path.kind.as_str())).collect();
    if open.is_empty() {
        return runs_for;
    }

    let mut touching: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        for kind in call.kinds() {
            touching.entry(kind).or_default().push(index);
        }
    }
    let mut instanced = BTreeSet::new();
    while let Some(kind) = open.pop() {
        if !instanced.insert(kind) {
            continue;
        }
        for &index in touching.get(kind).map_or(&[][..], Vec::as_slice) {
            if runs_for[index] == RunsFor::Once {
                runs_for[index] = RunsFor::Each;
                open.extend(calls[index].writes().map(|path| path.kind.as_str()));
            }
        }
    }
    runs_for
}

/// The instances of a plan: those with data of a kind that it uses, or all if there are none.
pub fn instances_of<'a>(calls: &[impl Borrow<Call>], context: &'a Context) -> Vec<&'a String> {
    let all = context.instances();
    if all.is_empty() {
        return Vec::new();
    }
    let kinds: BTreeSet<&str> = calls.iter().flat_map(|call| Borrow::<Call>::borrow(call).kinds()).collect();
    let views: Vec<_> = kinds.into_iter().filter_map(|kind| context.view(kind)).collect();
    let is_touched = |name: &&String| views.iter().any(|view| view.has_instance(name));
    let touched: Vec<&String> = all.iter().filter(is_touched).collect();
    if touched.is_empty() { all.iter().collect() } else { touched }
}
