//! Parameters and results of the calls of a [`Service`](crate::Service). Times are RFC 3339 texts.
//!
//! | file | subject |
//! |---|---|
//! | `agents` | the parts of an agent |
//! | `graph` | the plan as a graph, and the agent's graph of steps |
//! | `edit` | editing a waiting call |
//! | `changes` | changes of the lists of sessions and questions |
//! | `state` | values of the state with their provenance |
//! | `past` | what a fork would do, instances, usage |

mod agents;
mod changes;
mod edit;
mod graph;
mod past;
mod state;

use obelus_kernel::session::{About, QuestionStatus};
use obelus_runtime::people::QuestionView;
use obelus_runtime::sessions::SessionStatus;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
#[cfg(feature = "http")]
use utoipa::ToSchema;

pub use agents::{
    AgentFileView, PolicyExampleView, PolicyRuleView, PolicyToolView, PolicyView, PromptMessage, PromptRequest,
    PromptSize, PromptView,
};
pub use changes::ListChange;
pub use edit::{
    EditProblem, FieldKindName, FormFieldView, FormView, LookRow, LookView, PictureBytes, PreviewRequest, PreviewView,
};
pub use graph::{
    PlanEdgeView, PlanGraphView, PlanNodeView, StepNodeView, StepWayView, StepsView, WriterKind, WriterView,
};
pub use past::{
    ErrorGroup, ForkForecastView, ForkedCallView, InstanceCall, InstanceFilter, InstanceList, InstanceRow, LogFilter,
    RequestUsage, TurnUsage, UsageSum, UsageView,
};
pub use state::{ChangeKind, StateChange, StateChanges, StateValue, StateValues};

/// An agent in a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct AgentRow {
    /// The name by which a session is made.
    pub name: String,
    /// The name in its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The language it speaks first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Whether its file is valid.
    pub ok: bool,
    /// The errors of its file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// An agent and its tools.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct AgentView {
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentRow,
    /// Its mode: `shadow`, `canary` or `full`.
    pub mode: String,
    /// Its tools.
    pub tools: Vec<ToolRow>,
    /// Sentences that show what it can be asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// The nodes of its graph of steps, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<Vec<String>>,
    /// The model that it asks, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The JSON Schema of its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// The JSON Schema of its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The JSON Schema of a turn's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// A tool of an agent.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ToolRow {
    /// Its name.
    pub name: String,
    /// Its effect: `read`, `create`, `update`, `delete`, …
    pub effect: String,
    /// Whether its results are trusted.
    pub trusted: bool,
    /// The schema of its parameters.
    pub schema: Value,
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
    pub mode: Option<ModeName>,
    /// What it is given, where the agent has a schema for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Whether the mode may not go further than the agent's file says.
    #[serde(skip)]
    pub is_bound: bool,
}

/// The mode of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub enum ModeName {
    /// Nothing is executed.
    Shadow,
    /// Only reads and creations.
    Canary,
    /// Everything that is allowed.
    Full,
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
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct SessionListRow {
    /// Its id.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// Its status.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub status: SessionStatus,
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
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct SessionList {
    /// The sessions of this page.
    pub sessions: Vec<SessionListRow>,
    /// The `after` of the next page; null at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A session as it is now.
#[derive(Clone, Debug, Serialize)]
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
    pub status: SessionStatus,
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
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct TurnView {
    /// How it ended: `output`, `waiting`, `degraded`, `limit` or `stopped`.
    pub ends: String,
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
    /// When.
    pub at: String,
}

/// A call of a turn or a plan.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct CallRow {
    /// What it does, in one line.
    pub headline: String,
    /// The call: as it ran, else as it was proposed.
    pub call: Value,
    /// Its status: `planned`, `blocked`, `ready`, `waiting`, `running`, `done`, `failed`, `skipped`, `denied`, `refused`.
    pub status: String,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

/// The calls of the latest turn.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PlanView {
    /// The session.
    pub session: String,
    /// The calls, in their order.
    pub calls: Vec<CallRow>,
}

/// An accepted input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct Taken {
    /// The session.
    pub session: String,
    /// The record of the input in the journal.
    pub record: u64,
    /// The event before the effects of the input: read the events after it.
    pub event: String,
}

/// A question to a person.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct QuestionRow {
    /// The id by which it is answered: `SESSION:QUESTION`.
    pub id: String,
    /// The session.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// What it is about in one line.
    pub headline: String,
    /// What it is about: `call`, `plan`, `input` or `in_doubt`.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub about: About,
    /// `requested` while it waits, else `approved`, `denied`, `answered` or `expired`.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub status: QuestionStatus,
    /// When it was asked.
    pub requested_at: String,
    /// When it expires.
    pub expires_at: String,
    /// What an answer may be: `approve`, `deny`, `edit`, `value`, `happened`, `did_not`, `consent`.
    pub answers: Vec<String>,
    /// The digest of what is shown. An answer with it is refused if the question has changed since.
    pub digest: String,
    /// The calls it is about.
    pub calls: Vec<Value>,
    /// What it is about, in the words of the journal.
    pub description: String,
    /// Why it is asked, in the words of the journal.
    pub reasons: Vec<String>,
    /// The schema of the value, if one is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The question for people, as data.
    #[cfg_attr(feature = "http", schema(value_type = crate::schemas::QuestionShape))]
    pub view: QuestionView,
    /// The same as lines of text.
    pub text: String,
    /// Standing consents that an approval can include.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<ConsentOffer>,
    /// Whether there is a picture of its page: `/questions/{question}/picture`.
    pub has_picture: bool,
    /// Who answered, and from where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_words: Option<String>,
    /// When it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// Why it was denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The decision, if the question is requested by its id: `approve`, `deny`, `edit`, `value`, `happened`, `did_not`,
    /// `consent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

/// A standing consent that an approval can include.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ConsentOffer {
    /// The kind of scope: `records`, `person`, `site` or `tool`.
    pub scope: String,
    /// What it covers, in words.
    pub covers: String,
    /// The code for the answer, so that the consent covers exactly what was shown.
    pub code: String,
}

/// A standing consent, in force or ended.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ConsentRow {
    /// Its id, such as `c1`.
    pub id: String,
    /// What it covers, in words.
    pub covers: String,
    /// Whether it is in force.
    pub holds: bool,
    /// Who gave it, and from where.
    pub by: String,
    /// When.
    pub at: String,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// How many calls ran because of it.
    pub uses: u32,
}

/// Which questions are wanted.
#[derive(Clone, Debug, Default)]
pub struct InboxFilter {
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those of sessions with this agent.
    pub agent: Option<String>,
    /// Only those about this: `call`, `plan`, `input` or `in_doubt`.
    pub about: Option<String>,
    /// Only those that contain this text.
    pub text: Option<String>,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub enum AnswerBody {
    /// Yes, as it was shown.
    Approve {
        /// Indexes of calls; by default all open ones. Other calls of a plan are left out of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Vec<usize>>,
    },
    /// No.
    Deny {
        /// Why.
        #[serde(default)]
        reason: String,
        /// Indexes of calls; the others stay open. By default all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Vec<usize>>,
    },
    /// Yes, with these parameters instead.
    Edit {
        /// The parameters that replace those of the same name.
        params: Map<String, Value>,
    },
    /// The value that was asked for.
    Value {
        /// The value.
        value: Value,
    },
    /// The effect in doubt did happen.
    Happened {
        /// Its result, if it is known.
        #[serde(default)]
        result: Value,
    },
    /// The effect in doubt did not happen: it runs now.
    // Messages of sessions spell it as the command line does.
    #[serde(alias = "did-not")]
    DidNot,
    /// Yes, and for the rest of the session to what one of `consents` covers.
    Consent {
        /// The code of the offer.
        code: String,
        /// When it ends; by default with the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
}

/// One record of a journal.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct LogRow {
    /// Its number.
    pub record: u64,
    /// When.
    pub at: String,
    /// The kind of input: `user`, `answer`, `ended`, `decide`, …
    pub kind: String,
    /// The input.
    pub input: Value,
}

/// Records of a journal, oldest first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct Log {
    /// The records of this page.
    pub records: Vec<LogRow>,
    /// The `after` of the next page; null at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The events of a session, oldest first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct Timeline {
    /// The events: `{number, at, event, …}`.
    #[cfg_attr(feature = "http", schema(value_type = Vec<crate::schemas::SessionEventShape>))]
    pub events: Vec<Value>,
    /// The `after` of the next page; null at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A fork of a session.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ForkView {
    /// The new session.
    pub id: String,
    /// The original session.
    pub of: String,
    /// The record after which it begins.
    pub at: u64,
    /// Whether the original was within a turn there: then the fork is paused until a person resumes it.
    pub paused: bool,
}
