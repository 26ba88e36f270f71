//! The id of a question among those of all sessions.

use std::fmt;

use obelus_kernel::session::QuestionId;

/// A question of a session: `SESSION:QUESTION`. Names of sessions have no colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxId<'a> {
    /// The session.
    pub session: &'a str,
    /// The question in that session.
    pub question: QuestionId,
}

impl<'a> InboxId<'a> {
    /// The id of a session's question.
    pub fn new(session: &'a str, question: &QuestionId) -> Self {
        Self { session, question: question.clone() }
    }

    /// Reads an id; none if the text is not one.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (session, question) = text.split_once(':')?;
        Some(Self { session, question: question.parse().ok()? })
    }
}

impl fmt::Display for InboxId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.session, self.question)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_id_is_written_and_read_back() {
        for text in ["deals:q1", "a.b-2:2.0/q3"] {
            assert_eq!(InboxId::parse(text).unwrap().to_string(), text);
        }
        for text in ["q1", "deals", "deals:", "deals:1", "a:b:q1"] {
            assert_eq!(InboxId::parse(text), None, "{text}");
        }
    }
}
