//! Numbered events of a session as spans, in the GenAI conventions of OpenTelemetry.
//!
//! A turn is a trace: `invoke_agent`, and below it `chat` for each request to the model and `execute_tool` for each
//! call.

use std::collections::BTreeMap;

use obelus_kernel::CallJson;
use obelus_kernel::Time;
use obelus_kernel::session::{Outcome, Reply};
use obelus_runtime::text::hex;
use obelus_runtime::{EventBody, SessionEvent};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Facts about a session.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionFacts {
    pub(super) session: String,
    pub(super) agent: String,
    pub(super) model: Option<String>,
    /// Whether messages, parameters and results are sent.
    pub(super) with_content: bool,
}

/// An open span.
struct OpenSpan {
    id: String,
    name: String,
    kind: u8,
    start: Time,
    attributes: Map<String, Value>,
}

impl OpenSpan {
    fn new(name: String, kind: u8, start: Time, attributes: Value) -> Self {
        let attributes = attributes.as_object().cloned().unwrap_or_default();
        Self { id: drawn(8), name, kind, start, attributes }
    }
}

/// Creates the spans of one session.
pub(super) struct Spans {
    about: SessionFacts,
    /// The trace and span of the running turn.
    turn: Option<(String, OpenSpan)>,
    chat: Option<OpenSpan>,
    calls: BTreeMap<String, OpenSpan>,
}

/// Span kinds of OTLP.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;

impl Spans {
    pub(super) fn new(about: SessionFacts) -> Self {
        Self { about, turn: None, chat: None, calls: BTreeMap::new() }
    }

    /// The spans that end with an event, in OTLP's form.
    pub(super) fn take(&mut self, event: &SessionEvent) -> Vec<Value> {
        let (at, mut ended) = (event.at, Vec::new());
        match &event.body {
            EventBody::UserSaid { text, .. } => {
                self.begin(at);
                self.content("gen_ai.input.messages", || message("user", text));
            }
            EventBody::QuestionDecided { .. } | EventBody::Happened { .. } | EventBody::Resumed { .. } => {
                self.begin(at);
            }
            EventBody::ModelAsked { .. } => {
                self.begin(at);
                ended.extend(self.end_chat(at));
                let name = self.about.model.as_ref().map_or_else(|| "chat".to_owned(), |model| format!("chat {model}"));
                let mut attributes = self.common("chat");
                if let Some(model) = &self.about.model {
                    attributes["gen_ai.request.model"] = model.as_str().into();
                }
                self.chat = Some(OpenSpan::new(name, CLIENT, at, attributes));
            }
            EventBody::Used { used, .. } => {
                if let Some(chat) = &mut self.chat {
                    chat.attributes.insert("gen_ai.usage.input_tokens".to_owned(), used.input.into());
                    chat.attributes.insert("gen_ai.usage.output_tokens".to_owned(), used.output.into());
                }
            }
            EventBody::AgentSaid { .. } | EventBody::QuestionAsked { .. } => ended.extend(self.end_chat(at)),
            EventBody::CallBegan { id, call, .. } => {
                self.begin(at);
                ended.extend(self.end_chat(at));
                self.begin_call(&key(id), call, at);
            }
            EventBody::CallEnded { id, outcome } => ended.extend(self.end_call(&key(id), outcome, at)),
            EventBody::Rested { reply } => {
                ended.extend(self.end_chat(at));
                ended.extend(self.end_turn(reply, at));
            }
            _ => {}
        }
        ended
    }

    fn common(&self, operation: &str) -> Value {
        json!({
            "gen_ai.operation.name": operation, "gen_ai.provider.name": "obelus",
            "gen_ai.agent.name": self.about.agent, "gen_ai.conversation.id": self.about.session,
        })
    }

    /// Begins a turn, unless one is running.
    fn begin(&mut self, at: Time) {
        if self.turn.is_none() {
            let name = format!("invoke_agent {}", self.about.agent);
            self.turn = Some((drawn(16), OpenSpan::new(name, INTERNAL, at, self.common("invoke_agent"))));
        }
    }

    /// Adds content to the turn, if content is sent.
    fn content(&mut self, name: &str, content: impl FnOnce() -> Value) {
        if let Some((_, turn)) = self.turn.as_mut().filter(|_| self.about.with_content) {
            turn.attributes.insert(name.to_owned(), content().to_string().into());
        }
    }

    fn begin_call(&mut self, id: &str, call: &CallJson, at: Time) {
        let tool = call.tool_name();
        let mut attributes = self.common("execute_tool");
        attributes["gen_ai.tool.name"] = tool.into();
        attributes["gen_ai.tool.call.id"] = id.into();
        attributes["gen_ai.tool.type"] = "function".into();
        if self.about.with_content {
            attributes["gen_ai.tool.call.arguments"] = call.to_string().into();
        }
        self.calls.insert(id.to_owned(), OpenSpan::new(format!("execute_tool {tool}"), INTERNAL, at, attributes));
    }

    fn end_call(&mut self, id: &str, outcome: &Outcome, at: Time) -> Option<Value> {
        let mut call = self.calls.remove(id)?;
        let error = match outcome {
            Outcome::Error(error) => Some(error.code.to_string()),
            Outcome::Lost { .. } => Some("in_doubt".to_owned()),
            Outcome::Value(value) if self.about.with_content => {
                call.attributes.insert("gen_ai.tool.call.result".to_owned(), value.to_string().into());
                None
            }
            Outcome::Value(_) | Outcome::Messages(_) => None,
        };
        self.ended(call, at, error)
    }

    fn end_chat(&mut self, at: Time) -> Option<Value> {
        let chat = self.chat.take()?;
        self.ended(chat, at, None)
    }

    fn end_turn(&mut self, reply: &Reply, at: Time) -> Vec<Value> {
        let ends = key(&reply.ends);
        let error = ["degraded", "limit"].contains(&ends.as_str()).then_some(ends);
        if let Some(words) = reply.output.as_str() {
            self.content("gen_ai.output.messages", || message("assistant", words));
        }
        // Calls that still run belong to the turn in which they end.
        let Some((trace, turn)) = self.turn.take() else { return Vec::new() };
        vec![span(&trace, None, turn, at, error)]
    }

    /// A span below that of the turn.
    fn ended(&self, open: OpenSpan, at: Time, error: Option<String>) -> Option<Value> {
        let (trace, turn) = self.turn.as_ref()?;
        Some(span(trace, Some(&turn.id), open, at, error))
    }
}

fn message(role: &str, words: &str) -> Value {
    json!([{"role": role, "parts": [{"type": "text", "content": words}]}])
}

/// A span in OTLP's JSON: ids in hexadecimal, whole numbers as text.
fn span(trace: &str, parent: Option<&str>, open: OpenSpan, end: Time, error: Option<String>) -> Value {
    let OpenSpan { id, name, kind, start, mut attributes } = open;
    if let Some(error) = &error {
        attributes.insert("error.type".to_owned(), error.as_str().into());
    }
    let nanoseconds = |time: Time| (i128::from(time.0.max(0)) * 1_000_000).to_string();
    let attributes: Vec<Value> = attributes.into_iter().map(|(key, value)| attribute(&key, &value)).collect();
    let mut span = json!({
        "traceId": trace, "spanId": id, "name": name, "kind": kind,
        "startTimeUnixNano": nanoseconds(start), "endTimeUnixNano": nanoseconds(end.max(start)),
        "attributes": attributes, "status": error.map_or_else(|| json!({}), |error| json!({"code": 2, "message": error})),
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = parent.into();
    }
    span
}

/// An OTLP attribute.
pub(super) fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    };
    json!({"key": key, "value": value})
}

/// An id or a name as text.
fn key(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        other => other.unwrap_or_default().to_string(),
    }
}

/// Random hexadecimal digits for this many bytes. Without randomness, digits of the time are good enough here.
fn drawn(bytes: usize) -> String {
    let mut random = uuid::Uuid::now_v7().into_bytes();
    let _ = getrandom::fill(&mut random);
    hex(&random[..bytes])
}
