//! The simulation of a plan under a policy.

use serde_json::Value;

use super::gate::{Gate, Proposal, Ruling};
use super::planned_origins::PlannedOrigins;
use super::provenance::{Place, Provenance};
use crate::context::Context;
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::tool::Tool;
use obelus_notebook::plan::{self, Check, Simulation};

/// Simulates a checked plan. `by_model` says which tools the model carries out itself.
pub fn simulate(check: &Check, context: &Context, gate: Gate<'_>, by_model: impl Fn(&Tool) -> bool) -> Simulation {
    let by_person = Origins::of(Origin::User);
    let planned = PlannedOrigins::new(check, context, &by_person, &by_model);
    plan::simulate(check, context, &by_model, |index, tool, instance, params: &Value| {
        let call = &check.calls[index];
        let of_path = |path: &Path| planned.of_path(index, path, instance);
        let provenance = Provenance { planned: Some(&of_path), ..Provenance::new(context, instance, &by_person) };
        let of_kinds = planned.of_scoped_kinds(index);
        let origins = |place: Place<'_>| match place {
            Place::Scopes | Place::Call => Some(provenance.of(call, place)?.joined(&of_kinds)),
            Place::Param(_) | Place::Path(_) => provenance.of(call, place),
        };
        let verdict = gate.judge(&Proposal::new(call, tool, &|| params.clone(), &origins, &by_person));
        let strictness = match verdict.ruling() {
            Ruling::Allow => 0,
            Ruling::Confirm => 1,
            Ruling::Refuse => 2,
        };
        (strictness, verdict.to_json())
    })
}
