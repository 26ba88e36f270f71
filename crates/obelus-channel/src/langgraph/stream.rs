//! A run as server-sent events. A client continues after the id of the last one.
//!
//! One event of the session may become several frames: their ids are `RECORD-PART-FRAME`.

use std::collections::BTreeSet;
use std::convert::Infallible;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use obelus_kernel::session::TurnEnd;
use obelus_runtime::{EventBody, EventNumber, SessionEvent};
use serde_json::{Value, json};

use super::fold::{AddedMessage, MODEL};
use super::follow::{FollowedRun, RunItem};
use super::state::interrupts_of;
use super::{bad, runs};
use crate::ChannelError;
use crate::service::lines_visible;

/// The kinds of frames that a client requests.
#[derive(Clone, Default)]
pub(super) struct Modes(BTreeSet<&'static str>);

/// The modes that clients may request. Nothing is ever sent for the last row.
const KNOWN: [&str; 12] = [
    "values",
    "updates",
    "messages",
    "messages-tuple",
    "custom",
    "events",
    "debug",
    "tasks",
    "checkpoints",
    "tools",
    "lifecycle",
    "feedback",
];

impl Modes {
    pub(super) fn of_body(value: &Value) -> Result<Self, ChannelError> {
        match value {
            Value::Null => Self::of_names([]),
            Value::String(one) => Self::of_names([one.as_str()]),
            Value::Array(all) => Self::of_names(all.iter().map(|mode| mode.as_str().unwrap_or_default())),
            _ => Err(bad("`stream_mode` is a name, or a list of names")),
        }
    }

    /// Modes come as several values, or as JSON.
    pub(super) fn of_query(query: &[(String, String)]) -> Result<Self, ChannelError> {
        let values: Vec<&str> =
            query.iter().filter(|(name, _)| name == "stream_mode").map(|(_, value)| value.as_str()).collect();
        match values.as_slice() {
            [one] if one.starts_with(['[', '"']) => {
                Self::of_body(&serde_json::from_str(one).map_err(|error| bad(error.to_string()))?)
            }
            values => Self::of_names(values.iter().copied().filter(|value| !value.is_empty())),
        }
    }

    fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, ChannelError> {
        let known = |name: &str| KNOWN.iter().find(|known| **known == name).copied();
        let mode = |name: &str| known(name).ok_or_else(|| bad(format!("`stream_mode` is one of {}", KNOWN.join(", "))));
        let modes: BTreeSet<&'static str> = names.into_iter().map(mode).collect::<Result<_, _>>()?;
        Ok(Self(if modes.is_empty() { ["values"].into() } else { modes }))
    }

    /// The modes as a query.
    pub(super) fn query(&self) -> String {
        self.0.iter().map(|mode| format!("stream_mode={mode}")).collect::<Vec<_>>().join("&")
    }

    fn has(&self, mode: &str) -> bool {
        self.0.contains(mode)
    }
}

/// The id of a frame.
#[derive(Clone, Copy)]
pub(super) struct FrameId {
    event: EventNumber,
    frame: usize,
}

impl FrameId {
    pub(super) fn parse(text: &str) -> Result<Self, ChannelError> {
        let parts = text.rsplit_once('-').and_then(|(event, frame)| Some((event.parse().ok()?, frame.parse().ok()?)));
        let (event, frame) = parts.ok_or_else(|| bad("`Last-Event-ID` is the id of an event of this run"))?;
        Ok(Self { event, frame })
    }

    /// The event before the frame's own, so that its event is sent again.
    pub(super) fn event_before(self) -> EventNumber {
        let EventNumber { record, part } = self.event;
        EventNumber { record, part: part.saturating_sub(1) }
    }
}

/// Creates the frames of a run.
struct Framer {
    followed: FollowedRun,
    modes: Modes,
    /// Frames up to this one were already sent.
    seen: Option<FrameId>,
    /// The text being written.
    written: String,
    is_over: bool,
}

/// A run as frames.
pub(super) fn frames(followed: FollowedRun, modes: Modes, seen: Option<FrameId>) -> Response {
    let framer = Framer { followed, modes, seen, written: String::new(), is_over: false };
    let first = match seen {
        Some(_) => Bytes::from_static(b": open\n\n"),
        None => frame(None, "metadata", &json!({"run_id": framer.followed.run_id(), "attempt": 1})),
    };
    let body = unfold((Some(first), framer), |(first, mut framer)| async move {
        if let Some(first) = first {
            return Some((Ok::<_, Infallible>(first), (None, framer)));
        }
        if framer.is_over {
            return None;
        }
        let bytes = framer.next().await;
        Some((Ok(bytes), (None, framer)))
    });
    ([("content-type", "text/event-stream; charset=utf-8")], Body::from_stream(body)).into_response()
}

impl Framer {
    async fn next(&mut self) -> Bytes {
        match self.followed.next().await {
            RunItem::Silence => Bytes::from_static(b": alive\n\n"),
            RunItem::Cut => {
                self.is_over = true;
                Bytes::from_static(b": cut\n\n")
            }
            RunItem::End => {
                self.is_over = true;
                self.last()
            }
            RunItem::Event(event, added) => {
                if let EventBody::Writing { text } = &event.body {
                    return self.writing(&lines_visible(text));
                }
                let all = self.of_event(&event, added).await;
                let seen = self.seen.filter(|seen| seen.event == event.number).map_or(0, |seen| seen.frame + 1);
                let numbered = all.iter().enumerate().skip(seen);
                let bytes = numbered.flat_map(|(place, (name, data))| {
                    frame(Some(FrameId { event: event.number, frame: place }), name, data).to_vec()
                });
                bytes.collect::<Vec<u8>>().into()
            }
        }
    }

    async fn of_event(&mut self, event: &SessionEvent, added: Vec<AddedMessage>) -> Vec<(&'static str, Value)> {
        let mut all = Vec::new();
        for AddedMessage { node, message } in &added {
            if self.modes.has("updates") {
                all.push(("updates", json!({*node: {"messages": [message]}})));
            }
            self.message(node, message, &mut all);
        }
        let asks = matches!(&event.body, EventBody::Rested { reply } if reply.ends == TurnEnd::Waiting);
        let is_step = !added.is_empty()
            || matches!(
                event.body,
                EventBody::UserSaid { .. } | EventBody::Rested { .. } | EventBody::StateEdited { .. }
            );
        let shows_values = is_step && self.modes.has("values");
        if !asks && !shows_values {
            return all;
        }
        let Ok(now) = self.followed.snapshot().await else { return all };
        let interrupts = interrupts_of(&now);
        if asks {
            self.followed.note_shown(&now);
        }
        if asks && self.modes.has("updates") {
            all.push(("updates", json!({"__interrupt__": interrupts})));
        }
        if self.modes.has("values") {
            let mut values = json!({"messages": self.followed.fold.messages, "state": now.state});
            if asks {
                values["__interrupt__"] = interrupts.into();
            }
            all.push(("values", values));
        }
        all
    }

    fn metadata(&self, node: &str) -> Value {
        let started = &self.followed.started;
        json!({
            "langgraph_node": node, "run_id": self.followed.run_id(), "thread_id": started.thread,
            "assistant_id": started.assistant, "graph_id": started.assistant,
        })
    }

    /// A complete message. If parts of it were already sent, only the rest follows.
    fn message(&mut self, node: &'static str, message: &Value, all: &mut Vec<(&'static str, Value)>) {
        let written = std::mem::take(&mut self.written);
        let metadata = self.metadata(node);
        if self.modes.has("messages-tuple") {
            let mut chunk = message.clone();
            if message["type"] == "ai" {
                chunk["type"] = "AIMessageChunk".into();
            }
            let content = message["content"].as_str().unwrap_or_default();
            let rest = content.strip_prefix(&written).filter(|_| !written.is_empty());
            if let Some(rest) = rest {
                chunk["content"] = rest.into();
            }
            all.push(("messages", json!([chunk, metadata])));
        }
        if self.modes.has("messages") {
            let id = message["id"].as_str().unwrap_or_default();
            all.push(("messages/metadata", json!({id: {"metadata": metadata}})));
            all.push(("messages/complete", json!([message])));
        }
    }

    /// Partial text. It is not sent again.
    fn writing(&mut self, text: &str) -> Bytes {
        self.written.push_str(text);
        let id = self.followed.fold.next_text();
        let mut bytes = Vec::new();
        if self.modes.has("messages-tuple") {
            let chunk = json!({"type": "AIMessageChunk", "content": text, "id": id, "tool_calls": []});
            bytes.extend(frame(None, "messages", &json!([chunk, self.metadata(MODEL)])));
        }
        if self.modes.has("messages") {
            let message = json!({"type": "ai", "content": self.written, "id": id, "tool_calls": []});
            bytes.extend(frame(None, "messages/partial", &json!([message])));
        }
        if bytes.is_empty() { Bytes::from_static(b": writing\n\n") } else { bytes.into() }
    }

    /// The last frame: `end`, or `error` if the turn has no result.
    fn last(&self) -> Bytes {
        let end = self.followed.end();
        let failed = end.filter(|end| matches!(end.ends, TurnEnd::Degraded | TurnEnd::Limit));
        if let Some(end) = failed {
            let (code, message) = end.reason.unwrap_or_else(|| ("error".to_owned(), String::new()));
            return frame(None, "error", &json!({"error": code, "message": message}));
        }
        let fold = &self.followed.fold;
        let status = fold.run(self.followed.started.record).map_or("success", |run| runs::status_of(fold, run));
        frame(None, "end", &json!({"run_id": self.followed.run_id(), "status": status}))
    }
}

fn frame(id: Option<FrameId>, name: &str, data: &Value) -> Bytes {
    let id = id.map(|FrameId { event, frame }| format!("id: {event}-{frame}\n")).unwrap_or_default();
    // JSON on one line has no line breaks.
    Bytes::from(format!("{id}event: {name}\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_modes_are_read_from_a_name_a_list_or_the_query() {
        let query = |pairs: &[&str]| {
            let pairs: Vec<_> = pairs.iter().map(|mode| ("stream_mode".to_owned(), (*mode).to_owned())).collect();
            Modes::of_query(&pairs).map(|modes| modes.query()).ok()
        };
        assert_eq!(Modes::of_body(&Value::Null).unwrap().query(), "stream_mode=values");
        assert_eq!(query(&["values", "updates"]).as_deref(), Some("stream_mode=updates&stream_mode=values"));
        assert_eq!(query(&[r#"["messages-tuple"]"#]).as_deref(), Some("stream_mode=messages-tuple"));
        assert_eq!(query(&["nonsense"]), None);
    }

    #[test]
    fn a_stream_resumes_after_the_last_frame() {
        let id = FrameId::parse("12-3-1").unwrap();
        assert_eq!((id.event_before().to_string(), id.frame), ("12-2".to_owned(), 1));
        for wrong in ["", "12", "12-3", "a-b-c"] {
            assert!(FrameId::parse(wrong).is_err(), "{wrong}");
        }
    }
}
