//! The outcome of a call, in a few words.

use std::collections::BTreeMap;

use obelus_kernel::CallJson;
use obelus_kernel::session::{CallEntry, CallReport, CallStatus, Prompt, TranscriptEvent};
use serde_json::{Map, Value};

use super::tools::name;
use super::values::json;

/// The limit of instance names on one line.
const MOST_NAMES: usize = 40;

/// The calls of the model's latest answer with calls, and the results so far. They need not be repeated.
#[derive(Default)]
pub(super) struct Proposed<'a> {
    calls: &'a [CallJson],
    batch: u64,
    /// Results by path.
    pub(super) values: BTreeMap<&'a str, &'a Value>,
}

impl<'a> Proposed<'a> {
    /// Records an answer of the model.
    pub(super) fn note(&mut self, calls: &'a [CallJson], batch: u64) {
        if !calls.is_empty() {
            (self.calls, self.batch) = (calls, batch);
        }
    }

    /// Whether the answer has a call with these parameters, so that the tool's name identifies it. Right after the
    /// answer, calls of one tool are listed in order; later, one of several needs its parameters.
    pub(super) fn has(&self, call: &Value, params: &Map<String, Value>, batch: u64) -> bool {
        let of_tool = || self.calls.iter().filter(|proposed| proposed.tool() == CallJson::tool_of(call));
        let is_clear = batch == self.batch || of_tool().nth(1).is_none();
        let has_all = |proposed: &CallJson| params.iter().all(|(name, value)| self.is_same(&proposed[name], value));
        is_clear && of_tool().any(has_all)
    }

    /// Whether the answer has several calls of this call's tool, so that its name alone does not tell which one ended.
    pub(super) fn has_several(&self, call: &CallJson) -> bool {
        self.calls.iter().filter(|proposed| proposed.tool() == call.tool()).nth(1).is_some()
    }

    /// Whether a value is what the model wrote, or what its references resolve to.
    fn is_same(&self, written: &Value, value: &Value) -> bool {
        match (written, value) {
            (Value::String(text), _) if text.starts_with('†') && self.values.contains_key(text.as_str()) => {
                self.values[text.as_str()] == value
            }
            (Value::String(text), Value::String(value)) if text.contains("{†") => {
                let put_in = |text: String, (path, value): (&&str, &&Value)| match value {
                    Value::String(value) => text.replace(&format!("{{{path}}}"), value),
                    Value::Number(value) => text.replace(&format!("{{{path}}}"), &value.to_string()),
                    _ => text,
                };
                self.values.iter().fold(text.clone(), put_in) == *value
            }
            (Value::Object(written), Value::Object(fields)) => {
                let same =
                    |(name, value): (&String, &Value)| written.get(name).is_some_and(|own| self.is_same(own, value));
                written.len() == fields.len() && fields.iter().all(same)
            }
            (Value::Array(written), Value::Array(items)) => {
                written.len() == items.len() && written.iter().zip(items).all(|(own, item)| self.is_same(own, item))
            }
            _ => written == value,
        }
    }

    /// An error that prevented a proposed call from starting.
    pub(super) fn fault(&self, error: &Value, batch: u64) -> String {
        let call = &error["call"];
        let params = params(call);
        let in_call = match CallJson::tool_of(call) {
            Some(tool) if self.has(call, &params, batch) => format!(" in {}", name(tool)),
            Some(tool) => format!(" in {}{}", name(tool), in_words(&params)),
            None => String::new(),
        };
        format!("error{in_call}{}", words(&error["error"], ""))
    }
}

/// Tool, parameters, instance, and the call's status.
pub(super) fn head(call: &CallJson, status: CallStatus, approved: bool, params: Option<&Map<String, Value>>) -> String {
    let tool = name(call.tool_name());
    let params = params.map(in_words).unwrap_or_default();
    let instance = call.get("_instance").map(|instance| format!(" of {}", json(instance))).unwrap_or_default();
    let approved = if approved { " (approved)" } else { "" };
    let ended = if status == CallStatus::Waiting { "waits for a person's answer" } else { status.name() };
    format!("{tool}{params}{instance} {ended}{approved}")
}

/// The error of a call: rule, code and message.
pub(super) fn error_words(entry: &CallEntry) -> String {
    entry.error.as_ref().map(|error| words(error, entry.status.name())).unwrap_or_default()
}

fn words(error: &Value, status: &str) -> String {
    let Value::Object(fields) = error else {
        return if error.is_null() { String::new() } else { format!(": {}", json(error)) };
    };
    let word = |field: &str| fields.get(field).and_then(Value::as_str).filter(|word| *word != status);
    let mut text: String =
        ["rule", "code"].into_iter().filter_map(word).map(|word| format!(" {}", name(word))).collect();
    if let Some(message) = fields.get("message").filter(|message| !message.is_null()) {
        text = format!("{text}: {}", json(message));
    }
    let is_said = |name: &str| matches!(name, "rule" | "code" | "message");
    let others = fields.iter().filter(|(name, value)| !is_said(name) && !value.is_null());
    let others: Map<String, Value> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    if others.is_empty() { text } else { format!("{text} {}", json(&others.into())) }
}

/// A call that has not ended. Parts of the latest answer are not repeated.
pub(super) fn open_call(prompt: &Prompt, report: &CallReport) -> String {
    let answers = prompt.transcript.iter().rev().filter(|entry| !entry.is_digest);
    let calls = answers.filter_map(|entry| match &entry.what {
        TranscriptEvent::Answer { calls, .. } => Some(calls),
        _ => None,
    });
    let mut proposed = Proposed::default();
    proposed.note(calls.into_iter().find(|calls| !calls.is_empty()).map_or(&[], Vec::as_slice), 0);
    let params = params(&report.call);
    let is_known = proposed.has(&report.call, &params, 1);
    let head = head(&report.call, report.status, false, (!is_known).then_some(&params));
    let error =
        report.error.as_ref().map(|error| words(&serde_json::json!(error), report.status.name())).unwrap_or_default();
    head + &error
}

/// The names of instances, with their common prefix written once.
pub(super) fn names_in_short(names: &[&str]) -> String {
    let parts: Option<Vec<(&str, &str)>> = names.iter().map(|name| name.split_once(' ')).collect();
    let (set, own) = match parts.as_deref() {
        Some([(set, _), ..]) if parts.iter().flatten().all(|(other, _)| other == set) => {
            (format!("{} ", name(set)), parts.iter().flatten().map(|(_, own)| *own).collect())
        }
        _ => (String::new(), names.to_vec()),
    };
    let shown: Vec<String> = own.iter().take(MOST_NAMES).map(|own| name(own)).collect();
    let more = if own.len() > shown.len() { ", …" } else { "" };
    format!("{set}{}{more}", shown.join(", "))
}

/// The parameters of a call.
pub(super) fn params(call: &Value) -> Map<String, Value> {
    let fields = call.as_object().into_iter().flatten().filter(|(name, _)| !name.starts_with('_'));
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn in_words(params: &Map<String, Value>) -> String {
    if params.is_empty() { String::new() } else { format!(" {}", json(&params.clone().into())) }
}
