//! The status of a session, for every channel.

use obelus_kernel::session::{Question, Session, TurnEnd};
use serde::{Deserialize, Serialize};

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// No turn has begun.
    New,
    /// A turn is running.
    UnderWay,
    /// A person is asked.
    Waiting,
    /// A person has paused it.
    Paused,
    /// The latest turn has a result.
    Done,
    /// The latest turn ended without the model.
    Degraded,
    /// The latest turn met a limit.
    Limit,
    /// A person stopped the latest turn.
    Stopped,
    /// It cannot be restored.
    Unreadable,
}

impl SessionStatus {
    /// The status of a session.
    pub fn of(session: &Session) -> Self {
        if session.paused().is_some() {
            return Self::Paused;
        }
        if session.questions().iter().any(Question::is_open) {
            return Self::Waiting;
        }
        match session.reply().map(|reply| reply.ends) {
            Some(TurnEnd::Output) => Self::Done,
            Some(TurnEnd::Waiting) => Self::Waiting,
            Some(TurnEnd::Degraded) => Self::Degraded,
            Some(TurnEnd::Limit) => Self::Limit,
            Some(TurnEnd::Stopped) => Self::Stopped,
            None if session.is_at_rest() => Self::New,
            None => Self::UnderWay,
        }
    }

    /// The name for other programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::UnderWay => "under_way",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Degraded => "degraded",
            Self::Limit => "limit",
            Self::Stopped => "stopped",
            Self::Unreadable => "unreadable",
        }
    }
}
