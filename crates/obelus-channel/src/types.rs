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
    RequestUsage, UsageSum, UsageView,
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
    /// Whether its file is in order.
    pub ok: bool,
    /// What is wrong with its file.
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
    /// How far it may go: `shadow`, `canary` or `full`.
    pub mode: String,
    /// Its tools.
    pub tools: Vec<ToolRow>,
    /// Sentences that show what it can be asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// The nodes of its graph of steps, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<Vec<String>>,
    /// The model that it asks, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What its state looks like, as a JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// What it can be given, as a JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// What the result of a turn looks like, as a JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// A tool of an agent.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ToolRow {
    /// Its name.
    pub name: String,
    /// What it does to the world: `read`, `create`, `update`, `delete`, …
    pub effect: String,
    /// Whether its results are trusted.
    pub trusted: bool,
    /// The schema of its parameters.
    pub schema: Value,
}

/// A session that is to be made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct NewSession {
    /// The agent's name.
    pub agent: String,
    /// The session's id, 1 to 64 letters, digits, `-` and `_`. One is drawn where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "http", schema(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub id: Option<String>,
    /// The language that the agent is to speak, if it can: `ru` or `en`. Without it, that of `?lang=` or `Accept-Language`.
    /// An agent that cannot stays with its own.
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

/// How far a session may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub enum ModeName {
    /// Nothing is executed.
    Shadow,
    /// Only reads and safe creations.
    Canary,
    /// Everything that is allowed.
    Full,
}

/// Part of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The id after which the part begins; from the newest on where there is none.
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
    /// Where it is.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub status: SessionStatus,
    /// When it began.
    pub created: String,
    /// When the last record came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// How many records its journal has.
    pub records: u64,
    /// The latest words of the user, in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How many questions wait.
    pub questions: usize,
}

/// Sessions, newest first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct SessionList {
    /// The sessions of this part.
    pub sessions: Vec<SessionListRow>,
    /// What to give as `after` for the next part; none at the end.
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
    /// The language of what is said to people.
    pub lang: String,
    /// Where it is.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub status: SessionStatus,
    /// How far it may go.
    pub mode: String,
    /// Who paused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<String>,
    /// Where its graph of steps is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its open questions.
    pub questions: Vec<QuestionRow>,
    /// What the latest turn came to; none before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnView>,
    /// What models took: `{turn, session}`.
    pub spent: Value,
}

/// What a turn came to.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct TurnView {
    /// How it came to rest: `output`, `waiting`, `degraded`, `limit` or `stopped`.
    pub ends: String,
    /// Everything that the user is told of it.
    pub text: String,
    /// The result; null if there is none.
    pub output: Value,
    /// Words that were said on the way.
    pub said: Vec<String>,
    /// What became of each call.
    pub calls: Vec<CallRow>,
    /// Ids of the questions that wait.
    pub waiting: Vec<String>,
    /// Why it ended without the model, or which limit was met: `{code, message}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Value>,
    /// The name of the end, where the agent's graph of steps came to one.
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
    /// What went wrong.
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

/// An input that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct Taken {
    /// The session.
    pub session: String,
    /// The record of its journal with which the input was taken.
    pub record: u64,
    /// The event before everything that follows from the input: read events after it.
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
    pub about: String,
    /// `requested` while it waits, else `approved`, `denied`, `answered` or `expired`.
    pub status: String,
    /// When it was asked.
    pub requested_at: String,
    /// When it lapses.
    pub expires_at: String,
    /// What an answer may be: `approve`, `deny`, `edit`, `value`, `happened`, `did_not`, `consent`.
    pub answers: Vec<String>,
    /// What is shown, in short. An answer that carries it is refused if the question has changed since.
    pub digest: String,
    /// The calls it is about.
    pub calls: Vec<Value>,
    /// What it is about, in the words of the journal.
    pub description: String,
    /// Why it is asked, in the words of the journal.
    pub reasons: Vec<String>,
    /// What a value must look like, where one is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The question for people, as data.
    #[cfg_attr(feature = "http", schema(value_type = crate::schemas::QuestionShape))]
    pub view: QuestionView,
    /// The same as lines of text.
    pub text: String,
    /// What a yes may stand for beyond this question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<ConsentOffer>,
    /// Whether there is a picture of the page that it is about: `/questions/{question}/picture`.
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
    /// What was decided, where it is asked for by its id: `approve`, `deny`, `edit`, `value`, `happened`, `did_not`,
    /// `consent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

/// What a yes may stand for beyond its question.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ConsentOffer {
    /// The kind of scope: `records`, `person`, `site` or `tool`.
    pub scope: String,
    /// What it covers, in words.
    pub covers: String,
    /// The code that an answer gives back, so that what is agreed to is what was shown.
    pub code: String,
}

/// A consent that stands, or has ended.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ConsentRow {
    /// Its id, such as `c1`.
    pub id: String,
    /// What it covers, in words.
    pub covers: String,
    /// Whether it holds now.
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
    /// Those of this session.
    pub session: Option<String>,
    /// Those of sessions with this agent.
    pub agent: Option<String>,
    /// Those about this: `call`, `plan`, `input` or `in_doubt`.
    pub about: Option<String>,
    /// Those with this text in them.
    pub text: Option<String>,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub enum AnswerBody {
    /// Yes, as it was shown.
    Approve {
        /// Indexes of calls; all that are open where there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Vec<usize>>,
    },
    /// No.
    Deny {
        /// Why.
        #[serde(default)]
        reason: String,
        /// Indexes of calls; the others still wait. All where there are none.
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
    /// The effect in doubt did not happen: it is to be done.
    DidNot,
    /// Yes, and for the rest of the session to what one of `consents` covers.
    Consent {
        /// The code of the offer.
        code: String,
        /// When it ends; none for the end of the session.
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
    /// The records of this part.
    pub records: Vec<LogRow>,
    /// What to give as `after` for the next part; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// What happened in a session, oldest first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct Timeline {
    /// The events: `{number, at, event, …}`.
    #[cfg_attr(feature = "http", schema(value_type = Vec<crate::schemas::SessionEventShape>))]
    pub events: Vec<Value>,
    /// What to give as `after` for the next part; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A session that began where another one was.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ForkView {
    /// The new session.
    pub id: String,
    /// The session it was taken from.
    pub of: String,
    /// The record after which it begins.
    pub at: u64,
    /// Whether the other one was at work there: the new one is paused then, until a person resumes it.
    pub paused: bool,
}
