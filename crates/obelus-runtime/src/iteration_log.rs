//! The log of iterations: one JSON line for each model request and its consequences.
//!
//! It shows people what an agent was told, what it thought, what it requested from services and what it got. Secrets,
//! phone numbers and e-mail addresses are masked; files are rotated by size.

mod lines;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use obelus_kernel::Time;
use obelus_kernel::session::{Answer, Input, Outcome, Reply, Session, Start, Used};
use serde_json::{Map, Value, json};

use crate::mask::{Masked, masked_value};
use crate::state_file::FileNews;
use crate::store::StoreError;
use crate::store::check_name;
use lines::Lines;
pub(crate) use lines::Rotation;

/// The number of bytes kept of an answer.
const LONGEST_ANSWER: usize = 64 * 1024;

/// The log of one session.
pub(crate) struct IterationLog {
    session: String,
    lines: Lines,
    current: Iteration,
    number: u64,
    /// The state at the previous line, by field.
    before: Map<String, Value>,
}

/// The events since the last line.
#[derive(Default)]
struct Iteration {
    at: Option<Time>,
    inputs: Vec<Value>,
    model: Vec<Value>,
    used: Used,
    requests: Vec<Value>,
    /// Calls without an answer, by id.
    open: BTreeMap<String, usize>,
}

impl IterationLog {
    /// The log of a session in the store's folder. Nothing is written yet.
    pub(crate) fn open(folder: &Path, session: &str, rotation: Rotation) -> Result<Self, StoreError> {
        check_name(session)?;
        let logs = folder.join("logs");
        crate::atomic_file::private_folder(&logs).map_err(|error| StoreError::Folder(logs.clone(), error))?;
        Ok(Self {
            session: session.to_owned(),
            lines: Lines::new(logs.join(format!("{session}.jsonl")), rotation),
            current: Iteration::default(),
            number: 0,
            before: Map::new(),
        })
    }

    /// The newest file.
    pub(crate) fn path(&self) -> &Path {
        self.lines.path()
    }

    /// Removes the logs of a session.
    pub(crate) fn remove(folder: &Path, session: &str) -> Result<(), StoreError> {
        let log = Self::open(folder, session, Rotation::default())?;
        log.lines.remove().map_err(|error| StoreError::Folder(log.path().to_owned(), error))
    }

    /// Notes the initial state, so that it is not logged as a change.
    pub(crate) fn begin(&mut self, session: &Session) {
        self.before = fields(session.state());
    }

    /// Logs an input of the session.
    pub(crate) fn log_input(&mut self, at: Time, input: &Input) {
        let entry = match input {
            Input::Answer { answer, .. } => return self.answered(at, answer),
            Input::Ended { id, outcome } => return self.ended(&id.to_string(), outcome),
            Input::Used { used, .. } => return self.current.used.add(*used),
            Input::Loaded { .. } | Input::Tick => return,
            Input::User { text, by: None } => json!({"user": text}),
            Input::User { text, by } => json!({"user": text, "by": by}),
            Input::Decide { question, decision, by, .. } => {
                json!({"decision": decision, "question": question, "by": by})
            }
            other => serde_json::to_value(other).unwrap_or_default(),
        };
        self.current.at.get_or_insert(at);
        self.current.inputs.push(entry);
    }

    fn answered(&mut self, at: Time, answer: &Answer) {
        self.current.at.get_or_insert(at);
        self.current.model.push(match answer {
            Answer::Solution { solution, tokens } => json!({
                "thought": solution.thought, "action": solution.calls, "assistant": solution.say,
                "output": solution.output, "tokens": tokens}),
            Answer::OutOfFormat { text, error, tokens } => {
                json!({"out_of_format": text, "error": error, "tokens": tokens})
            }
            Answer::Failed { code, message } => json!({"failed": code, "error": message}),
        });
    }

    /// Logs a call that is started.
    pub(crate) fn began(&mut self, start: &Start) {
        self.current.open.insert(start.id.to_string(), self.current.requests.len());
        let mut params = (*start.call).clone();
        let method = params.as_object_mut().and_then(|params| params.shift_remove("_tool"));
        let mut request = json!({"method": method.unwrap_or_default(), "params": null, "attempt": start.attempt});
        request["params"] = params;
        self.current.requests.push(request);
    }

    fn ended(&mut self, id: &str, outcome: &Outcome) {
        // A call from an earlier iteration gets an entry of its own.
        let place = self.current.open.remove(id).unwrap_or_else(|| {
            self.current.requests.push(json!({"began_earlier": id}));
            self.current.requests.len() - 1
        });
        let request = &mut self.current.requests[place];
        match outcome {
            Outcome::Value(value) => request["answer"] = cut(value),
            Outcome::Messages(messages) => request["answer"] = cut(&Value::Array(messages.clone())),
            Outcome::Error(error) => request["error"] = json!(error),
            Outcome::Lost { message } => request["lost"] = message.as_str().into(),
        }
    }

    /// Whether the model has answered since the last line.
    pub(crate) fn is_answered(&self) -> bool {
        !self.current.model.is_empty()
    }

    /// Ends the iteration with this state: the model is asked again, or the turn rests.
    pub(crate) fn end_iteration(&mut self, session: &Session, state: Value, reply: Option<&Reply>) -> Option<FileNews> {
        let Iteration { at, inputs, model, used, requests, .. } = std::mem::take(&mut self.current);
        let at = at?;
        self.number += 1;
        let after = fields(state);
        let differs = |(name, value): &(&String, &Value)| self.before.get(*name) != Some(*value);
        let state: Map<_, _> =
            after.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect();
        self.before = after;
        let mut line = json!({
            "time": at.to_string(), "session": self.session, "iteration": self.number,
            "mode": session.settings().mode.name(),
        });
        // Long values are moved, because `json!` would copy them.
        line["told"] = inputs.into();
        line["model"] = model.into();
        line["requests"] = requests.into();
        line["state"] = state.into();
        line["ends"] = reply.map_or(json!("asks_again"), |reply| json!(reply.ends));
        if !used.is_nothing() {
            line["used"] = json!(used);
        }
        if let Some(reply) = reply {
            line["waiting"] = json!(reply.waiting);
            line["reason"] = json!(reply.reason);
        }
        let line = serde_json::to_string(&Masked::new(&line)).map_err(io::Error::from);
        let written = line.and_then(|line| self.lines.append(line));
        written.err().map(|error| FileNews::Trouble { file: self.path().to_owned(), why: error.to_string() })
    }
}

fn fields(state: Value) -> Map<String, Value> {
    match state {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// An answer, cut if it is long.
fn cut(answer: &Value) -> Value {
    if is_shorter(answer, &mut { LONGEST_ANSWER }) || answer.to_string().len() <= LONGEST_ANSWER {
        return answer.clone();
    }
    // Masked before it is cut: half of a phone number would not be recognised.
    let text = masked_value(answer).to_string();
    let end = text.floor_char_boundary(LONGEST_ANSWER);
    json!({"bytes": text.len(), "begins": text[..end]})
}

/// Whether a value takes fewer bytes than are left, in any encoding; most do by far.
fn is_shorter(value: &Value, left: &mut usize) -> bool {
    let escaped = |text: &str| 6 * text.len() + 4;
    let own = match value {
        Value::String(text) => escaped(text),
        Value::Array(items) => items.len() + 2,
        Value::Object(fields) => fields.keys().map(|name| escaped(name)).sum::<usize>() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 32,
    };
    let Some(rest) = left.checked_sub(own) else { return false };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| is_shorter(item, left)),
        Value::Object(fields) => fields.values().all(|field| is_shorter(field, left)),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
