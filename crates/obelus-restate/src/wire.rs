//! The stored state of a session, and the handlers' parameters and results. All of it is JSON.

use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Input, Refused};
use obelus_runtime::StoreError;
use obelus_runtime::engine::{Digest, Record};
use obelus_runtime::sessions::InputId;
use obelus_runtime::text::hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// The name of the Virtual Object of sessions.
pub(crate) const SESSION: &str = "Session";

/// The name of the service that carries out effects.
pub(crate) const EFFECTS: &str = "Effects";

/// The version of the stored state. Since 2 every session works by the rules that were settings before.
pub(crate) const FORM: u32 = 2;

/// Why a session of a later form is refused.
pub(crate) const LATER_FORM: &str = "a later version of the program wrote it";

/// The keys of a session's state.
pub(crate) mod key {
    pub(crate) const HEAD: &str = "head";
    pub(crate) const GENESIS: &str = "genesis";
    /// The latest checkpoint.
    pub(crate) const REST: &str = "rest";
    /// The open questions; absent if there are none.
    pub(crate) const INBOX: &str = "inbox";
    /// How many sessions of this name were removed.
    pub(crate) const REMOVED: &str = "removed";

    /// A record. Numbers have a fixed length, so that keys sort like records.
    pub(crate) fn record(seq: u64) -> String {
        format!("r/{seq:012}")
    }

    /// The record of the input with an id.
    pub(crate) fn input(id: &str) -> String {
        format!("i/{id}")
    }

    /// The keys of parts of imports.
    pub(crate) const PARTS: &str = "c/";

    /// A part of an import that is too large for one message.
    pub(crate) fn part(import: &str, number: u64) -> String {
        format!("{PARTS}{import}/{number}")
    }

    /// An outcome that came while the session could not be restored.
    pub(crate) fn parked(number: u64) -> String {
        format!("p/{number}")
    }
}

/// The head of a session. Every handler begins with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionHead {
    pub(crate) form: u32,
    /// The session's own key (DUR-14): messages for an earlier session of the same name have another one.
    pub(crate) key: String,
    pub(crate) created: Time,
    /// The latest record, its time, and the sum of all records.
    pub(crate) seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_at: Option<Time>,
    pub(crate) sum: Checksum,
    /// The sum of the genesis.
    pub(crate) genesis: Checksum,
    /// The record of the latest checkpoint.
    pub(crate) rest: u64,
    /// The current timer: earlier ones have another number.
    #[serde(default)]
    pub(crate) timer: Timer,
    /// The number of stops by a person.
    #[serde(default)]
    pub(crate) stops: u64,
    /// The sum of the open questions, to detect changes.
    #[serde(default)]
    pub(crate) inbox: Checksum,
    /// Tasks that were unfinished when the session was imported; they begin once it is not paused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) held: Vec<String>,
    /// Outcomes that wait until the session can be restored.
    #[serde(default)]
    pub(crate) parked: u64,
}

impl SessionHead {
    /// The head of a session without records.
    pub(crate) fn new(key: &str, created: Time, genesis: Checksum) -> Self {
        Self {
            form: FORM,
            key: key.to_owned(),
            created,
            seq: 0,
            last_at: None,
            sum: Checksum::default(),
            genesis,
            rest: 0,
            timer: Timer::default(),
            stops: 0,
            inbox: Checksum::default(),
            held: Vec::new(),
            parked: 0,
        }
    }
}

/// The time of the session's next tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timer {
    pub(crate) number: u64,
    pub(crate) due: Option<Time>,
}

/// A checksum of stored data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checksum(String);

impl Checksum {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The sum of a text after others with this sum.
    pub(crate) fn and(&self, text: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.0.as_bytes());
        hash.update(text.as_bytes());
        Self(hex(&hash.finalize()[..16]))
    }

    pub(crate) fn of(text: &str) -> Self {
        Self::default().and(text)
    }
}

/// A stored record: its text, and the sum of the records up to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredRecord {
    pub(crate) sum: Checksum,
    pub(crate) record: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
struct RecordFields {
    at: Time,
    input: Arc<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<InputId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
}

impl StoredRecord {
    /// A record after others with this sum.
    pub(crate) fn after(sum: &Checksum, record: &Record) -> Result<Self, serde_json::Error> {
        let Record { at, input, id, digest } = record.clone();
        let record = serde_json::value::to_raw_value(&RecordFields { at, input, id, digest })?;
        Ok(Self { sum: sum.and(record.get()), record })
    }

    /// Whether it is unchanged, if the records before it have this sum.
    pub(crate) fn fits(&self, before: &Checksum) -> bool {
        before.and(self.record.get()) == self.sum
    }

    pub(crate) fn record(&self) -> Result<Record, serde_json::Error> {
        let RecordFields { at, input, id, digest } = serde_json::from_str(self.record.get())?;
        Ok(Record { at, input, id, digest })
    }
}

/// The record of an input with an id, and the sum of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TakenInput {
    pub(crate) seq: u64,
    pub(crate) sum: Checksum,
}

/// A checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredCheckpoint {
    pub(crate) seq: u64,
    pub(crate) state: String,
}

/// The parameters of a new session.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Creation {
    pub(crate) at: Time,
    pub(crate) genesis: Value,
    /// All records, or those after the parts.
    pub(crate) records: Vec<StoredRecord>,
    /// The parts that were sent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parts: Option<SentParts>,
}

/// The parts of an import.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SentParts {
    /// A unique id, so that two imports under one name do not mix.
    pub(crate) import: String,
    pub(crate) count: u64,
}

/// A part of an import.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ImportPart {
    pub(crate) import: String,
    pub(crate) number: u64,
    pub(crate) records: Vec<StoredRecord>,
}

/// Inputs for a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) at: Time,
    pub(crate) inputs: Vec<Input>,
    /// The id of an input from outside (DUR-13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<InputId>,
    /// The task of which this is the outcome. It is taken only while that task is unfinished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<TaskRef>,
}

/// A task of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskRef {
    /// The session's own key.
    pub(crate) key: String,
    /// The task's id.
    pub(crate) id: String,
    /// The attempt; 0 for tasks without attempts.
    pub(crate) attempt: u32,
}

/// A task to carry out. Its content is read from the session, so that prompts do not fill the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EffectTask {
    pub(crate) session: String,
    pub(crate) task: TaskRef,
    /// The record that started it.
    pub(crate) seq: u64,
    /// The number of stops at that time.
    pub(crate) stops: u64,
    /// Whether it is a call, so that an earlier start puts it in doubt. Earlier versions set it only for calls that are
    /// not idempotent.
    #[serde(rename = "once")]
    pub(crate) is_call: bool,
    /// Whether an earlier engine may have begun it.
    pub(crate) in_doubt: bool,
}

/// An expired timer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tick {
    pub(crate) key: String,
    pub(crate) timer: Timer,
}

/// A request to checkpoint after a record, if the session still exists.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CheckpointRequest {
    pub(crate) key: String,
    pub(crate) seq: u64,
}

/// The result of a handler.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answered {
    /// It was taken with this record.
    Taken(u64),
    /// It is refused, and nothing has changed.
    Refused(Refused),
    /// There is no such session.
    Unknown,
    /// The name is already used.
    Exists,
}

impl Answered {
    pub(crate) fn taken(self, session: &str) -> Result<u64, Refused> {
        match self {
            Self::Taken(seq) => Ok(seq),
            Self::Refused(refused) => Err(refused),
            Self::Unknown => Err(Refused::new(RefusalCode::Gone, StoreError::Unknown(session.to_owned()).to_string())),
            Self::Exists => Err(Refused::new(RefusalCode::Refused, StoreError::Exists(session.to_owned()).to_string())),
        }
    }
}
