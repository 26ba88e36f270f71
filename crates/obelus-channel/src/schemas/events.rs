//! What happens in a session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::question::AboutName;

/// Something that happened in a session
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = SessionEvent)]
pub(crate) struct SessionEventShape {
    /// Its position among all events of the session, `RECORD-PART`.
    number: String,
    /// When, in milliseconds since 1970.
    at: i64,
    /// The full id of the event's question, `SESSION:QUESTION`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question_id: Option<String>,
    /// The full ids of the questions that the turn waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting_ids: Option<Vec<String>>,
    /// What happened.
    #[serde(flatten)]
    body: EventShape,
}

/// The content of an event
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
#[schema(as = EventBody)]
pub(crate) enum EventShape {
    /// The user sent a message
    UserSaid {
        text: String,
        /// Who, and from where, if the channel knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The agent sent a message
    AgentSaid { text: String },
    /// Partial text of the model for the user; transient: `agent_said` has the whole text
    Writing { text: String },
    /// The model is asked
    ModelAsked { request: String },
    /// The usage of a request to the model
    Used { request: String, used: UsedShape },
    /// A call began
    CallBegan {
        id: String,
        /// The call, with references resolved.
        call: Map<String, Value>,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The number of the standing consent because of which it runs without a question.
        #[serde(skip_serializing_if = "Option::is_none")]
        consent: Option<u64>,
        /// Who approved it with other values than the agent's, and from where.
        #[serde(skip_serializing_if = "Option::is_none")]
        edited_by: Option<String>,
        /// The step in words, if a language is requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<StepLineShape>,
    },
    /// A call has ended
    CallEnded {
        id: String,
        outcome: OutcomeShape,
        /// The step in words, if a language is requested and the call began in this stream.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<StepLineShape>,
    },
    /// A call that a delegate carries out has begun or ended; ids of what the delegate does begin with its id
    Delegated {
        id: String,
        /// The call, with references resolved.
        call: Map<String, Value>,
        status: CallStatusName,
        /// The error.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
    },
    /// A person is asked
    QuestionAsked { question: Box<EventQuestion> },
    /// An open question is shown again
    QuestionAskedAgain {
        question: Box<EventQuestion>,
        /// `more_is_known` or `it_will_lapse`.
        because: String,
    },
    /// A person answered a question
    QuestionDecided {
        /// The question's id within the session.
        question: String,
        decision: DecisionShape,
        /// Who, and from where.
        by: String,
    },
    /// A person revoked a standing consent
    ConsentRevoked { consent: u64, by: String },
    /// A question expired without an answer
    QuestionExpired { question: String },
    /// An event that a service sent on its own
    Happened {
        #[serde(rename = "told")]
        event: Value,
    },
    /// The state was replaced from outside
    StateEdited { by: String },
    /// A person changed the mode
    ModeChanged { mode: ModeName },
    /// The rules in the agent's file have changed
    RulesChanged,
    /// A person paused the session
    Paused { by: String },
    /// A person resumed the session
    Resumed { by: String },
    /// A person stopped the turn
    Stopped,
    /// A notice about the session's files; transient
    Files { news: String },
    /// The session has made progress; transient
    Moved {
        mode: ModeName,
        /// Whether the turn waits for the model's answer.
        is_asking: bool,
        /// The calls of the turn whose status has changed.
        steps: Vec<StepShape>,
    },
    /// The turn rests
    Rested { reply: Box<ReplyShape> },
    /// Something could not be stored; transient
    Failed { code: String, text: String },
    /// Earlier events are no longer held: read the session itself
    Missed,
}

/// A step on one line, for people
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StepLine)]
pub(crate) struct StepLineShape {
    /// What it does.
    headline: String,
    /// The agent's comment, or its subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    /// Its status.
    status: String,
    /// Its outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// The standing consent because of which it ran, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    consent: Option<String>,
    /// Who approved it with other values than the agent's, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited: Option<String>,
    /// Whether it matters only if it does not succeed.
    is_quiet: bool,
}

/// The usage of a request to the model
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Used)]
pub(crate) struct UsedShape {
    /// Tokens read by the model.
    input: u64,
    /// Tokens written by it.
    output: u64,
    /// The cost; null without a price.
    cost: Option<f64>,
}

/// The outcome of a call
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Outcome)]
pub(crate) enum OutcomeShape {
    /// A plain value
    Value(Value),
    /// Data messages for paths that the call may write
    Messages(Vec<Value>),
    /// An error
    Error(CallErrorShape),
    /// The answer was lost: whether it happened is not known
    Lost { message: String },
}

/// Why a call failed
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CallError)]
pub(crate) struct CallErrorShape {
    /// A stable name of the cause.
    code: String,
    /// The error in words.
    message: String,
    /// The limit that was reached, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Value>,
}

/// What a person decided
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Decision)]
pub(crate) enum DecisionShape {
    /// Approved as shown
    Approve { only: Option<Vec<usize>> },
    /// Approved, with a standing consent on these terms
    Consent {
        terms: Map<String, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// Denied
    Deny { reason: String },
    /// Some of the calls denied
    DenySome { only: Vec<usize>, reason: String },
    /// Approved with these parameters instead
    Edit { params: Map<String, Value> },
    /// The value that was asked for
    Value { value: Value },
    /// The effect in doubt did happen
    Happened { result: Value },
    /// The effect in doubt did not happen
    DidNot,
}

/// A question as journals store it; `/questions/{question}` has its view for people
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventQuestion {
    /// Its id within the session.
    id: String,
    about: AboutName,
    /// The first of its calls.
    call: Option<Map<String, Value>>,
    calls: Vec<Map<String, Value>>,
    description: String,
    reasons: Vec<String>,
    requested_at: String,
    expires_at: String,
    /// `requested`, `approved`, `denied`, `answered` or `expired`.
    status: String,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    headline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grounded: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<String>,
}

/// The mode of a session.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModeName {
    /// Nothing is executed.
    Shadow,
    /// Only reads and creations.
    Canary,
    /// Everything that is allowed.
    Full,
}

/// The status of a call
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallStatusName {
    Planned,
    Blocked,
    Ready,
    Waiting,
    Running,
    Done,
    Failed,
    Skipped,
    Denied,
    Refused,
}

/// The status of a call of the turn
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StepView)]
pub(crate) struct StepShape {
    /// Its step, and its index in that step.
    place: [u32; 2],
    /// The call: as it ran, else as it was proposed.
    call: Map<String, Value>,
    status: CallStatusName,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    /// What it does, in one line for people.
    headline: String,
    /// What it lacked, if it could not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<String>,
    /// The number of the standing consent because of which it ran without a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    consent: Option<u64>,
}

/// The outcome of a call
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CallReport)]
pub(crate) struct ReportShape {
    /// The call: as it ran, else as it was proposed.
    call: Map<String, Value>,
    status: CallStatusName,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// The result of a turn
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reply)]
pub(crate) struct ReplyShape {
    /// `output`, `waiting`, `degraded`, `limit` or `stopped`.
    ends: String,
    /// The result; null if there is none.
    output: Value,
    /// Messages of the agent during the turn.
    said: Vec<String>,
    /// The outcome of each call.
    calls: Vec<ReportShape>,
    /// Ids of the open questions, within the session.
    waiting: Vec<String>,
    /// Why it ended without the model, or which limit was reached.
    reason: Option<CallErrorShape>,
    /// The name of the end that the agent's graph of steps reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    at: i64,
}
