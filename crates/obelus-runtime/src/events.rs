//! The events of a session, numbered for subscribers.
//!
//! An event has the number of the journal record that led to it, and its position among the events of that record. So
//! numbers are the same in every process, and a client can continue after the last one it saw. Partial text, notices
//! about files, and the progress of steps are transient (passing): they have the number of the event before and are
//! not repeated.

mod delegates;
mod feed;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use obelus_kernel::CallJson;
use obelus_kernel::session::{
    About, CallReport, Decision, Input, Mode, Outcome, Question, QuestionStatus, RepeatReason, Reply, Session, Task,
    Used,
};
use obelus_kernel::{Time, Tool};
use serde::{Serialize, Serializer};
use serde_json::Value;

pub(crate) use feed::Feed;
pub use feed::Subscription;

use crate::report::missing_data;
use crate::state_file::FileNews;
use crate::words::Language;
use obelus_kernel::session::{CallId, QuestionId, RequestId};

/// The position of an event in its session: `RECORD-PART`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventNumber {
    /// The record of the journal that led to it.
    pub record: u64,
    /// Its position among the events of that record, from 1.
    pub part: u32,
}

impl EventNumber {
    /// Before the first event.
    pub const START: Self = Self { record: 0, part: 0 };

    /// After all events of a record.
    pub(crate) fn end_of(record: u64) -> Self {
        Self { record, part: u32::MAX }
    }
}

impl fmt::Display for EventNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.record, self.part)
    }
}

/// A text that is not an event number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no number of an event: it is RECORD-PART, such as 12-3")]
pub struct NoEventNumber(String);

impl FromStr for EventNumber {
    type Err = NoEventNumber;

    fn from_str(text: &str) -> Result<Self, NoEventNumber> {
        let parts = text.split_once('-').and_then(|(record, part)| Some((record.parse().ok()?, part.parse().ok()?)));
        parts.map(|(record, part)| Self { record, part }).ok_or_else(|| NoEventNumber(text.to_owned()))
    }
}

impl Serialize for EventNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An event of a session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionEvent {
    /// Its position in the session.
    pub number: EventNumber,
    /// Its time.
    pub at: Time,
    /// Whether it is transient: not repeated later, and with the number of the event before.
    #[serde(skip)]
    pub is_transient: bool,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    /// The user sent a message.
    UserSaid {
        /// The text.
        text: String,
        /// Who sent it, and from where, if the channel knows.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The agent sent a message.
    AgentSaid {
        /// The text.
        text: String,
    },
    /// The model is writing text for the user. [`EventBody::AgentSaid`] has all of it. Passing.
    Writing {
        /// More text.
        text: String,
    },
    /// The model is asked.
    ModelAsked {
        /// The request.
        request: RequestId,
    },
    /// The usage of a model request.
    Used {
        /// The request.
        request: RequestId,
        /// The usage.
        used: Used,
    },
    /// A call began.
    CallBegan {
        /// The call's id.
        id: CallId,
        /// The call, with references resolved.
        call: CallJson,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The number of the standing consent by which it runs without a question.
        #[serde(skip_serializing_if = "Option::is_none")]
        consent: Option<u64>,
        /// Who approved it with other values than the agent's, and from where.
        #[serde(skip_serializing_if = "Option::is_none")]
        edited_by: Option<String>,
    },
    /// A call has ended.
    CallEnded {
        /// The call's id.
        id: CallId,
        /// Its outcome.
        outcome: Outcome,
    },
    /// A call that a delegate carries out has begun or ended. Ids of what the delegate does begin with its id.
    Delegated {
        /// The call's id.
        id: CallId,
        /// The call, its status, and its error.
        #[serde(flatten)]
        report: CallReport,
        /// The delegate's tools, while it is at work.
        #[serde(skip)]
        tools: Vec<Arc<Tool>>,
    },
    /// A person is asked.
    QuestionAsked {
        /// The question.
        #[serde(serialize_with = "as_shown")]
        question: Box<Question>,
    },
    /// An open question is shown again.
    QuestionAskedAgain {
        /// The question.
        #[serde(serialize_with = "as_shown")]
        question: Box<Question>,
        /// The reason.
        #[serde(serialize_with = "as_reason")]
        because: RepeatReason,
    },
    /// A person answered a question.
    QuestionDecided {
        /// The question's id.
        question: QuestionId,
        /// The decision.
        decision: Decision,
        /// Who, and from where.
        by: String,
    },
    /// A person revoked a standing consent.
    ConsentRevoked {
        /// The consent's number.
        consent: u64,
        /// Who, and from where.
        by: String,
    },
    /// A question expired.
    QuestionExpired {
        /// The question's id.
        question: QuestionId,
    },
    /// A service sent an event, for the first time.
    Happened {
        /// The event.
        #[serde(rename = "told")]
        event: Value,
    },
    /// The state was replaced from outside.
    StateEdited {
        /// Who, and from where.
        by: String,
    },
    /// A person changed the mode.
    ModeChanged {
        /// The mode.
        mode: Mode,
    },
    /// The agent's file has changed; its current rules apply (POL-9).
    RulesChanged,
    /// A person paused the session.
    Paused {
        /// Who, and from where.
        by: String,
    },
    /// A person resumed the session.
    Resumed {
        /// Who, and from where.
        by: String,
    },
    /// A person stopped the turn.
    Stopped,
    /// A notice about the session's files. Passing.
    Files {
        /// The notice.
        #[serde(serialize_with = "as_words")]
        news: FileNews,
    },
    /// The session has made progress. Transient; published only while there are subscribers.
    Moved {
        /// The mode.
        mode: Mode,
        /// Whether the turn waits for the model's answer.
        is_asking: bool,
        /// The calls of the turn whose status has changed.
        steps: Vec<StepView>,
    },
    /// The turn has come to rest.
    Rested {
        /// Its result.
        reply: Box<Reply>,
    },
    /// Inputs could not be stored: the work stops until they can be. Passing.
    Failed {
        /// A stable code.
        code: &'static str,
        /// The description.
        text: String,
    },
    /// Events before this one are no longer available: read the session itself. Passing.
    Missed,
}

/// The status of a call of the turn.
#[derive(Clone, Debug, Serialize)]
pub struct StepView {
    /// Its step, and its index in that step.
    pub place: (u32, u32),
    /// The call, its status, and its error.
    #[serde(flatten)]
    pub report: CallReport,
    /// A one-line description for people.
    pub headline: String,
    /// What it lacked, in the agent's language, if it could not begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// The number of the standing consent by which it ran without a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<u64>,
}

impl StepView {
    /// All calls of the session's latest turn. Texts are in this language where the agent has none.
    pub fn all(session: &Session, language: Language) -> Vec<Self> {
        session.distinct_calls().into_iter().map(|report| Self::of(report, session, language)).collect()
    }

    pub(crate) fn of(report: CallReport, session: &Session, language: Language) -> Self {
        Self {
            place: report.place,
            headline: session.call_headline(&report.call),
            consent: session.consent_of(report.place).map(|consent| consent.number),
            lacks: report.error.as_ref().and_then(|_| missing_data(&report, session, language)),
            report,
        }
    }
}

impl EventBody {
    /// The events of an input, in order: of the input itself, and of its tasks. `changes_memory` says whether it changed the
    /// memory. The session is in its state right after the input, so that a replay gives the same events.
    pub(crate) fn of(session: &Session, at: Time, input: &Input, changes_memory: bool, tasks: &[Task]) -> Vec<Self> {
        let mut all: Vec<Self> = Self::of_input(input, changes_memory).into_iter().collect();
        // These inputs expire questions.
        if matches!(input, Input::Tick | Input::State { .. } | Input::Rules { .. }) {
            let has_expired =
                |question: &Question| question.status == QuestionStatus::Expired && question.decided_at == Some(at);
            let expired = session.questions().into_iter().filter(has_expired);
            all.extend(expired.map(|question| Self::QuestionExpired { question: question.id }));
        }
        all.extend(tasks.iter().filter_map(|task| Self::of_task(session, input, task)));
        // Events of delegates come last, so that other events have the same numbers as in earlier versions.
        all.extend(delegates::progress(session, input, tasks));
        all
    }

    fn of_input(input: &Input, changes_memory: bool) -> Option<Self> {
        Some(match input {
            Input::User { text, by } => Self::UserSaid { text: text.clone(), by: by.clone() },
            Input::Used { id, used } => Self::Used { request: id.clone(), used: *used },
            Input::Ended { id, outcome } => Self::CallEnded { id: id.clone(), outcome: outcome.clone() },
            Input::Decide { question, decision, by, .. } => {
                Self::QuestionDecided { question: question.clone(), decision: decision.clone(), by: by.clone() }
            }
            Input::Revoke { consent, by } => Self::ConsentRevoked { consent: *consent, by: by.clone() },
            Input::Event { event, .. } if changes_memory => Self::Happened { event: event.clone() },
            Input::State { by, .. } => Self::StateEdited { by: by.clone() },
            Input::Mode { mode } => Self::ModeChanged { mode: *mode },
            Input::Rules { .. } => Self::RulesChanged,
            Input::Pause { by } => Self::Paused { by: by.clone() },
            Input::Resume { by } => Self::Resumed { by: by.clone() },
            Input::Stop => Self::Stopped,
            _ => return None,
        })
    }

    fn of_task(session: &Session, input: &Input, task: &Task) -> Option<Self> {
        let question = |id| session.question(id).map(Box::new);
        Some(match task {
            Task::Call(start) => Self::CallBegan {
                id: start.id.clone(),
                call: start.call.clone(),
                attempt: start.attempt,
                consent: start.consent,
                edited_by: edited_by(session, input, &start.call),
            },
            Task::AskModel { id } => Self::ModelAsked { request: id.clone() },
            Task::Say(text) => Self::AgentSaid { text: text.clone() },
            Task::Ask { id } => Self::QuestionAsked { question: question(id)? },
            Task::AskAgain { id, because } => {
                let question = question(id).filter(|question| question.is_open())?;
                Self::QuestionAskedAgain { question, because: *because }
            }
            Task::Rest(reply) => Self::Rested { reply: reply.clone() },
            Task::Load { .. } | Task::AnswerElicitation { .. } => return None,
        })
    }

    /// Whether an input from outside caused it.
    pub fn is_from_outside(&self) -> bool {
        matches!(
            self,
            Self::UserSaid { .. }
                | Self::QuestionDecided { .. }
                | Self::ConsentRevoked { .. }
                | Self::Happened { .. }
                | Self::StateEdited { .. }
                | Self::ModeChanged { .. }
                | Self::Paused { .. }
                | Self::Resumed { .. }
                | Self::Stopped
        )
    }
}

/// Who edited a call that starts, if this input is the edit.
fn edited_by(session: &Session, input: &Input, call: &Value) -> Option<String> {
    let Input::Decide { question, decision: Decision::Edit { .. }, by, .. } = input else { return None };
    let question = session.question(question).filter(|question| question.about == About::Call)?;
    question.calls.iter().any(|asked| *asked.call == *call).then(|| by.clone())
}

fn as_shown<S: Serializer>(question: &Question, serializer: S) -> Result<S::Ok, S::Error> {
    question.to_json().serialize(serializer)
}

fn as_words<S: Serializer>(news: &FileNews, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(news)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn as_reason<S: Serializer>(because: &RepeatReason, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match because {
        RepeatReason::MoreIsKnown => "more_is_known",
        RepeatReason::ItWillLapse => "it_will_lapse",
    })
}
