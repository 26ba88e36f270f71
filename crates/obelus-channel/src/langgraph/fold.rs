//! A session in LangGraph's terms: messages, runs and checkpoints, folded from its events.
//!
//! A run is one input from outside, a message or an answer, and ends when its turn rests. A message during a turn
//! waits for the turn's end, and so does its run.

use std::collections::{BTreeMap, VecDeque};

use obelus_kernel::Time;
use obelus_kernel::session::{Outcome, Reply, TurnEnd};
use obelus_runtime::text::plain_text;
use obelus_runtime::{EventBody, SessionEvent};
use serde_json::{Value, json};

use crate::service::lines_visible;

/// The node of the model's messages and proposals.
pub(crate) const MODEL: &str = "model";
/// The node of results of calls, and of questions to people.
pub(super) const TOOLS: &str = "tools";

/// The content of a session up to an event.
#[derive(Default)]
pub(super) struct Fold {
    /// The thread's id: ids of messages begin with it.
    thread: String,
    /// The conversation as LangChain messages.
    pub(super) messages: Vec<Value>,
    /// Runs, oldest first.
    pub(super) runs: Vec<Run>,
    /// Checkpoints, oldest first.
    pub(super) points: Vec<RecordPoint>,
    /// The run whose turn is running.
    current: Option<u64>,
    /// Runs whose messages wait.
    queue: VecDeque<u64>,
    /// The number of the agent's texts.
    texts: usize,
    /// The tools of running calls.
    tools: BTreeMap<String, String>,
}

/// One run.
#[derive(Clone)]
pub(super) struct Run {
    /// The record of the input.
    pub(super) record: u64,
    /// Its time.
    pub(super) at: Time,
    /// Its end, once the turn rests.
    pub(super) end: Option<RunEnd>,
}

/// How a run ended.
#[derive(Clone)]
pub(crate) struct RunEnd {
    /// Its time.
    pub(super) at: Time,
    /// How the turn ended.
    pub(crate) ends: TurnEnd,
    /// Why the turn has no result: a stable code, and a text.
    pub(super) reason: Option<(String, String)>,
}

/// A record after which the session can be read and forked.
#[derive(Clone, Copy)]
pub(super) struct RecordPoint {
    pub(super) record: u64,
    pub(super) at: Time,
    /// Its cause: `input`, `loop` or `update`.
    pub(super) source: &'static str,
    /// The number of messages.
    pub(super) messages: usize,
}

/// A message that an event adds, and its node.
pub(crate) struct AddedMessage {
    pub(crate) node: &'static str,
    pub(crate) message: Value,
}

impl Fold {
    pub(super) fn new(thread: &str) -> Self {
        Self { thread: thread.to_owned(), ..Self::default() }
    }

    /// The session after all these events.
    pub(super) fn of<'a>(thread: &str, events: impl IntoIterator<Item = &'a SessionEvent>) -> Self {
        let mut fold = Self::new(thread);
        for event in events {
            fold.take(event);
        }
        fold
    }

    /// Applies the next event; returns the messages it adds.
    pub(super) fn take(&mut self, event: &SessionEvent) -> Vec<AddedMessage> {
        let mut added = Vec::new();
        match &event.body {
            EventBody::UserSaid { text, .. } => {
                self.begin(event, true);
                let id = format!("{}-{}", self.thread, event.number);
                self.messages.push(json!({"type": "human", "content": text, "id": id}));
            }
            EventBody::QuestionDecided { .. } | EventBody::Resumed { .. } => self.begin(event, false),
            EventBody::AgentSaid { text } => added.push(self.text(text)),
            EventBody::CallBegan { id, call, attempt: 1, .. } => {
                let name = call.tool_name().to_owned();
                added.push(self.proposal(&id.to_string(), &name, call));
                self.tools.insert(id.to_string(), name);
            }
            EventBody::CallEnded { id, outcome } => added.push(self.result(&id.to_string(), outcome)),
            EventBody::Rested { reply } => {
                added.extend(self.output(reply));
                self.end(event, reply);
            }
            _ => {}
        }
        self.messages.extend(added.iter().map(|added| added.message.clone()));
        self.mark(event);
        added
    }

    /// The run of a record.
    pub(super) fn run(&self, record: u64) -> Option<&Run> {
        self.runs.iter().find(|run| run.record == record)
    }

    /// Whether a run waits for the end of another one.
    pub(super) fn is_queued(&self, record: u64) -> bool {
        self.queue.contains(&record)
    }

    /// The id of the text that the agent is writing, or will write next.
    pub(super) fn next_text(&self) -> String {
        format!("{}-ai-{}", self.thread, self.texts + 1)
    }

    fn begin(&mut self, event: &SessionEvent, is_words: bool) {
        let record = event.number.record;
        self.runs.push(Run { record, at: event.at, end: None });
        match self.current {
            None => self.current = Some(record),
            Some(_) if is_words => self.queue.push_back(record),
            // It belongs to the running turn.
            Some(_) => {}
        }
    }

    fn end(&mut self, event: &SessionEvent, reply: &Reply) {
        let reason = reply.reason.as_ref().map(|reason| (reason.code.to_string(), reason.message.clone()));
        let end = RunEnd { at: event.at, ends: reply.ends, reason };
        for run in self.runs.iter_mut().filter(|run| run.end.is_none() && !self.queue.contains(&run.record)) {
            run.end = Some(end.clone());
        }
        self.current = self.queue.pop_front();
    }

    /// Adds a checkpoint after messages, calls and decisions.
    fn mark(&mut self, event: &SessionEvent) {
        let source = match event.body {
            EventBody::UserSaid { .. } | EventBody::QuestionDecided { .. } => "input",
            EventBody::StateEdited { .. } => "update",
            EventBody::CallEnded { .. } | EventBody::Rested { .. } | EventBody::Resumed { .. } => "loop",
            _ => return,
        };
        let (record, messages) = (event.number.record, self.messages.len());
        match self.points.last_mut().filter(|point| point.record == record) {
            Some(point) => point.messages = messages,
            None => self.points.push(RecordPoint { record, at: event.at, source, messages }),
        }
    }

    fn text(&mut self, text: &str) -> AddedMessage {
        let id = self.next_text();
        self.texts += 1;
        let message = json!({"type": "ai", "content": lines_visible(text), "id": id, "tool_calls": []});
        AddedMessage { node: MODEL, message }
    }

    /// The result of a turn, unless it was already sent as a message.
    fn output(&mut self, reply: &Reply) -> Option<AddedMessage> {
        if reply.output.is_null() {
            return None;
        }
        let text = plain_text(&reply.output);
        (!reply.said.contains(&text)).then(|| self.text(&text))
    }

    fn proposal(&self, id: &str, name: &str, call: &Value) -> AddedMessage {
        let call = json!({"name": name, "args": args_of(call), "id": id, "type": "tool_call"});
        let id = format!("{}-call-{id}", self.thread);
        AddedMessage { node: MODEL, message: json!({"type": "ai", "content": "", "id": id, "tool_calls": [call]}) }
    }

    fn result(&mut self, id: &str, outcome: &Outcome) -> AddedMessage {
        let (content, status) = match outcome {
            Outcome::Value(Value::String(text)) => (text.clone(), "success"),
            Outcome::Value(value) => (value.to_string(), "success"),
            Outcome::Messages(messages) => (Value::Array(messages.clone()).to_string(), "success"),
            Outcome::Error(error) => (format!("{}: {}", error.code, error.message), "error"),
            Outcome::Lost { message } => (message.clone(), "error"),
        };
        let name = self.tools.remove(id).unwrap_or_default();
        let message_id = format!("{}-result-{id}", self.thread);
        let message = json!({
            "type": "tool", "content": lines_visible(&content), "id": message_id, "name": name, "tool_call_id": id,
            "status": status,
        });
        AddedMessage { node: TOOLS, message }
    }
}

/// The parameters of a call, without meta-properties.
pub(super) fn args_of(call: &Value) -> serde_json::Map<String, Value> {
    let fields = call.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !name.starts_with('_')).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use obelus_runtime::EventNumber;

    fn event(record: u64, body: EventBody) -> SessionEvent {
        SessionEvent { number: EventNumber { record, part: 1 }, at: Time(0), is_transient: false, body }
    }

    fn rested(record: u64, output: &str) -> SessionEvent {
        let reply = Reply {
            ends: TurnEnd::Output,
            output: json!(output),
            said: Vec::new(),
            calls: Vec::new(),
            waiting: Vec::new(),
            reason: None,
            end: None,
            at: Time(0),
        };
        event(record, EventBody::Rested { reply: Box::new(reply) })
    }

    fn said(record: u64, text: &str) -> SessionEvent {
        event(record, EventBody::UserSaid { text: text.to_owned(), by: None })
    }

    #[test]
    fn a_queued_message_is_a_run_that_ends_with_its_own_turn() {
        let mut fold = Fold::new("t");
        fold.take(&said(1, "one"));
        fold.take(&said(2, "two"));
        assert!(fold.is_queued(2) && !fold.is_queued(1));
        fold.take(&rested(3, "first"));
        assert!(fold.run(1).unwrap().end.is_some() && fold.run(2).unwrap().end.is_none());
        fold.take(&rested(4, "second"));
        assert!(fold.run(2).unwrap().end.is_some());
        let texts: Vec<_> = fold.messages.iter().map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(texts, ["one", "two", "first", "second"]);
        assert_eq!(fold.messages[3]["id"], "t-ai-2");
        assert_eq!(fold.points.iter().map(|point| point.messages).collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}
