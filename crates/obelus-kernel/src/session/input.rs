//! The inputs of a session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::{CallId, JobRef, QuestionId, RequestId};
use super::settings::Settings;
use super::spent::Used;
use crate::policy::{ConsentTerms, Mode};
use crate::time::Time;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::dialect::Solution;
pub use obelus_notebook::failure_code::FailureCode;
use obelus_notebook::picture::Picture;

/// An event that the driver reports to the session. The inputs in order are the session's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Work on the request without a message.
    Start,
    /// Run the plan in the context, without asking a model for calls or output.
    RunPlan,
    /// The user sent a message.
    User {
        /// The text.
        text: String,
        /// Who sent it, and from where, if the channel knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The user shows a picture, which belongs to the next message.
    Picture(Picture),
    /// The state was replaced from outside: imported, or edited by a person.
    State {
        /// The whole state.
        state: Value,
        /// Who, and from where.
        by: String,
        /// Whether missing fields are removed. Otherwise they stay.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_whole: bool,
    },
    /// A service sent an event. It is untrusted, and starts nothing.
    Event {
        /// Its id: a repeated event is ignored.
        id: String,
        /// The event.
        event: Value,
    },
    /// The model answered a request.
    Answer {
        /// The request's id.
        id: RequestId,
        /// The answer.
        answer: Answer,
    },
    /// The usage of a model request: sent once for each attempt, whatever its result.
    Used {
        /// The request's id.
        id: RequestId,
        /// The usage.
        used: Used,
    },
    /// While the model still writes, a complete call may start: see `Session::may_start_early`.
    Partial {
        /// The request's id.
        id: RequestId,
        /// The call's index in the answer.
        index: u32,
        /// The call.
        call: CallJson,
    },
    /// A call has ended.
    Ended {
        /// The call's id.
        id: CallId,
        /// Its outcome.
        outcome: Outcome,
    },
    /// A running call asks a person. Text and schema are its own, and untrusted.
    #[serde(rename = "asks")]
    Elicit {
        /// The call's id.
        id: CallId,
        /// The key of the answer; the call may have asked before.
        key: String,
        /// The question's text.
        words: String,
        /// The schema of the answer.
        schema: Value,
    },
    /// A delegate's saved request was read, or could not be.
    Loaded {
        /// The call's id.
        id: CallId,
        /// The request, or the error.
        request: Result<Value, String>,
    },
    /// A call was running when its driver died: it is unknown whether it happened.
    InDoubt {
        /// The call's id.
        id: CallId,
    },
    /// A call in doubt was found not to have happened: it is repeated with the same key.
    DidNot {
        /// The call's id.
        id: CallId,
        /// The attempt that had no effect.
        attempt: u32,
    },
    /// The process that drove the session has ended: its observations (see [`super::Observation`]) and the calls
    /// behind open elicitations are lost.
    #[serde(rename = "forgotten")]
    ProcessLost,
    /// A person decided.
    Decide {
        /// The question's id.
        question: QuestionId,
        /// The decision.
        decision: Decision,
        /// Who, and from where.
        by: String,
        /// The [`Question::digest`](super::Question::digest) of what was shown. The answer is refused if the question
        /// has changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// A person revokes a standing consent.
    Revoke {
        /// Its number.
        consent: u64,
        /// Who, and from where.
        by: String,
    },
    /// A person changed the mode.
    Mode {
        /// The mode.
        mode: Mode,
    },
    /// The agent's file has changed since the session was last opened (POL-9).
    Rules {
        /// The current settings. The mode is changed only if the file's mode has changed.
        #[serde(deserialize_with = "Settings::from_journal")]
        settings: Box<Settings>,
        /// New and changed tools.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        tools: Map<String, Value>,
        /// Tools that the file no longer has.
        #[serde(default)]
        removed: Vec<String>,
    },
    /// A person pauses the session: running work continues to its end, and nothing new starts.
    Pause {
        /// Who, and from where.
        by: String,
    },
    /// A person resumes a paused session.
    Resume {
        /// Who, and from where.
        by: String,
    },
    /// Stop the turn: nothing more is started.
    Stop,
    /// Time has passed.
    Tick,
}

impl Input {
    /// Removes the first job of the id, if the input is for a delegate.
    pub(super) fn pop_job(&mut self) -> Option<JobRef> {
        match self {
            Input::Answer { id, .. } | Input::Partial { id, .. } => id.pop_job(),
            Input::Ended { id, .. }
            | Input::Elicit { id, .. }
            | Input::Loaded { id, .. }
            | Input::InDoubt { id }
            | Input::DidNot { id, .. } => id.pop_job(),
            Input::Decide { question, .. } => question.pop_job(),
            Input::Start
            | Input::RunPlan
            | Input::User { .. }
            | Input::Picture(_)
            | Input::State { .. }
            | Input::Event { .. }
            // The usage of delegates is counted here too.
            | Input::Used { .. }
            | Input::ProcessLost
            | Input::Revoke { .. }
            | Input::Mode { .. }
            | Input::Rules { .. }
            | Input::Pause { .. }
            | Input::Resume { .. }
            | Input::Stop
            | Input::Tick => None,
        }
    }
}

/// The model's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A solution, and the tokens it took.
    Solution {
        /// The solution.
        solution: Solution,
        /// Tokens used by this request.
        tokens: u64,
    },
    /// An answer that could not be parsed as a solution.
    OutOfFormat {
        /// The text.
        text: String,
        /// The error.
        error: String,
        /// Tokens used by this request.
        tokens: u64,
    },
    /// The model could not be asked.
    Failed {
        /// The code.
        code: FailureCode,
        /// The description.
        message: String,
    },
}

/// What a running call asks a person: the fields of [`Input::Elicit`].
pub(super) struct ElicitationRequest {
    pub(super) key: String,
    pub(super) text: String,
    pub(super) schema: Value,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A plain value.
    Value(Value),
    /// Data messages for paths that the call may write.
    Messages(Vec<Value>),
    /// An error.
    Error(CallError),
    /// The call was sent, and its answer was lost: it is unknown whether it happened.
    Lost {
        /// What is known, as text.
        message: String,
    },
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallError {
    /// A stable code.
    pub code: FailureCode,
    /// The description.
    pub message: String,
    /// The limit that was reached, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Whether the activity itself succeeded, and only its result cannot be used. An effect has then happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub happened: bool,
    /// Whether the service failed, perhaps after the effect. The same call then needs a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_have_happened: bool,
}

impl CallError {
    /// An error with a code and a text.
    pub fn new(code: impl Into<FailureCode>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), limit: None, happened: false, may_have_happened: false }
    }

    /// The same for an activity that succeeded, and whose result cannot be used.
    #[must_use]
    pub fn after_success(self) -> Self {
        Self { happened: true, ..self }
    }

    /// The same for a service that failed, perhaps after the effect.
    #[must_use]
    pub fn perhaps_after_effect(self) -> Self {
        Self { may_have_happened: true, ..self }
    }

    /// A turn that ends at a limit.
    pub(super) fn at(limit: Limit) -> Self {
        Self { limit: Some(limit), ..Self::new(FailureCode::Limit, limit.to_string()) }
    }
}

/// A limit of one turn, and how much it permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Requests to the model.
    Requests(u64),
    /// Tokens.
    Tokens(u64),
    /// Calls.
    Calls(u64),
    /// Nodes of a graph of steps.
    Steps(u64),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Requests(most) => write!(f, "{most} requests to the model in one turn"),
            Limit::Tokens(most) => write!(f, "{most} tokens in one turn"),
            Limit::Calls(most) => write!(f, "{most} calls in one turn"),
            Limit::Steps(most) => write!(f, "{most} steps in one turn"),
        }
    }
}

/// A person's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Approve as shown; of several calls, those with these indexes, or all.
    Approve {
        /// Indexes of calls in the question; none means all open ones.
        only: Option<Vec<usize>>,
    },
    /// Approve, and give a standing consent with these terms, as they were shown (ASK-9).
    Consent {
        /// The terms.
        terms: ConsentTerms,
        /// When that ends; none for the end of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Time>,
    },
    /// Deny.
    Deny {
        /// Why.
        reason: String,
    },
    /// Deny some of the calls; the others stay open.
    DenySome {
        /// Indexes of calls in the question.
        only: Vec<usize>,
        /// Why.
        reason: String,
    },
    /// Approve with these parameters instead.
    Edit {
        /// The parameters that replace those of the same name.
        params: serde_json::Map<String, Value>,
    },
    /// The requested value.
    Value {
        /// The value.
        value: Value,
    },
    /// The effect in doubt has happened.
    Happened {
        /// Its result, if it is known.
        result: Value,
    },
    /// The effect in doubt has not happened: carry it out.
    DidNot,
}

impl Decision {
    /// Whether calls start by it.
    pub(super) fn starts_something(&self) -> bool {
        matches!(self, Decision::Approve { .. } | Decision::Consent { .. } | Decision::Edit { .. } | Decision::DidNot)
    }

    /// The decision in one word.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Decision::Approve { .. } => "approve",
            Decision::Consent { .. } => "consent",
            Decision::Deny { .. } => "deny",
            Decision::DenySome { .. } => "deny some",
            Decision::Edit { .. } => "edit",
            Decision::Value { .. } => "value",
            Decision::Happened { .. } => "happened",
            Decision::DidNot => "did-not",
        }
    }
}
