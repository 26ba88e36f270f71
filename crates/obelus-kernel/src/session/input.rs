//! What a session is told.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::{CallId, JobRef, QuestionId, RequestId};
use super::picture::Picture;
use super::settings::Settings;
use super::spent::Used;
use crate::policy::{ConsentTerms, Mode};
use crate::time::Time;
use obelus_notebook::dialect::Solution;

/// Something that happened, told to the session by its driver. Inputs in order are the session's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The request is to be worked on as it stands.
    Start,
    /// The plan in the context is to be run as it is, without asking a model for calls or output.
    RunPlan,
    /// The user said something.
    User {
        /// The words.
        text: String,
    },
    /// The user shows a picture, which goes with the words that come next.
    Picture(Picture),
    /// The state was put in place from outside: brought along from elsewhere, or edited by a person.
    State {
        /// The whole state.
        state: Value,
        /// Who, and from where.
        by: String,
        /// Whether fields that are not given are removed. Else they stay as they are.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_whole: bool,
    },
    /// A service told something of its own accord. Nobody believes it, and it sets nothing to work.
    Event {
        /// What the event is known by: the same one once more is no news.
        id: String,
        /// What was told.
        event: Value,
    },
    /// The model answered a request.
    Answer {
        /// The request's id.
        id: RequestId,
        /// The answer.
        answer: Answer,
    },
    /// A request to the model took this: told once for each attempt, whatever came of it.
    Used {
        /// The request's id.
        id: RequestId,
        /// What it took.
        used: Used,
    },
    /// While the model still writes, a call has come whole that may start: see `Session::may_start_early`.
    Partial {
        /// The request's id.
        id: RequestId,
        /// The call's place in the answer.
        index: u32,
        /// The call.
        call: Value,
    },
    /// A call came to its end.
    Ended {
        /// The call's id.
        id: CallId,
        /// What it brought.
        outcome: Outcome,
    },
    /// A call at work asks a person something. Words and schema are its own, and unchecked.
    #[serde(rename = "asks")]
    Elicit {
        /// The call's id.
        id: CallId,
        /// What the answer is known by; the call may have asked something else already.
        key: String,
        /// What it wants to know, in its words.
        words: String,
        /// What an answer must look like.
        schema: Value,
    },
    /// A delegate's saved request was read, or could not be.
    Loaded {
        /// The call's id.
        id: CallId,
        /// The request, or why there is none.
        request: Result<Value, String>,
    },
    /// A call was under way when its driver died: whether it happened is not known.
    InDoubt {
        /// The call's id.
        id: CallId,
    },
    /// It was looked whether a call in doubt has happened, and it has not: it is done again under the same key.
    DidNot {
        /// The call's id.
        id: CallId,
        /// The attempt that had no effect.
        attempt: u32,
    },
    /// The process that drove the session has ended: its observations (see [`super::Observation`]) and the calls behind
    /// open elicitations are lost.
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
        /// What was shown, as [`Question::digest`](super::Question::digest) names it. The answer is refused where the
        /// question is another one by now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// A person takes back a standing consent.
    Revoke {
        /// Its number.
        consent: u64,
        /// Who, and from where.
        by: String,
    },
    /// How far the session may go from now on: a person has changed it.
    Mode {
        /// The mode.
        mode: Mode,
    },
    /// The agent's file says otherwise than when the session was last opened (POL-9).
    Rules {
        /// What it says now. The mode is taken over where that of the file has changed.
        settings: Box<Settings>,
        /// Tools that are new or defined otherwise.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        tools: Map<String, Value>,
    },
    /// A person lets the session pause: what runs goes on to its end, and nothing starts.
    Pause {
        /// Who, and from where.
        by: String,
    },
    /// A person lets a paused session go on.
    Resume {
        /// Who, and from where.
        by: String,
    },
    /// The turn is to stop: nothing more is started.
    Stop,
    /// Time has passed.
    Tick,
}

impl Input {
    /// Takes the first job off the id, if the input is for a delegate.
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
            // What delegates take is counted here too.
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

/// What the model answered.
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
    /// Something that could not be read as a solution.
    OutOfFormat {
        /// The text as it came.
        text: String,
        /// What is wrong with it.
        error: String,
        /// Tokens used by this request.
        tokens: u64,
    },
    /// Nothing: the model could not be asked.
    Failed {
        /// A stable name of the cause: `unreachable`, `unauthorised`, `quota`, …
        code: String,
        /// What happened, in words.
        message: String,
    },
}

/// What a call brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A plain value.
    Value(Value),
    /// Data messages for paths that the call may write.
    Messages(Vec<Value>),
    /// An error.
    Error(CallError),
    /// The call went out, and its answer was lost: whether it happened is not known.
    Lost {
        /// What is known, in words.
        message: String,
    },
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallError {
    /// A stable name of the cause.
    pub code: String,
    /// What happened, in words.
    pub message: String,
    /// The limit that was met, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

impl CallError {
    /// An error with a code and words.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), limit: None }
    }

    /// A turn that ends at a limit.
    pub(super) fn at(limit: Limit) -> Self {
        Self { limit: Some(limit), ..Self::new("limit", limit.to_string()) }
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

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, as it was shown; of several calls, those with these indexes, or all.
    Approve {
        /// Indexes of calls in the question; none means all that are still open.
        only: Option<Vec<usize>>,
    },
    /// Yes, and for the rest of the session also to other calls of these terms, as they were shown (ASK-9).
    Consent {
        /// What else is agreed to.
        terms: ConsentTerms,
        /// When that ends; none for the end of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Time>,
    },
    /// No.
    Deny {
        /// Why.
        reason: String,
    },
    /// No to some of the calls; the others still wait.
    DenySome {
        /// Indexes of calls in the question.
        only: Vec<usize>,
        /// Why.
        reason: String,
    },
    /// Yes, with these parameters instead.
    Edit {
        /// The parameters that replace those of the same name.
        params: serde_json::Map<String, Value>,
    },
    /// The value that was asked for.
    Value {
        /// The value.
        value: Value,
    },
    /// The effect in doubt did happen.
    Happened {
        /// Its result, if it is known.
        result: Value,
    },
    /// The effect in doubt did not happen: it is to be done.
    DidNot,
}

impl Decision {
    /// The decision in one word.
    pub fn name(&self) -> &'static str {
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
