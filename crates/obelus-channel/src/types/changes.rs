//! Changes of the lists of sessions and questions.

use serde::Serialize;
#[cfg(feature = "http")]
use utoipa::ToSchema;

use obelus_runtime::people::AnswerKind;
use obelus_runtime::sessions::SessionStatus;

/// A change in the list of sessions or in the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub enum ListChange {
    /// A person is asked.
    QuestionAsked {
        /// The session.
        session: String,
        /// Its agent.
        agent: String,
        /// The question's id, `SESSION:QUESTION`.
        question: String,
    },
    /// A question was decided.
    QuestionDecided {
        /// The session.
        session: String,
        /// Its agent.
        agent: String,
        /// The question's id, `SESSION:QUESTION`.
        question: String,
        /// The kind of decision: `approve`, `deny`, `edit`, …
        #[cfg_attr(feature = "http", schema(value_type = String))]
        decision: AnswerKind,
        /// Who, and from where.
        by: String,
        /// The same in words.
        by_words: String,
    },
    /// Nobody answered in time.
    QuestionExpired {
        /// The session.
        session: String,
        /// Its agent.
        agent: String,
        /// The question's id, `SESSION:QUESTION`.
        question: String,
    },
    /// A session was made, or is somewhere else than before.
    Session {
        /// The session.
        session: String,
        /// Its agent.
        agent: String,
        /// Its status.
        #[cfg_attr(feature = "http", schema(value_type = String))]
        status: SessionStatus,
    },
    /// A session was removed.
    Removed {
        /// The session.
        session: String,
    },
    /// Some changes were lost: read the lists again.
    Missed,
}
