//! The summary of a session for lists. It is stored with a resting session, so that lists need not restore any.

use obelus_kernel::session::{Question, Session};
use obelus_kernel::{Message, Role, visible};
use serde::{Deserialize, Serialize};

use crate::spec::SessionSpec;
use crate::status::SessionStatus;

/// The limit of characters of a title.
const MOST_OF_TITLE: usize = 80;

/// The limit of messages that are searched for a title.
const MOST_LOOKED_AT: usize = 200;

/// The summary of a session for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Its status.
    pub status: SessionStatus,
    /// The user's latest message, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The number of open questions.
    pub questions: usize,
    /// The name of its agent in the catalogue; for a request, its file's name.
    pub agent: String,
}

impl SessionSummary {
    /// The summary of a session with the agent of this name.
    pub fn of(session: &Session, agent: &str) -> Self {
        Self {
            status: SessionStatus::of(session),
            title: title_of(session),
            questions: session.questions().iter().filter(|question| Question::is_open(question)).count(),
            agent: agent.to_owned(),
        }
    }

    /// The summary of a session that has taken no input.
    pub(crate) fn of_new(spec: &SessionSpec) -> Self {
        Self { status: SessionStatus::New, title: None, questions: 0, agent: spec.catalogue_name() }
    }

    /// The summary of a session that cannot be restored.
    pub fn unreadable(agent: String) -> Self {
        Self { status: SessionStatus::Unreadable, title: None, questions: 0, agent }
    }
}

/// The user's latest message, shortened. Only messages in memory are searched.
fn title_of(session: &Session) -> Option<String> {
    let words = session.context().latest().take(MOST_LOOKED_AT).find_map(|message| match message {
        Message::Text(text) if text.role == Role::User => Some(text.text.as_str()),
        _ => None,
    });
    let line = words?.lines().map(str::trim).find(|line| !line.is_empty())?;
    let short: String = line.chars().take(MOST_OF_TITLE).collect();
    Some(visible(&short) + if short.len() < line.len() { "…" } else { "" })
}
