//! PLAN-5: the check warns of calls that write one path in undefined order.

use std::collections::BTreeSet;

use obelus_notebook::context::Context;
use obelus_notebook::expr::Expr;
use obelus_notebook::fault::Rule;
use obelus_notebook::fold::Method;
use obelus_notebook::message::PlanMode;
use obelus_notebook::path::Path;
use obelus_notebook::plan::{Check, check};
use proptest::prelude::*;
use serde_json::json;

use crate::cases;
use crate::plans::{Planned, checked, one_is_prefix, plan, runs_for};

fn comes_before(check: &Check, from: usize, to: usize) -> bool {
    let mut reached = BTreeSet::from([from]);
    while let Some(next) =
        check.graph.edges().iter().find(|edge| reached.contains(&edge.from) && !reached.contains(&edge.to))
    {
        reached.insert(next.to);
    }
    reached.contains(&to)
}

/// The calls that run for an instance if each call writes its alternative in `chosen`.
fn running(calls: &[Planned], check: &Check, chosen: &[usize], who: Option<&'static str>) -> BTreeSet<usize> {
    let runs_for = runs_for(calls);
    let is_seen = |writer: usize| runs_for[writer].contains(&who) || runs_for[writer].contains(&None);
    let mut running = BTreeSet::new();
    for &index in check.waves.iter().flatten() {
        let has = |path: &Path| {
            let edges = check.graph.edges_into(index).iter().filter(|edge| *edge.path == *path && is_seen(edge.from));
            let covers = |group: &Vec<Path>| group.iter().any(|written| is_above(written, path));
            let mut writers =
                edges.map(|edge| edge.from).filter(|from| calls[*from].output.iter().any(covers)).peekable();
            let writes = |from: usize| running.contains(&from) && covers(&calls[from].output[chosen[from]]);
            writers.peek().is_none() || writers.any(writes)
        };
        let exprs = calls[index].params.iter().filter(|expr| expr.to_string().starts_with('†'));
        if exprs.into_iter().all(|expr| can_have(expr, &has)) {
            running.insert(index);
        }
    }
    running
}

fn is_above(written: &Path, path: &Path) -> bool {
    written.segments.len() <= path.segments.len() && one_is_prefix(written, path)
}

fn can_have(expr: &Expr, has: &impl Fn(&Path) -> bool) -> bool {
    match expr {
        Expr::Ref(path) => has(path),
        Expr::Any(terms) => terms.iter().any(|term| can_have(term, has)),
        Expr::All(terms) => terms.iter().all(|term| can_have(term, has)),
    }
}

/// Pairs of calls that both run for some instance with some choice of alternatives.
fn together(calls: &[Planned], check: &Check) -> BTreeSet<(usize, usize)> {
    let mut pairs = BTreeSet::new();
    let options: Vec<usize> = calls.iter().map(|call| call.output.len().max(1)).collect();
    for number in 0..options.iter().product() {
        let mut rest = number;
        let chosen: Vec<usize> = options.iter().map(|count| (rest % count, rest /= count).0).collect();
        for who in [None, Some("ada"), Some("bob")] {
            let running = running(calls, check, &chosen, who);
            pairs.extend(running.iter().flat_map(|a| running.iter().map(move |b| (*a, *b))));
        }
    }
    pairs
}

/// Paths that both calls of a pair without order replace.
fn contested(calls: &[Planned], check: &Check, may_both: impl Fn(usize, usize) -> bool) -> BTreeSet<String> {
    let replaces = |call: &Planned, path: &Path| {
        !matches!(call.method, Method::Push | Method::Concat) && call.writes().any(|written| written == path)
    };
    let mut paths = BTreeSet::new();
    for (a, b) in pairs_in_no_order(calls, check, may_both) {
        let (first, second) = (&calls[a], &calls[b]);
        let shared = first.writes().filter(|path| replaces(first, path) && replaces(second, path));
        paths.extend(shared.map(Path::to_string));
    }
    paths
}

/// Pairs of calls that run for the same instance and do not depend on each other.
fn pairs_in_no_order(calls: &[Planned], check: &Check, may_both: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let runs_for = runs_for(calls);
    let mut pairs = Vec::new();
    for a in 0..calls.len() {
        for b in a + 1..calls.len() {
            let together = !runs_for[a].is_disjoint(&runs_for[b]);
            let ordered = comes_before(check, a, b) || comes_before(check, b, a);
            if together && !ordered && may_both(a, b) {
                pairs.push((a, b));
            }
        }
    }
    pairs
}

/// Pairs of a path that one call of such a pair replaces, and a path below it that the other call writes.
fn contested_parts(
    calls: &[Planned],
    check: &Check,
    may_both: impl Fn(usize, usize) -> bool,
) -> BTreeSet<(String, String)> {
    let mut parts = BTreeSet::new();
    for (a, b) in pairs_in_no_order(calls, check, may_both) {
        for (above, below) in [(&calls[a], &calls[b]), (&calls[b], &calls[a])] {
            if above.method != Method::Set || matches!(below.method, Method::Push | Method::Concat) {
                continue;
            }
            for upper in above.writes() {
                let is_in = |path: &&Path| {
                    path.kind == upper.kind
                        && path.segments.len() > upper.segments.len()
                        && path.segments.starts_with(&upper.segments)
                };
                parts.extend(below.writes().filter(is_in).map(|path| (upper.to_string(), path.to_string())));
            }
        }
    }
    parts
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn unordered_writers_of_one_path_cause_a_warning(calls in plan()) {
        let check = checked(&calls);
        prop_assume!(!check.waves.is_empty());
        let warnings = check.warnings.iter().filter(|warning| warning.rule == Rule::Plan5);
        let (warnings, of_parts): (Vec<_>, Vec<_>) = warnings.partition(|warning| warning.text.contains(" all write "));
        let is_warned = |path: &String| warnings.iter().any(|warning| warning.text.contains(&format!(" all write {path}, ")));
        let contested_by_all = contested(&calls, &check, |_, _| true);
        prop_assert_eq!(warnings.len(), contested_by_all.iter().filter(|path| is_warned(path)).count());
        // Of calls that need different alternatives of another call only one runs.
        let together = together(&calls, &check);
        for path in contested(&calls, &check, |a, b| together.contains(&(a, b))) {
            prop_assert!(is_warned(&path), "not warned of {}: {:?}", path, warnings);
        }
        let is_part_warned = |(upper, path): &(String, String)| of_parts.iter().any(|warning| {
            warning.text.contains(&format!(" writes {upper}, and call ")) && warning.text.contains(&format!(" {path} in it"))
        });
        let parts_of_all = contested_parts(&calls, &check, |_, _| true);
        prop_assert_eq!(of_parts.len(), parts_of_all.iter().filter(|part| is_part_warned(part)).count());
        for part in contested_parts(&calls, &check, |a, b| together.contains(&(a, b))) {
            prop_assert!(is_part_warned(&part), "not warned of {:?}: {:?}", part, of_parts);
        }
    }
}

#[test]
fn of_exclusive_branches_only_one_writes() {
    let tool = json!({"type": "tool", "tool": {"t": {"properties": {"x": {}, "y": {}}}}});
    let context = Context::from_value(json!([tool, {"type": "state", "data": {"rainy": "old"}}])).expect("a context");
    let warned = |more: serde_json::Value| {
        let mut calls = vec![json!({"_tool": "t", "_outputPath": "†state.sunny || †state.rainy"})];
        calls.extend(more.as_array().expect("calls").iter().cloned());
        let calls: Vec<_> = calls.into_iter().map(Into::into).collect();
        let found = check(&calls, PlanMode::Lazy, &context).warnings;
        found.iter().any(|warning| warning.rule == Rule::Plan5)
    };
    let day = |x: &str| json!({"_tool": "t", "x": x, "_outputPath": "†state.day"});
    assert!(!warned(json!([day("†state.sunny"), day("†state.rainy")])));
    assert!(!warned(
        json!([{"_tool": "t", "x": "†state.sunny", "_outputPath": "†state.a"}, day("†state.a"), day("†state.rainy")])
    ));
    assert!(warned(json!([day("†state.sunny"), day("†state.rainy"), day("†state.sunny")])), "two of one branch");
    assert!(warned(json!([day("†state.sunny"), day("†state.sunny || †state.rainy")])), "the second runs in both");
    assert!(warned(json!([day("†state.sunny"), {"_tool": "t", "_outputPath": "†state.day"}])), "it runs in any case");
}
