//! Exports what a session did as a plan that can be run again (PLAN-12).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use obelus_kernel::CallFields as _;
use obelus_kernel::session::{CallId, Outcome, Session};
use obelus_kernel::{Context, Message, Role, plan};
use obelus_runtime::{EventBody, Request, SessionEvent, SessionSpec, SqliteStore, StoreError};
use serde_json::{Map, Value, json};

use super::super::host::viewer;
use super::super::run::is_proposal_of;
use super::inspect;
use super::plan_inputs::Inputs;
use super::transfer::write_new;
use crate::language::{fill, words_of_session};
use crate::output::{self, Exit, visible};

/// Fields of a call that only applied when it was proposed.
const OF_THEN: [&str; 5] =
    ["_output", "_reasoningForCall", "confirmed", "confirmation_decision", "confirmation_reason"];

/// Writes the completed calls of a session as a request with a plan.
pub(super) fn export(store: &SqliteStore, id: &str, to: Option<&Path>) -> Result<Exit> {
    let host = viewer(store);
    let spec = host.spec(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
    let session = inspect::read(store, id, None)?;
    let words = &words_of_session(&session).kept;
    let calls = done_calls(&session, &host.history(id)?);
    if calls.is_empty() {
        bail!("{}", fill(words.no_calls_done, &[id]));
    }
    let mut inputs = Inputs::of(session.context());
    let calls: Vec<Value> = calls.iter().map(|call| inputs.lift_call(call, session.context())).collect();
    let document = document(&spec, inputs, calls)?;
    let text = serde_json::to_string_pretty(&document)? + "\n";
    write_new(to, &text)?;
    for trouble in troubles(&text)? {
        output::warning(&visible(&trouble));
    }
    let begins = |folder: &Path| std::path::absolute(folder).unwrap_or_default();
    let folder = to.and_then(Path::parent).unwrap_or(Path::new(""));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if begins(folder).components().ne(begins(&spec.folder).components()) {
        let there = spec.folder.join(to.and_then(Path::file_name).unwrap_or("plan.json".as_ref()));
        let shown = [&spec.folder, &there].map(|path| visible(&path.display().to_string()));
        output::note(&fill(words.paths_begin_elsewhere, &[&shown[0], &shown[1]]));
    }
    if spec.mcp.is_some() {
        output::note(words.needs_servers);
    }
    Ok(Exit::Done)
}

/// The completed calls, in the order in which they ended, with their references. Calls whose results are not stored
/// come last.
fn done_calls(session: &Session, history: &[Arc<SessionEvent>]) -> Vec<Value> {
    let context = session.context();
    let mut done: Vec<Value> = Vec::new();
    // One call may write several messages: to several paths, or for several instances.
    let mut places: BTreeMap<String, BTreeSet<(String, Option<String>)>> = BTreeMap::new();
    for message in context.messages() {
        let Message::Data(data) = message else { continue };
        let Some((call, path, _)) = data.as_result() else { continue };
        let Some(tool) = call.tool().and_then(|tool| context.tool(tool)) else { continue };
        // A tool that declares its path declares also how results are written there.
        let by_default = tool.meta("_outputPath").is_none().then(|| path.to_string());
        let call = as_planned(call, by_default.as_deref());
        let places = places.entry(call.to_string()).or_default();
        let place = (path.to_string(), data.instance.clone());
        if places.contains(&place) {
            // The same call again.
            places.clear();
        }
        if places.is_empty() {
            done.push(call);
        }
        places.insert(place);
    }
    done.extend(unkept_calls(context, history));
    done
}

/// Completed calls whose results are not stored, with the references of their plan.
fn unkept_calls(context: &Context, history: &[Arc<SessionEvent>]) -> Vec<Value> {
    let mut begun: BTreeMap<CallId, &Value> = BTreeMap::new();
    let mut unkept = Vec::new();
    for event in history {
        match &event.body {
            // A delegate's calls are part of the call that it carries out.
            EventBody::CallBegan { id, call, .. } if id.place().is_some() => drop(begun.insert(id.clone(), call)),
            EventBody::CallEnded { id, outcome: Outcome::Value(_) | Outcome::Messages(_) } => {
                unkept.extend(begun.remove(id).filter(|call| call.get("_outputPath").is_none()));
            }
            _ => {}
        }
    }
    let is_kept = |call: &Value| {
        context.messages().iter().any(|message| match message {
            Message::Data(data) => data.as_result().is_some_and(|(proposed, ..)| is_same(proposed, call)),
            _ => false,
        })
    };
    let proposed = |call: &Value| {
        context.messages().iter().rev().find_map(|message| match message {
            Message::Plan(plan) => plan.calls.iter().find(|proposed| is_same(proposed, call)),
            _ => None,
        })
    };
    let unkept = unkept.into_iter().filter(|call| !is_kept(call));
    unkept.map(|call| as_planned(proposed(call).map_or(call, |proposed| proposed), None)).collect()
}

fn is_same(proposed: &Value, ran: &Value) -> bool {
    proposed["_tool"] == ran["_tool"] && proposed.get("_outputPath").is_none() && is_proposal_of(proposed, ran)
}

/// A call for a plan: for all instances, and without fields that only applied when it was proposed. A result that no
/// path was named for was pushed to `by_default`, the list of all results.
fn as_planned(call: &Value, by_default: Option<&str>) -> Value {
    let mut call = call.clone();
    if let Value::Object(fields) = &mut call {
        fields.retain(|name, value| !OF_THEN.contains(&name.as_str()) && name != "_instance" && !value.is_null());
        if let (Some(path), false) = (by_default, fields.contains_key("_outputPath")) {
            fields.insert("_outputPath".to_owned(), path.into());
            fields.insert("_outputMethod".to_owned(), "push".into());
        }
    }
    call
}

/// The request: the session's initial context, its input, and the plan.
fn document(spec: &SessionSpec, inputs: Inputs, calls: Vec<Value>) -> Result<Value> {
    let is_kept = |message: &&Message| match message {
        Message::Text(text) => text.role == Role::System,
        Message::Plan(_) => false,
        Message::Data(data) => data.kind != "input",
        _ => true,
    };
    let mut context: Vec<Value> = spec.context.messages().iter().filter(is_kept).map(Message::to_json).collect();
    context.extend(inputs.message());
    context.push(json!({"type": "plan", "plan": calls}));
    let bound: Map<String, Value> = spec.activities.iter().flat_map(|lot| lot.bound.clone()).collect();
    let settings = serde_json::to_value(&spec.settings)?;
    let mut document = json!({"context": context});
    if !bound.is_empty() {
        document["activities"] = Value::Object(bound);
    }
    if let Some(chosen) = &spec.model {
        document["model"] = chosen.model.clone();
    }
    document["settings"] = json!({"mode": settings["mode"], "policy": settings["policy"]});
    Ok(document)
}

/// The errors that the plan check finds in the export.
fn troubles(text: &str) -> Result<Vec<String>> {
    let request = Request::parse(Path::new("plan.json"), text)?;
    let Some(found) = request.context.plan() else { return Ok(Vec::new()) };
    let check = plan::check(&found.calls, found.mode, &request.context);
    let warnings = check.warnings.iter().map(|warning| {
        let call = warning.call.map(|call| format!(" call {call}:")).unwrap_or_default();
        format!("{}:{call} {}", warning.rule, warning.text)
    });
    Ok(check.errors.iter().map(ToString::to_string).chain(warnings).collect())
}
