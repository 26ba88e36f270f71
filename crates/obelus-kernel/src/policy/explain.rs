//! Explains the verdict on a call in a file, without running or storing anything.

use serde_json::{Map, Value};

use super::finding::Explanation;
use super::gate::{Gate, Proposal};
use super::grounding::{AfterReading, GroundIndex, Grounding};
use super::provenance::{Place, Provenance};
use super::reason::Reason;
use super::rules::example_origins;
use crate::call::Call;
use crate::context::Context;
use crate::fault::Fault;
use crate::origin::Origins;

/// The verdict on a call, with all findings and what is unknown.
///
/// The call may state the origins of its parameters: `_from` is a list of labels (`user`, `untrusted:read_mail`, …)
/// for all of them, or an object of such lists by path; `_shown` has the labels of what the model had been shown
/// before. A reference has the origins of its value in the context. Fails with all errors of the call itself: an
/// invalid call is not judged.
///
/// The gate is that of an agent's file. [`Session::explain`] also knows the past of a session.
///
/// [`Session::explain`]: crate::session::Session::explain
pub fn explain(call: &Value, context: &Context, gate: Gate<'_>) -> Result<Explanation, Vec<Fault>> {
    explain_in(call, context, gate, |_, _| None)
}

/// The same in a session: `earlier` says why its past requires a person for a call with these parameters.
pub(crate) fn explain_in(
    call: &Value,
    context: &Context,
    gate: Gate<'_>,
    earlier: impl FnOnce(&Call, &Value) -> Option<Reason>,
) -> Result<Explanation, Vec<Fault>> {
    let mut proposal = call.clone();
    if let Value::Object(fields) = &mut proposal {
        fields.shift_remove("_from");
        fields.shift_remove("_shown");
    }
    let (read, faults) = Call::read(&proposal.into(), context);
    let Some(tool) = read.tool.clone().filter(|_| faults.is_empty()) else { return Err(faults) };
    // References are resolved in the initial memory of every session.
    let known = |path: &crate::Path| context.read(path, read.instance.as_deref());
    let params: Map<String, Value> = read
        .params
        .iter()
        .map(|(name, template)| (name.to_string(), template.resolve(&known).unwrap_or_else(|_| template.outline())))
        .collect();
    let params = Value::Object(params);
    let shown = call.get("_shown").map(Origins::from_json).unwrap_or_default();
    let instance = read.instance.as_deref();
    let mut index = GroundIndex::default();
    let grounding = (gate.after_reading() == AfterReading::Grounded).then(|| {
        index.catch_up(context, &[]);
        // The file's context was not produced by a session.
        Grounding { context, index: &index, base: context.length(), instance }
    });
    let sources = Provenance { grounding, ..Provenance::new(context, instance, &shown) };
    let origins = |place: Place<'_>| {
        let path = match place {
            Place::Call | Place::Scopes => None,
            Place::Param(path) | Place::Path(path) => Some(path),
        };
        Some(sources.of(&read, place)?.joined(&example_origins(call, path)))
    };
    Ok(gate.explain(&Proposal {
        grounding: grounding.as_ref(),
        earlier: earlier(&read, &params).as_ref(),
        ..Proposal::new(&read, &tool, &|| params.clone(), &origins, &shown)
    }))
}
