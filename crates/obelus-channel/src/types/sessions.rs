//! Sessions, turns and their calls.

use obelus_kernel::session::report_error::ReportError;
use obelus_kernel::session::{CallStatus, Mode, TurnEnd};
use obelus_runtime::sessions::SessionStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "http")]
use utoipa::ToSchema;

use super::QuestionRow;

/// A name in an answer of a server. A server that is newer than this program may use names that it does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MaybeKnown<T> {
    /// A known name.
    Known(T),
    /// Another name.
    Other(String),
}

impl<T> From<T> for MaybeKnown<T> {
    fn from(known: T) -> Self {
        Self::Known(known)
    }
}

/// A new session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct NewSession {
    /// The agent's name.
    pub agent: String,
    /// The session's id, 1 to 64 letters, digits, `-` and `_`. By default a random one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "http", schema(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub id: Option<String>,
    /// The language of the agent: `ru` or `en`. By default that of `?lang=` or `Accept-Language`. An agent without this
    /// language keeps its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// How far it may go, in place of what the agent's file says: `shadow`, `canary` or `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "http", schema(value_type = Option<crate::schemas::ModeName>))]
    pub mode: Option<Mode>,
    /// What it is given, where the agent has a schema for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Whether the mode may not go further than the agent's file says.
    #[serde(skip)]
    pub is_bound: bool,
}

/// Part of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The id after which the page begins; by default it begins with the newest.
    pub after: Option<String>,
    /// The most entries of the part.
    pub limit: usize,
}

/// A session in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct SessionListRow {
    /// Its id.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// Its status.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub status: MaybeKnown<SessionStatus>,
    /// When it began.
    pub created: String,
    /// The time of the last record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// How many records its journal has.
    pub records: u64,
    /// The latest message of the user, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The number of open questions.
    pub questions: usize,
}

/// Sessions, newest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct SessionList {
    /// The sessions of this page.
    pub sessions: Vec<SessionListRow>,
    /// The `after` of the next page; null at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A session as it is now.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// The language of texts for people.
    pub lang: String,
    /// Its status.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub status: MaybeKnown<SessionStatus>,
    /// Its mode.
    pub mode: String,
    /// Who paused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<String>,
    /// The present node of its graph of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its open questions.
    pub questions: Vec<QuestionRow>,
    /// The result of the latest turn; null before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnView>,
    /// The usage of models: `{turn, session}`.
    pub spent: Value,
}

/// The result of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct TurnView {
    /// How it ended: `output`, `waiting`, `degraded`, `limit` or `stopped`.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub ends: TurnEnd,
    /// The whole text for the user.
    pub text: String,
    /// The result; null if there is none.
    pub output: Value,
    /// Messages of the agent during the turn.
    pub said: Vec<String>,
    /// The outcome of each call.
    pub calls: Vec<CallRow>,
    /// Ids of the open questions.
    pub waiting: Vec<String>,
    /// Why it ended without the model, or which limit was reached: `{code, message}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Value>,
    /// The name of the end that the agent's graph of steps reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Why the message that `?message=` names has left questions open, if it may be meant as an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_open: Option<String>,
    /// When.
    pub at: String,
}

/// A call of a turn or a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct CallRow {
    /// What it does, in one line.
    pub headline: String,
    /// The call: as it ran, else as it was proposed.
    pub call: Value,
    /// Its status: `planned`, `blocked`, `ready`, `waiting`, `running`, `done`, `failed`, `skipped`, `denied`, `refused`.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub status: CallStatus,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "http", schema(value_type = Option<Value>))]
    pub error: Option<Box<ReportError>>,
}

/// The calls of the latest turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PlanView {
    /// The session.
    pub session: String,
    /// The calls, in their order.
    pub calls: Vec<CallRow>,
}

/// An accepted input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct Taken {
    /// The session.
    pub session: String,
    /// The record of the input in the journal.
    pub record: u64,
    /// The event before the effects of the input: read the events after it.
    pub event: String,
}
