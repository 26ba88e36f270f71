//! Simulates a plan without running it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::check::Check;
use super::graph::Edge;
use super::template::RunsFor;
use crate::call::Call;
use crate::context::Context;
use crate::path::Path;
use crate::tool::Tool;

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Each call with its parameters as far as known, its wave and its verdict.
    pub calls: Vec<Value>,
    /// For each alternative of a call, the calls that are skipped if the result is written there.
    pub branches: Vec<Value>,
}

/// Simulates a checked plan. `by_model` returns whether the model carries out a tool itself. `judge` returns the
/// verdict on any other call for an instance with these parameters: its strictness and its JSON. The strictest verdict
/// of all instances is used.
pub fn simulate(
    check: &Check,
    context: &Context,
    by_model: impl Fn(&Tool) -> bool,
    judge: impl Fn(usize, &Tool, Option<&str>, &Value) -> (u8, Value),
) -> Simulation {
    let mut waves = vec![None; check.calls.len()];
    for (number, wave) in check.waves.iter().enumerate() {
        wave.iter().for_each(|&index| waves[index] = Some(number));
    }
    let calls = check.calls.iter().enumerate().map(|(index, call)| {
        let instances = check.readers(index, context);
        let params = |instance: Option<&str>| Value::Object(check.known_params(index, context, instance));
        let verdict = match &call.tool {
            None => json!({"verdict": "faulty"}),
            Some(tool) if call.delegate.is_none() && by_model(tool) => {
                json!({"verdict": "allow", "by": "the model itself"})
            }
            Some(tool) => {
                let judged = |instance: Option<&str>| judge(index, tool, instance, &params(instance));
                let strictest = instances.iter().copied().map(judged).reduce(|a, b| if b.0 > a.0 { b } else { a });
                strictest.unwrap_or_else(|| judged(None)).1
            }
        };
        let shared = match check.runs_for[index] {
            RunsFor::Each => None,
            _ => instances.first().copied().flatten(),
        };
        let mut shown = json!({
            "call": index,
            "tool": call.tool_name(),
            "wave": waves[index],
            "params": params(shared),
            "outputPath": call.output_path.as_ref().map(ToString::to_string),
            "runs": instances.len(),
        });
        if let (Value::Object(shown), Value::Object(verdict)) = (&mut shown, verdict) {
            shown.extend(verdict);
        }
        shown
    });
    Simulation { calls: calls.collect(), branches: branches(check, context) }
}

fn branches(check: &Check, context: &Context) -> Vec<Value> {
    let mut branches = Vec::new();
    for (index, call) in check.calls.iter().enumerate() {
        let Some(path) = call.output_path.as_ref().filter(|path| path.alternatives.len() > 1) else { continue };
        for (chosen, group) in path.alternatives.iter().enumerate() {
            let skipped = skipped(check, context, index, group);
            let group: Vec<String> = group.iter().map(ToString::to_string).collect();
            branches
                .push(json!({"call": index, "alternative": chosen, "path": group.join(" && "), "skipped": skipped}));
        }
    }
    branches
}

/// The calls that cannot run, for no instance, if the call `branching` writes this group.
fn skipped(check: &Check, context: &Context, branching: usize, group: &[Arc<Path>]) -> BTreeSet<usize> {
    let mut skipped = BTreeSet::new();
    for &index in check.waves.iter().flatten().filter(|index| **index != branching) {
        let call: &Call = &check.calls[index];
        let writes = |from: usize, path: &Path| {
            if from == branching { group.iter().any(|own| own.overlaps(path)) } else { !skipped.contains(&from) }
        };
        let can = |path: &Path, instance: Option<&str>| {
            let edges = check.graph.edges_by(index, path);
            // An earlier value is not used if a call of the plan may write the path (PLAN-3).
            let covers = |edge: &Edge| check.calls[edge.from].all_writes().any(|written| written.covers(path));
            edges.iter().any(|edge| writes(edge.from, path))
                || (!edges.iter().any(covers) && context.read(path, instance).is_some())
        };
        let lives = |instance: Option<&str>| {
            let mut lives = true;
            call.each_expr(&mut |_, expr| lives &= expr.can_have(&|path| can(path, instance)));
            lives
        };
        let mut instances = check.readers(index, context);
        // Rows that a call of the plan will bring.
        if instances.is_empty() {
            instances.push(None);
        }
        if !instances.into_iter().any(lives) {
            skipped.insert(index);
        }
    }
    skipped
}
