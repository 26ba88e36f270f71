//! What would hold for a call that stands in a file: nothing runs, and nothing is remembered.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::policy::{Explanation, example_origins, present};
use super::provenance::{Sources, doubts};
use super::settings::{Mode, Settings};
use crate::call::Call;
use crate::context::Context;
use crate::fault::Fault;
use crate::origin::Origins;
use crate::tool::Effect;

/// What would hold for a call: the verdict, everything that was said of it, and what could not be told.
///
/// The call may say where its parameters come from: `_from` is a list of labels (`user`, `untrusted:read_mail`, …) for
/// all of them, or an object of such lists by path; `_shown` is what the model had been shown before it proposed the
/// call. A reference carries what it finds in the context. Fails with everything that is wrong with the call itself: such a call never comes before the policy.
pub fn explain(call: &Value, context: &Context, settings: &Settings, mode: Mode) -> Result<Explanation, Vec<Fault>> {
    let mut proposal = call.clone();
    if let Value::Object(fields) = &mut proposal {
        fields.shift_remove("_from");
        fields.shift_remove("_shown");
    }
    let (read, faults) = Call::read(&Arc::new(proposal), context);
    let Some(tool) = read.tool.clone().filter(|_| faults.is_empty()) else { return Err(faults) };
    // References are resolved as far as the memory goes that every session begins with.
    let known = |path: &crate::Path| context.read(path, read.instance.as_deref());
    let params: Map<String, Value> = read
        .params
        .iter()
        .map(|(name, template)| (name.to_string(), template.resolve(&known).unwrap_or_else(|_| template.outline())))
        .collect();
    let params = Value::Object(params);
    let shown = call.get("_shown").map(Origins::from_json).unwrap_or_default();
    let instance = read.instance.as_deref();
    let sources = Sources { context, instance, literal: &shown, said: &Origins::default() };
    let origins = |path: Option<&str>| {
        let found = match path {
            Some(path) => sources.of_path(&read, path).unwrap_or_default(),
            None => sources.of_call(&read),
        };
        found.joined(&example_origins(call, path))
    };
    let targets: Vec<(String, Origins)> = match &tool.target {
        Some(paths) => {
            let there = paths.iter().filter(|path| present(&params, path));
            there.map(|path| (path.clone(), origins(Some(path)))).collect()
        }
        None if tool.effect != Effect::Read => {
            read.params.iter().map(|(name, _)| (name.to_string(), origins(Some(name)))).collect()
        }
        None => Vec::new(),
    };
    let doubts = doubts(&tool, &shown, targets, &|_| false);
    Ok(settings.policy.explain(&read, &tool, &params, mode, &origins, doubts))
}
