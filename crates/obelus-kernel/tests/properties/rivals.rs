//! PLAN-5: the check warns of calls that write one path in no order.

use std::collections::BTreeSet;

use obelus_kernel::plan::Check;
use obelus_kernel::{Method, Path, Rule};
use proptest::prelude::*;

use crate::cases;
use crate::plans::{Planned, checked, plan, runs_for};

fn comes_before(check: &Check, from: usize, to: usize) -> bool {
    let mut reached = BTreeSet::from([from]);
    while let Some(next) =
        check.graph.edges().iter().find(|edge| reached.contains(&edge.from) && !reached.contains(&edge.to))
    {
        reached.insert(next.to);
    }
    reached.contains(&to)
}

/// Paths that two calls replace for one instance, neither of them waiting for the other.
fn contested(calls: &[Planned], check: &Check) -> BTreeSet<String> {
    let runs_for = runs_for(calls);
    let replaces = |call: &Planned, path: &Path| {
        !matches!(call.method, Method::Push | Method::Concat) && call.writes().any(|written| written == path)
    };
    let mut paths = BTreeSet::new();
    for (a, first) in calls.iter().enumerate() {
        for (b, second) in calls.iter().enumerate().skip(a + 1) {
            let together = !runs_for[a].is_disjoint(&runs_for[b]);
            let ordered = comes_before(check, a, b) || comes_before(check, b, a);
            let shared = first.writes().filter(|path| replaces(first, path) && replaces(second, path));
            if together && !ordered {
                paths.extend(shared.map(Path::to_string));
            }
        }
    }
    paths
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn writers_of_one_path_in_no_order_are_warned_of(calls in plan()) {
        let check = checked(&calls);
        prop_assume!(!check.waves.is_empty());
        let warnings: Vec<_> = check.warnings.iter().filter(|warning| warning.rule == Rule::Plan5).collect();
        let contested = contested(&calls, &check);
        prop_assert_eq!(warnings.len(), contested.len(), "{:?} for {:?}", warnings, contested);
        for path in contested {
            let words = format!(" all write {path}, ");
            prop_assert!(warnings.iter().any(|warning| warning.text.contains(&words)), "none{}", words);
        }
    }
}
