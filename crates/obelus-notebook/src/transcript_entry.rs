//! The entries of a transcript: the history of a session for its model, and the status of a call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call_json::CallJson;
use crate::time::Time;
use crate::wording::clip;

/// The status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It is part of a plan that has not been started.
    Planned,
    /// A needed value is missing.
    Blocked,
    /// It may run as soon as there is room.
    Ready,
    /// It waits for a person.
    Waiting,
    /// It runs.
    Running,
    /// It has run.
    Done,
    /// It failed.
    Failed,
    /// A needed value never came.
    Skipped,
    /// A person said no.
    Denied,
    /// The mode or the policy said no.
    Refused,
}

impl CallStatus {
    /// The status in one word.
    pub fn name(self) -> &'static str {
        match self {
            CallStatus::Planned => "planned",
            CallStatus::Blocked => "blocked",
            CallStatus::Ready => "ready",
            CallStatus::Waiting => "waiting",
            CallStatus::Running => "running",
            CallStatus::Done => "done",
            CallStatus::Failed => "failed",
            CallStatus::Skipped => "skipped",
            CallStatus::Denied => "denied",
            CallStatus::Refused => "refused",
        }
    }

    /// Whether the call should have run and did not, or did not succeed.
    pub fn did_not_succeed(self) -> bool {
        matches!(self, CallStatus::Failed | CallStatus::Refused | CallStatus::Skipped)
    }
}

/// One entry of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TranscriptEntry {
    /// Entries of one batch were first sent with the same request.
    pub batch: u64,
    /// Whether only a line is left of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_digest: bool,
    /// The event.
    #[serde(flatten)]
    pub what: TranscriptEvent,
    /// Its approximate number of characters in a prompt.
    pub size: usize,
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TranscriptEvent {
    /// A message of the user.
    User {
        /// The words.
        text: String,
        /// When.
        time: Time,
    },
    /// A message of the agent that is in no answer of the model.
    Assistant {
        /// The words.
        text: String,
    },
    /// The model answered.
    Answer {
        /// The step of the agent's graph that asked, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<String>,
        /// Its thought, if the dialect has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thought: Option<String>,
        /// Text for the user.
        say: Option<String>,
        /// The proposed calls.
        calls: Vec<CallJson>,
        /// The result.
        output: Value,
    },
    /// A call has ended.
    Call(Box<CallEntry>),
    /// A call returned an observation. The driver has its text.
    Observed {
        /// The tool.
        tool: String,
        /// Its stored part: digest, length in characters, and the tool's own data.
        about: Value,
        /// Whether it shows only the changes since the previous one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_part: bool,
    },
    /// A person decided.
    Decision {
        /// Its subject and content.
        decision: Value,
    },
    /// An error that belongs to no started call.
    Error {
        /// The proposed call, if there was one, and the error.
        error: Value,
    },
    /// An event from outside.
    Event {
        /// The event.
        event: Value,
    },
    /// Earlier entries that were left out.
    LeftOut {
        /// How many.
        count: usize,
        /// Calls among them that changed something, were denied or failed: counts by tool and status.
        calls: BTreeMap<String, usize>,
    },
}

/// An ended call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallEntry {
    /// Its step, and its index in that step.
    pub place: (u32, u32),
    /// The call: as it ran, else as proposed.
    pub call: CallJson,
    /// How it ended.
    pub status: CallStatus,
    /// Its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// The paths of its result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<String>,
    /// The shortened result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Whether it does more than read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes: bool,
    /// Whether a person approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
}

/// The limit of characters of a text in a line that replaces an entry.
const MOST_OF_TEXT: usize = 200;
/// Characters of the frame of an entry.
const FRAME: usize = 40;

impl TranscriptEntry {
    /// An event in a batch.
    pub fn new(batch: u64, what: TranscriptEvent) -> Self {
        let size = what.size();
        Self { batch, is_digest: false, what, size }
    }

    /// A line that replaces it; none if there is nothing to leave out.
    pub fn digest(&self) -> Option<Self> {
        let what = match &self.what {
            TranscriptEvent::Answer { node, say, output, .. } => {
                let output = if output.is_string() { output.clone() } else { Value::Null };
                let say = say.as_deref().or(output.as_str()).map(|words| clip(words, MOST_OF_TEXT));
                let (calls, output) = (Vec::new(), Value::Null);
                TranscriptEvent::Answer { node: node.clone(), thought: None, say, calls, output }
            }
            TranscriptEvent::Call(entry) => {
                let call = in_short(&entry.call).into();
                TranscriptEvent::Call(Box::new(CallEntry { call, result: None, ..(**entry).clone() }))
            }
            TranscriptEvent::Observed { tool, about, is_part } => {
                let fields = about.as_object().into_iter().flatten();
                let shown = fields.filter(|(name, _)| !matches!(name.as_str(), "digest" | "chars" | "part"));
                let about = shown.map(|(name, value)| (name.clone(), value.clone())).collect();
                TranscriptEvent::Observed { tool: tool.clone(), about, is_part: *is_part }
            }
            TranscriptEvent::Event { event } => {
                TranscriptEvent::Event { event: clip(&event.to_string(), MOST_OF_TEXT).into() }
            }
            TranscriptEvent::Error { error } => {
                let message = error["error"]["message"].as_str().map(|words| clip(words, MOST_OF_TEXT));
                TranscriptEvent::Error { error: serde_json::json!({"error": {"message": message}}) }
            }
            TranscriptEvent::User { .. }
            | TranscriptEvent::Assistant { .. }
            | TranscriptEvent::Decision { .. }
            | TranscriptEvent::LeftOut { .. } => return None,
        };
        let digest = Self { is_digest: true, ..Self::new(self.batch, what) };
        (digest.size < self.size).then_some(digest)
    }

    /// Whether it shows an observation, whole or in part.
    pub fn shows_observation(&self) -> bool {
        !self.is_digest && matches!(self.what, TranscriptEvent::Observed { .. })
    }

    /// Whether it is kept as long as possible: a change, a denial, a failure, a person's message (PROMPT-3).
    pub fn is_lasting(&self) -> bool {
        match &self.what {
            TranscriptEvent::Call(entry) => entry.changes || entry.status != CallStatus::Done,
            TranscriptEvent::Decision { .. } | TranscriptEvent::LeftOut { .. } => true,
            _ => false,
        }
    }
}

impl TranscriptEvent {
    fn size(&self) -> usize {
        let chars = |text: &str| text.chars().count();
        let of = |value: &Value| if value.is_null() { 0 } else { length_of_json(value) };
        FRAME
            + match self {
                Self::User { text, .. } | Self::Assistant { text } => chars(text),
                Self::Answer { thought, say, calls, output, .. } => {
                    let words: usize = [thought, say].into_iter().flatten().map(|text| chars(text)).sum();
                    words + calls.iter().map(|call| of(call)).sum::<usize>() + of(output)
                }
                Self::Call(entry) => {
                    let parts = entry.error.iter().chain(&entry.result).map(of).sum::<usize>();
                    of(&entry.call) + parts + entry.at.iter().map(|path| chars(path)).sum::<usize>()
                }
                Self::Observed { about, .. } => {
                    let chars = about["chars"].as_u64().and_then(|chars| usize::try_from(chars).ok());
                    chars.unwrap_or_default() + of(about)
                }
                Self::Decision { decision: value } | Self::Error { error: value } | Self::Event { event: value } => {
                    of(value)
                }
                Self::LeftOut { calls, .. } => calls.keys().map(|name| chars(name)).sum(),
            }
    }
}

/// The length of a value as JSON, without creating the text, because every result is counted.
fn length_of_json(value: &Value) -> usize {
    match value {
        Value::String(text) => length_of_text(text),
        Value::Array(items) => 2 + items.len().saturating_sub(1) + items.iter().map(length_of_json).sum::<usize>(),
        Value::Object(fields) => {
            let of_field = |(name, value): (&String, &Value)| length_of_text(name) + 1 + length_of_json(value);
            2 + fields.len().saturating_sub(1) + fields.iter().map(of_field).sum::<usize>()
        }
        Value::Number(number) => match number.as_u64() {
            Some(whole) => whole.checked_ilog10().unwrap_or(0) as usize + 1,
            None => number.to_string().len(),
        },
        Value::Null | Value::Bool(_) => value.to_string().len(),
    }
}

/// The same for a text, with its quotes and escapes.
fn length_of_text(text: &str) -> usize {
    let is_escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let added = |byte: u8| if matches!(byte, b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c) { 1 } else { 5 };
    // Most texts have no escapes. Checking all bytes of a chunk is faster than stopping at the first.
    let has_escapes = |piece: &[u8]| piece.iter().fold(false, |found, byte| found | is_escaped(byte));
    let escapes =
        if text.as_bytes().chunks(64).any(has_escapes) { text.bytes().filter(is_escaped).map(added).sum() } else { 0 };
    2 + text.chars().count() + escapes
}

/// A call with shortened parameters.
fn in_short(call: &Value) -> Value {
    const MOST: usize = 60;
    let short = |(name, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) => clip(text, MOST).into(),
            Value::Array(_) | Value::Object(_) => {
                let text = value.to_string();
                if text.chars().count() > MOST { clip(&text, MOST).into() } else { value.clone() }
            }
            other => other.clone(),
        };
        (name.clone(), text)
    };
    match call {
        Value::Object(fields) => Value::Object(fields.iter().map(short).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_length_of_a_value_is_that_of_its_text() {
        for value in [
            json!(null),
            json!(true),
            json!(-1.5e300),
            json!(0),
            json!(9),
            json!(10),
            json!(-10),
            json!(u64::MAX),
            json!("plain"),
            json!("«ёлка» 🌲 \"quoted\" \\ \n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}\u{2028}"),
            json!([]),
            json!([1]),
            json!([1, [2, "three"]]),
            json!({}),
            json!({"a": 1}),
            json!({"ключ": {"b": [], "c\"": null}, "d": "e"}),
        ] {
            assert_eq!(length_of_json(&value), value.to_string().chars().count(), "{value}");
        }
    }
}
