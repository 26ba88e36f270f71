//! The tasks of a session, and the result of a turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FailureCode;
use super::ids::{CallId, JobRef, QuestionId, RequestId};
use super::input::CallError;
use super::report_error::ReportError;
use crate::time::Time;
use crate::tool::Tool;
use obelus_notebook::call_json::CallJson;
pub use obelus_notebook::transcript_entry::CallStatus;

/// A task for the driver.
#[derive(Clone, Debug)]
pub enum Task {
    /// Ask the model. `Session::prompt` has the content.
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
    /// Show a text to the user.
    Say(String),
    /// Show a question to people.
    Ask {
        /// The question's id.
        id: QuestionId,
    },
    /// Show a question again.
    AskAgain {
        /// The question's id.
        id: QuestionId,
        /// Why.
        because: RepeatReason,
    },
    /// Answer a question of a running call.
    AnswerElicitation {
        /// The call's id.
        id: CallId,
        /// The key of the question.
        key: String,
        /// The answer.
        answer: ElicitationAnswer,
    },
    /// The turn rests.
    Rest(Box<Reply>),
}

impl Task {
    /// The same task of a delegate, seen from the session whose job the delegate carries out. A delegate's text and
    /// the end of its turn are only for its caller.
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

    /// Whether it starts work outside the kernel.
    pub(super) fn starts_something(&self) -> bool {
        matches!(self, Task::Call(_) | Task::AskModel { .. } | Task::Load { .. })
    }
}

/// The answer to a question of a running call.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// A person gave this value, and it fits.
    Value(Value),
    /// It is declined.
    Declined {
        /// Why.
        reason: String,
    },
    /// Nobody can answer, or nobody did in time.
    Gone,
}

/// Why an open question is shown again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatReason {
    /// What it would change is now known.
    MoreIsKnown,
    /// It will expire soon.
    ItWillLapse,
}

/// A call that may run now.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its id, for the outcome.
    pub id: CallId,
    /// The activity that runs it, if it is not the one with the tool's name.
    pub named: Option<String>,
    /// The call with references resolved, and its meta-properties.
    pub call: CallJson,
    /// Its tool.
    pub tool: Arc<Tool>,
    /// The part of the context that the call may see.
    pub scope: Vec<Value>,
    /// The idempotency key: always the same for the same call of the same session.
    pub key: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The time limit in seconds, if its activity has none.
    pub seconds: u64,
    /// The number of the standing consent by which it runs without a question.
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
pub enum TurnEnd {
    /// With a result, or with everything done.
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

/// The result of a turn.
#[derive(Clone, Debug, Serialize)]
pub struct Reply {
    /// How it came to rest.
    pub ends: TurnEnd,
    /// The result; null if there is none.
    pub output: Value,
    /// Texts that were shown on the way.
    pub said: Vec<String>,
    /// The reports of the turn's calls.
    pub calls: Vec<CallReport>,
    /// Ids of the open questions.
    pub waiting: Vec<QuestionId>,
    /// Why it ended without the model, or which limit was reached.
    pub reason: Option<CallError>,
    /// The name of the end, if the agent's graph of steps came to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// When.
    pub at: Time,
}

/// The report of one call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallReport {
    /// Its step, and its index in that step, which form the id of a started call.
    #[serde(skip)]
    pub place: (u32, u32),
    /// The call: as it ran, else as proposed.
    pub call: CallJson,
    /// Its status.
    pub status: CallStatus,
    /// Its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<ReportError>>,
}

impl CallReport {
    /// Whether the call was skipped because its branch was not chosen, or its list is empty, which is not a failure.
    pub fn is_off_branch(&self) -> bool {
        let code = self.error.as_ref().and_then(|error| error.code.as_ref());
        self.status == CallStatus::Skipped && matches!(code, Some(FailureCode::NotChosen | FailureCode::NoRows))
    }
}
