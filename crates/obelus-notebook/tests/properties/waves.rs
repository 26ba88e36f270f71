//! PLAN-1, PLAN-2, PLAN-6: dependencies between calls, their waves, and cycles.

use std::collections::BTreeSet;

use obelus_notebook::fault::Rule;
use obelus_notebook::plan::{Check, Cycle};
use proptest::prelude::*;

use crate::cases;
use crate::plans::{Planned, checked, plan};

/// All pairs of calls of which the first feeds the second, by comparing every pair.
fn pairs(calls: &[Planned]) -> BTreeSet<(usize, usize)> {
    let runs_for = crate::plans::runs_for(calls);
    let feeds = |a: usize, b: usize| {
        let sees =
            runs_for[b].iter().any(|reader| runs_for[a].iter().any(|writer| writer.is_none() || writer == reader));
        let meet = |write, read| crate::plans::one_is_prefix(write, read);
        a != b && sees && calls[a].writes().any(|write| calls[b].reads().any(|read| meet(write, read)))
    };
    let all = || 0..calls.len();
    all().flat_map(|a| all().map(move |b| (a, b))).filter(|&(a, b)| feeds(a, b)).collect()
}

/// Whether a call depends on itself through others.
fn has_cycle(count: usize, pairs: &BTreeSet<(usize, usize)>) -> bool {
    fn reaches(at: usize, goal: usize, pairs: &BTreeSet<(usize, usize)>, seen: &mut BTreeSet<usize>) -> bool {
        pairs
            .iter()
            .filter(|(from, _)| *from == at)
            .any(|&(_, to)| to == goal || (seen.insert(to) && reaches(to, goal, pairs, seen)))
    }
    (0..count).any(|call| reaches(call, call, pairs, &mut BTreeSet::new()))
}

fn fed(check: &Check) -> BTreeSet<(usize, usize)> {
    check.graph.edges().iter().map(|edge| (edge.from, edge.to)).collect()
}

fn wave_of(check: &Check, call: usize) -> usize {
    check.waves.iter().position(|wave| wave.contains(&call)).expect("every call has a wave")
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn one_call_feeds_another_if_it_can_write_a_path_that_the_other_reads(calls in plan()) {
        let (check, pairs) = (checked(&calls), pairs(&calls));
        prop_assert_eq!(&pairs, &fed(&check));
        for call in 0..calls.len() {
            let fed_by: Vec<_> = pairs.iter().filter(|(from, _)| *from == call).map(|&(_, to)| to).collect();
            prop_assert_eq!(check.graph.fed_by(call), fed_by);
            prop_assert_eq!(check.graph.feeders(call), pairs.iter().filter(|(_, to)| *to == call).count());
        }
    }

    #[test]
    fn a_cycle_is_found_exactly_when_there_is_one(calls in plan()) {
        let check = checked(&calls);
        let cyclic = has_cycle(calls.len(), &pairs(&calls));
        prop_assert_eq!(cyclic, check.errors.iter().any(|fault| fault.rule == Rule::Plan2));
        prop_assert_eq!(cyclic, check.waves.is_empty());
        if let Err(Cycle(round)) = check.graph.waves() {
            prop_assert!(!round.is_empty());
            for (index, edge) in round.iter().enumerate() {
                prop_assert!(check.graph.edges().contains(edge));
                prop_assert_eq!(edge.to, round[(index + 1) % round.len()].from, "the way breaks off");
            }
        }
    }

    #[test]
    fn a_wave_is_one_more_than_the_latest_of_its_feeders(calls in plan()) {
        let check = checked(&calls);
        prop_assume!(!check.waves.is_empty());
        prop_assert_eq!(check.waves.iter().map(Vec::len).sum::<usize>(), calls.len());
        let pairs = pairs(&calls);
        for call in 0..calls.len() {
            let feeders = pairs.iter().filter(|(_, to)| *to == call).map(|&(from, _)| wave_of(&check, from));
            prop_assert_eq!(wave_of(&check, call), feeders.max().map_or(0, |latest| latest + 1));
        }
        prop_assert!(check.waves.iter().all(|wave| wave.is_sorted()));
    }

    #[test]
    fn the_order_of_calls_does_not_matter(
        (calls, places) in plan().prop_flat_map(|calls| {
            let places = Just((0..calls.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(calls), places)
        }),
    ) {
        let shuffled: Vec<_> = places.iter().map(|&place| calls[place].clone()).collect();
        let (check, other) = (checked(&calls), checked(&shuffled));
        let back = |pairs: BTreeSet<(usize, usize)>| -> BTreeSet<(usize, usize)> {
            pairs.into_iter().map(|(from, to)| (places[from], places[to])).collect()
        };
        prop_assert_eq!(fed(&check), back(fed(&other)));
        let waves = |waves: &[Vec<usize>], name: &dyn Fn(usize) -> usize| -> Vec<BTreeSet<usize>> {
            waves.iter().map(|wave| wave.iter().map(|&call| name(call)).collect()).collect()
        };
        prop_assert_eq!(waves(&check.waves, &|call| call), waves(&other.waves, &|call| places[call]));
        let found = |check: &Check| {
            let mut rules: Vec<_> = check.errors.iter().map(|fault| fault.rule).collect();
            rules.extend(check.warnings.iter().map(|warning| warning.rule));
            rules.sort();
            rules
        };
        prop_assert_eq!(found(&check), found(&other));
    }
}
