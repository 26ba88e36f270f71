//! A dry run: what a plan would do, in which order, what would need a person, and what each branch leaves out.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::check::Check;
use super::template::Who;
use crate::call::Call;
use crate::context::Context;
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::policy::{Gate, Place, Proposal, Provenance};

/// What a plan would do. Nothing is touched.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Each call with its parameters as far as they are known, its wave, and what the policy says of it.
    pub calls: Vec<Value>,
    /// For each alternative of a call, the calls that would be left out if the result went there.
    pub branches: Vec<Value>,
}

/// Runs a checked plan dry. `is_latent` says which tools the model carries out itself.
pub fn simulate(
    check: &Check,
    context: &Context,
    gate: Gate<'_>,
    is_latent: impl Fn(&crate::Tool) -> bool,
) -> Simulation {
    let wave_of = |index: usize| check.waves.iter().position(|wave| wave.contains(&index));
    let calls = check.calls.iter().enumerate().map(|(index, call)| {
        let instance = match &check.who[index] {
            Who::One(name) => Some(name.as_str()),
            Who::Once | Who::Each => None,
        };
        let params = symbolic(check, index, context, instance);
        let mut shown = json!({
            "call": index,
            "tool": call.tool_name(),
            "wave": wave_of(index),
            "params": params,
            "outputPath": call.output_path.as_ref().map(ToString::to_string),
            "runs": match &check.who[index] {
                Who::Once => json!(1),
                Who::One(_) => json!(1),
                Who::Each => json!(super::instances_of(&check.calls, context).len()),
            },
        });
        let verdict = match &call.tool {
            None => json!({"verdict": "faulty"}),
            Some(tool) if call.delegate.is_none() && is_latent(tool) => {
                json!({"verdict": "allow", "by": "the model itself"})
            }
            Some(tool) => {
                let by_person = Origins::of(Origin::User);
                let provenance =
                    Provenance { context, instance, literal: &by_person, said: Origins::NONE, grounding: None };
                let verdict = gate.judge(&Proposal {
                    call,
                    tool,
                    params: &|| Value::Object(params.clone()),
                    origins: &|place: Place<'_>| provenance.of(call, place),
                    proposer: &by_person,
                    may_follow: &|_| false,
                    grounding: None,
                });
                verdict.to_json()
            }
        };
        if let (Value::Object(shown), Value::Object(verdict)) = (&mut shown, verdict) {
            shown.extend(verdict);
        }
        shown
    });
    Simulation { calls: calls.collect(), branches: branches(check, context) }
}

/// Parameters with every reference resolved that no call of the plan will still change.
fn symbolic(check: &Check, index: usize, context: &Context, instance: Option<&str>) -> Map<String, Value> {
    let read = |path: &Path| match check.graph.edges_by(index, path).is_empty() {
        true => context.read(path, instance),
        false => None,
    };
    let param = |(name, template): &(crate::Name, crate::Template)| {
        let value = template.resolve(&read).unwrap_or_else(|_| template.outline());
        (name.to_string(), value)
    };
    check.calls[index].params.iter().map(param).collect()
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

/// The calls that cannot run if call `branching` writes this group and no other.
fn skipped(check: &Check, context: &Context, branching: usize, group: &[Arc<Path>]) -> BTreeSet<usize> {
    let mut skipped = BTreeSet::new();
    for &index in check.waves.iter().flatten() {
        let call: &Call = &check.calls[index];
        let writes = |from: usize, path: &Path| {
            if from == branching { group.iter().any(|own| own.meets(path)) } else { !skipped.contains(&from) }
        };
        let can = |path: &Path| {
            check.graph.edges_by(index, path).iter().any(|edge| writes(edge.from, path))
                || context.read(path, None).is_some()
        };
        let mut lives = true;
        call.each_expr(&mut |_, expr| lives &= expr.can_have(&can));
        if !lives {
            skipped.insert(index);
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::PlanMode;
    use crate::policy::{Mode, Policy};

    #[test]
    fn each_branch_says_what_it_leaves_out_and_what_needs_a_person() {
        let context = Context::from_value(json!([
            {"type": "input", "city": "Сочи"},
            {"type": "tool", "tool": {
                "forecast": {"properties": {"city": {}}, "x-effect": "read"},
                "walk": {"properties": {"f": {}}, "x-effect": "delete"},
                "museum": {"properties": {"f": {}}, "x-effect": "create"},
            }},
        ]))
        .unwrap();
        let calls = [
            json!({"_tool": "forecast", "city": "†input.city", "_outputPath": "†state.sunny || †state.rainy"}),
            json!({"_tool": "walk", "f": "†state.sunny", "_outputPath": "†state.a"}),
            json!({"_tool": "museum", "f": "†state.rainy"}),
        ];
        let check = super::super::check(&calls.map(Arc::new), PlanMode::Lazy, &context);
        let dry = simulate(&check, &context, Gate::new(&Policy::default(), Mode::Full), |_| false);
        assert_eq!(dry.calls[0]["params"], json!({"city": "Сочи"}));
        assert_eq!(dry.calls[1]["params"], json!({"f": "†state.sunny"}));
        assert_eq!((&dry.calls[1]["verdict"], &dry.calls[2]["verdict"]), (&json!("confirm"), &json!("allow")));
        let skipped: Vec<_> = dry.branches.iter().map(|branch| branch["skipped"].clone()).collect();
        assert_eq!(skipped, [json!([2]), json!([1])]);
    }
}
