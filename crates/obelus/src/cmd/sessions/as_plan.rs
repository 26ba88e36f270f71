//! Exports what a session did as a plan that can be run again (PLAN-12).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use obelus_kernel::CallJson;
use obelus_kernel::session::{CallId, Decision, Outcome, QuestionId, Session};
use obelus_kernel::{Context, Message, Role, plan};
use obelus_notebook::control_field::ControlField;
use obelus_runtime::{EventBody, Host, Request, SessionEvent, SessionSpec, StoreError};
use serde_json::{Map, Value, json};

use super::super::run::is_proposal_of;
use super::inspect;
use super::plan_inputs::Inputs;
use super::plan_paths::{DoneCall, NewPaths, keep_references, separate};
use super::transfer::write_new;
use crate::language::{fill, words_of_session};
use crate::output::{self, Exit, visible};

/// Fields of a call that only applied when it was proposed.
const OF_THEN: [&str; 5] = [
    "_output",
    "_reasoningForCall",
    ControlField::Confirmed.name(),
    ControlField::ConfirmationDecision.name(),
    ControlField::ConfirmationReason.name(),
];

/// Writes the completed calls of a session as a request with a plan.
pub(super) fn export(host: &Host, id: &str, to: Option<&Path>) -> Result<Exit> {
    let spec = host.spec(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
    let session = inspect::read(host, id, None)?;
    let words = &words_of_session(&session).sessions;
    let context = session.context();
    let mut done = done_calls(context, &host.history(id)?, |record| Ok(host.view(id, Some(record))?))?;
    if done.is_empty() {
        bail!("{}", fill(words.no_calls_done, &[id]));
    }
    let new_paths = separate(&mut done, context).map_err(|found| {
        let (reader, writer) = (found.reader.to_string(), found.writer.to_string());
        let tool = |call: usize| done[call].call.tool().unwrap_or_default().to_owned();
        let named = [tool(found.reader), tool(found.writer), found.path].map(|text| visible(&text));
        anyhow!("{}", fill(words.order_is_lost, &[&reader, &named[0], &named[2], &writer, &named[1]]))
    })?;
    let mut inputs = Inputs::of(context);
    let calls: Vec<Value> = done.iter().map(|done| inputs.lift_call(&done.call, context)).collect();
    let document = document(&spec, inputs, calls, &new_paths)?;
    let text = serde_json::to_string_pretty(&document)? + "\n";
    write_new(to, &text)?;
    for trouble in troubles(&text)? {
        output::warning(&visible(&trouble));
    }
    for (name, path) in &new_paths.renamed {
        output::note(&visible(&fill(words.has_new_path, &[path, name])));
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

/// A call that succeeded, as the journal has it.
struct EndedCall {
    /// The call, with its values.
    ran: CallJson,
    /// Its step and index, and the record with which it began.
    began: Option<((u32, u32), u64)>,
    /// Whether a person said that it happened, and not with what result.
    is_result_unknown: bool,
}

/// The completed calls, in the order in which they ended, with their references. Calls whose results are not stored
/// come last. `view` returns the session after a record.
fn done_calls(
    context: &Context,
    history: &[Arc<SessionEvent>],
    view: impl Fn(u64) -> Result<Session>,
) -> Result<Vec<DoneCall>> {
    let mut ended = ended_calls(history);
    let mut done: Vec<DoneCall> = Vec::new();
    // One call may write several messages: to several paths, or for several instances.
    let mut places: BTreeMap<String, BTreeSet<(String, Option<String>)>> = BTreeMap::new();
    for (at, message) in context.messages().iter().enumerate() {
        let Message::Data(data) = message else { continue };
        let Some((stored, path, _)) = data.as_result() else { continue };
        let Some(tool) = stored.tool().and_then(|tool| context.tool(tool)) else { continue };
        // A tool that declares its path declares also how results are written there.
        let by_default = tool.meta("_outputPath").is_none().then(|| path.to_string());
        let mut call = as_planned(stored, by_default.as_deref());
        let places = places.entry(call.to_string()).or_default();
        let place = (path.to_string(), data.instance.clone());
        if places.contains(&place) {
            // The same call again.
            places.clear();
        }
        let is_same = |ended: &EndedCall| {
            !ended.is_result_unknown && stored.tool() == ended.ran.tool() && is_proposal_of(stored, &ended.ran)
        };
        let is_new_instance = places.iter().all(|(_, instance)| *instance != data.instance);
        let ran = ended.iter().position(is_same).filter(|_| is_new_instance).map(|found| ended.remove(found));
        if places.is_empty() {
            if let Some((place, record)) = ran.as_ref().and_then(|ran| ran.began).filter(|_| is_edited(context, stored))
            {
                let graph = view(record)?.plan_graph(usize::MAX);
                let proposed = graph.calls.iter().find(|planned| planned.report.place == place);
                proposed
                    .inspect(|planned| keep_references(call.make_mut(), &planned.proposed, &context.messages()[..at]));
            }
            done.push(DoneCall { call, at, ran: ran.map(|ended| ended.ran), instance: data.instance.clone() });
        }
        places.insert(place);
    }
    done.extend(unkept_calls(context, ended));
    Ok(done)
}

/// Whether a person changed a call: the plan has it in another form.
fn is_edited(context: &Context, stored: &CallJson) -> bool {
    !context.messages().iter().any(|message| match message {
        Message::Plan(plan) => plan.calls.iter().any(|proposed| proposed == stored),
        _ => false,
    })
}

/// The calls of the session that succeeded, in the order in which they ended.
fn ended_calls(history: &[Arc<SessionEvent>]) -> Vec<EndedCall> {
    let mut begun: BTreeMap<CallId, EndedCall> = BTreeMap::new();
    let mut in_doubt: BTreeMap<&QuestionId, Vec<&CallJson>> = BTreeMap::new();
    let mut ended = Vec::new();
    for event in history {
        match &event.body {
            EventBody::CallBegan { id, call, .. } => {
                // A delegate's calls are part of the call that it carries out.
                let Some(place) = id.place() else { continue };
                let began = Some((place, event.number.record));
                begun.insert(id.clone(), EndedCall { ran: call.clone(), began, is_result_unknown: false });
            }
            EventBody::CallEnded { id, outcome: Outcome::Value(_) | Outcome::Messages(_) } => {
                ended.extend(begun.remove(id));
            }
            EventBody::QuestionAsked { question } if question.id.delegate_place().is_none() => {
                in_doubt.insert(&question.id, question.calls.iter().map(|asked| &asked.call).collect());
            }
            EventBody::QuestionDecided { question, decision: Decision::Happened { result: Value::Null }, .. } => {
                let calls = in_doubt.remove(question).into_iter().flatten();
                ended.extend(calls.map(|call| EndedCall { ran: call.clone(), began: None, is_result_unknown: true }));
            }
            _ => {}
        }
    }
    ended
}

/// Completed calls whose results are not stored, with the references of their plan.
fn unkept_calls(context: &Context, ended: Vec<EndedCall>) -> impl Iterator<Item = DoneCall> {
    let messages = context.messages();
    let is_kept = |call: &CallJson| {
        messages.iter().any(|message| match message {
            Message::Data(data) => data.as_result().is_some_and(|(proposed, ..)| is_same(proposed, call)),
            _ => false,
        })
    };
    let is_unkept =
        move |ended: &EndedCall| ended.is_result_unknown || (ended.ran.output_path().is_none() && !is_kept(&ended.ran));
    let proposed = |ended: &EndedCall| {
        let is_its = |proposed: &CallJson| {
            if ended.is_result_unknown {
                proposed.tool() == ended.ran.tool() && is_proposal_of(proposed, &ended.ran)
            } else {
                is_same(proposed, &ended.ran)
            }
        };
        messages.iter().rev().find_map(|message| match message {
            Message::Plan(plan) => plan.calls.iter().find(|proposed| is_its(proposed)),
            _ => None,
        })
    };
    ended.into_iter().filter(is_unkept).map(move |ended| DoneCall {
        call: as_planned(proposed(&ended).unwrap_or(&ended.ran), None),
        at: messages.len(),
        ran: Some(ended.ran),
        instance: None,
    })
}

fn is_same(proposed: &CallJson, ran: &CallJson) -> bool {
    proposed.tool() == ran.tool() && proposed.output_path().is_none() && is_proposal_of(proposed, ran)
}

/// A call for a plan: for all instances, and without fields that only applied when it was proposed. A result that no
/// path was named for was pushed to `by_default`, the list of all results.
fn as_planned(call: &CallJson, by_default: Option<&str>) -> CallJson {
    let mut call = call.clone();
    if let Some(fields) = call.make_mut().as_object_mut() {
        fields.retain(|name, value| !OF_THEN.contains(&name.as_str()) && name != "_instance" && !value.is_null());
        if let (Some(path), false) = (by_default, fields.contains_key("_outputPath")) {
            fields.insert("_outputPath".to_owned(), path.into());
            fields.insert("_outputMethod".to_owned(), "push".into());
        }
    }
    call
}

/// The request: the session's initial context, its input, and the plan.
fn document(spec: &SessionSpec, inputs: Inputs, calls: Vec<Value>, new_paths: &NewPaths) -> Result<Value> {
    let is_kept = |message: &&Message| match message {
        Message::Text(text) => text.role == Role::System,
        Message::Plan(_) => false,
        Message::Data(data) => !data.is_input(),
        _ => true,
    };
    let mut context: Vec<Value> = spec.context.messages().iter().filter(is_kept).map(Message::to_json).collect();
    context.iter_mut().for_each(|message| permit(message, new_paths));
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

/// Lets tools that fix their path write to the paths of the plan too.
fn permit(message: &mut Value, new_paths: &NewPaths) {
    let Some(tools) = message.get_mut("tool").and_then(Value::as_object_mut) else { return };
    for (name, paths) in &new_paths.of_tools {
        let Some(Value::Object(tool)) = tools.get_mut(name) else { continue };
        tool.shift_remove("_outputPath");
        let properties = tool.entry("properties").or_insert_with(|| json!({}));
        properties["_outputPath"] = json!({"enum": paths});
    }
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
