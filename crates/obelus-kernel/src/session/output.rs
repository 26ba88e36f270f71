//! What a session wants done, and what a turn adds up to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::{CallId, JobRef, QuestionId, RequestId};
use super::input::CallError;
use super::scheduler::{NO_ROWS, NOT_CHOSEN};
use crate::time::Time;
use crate::tool::Tool;

/// Something for the driver to do.
#[derive(Clone, Debug)]
pub enum Task {
    /// Ask the model. What it is shown is read by `Session::prompt`.
    AskModel {
        /// The request's id, for the answer.
        id: RequestId,
    },
    /// Run a call.
    Call(Box<Start>),
    /// Read the saved request of a delegate.
    Load {
        /// The call's id, for the answer.
        id: CallId,
        /// A path inside the agent's folder.
        path: String,
    },
    /// Deliver words to the user.
    Say(String),
    /// Show a question to whoever may answer it.
    Ask {
        /// The question's id.
        id: QuestionId,
    },
    /// Show a question once more.
    AskAgain {
        /// The question's id.
        id: QuestionId,
        /// Why.
        because: AskedAgain,
    },
    /// Tell a call at work what became of something that it asked.
    AnswerElicitation {
        /// The call's id.
        id: CallId,
        /// What it asked is known by this.
        key: String,
        /// What became of it.
        answer: ElicitationAnswer,
    },
    /// The turn has come to rest.
    Rest(Box<Reply>),
}

impl Task {
    /// The same task of a delegate, seen from the session whose job the delegate carries out. Words and the end of a
    /// delegate's turn are for its caller alone.
    pub(super) fn below(self, job: JobRef) -> Self {
        match self {
            Task::AskModel { id } => Task::AskModel { id: id.below(job) },
            Task::Load { id, path } => Task::Load { id: id.below(job), path },
            Task::Ask { id } => Task::Ask { id: id.below(job) },
            Task::AskAgain { id, because } => Task::AskAgain { id: id.below(job), because },
            Task::AnswerElicitation { id, key, answer } => Task::AnswerElicitation { id: id.below(job), key, answer },
            Task::Call(mut start) => {
                start.id = start.id.below(job);
                Task::Call(start)
            }
            own @ (Task::Say(_) | Task::Rest(_)) => own,
        }
    }

    /// Whether it starts something outside.
    pub(super) fn starts_something(&self) -> bool {
        matches!(self, Task::Call(_) | Task::AskModel { .. } | Task::Load { .. })
    }
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
    pub id: CallId,
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
    /// The number of the standing consent because of which it runs without a question.
    pub consent: Option<u64>,
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
    pub waiting: Vec<QuestionId>,
    /// Why it ended without the model, or which limit was met.
    pub reason: Option<CallError>,
    /// The name of the end, where the agent's graph of steps came to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// When.
    pub at: Time,
}

/// What happened to one call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallReport {
    /// Its step, and its place among the calls of that step. A call that is started bears them as its id.
    #[serde(skip)]
    pub place: (u32, u32),
    /// The call: as it ran, else as it was proposed.
    pub call: Arc<Value>,
    /// Its status.
    pub status: CallStatus,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

/// The status of a call, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It is part of a plan that nobody has set to work.
    Planned,
    /// Something it needs is not there yet.
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
    /// A value that it needs never came.
    Skipped,
    /// A person said no.
    Denied,
    /// The mode or the policy said no.
    Refused,
}

impl CallReport {
    /// Whether the call was skipped because its branch was not chosen, or its list has no rows: nothing is amiss then.
    pub fn is_off_branch(&self) -> bool {
        let is_not_chosen = |error: &Value| error["code"] == NOT_CHOSEN || error["code"] == NO_ROWS;
        self.status == CallStatus::Skipped && self.error.as_ref().is_some_and(is_not_chosen)
    }
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

    /// Whether the call was to run and did not, or not to its end.
    pub fn came_to_nothing(self) -> bool {
        matches!(self, CallStatus::Failed | CallStatus::Refused | CallStatus::Skipped)
    }
}
