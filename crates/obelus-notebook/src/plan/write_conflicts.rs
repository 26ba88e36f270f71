//! Write conflicts: calls that write one path in undefined order, so that the last to complete wins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::branches::Branches;
use super::check::{Check, Warning};
use super::template::RunsFor;
use crate::fault::Rule;
use crate::fold::Method;
use crate::path::Path;

/// The most edges visited for one plan.
const MOST_EDGES: usize = 1_000_000;

/// Warns of write conflicts, for each path.
pub(super) fn write_conflicts(check: &Check) -> Vec<Warning> {
    let branches = Branches::of(check);
    let mut budget = MOST_EDGES;
    let mut warnings = Vec::new();
    let writers = writers(check);
    for (path, calls) in writers.iter().filter(|(_, calls)| calls.len() > 1) {
        let rivals = among(check, &branches, calls, &mut budget);
        if let Some(&first) = rivals.first() {
            let names = rivals.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let more = if rivals.len() > 5 { format!(" and {} more", rivals.len() - 5) } else { String::new() };
            let text = format!("calls {names}{more} all write {path}, in no order: the last to complete wins");
            warnings.push(Warning { rule: Rule::Plan5, call: Some(first), text });
        }
    }
    warnings.extend(conflicts_below(check, &branches, &writers, &mut budget));
    warnings
}

/// Warns of pairs of calls in undefined order, one of which replaces a value and the other writes into it.
fn conflicts_below(
    check: &Check,
    branches: &Branches,
    writers: &WritersByPath<'_>,
    budget: &mut usize,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (path, calls) in writers {
        for depth in 0..path.segments.len() {
            let upper = Path { kind: path.kind.clone(), segments: path.segments[..depth].into() };
            let Some((upper, above)) = writers.get_key_value(&Arc::new(upper)) else { continue };
            let replaces = |index: &&usize| check.calls[**index].output_method == Method::Set;
            let pairs = above.iter().filter(replaces).flat_map(|one| calls.iter().map(move |other| (*one, *other)));
            let mut are_rivals = |(one, other): &(usize, usize)| {
                *budget = budget.saturating_sub(1);
                *budget > 0
                    && one != other
                    && share_an_instance(&check.runs_for[*one], &check.runs_for[*other])
                    && !branches.are_exclusive(*one, *other)
                    && !check.graph.reaches(*one, *other, budget)
                    && !check.graph.reaches(*other, *one, budget)
            };
            if let Some((one, other)) = pairs.into_iter().find(|pair| are_rivals(pair)) {
                let text = format!(
                    "call {one} writes {upper}, and call {other} {path} in it, in no order: {upper} may lose what call \
                     {other} wrote"
                );
                warnings.push(Warning { rule: Rule::Plan5, call: Some(one), text });
            }
        }
    }
    warnings
}

fn share_an_instance(one: &RunsFor, other: &RunsFor) -> bool {
    one == other || matches!((one, other), (RunsFor::Each, RunsFor::One(_)) | (RunsFor::One(_), RunsFor::Each))
}

/// The calls that replace the value at each path, by wave.
type WritersByPath<'a> = BTreeMap<&'a Arc<Path>, Vec<usize>>;

fn writers(check: &Check) -> WritersByPath<'_> {
    let mut writers = WritersByPath::new();
    for &index in check.waves.iter().flatten() {
        let call = &check.calls[index];
        // Push and concat do not replace values.
        if !matches!(call.output_method, Method::Push | Method::Concat) {
            for path in call.writes() {
                let calls = writers.entry(path).or_default();
                if calls.last() != Some(&index) {
                    calls.push(index);
                }
            }
        }
    }
    writers
}

/// The rivals among the writers of one path, which are given by wave. They are in order if each depends on the one
/// before.
fn among(check: &Check, branches: &Branches, calls: &[usize], budget: &mut usize) -> BTreeSet<usize> {
    let mut rivals = BTreeSet::new();
    // The latest writers for each instance; several if only one of them runs. A call that is not for one instance
    // supersedes all of them.
    let mut latest: BTreeMap<&RunsFor, Vec<usize>> = BTreeMap::new();
    for &index in calls {
        let runs_for = &check.runs_for[index];
        let before: Vec<usize> = match runs_for {
            RunsFor::One(_) => [runs_for, &RunsFor::Each]
                .iter()
                .filter_map(|runs_for| latest.get(runs_for))
                .flatten()
                .copied()
                .collect(),
            _ => latest.values().flatten().copied().collect(),
        };
        for other in before.into_iter().filter(|other| !branches.are_exclusive(*other, index)) {
            if !check.graph.reaches(other, index, budget) {
                rivals.extend([other, index]);
            }
        }
        let is_superseded = |of: &RunsFor| of == runs_for || !matches!(runs_for, RunsFor::One(_));
        for (_, calls) in latest.iter_mut().filter(|(of, _)| is_superseded(of)) {
            calls.retain(|other| branches.are_exclusive(*other, index));
        }
        latest.entry(runs_for).or_default().push(index);
    }
    rivals
}
