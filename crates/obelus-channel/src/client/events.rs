//! The events of a session, as they arrive.

use obelus_runtime::people::StepLine;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::LARGEST;

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ServerEvent {
    /// Its number. The next request names it, to get the events after it.
    #[serde(default)]
    pub number: String,
    /// What happened.
    #[serde(flatten)]
    pub body: ServerEventBody,
}

/// What happened, as far as a conversation shows it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ServerEventBody {
    /// The agent sent a message.
    AgentSaid {
        /// The message.
        text: String,
    },
    /// A call began.
    CallBegan {
        /// The call in words.
        #[serde(default, deserialize_with = "if_known")]
        line: Option<StepLine>,
    },
    /// A call has ended.
    CallEnded {
        /// The call in words.
        #[serde(default, deserialize_with = "if_known")]
        line: Option<StepLine>,
    },
    /// The turn rests.
    Rested,
    /// A person paused the session.
    Paused,
    /// Earlier events are no longer held.
    Missed,
    /// Partial text of the model.
    Writing,
    /// The session has made progress.
    Moved,
    /// A notice about the session's files.
    Files,
    /// Something could not be stored.
    Failed,
    /// Anything else.
    #[serde(other)]
    Other,
}

impl ServerEventBody {
    /// Whether the event is not stored, so that no request can name its number.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Missed | Self::Writing | Self::Moved | Self::Files | Self::Failed)
    }
}

/// A value of a known form; none if a newer server sends another one.
fn if_known<'de, D: Deserializer<'de>>(value: D) -> Result<Option<StepLine>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(value)?).ok())
}

/// Reads the events of a session as they arrive.
pub struct EventReader {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

impl EventReader {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, buffer: Vec::new() }
    }

    /// The next event; none if the stream has ended. It is cancel-safe.
    pub async fn next(&mut self) -> Option<ServerEvent> {
        loop {
            if let Some(event) = self.take_buffered() {
                return Some(event);
            }
            match self.response.chunk().await {
                Ok(Some(part)) if self.buffer.len() + part.len() <= LARGEST => self.buffer.extend_from_slice(&part),
                // The reader continues after the number of the last event.
                _ => return None,
            }
        }
    }

    fn take_buffered(&mut self) -> Option<ServerEvent> {
        loop {
            let end = self.buffer.windows(2).position(|two| two == b"\n\n")?;
            let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
            if let Some(event) = read_frame(&frame) {
                return Some(event);
            }
        }
    }
}

/// The event in one frame; none for a comment.
fn read_frame(frame: &[u8]) -> Option<ServerEvent> {
    let text = std::str::from_utf8(frame).ok()?;
    let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
    serde_json::from_str(data).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sse_frames_are_parsed_and_comments_are_skipped() {
        let frame = br#"id: 1-2
event: agent_said
data: {"number": "1-2", "at": 0, "event": "agent_said", "text": "Done."}

"#;
        let said = ServerEventBody::AgentSaid { text: "Done.".to_owned() };
        assert_eq!(read_frame(frame), Some(ServerEvent { number: "1-2".to_owned(), body: said }));
        assert_eq!(read_frame(b": alive\n\n"), None);
    }

    #[test]
    fn events_of_a_newer_server_are_read_as_far_as_they_are_known() {
        let body = |data: &str| read_frame(format!("data: {data}\n\n").as_bytes()).map(|event| event.body);
        let rested = body(r#"{"number": "1-0", "event": "rested", "reply": {"ends": "later"}}"#);
        assert_eq!(rested, Some(ServerEventBody::Rested));
        assert_eq!(body(r#"{"number": "1-0", "event": "of_later", "text": 1}"#), Some(ServerEventBody::Other));
        let began = body(r#"{"number": "1-0", "event": "call_began", "line": {"status": "of_later"}}"#);
        assert_eq!(began, Some(ServerEventBody::CallBegan { line: None }));
    }

    #[test]
    fn fuzz_any_frame_of_a_server_is_skipped_or_read() {
        crate::fuzz::fuzz("frame", |input| {
            let _ = crate::client::refused(400, input);
            read_frame(input).is_some()
        });
    }
}
