//! The stored data of a session.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreError;
use crate::summary::SessionSummary;

/// One input of a session in its journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When the session took it.
    pub at: Time,
    /// The input, shared with the session until it is durable.
    pub input: Arc<Input>,
    /// The sender's id of an input from outside.
    pub id: Option<InputId>,
    /// The digest of its consequences. Records of older versions have none.
    pub digest: Option<Digest>,
}

impl Record {
    /// A record without id and digest.
    pub fn new(at: Time, input: impl Into<Arc<Input>>) -> Self {
        Self { at, input: input.into(), id: None, digest: None }
    }
}

/// The id of an input from outside (DUR-13), chosen by its sender. An input with the same id is taken once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InputId(String);

impl InputId {
    /// The longest id, in bytes.
    pub const LONGEST: usize = 200;

    /// A unique id: a sender generates it once and sends it with every attempt.
    pub fn drawn() -> Self {
        Self(uuid::Uuid::now_v7().simple().to_string())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An input as it is compared with another one of the same id: without the sender of a message, because records of
    /// earlier versions do not have it.
    pub fn compared(input: &Input) -> Cow<'_, Input> {
        match input {
            Input::User { text, by: Some(_) } => Cow::Owned(Input::User { text: text.clone(), by: None }),
            other => Cow::Borrowed(other),
        }
    }
}

impl FromStr for InputId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for InputId {
    type Error = StoreError;

    fn try_from(text: String) -> Result<Self, StoreError> {
        if (1..=Self::LONGEST).contains(&text.len()) { Ok(Self(text)) } else { Err(StoreError::BadInputId(text.len())) }
    }
}

impl From<InputId> for String {
    fn from(id: InputId) -> Self {
        id.0
    }
}

impl fmt::Display for InputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A digest of an input's consequences: the upper half covers the tasks, the lower half the messages. It is written
/// as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(pub(crate) u64);

impl TryFrom<String> for Digest {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u64::from_str_radix(&text, 16).map(Self)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        format!("{:016x}", digest.0)
    }
}

/// A part of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Journaled {
    /// The number of the record before the first one.
    pub after: u64,
    /// The records, oldest first.
    pub records: Vec<Record>,
    /// The damaged end that was left out.
    pub cut: Option<DamagedTail>,
}

impl Journaled {
    /// The number of the last record.
    pub fn last(&self) -> u64 {
        self.after + self.records.len() as u64
    }

    /// The records of this session. A damaged end is an error.
    pub(crate) fn undamaged(self, session: &str) -> Result<Vec<Record>, StoreError> {
        match self.cut {
            None => Ok(self.records),
            Some(DamagedTail { seq, problem, .. }) => {
                Err(StoreError::Damaged { session: session.to_owned(), seq, problem })
            }
        }
    }
}

/// A damaged end of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedTail {
    /// The first record that cannot be read.
    pub seq: u64,
    /// The number of records left out, including this one.
    pub records: u64,
    /// What is wrong with it.
    pub problem: String,
}

/// The checkpoint of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its last record.
    pub seq: u64,
    /// The result of `Session::checkpoint`.
    pub state: String,
}

/// The stored data of a resting session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointData {
    /// The result of `Session::checkpoint`, if the session can be checkpointed now.
    pub checkpoint: Option<String>,
    /// The open questions, as `Question::to_json` makes them.
    pub questions: Vec<Value>,
    /// The summary for lists. Data of older versions have none.
    pub summary: Option<SessionSummary>,
}

/// One session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its name.
    pub id: String,
    /// When it began.
    pub created: Time,
    /// The number of its records.
    pub records: u64,
    /// The time of the last one.
    pub last_at: Option<Time>,
}

/// The open questions of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxRow {
    /// The session.
    pub session: String,
    /// Its open questions. None if the session has continued since they were stored: restore it to know.
    pub questions: Option<Vec<Value>>,
}
