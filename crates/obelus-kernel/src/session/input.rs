//! What comes in, what goes out, and what a turn adds up to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::picture::Picture;
use super::settings::Mode;
use super::spent::Used;
pub use crate::dialect::Solution;
use crate::time::Time;
use crate::tool::Tool;

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
        id: String,
        /// The answer.
        answer: Answer,
    },
    /// A request to the model took this: told once for each attempt, whatever came of it.
    Used {
        /// The request's id.
        id: String,
        /// What it took.
        used: Used,
    },
    /// While the model still writes, a call has come whole that may start: see `Session::may_start_early`.
    Partial {
        /// The request's id.
        id: String,
        /// The call's place in the answer.
        index: u32,
        /// The call.
        call: Value,
    },
    /// A call came to its end.
    Ended {
        /// The call's id.
        id: String,
        /// What it brought.
        outcome: Outcome,
    },
    /// A call at work asks a person something. Words and schema are its own: nobody has looked at them.
    Asks {
        /// The call's id.
        id: String,
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
        id: String,
        /// The request, or why there is none.
        request: Result<Value, String>,
    },
    /// A call was under way when its driver died: whether it happened is not known.
    InDoubt {
        /// The call's id.
        id: String,
    },
    /// It was looked whether a call in doubt has happened, and it has not: it is done again under the same key.
    DidNot {
        /// The call's id.
        id: String,
        /// The attempt that had no effect.
        attempt: u32,
    },
    /// What only a process that has ended knew is gone: what the model had before its eyes, for that was never kept (see
    /// [`super::Observation`]), and who waits for what calls at work have asked.
    Forgotten,
    /// A person decided.
    Decide {
        /// The question's id.
        question: String,
        /// The decision.
        decision: Decision,
        /// Who, and from where.
        by: String,
    },
    /// How far the session may go from now on: a person has changed it.
    Mode {
        /// The mode.
        mode: Mode,
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
}

impl CallError {
    /// An error with a code and words.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
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

/// Something for the driver to do.
#[derive(Clone, Debug)]
pub enum Task {
    /// Ask the model. What it is shown is read by `Session::prompt`.
    AskModel {
        /// The request's id, for the answer.
        id: String,
    },
    /// Run a call.
    Call(Box<Start>),
    /// Read the saved request of a delegate.
    Load {
        /// The call's id, for the answer.
        id: String,
        /// A path inside the agent's folder.
        path: String,
    },
    /// Deliver words to the user.
    Say(String),
    /// Show a question to whoever may answer it.
    Ask {
        /// The question's id.
        id: String,
    },
    /// Show a question once more.
    AskAgain {
        /// The question's id.
        id: String,
        /// Why.
        because: AskedAgain,
    },
    /// Tell a call at work what became of something that it asked.
    AnswerElicitation {
        /// The call's id.
        id: String,
        /// What it asked is known by this.
        key: String,
        /// What became of it.
        answer: ElicitationAnswer,
    },
    /// The turn has come to rest.
    Rest(Box<Reply>),
}

/// What became of something that a call at work asked a person.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// A person gave this value, and it fits.
    Value(Value),
    /// It is not answered.
    Declined {
        /// Why.
        reason: String,
    },
    /// Nobody can answer any more, or nobody did in time.
    Gone,
}

/// Why a question that waits is shown once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedAgain {
    /// What it would change is known now.
    MoreIsKnown,
    /// Nobody has answered, and it will lapse.
    ItWillLapse,
}

/// A call that may run now.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its id, for the outcome.
    pub id: String,
    /// The activity that runs it, where that is not the one of the tool's name.
    pub named: Option<String>,
    /// The call with references resolved, and its meta-properties.
    pub call: Arc<Value>,
    /// Its tool.
    pub tool: Arc<Tool>,
    /// What the call may see of the context.
    pub scope: Vec<Value>,
    /// Always the same for the same call of the same session, so that an effect can be told from its repetition.
    pub key: String,
    /// How often it has been started, from 1.
    pub attempt: u32,
    /// Seconds it may take, where its activity says nothing.
    pub seconds: u64,
}

impl Start {
    /// The activity that runs it.
    pub fn activity(&self) -> &str {
        self.named.as_deref().unwrap_or(&self.tool.name)
    }
}

/// How a turn came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// With a result, or with everything done that was to be done.
    Output,
    /// Waiting for a person.
    Waiting,
    /// Without the model.
    Degraded,
    /// At a limit.
    Limit,
    /// Stopped by a person.
    Stopped,
}

/// What a turn adds up to.
#[derive(Clone, Debug, Serialize)]
pub struct Reply {
    /// How it came to rest.
    pub ends: Ends,
    /// The result; null if there is none.
    pub output: Value,
    /// Words that were said on the way.
    pub said: Vec<String>,
    /// What happened to each call of the turn.
    pub calls: Vec<CallReport>,
    /// Ids of the questions that wait.
    pub waiting: Vec<String>,
    /// Why it ended without the model, or which limit was met.
    pub reason: Option<CallError>,
    /// The name of the end, where the agent's graph of steps came to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// When.
    pub at: Time,
}

/// What happened to one call.
#[derive(Clone, Debug, Serialize)]
pub struct CallReport {
    /// Its step, and its place among the calls of that step. A call that is started bears them as its id.
    #[serde(skip)]
    pub place: (u32, u32),
    /// The call: as it ran, else as it was proposed.
    pub call: Arc<Value>,
    /// Its state: `done`, `failed`, `skipped`, `denied`, `refused`, `waiting`, …
    pub status: &'static str,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}
