//! Shapes of data that lower layers serialise, for the API description: questions, events, messages, the history of a
//! value.
//!
//! The lower layers do not depend on the crate of the description, so their types have a second form here. It is not
//! used at run time. Tests parse the lower layers' JSON into these types and serialise it again, so that the
//! description is correct.
//!
//! | file | subject |
//! |---|---|
//! | `question` | a question for people |
//! | `events` | events of a session |
//! | `context` | messages of the context, and where a value comes from |

mod context;
mod events;
mod question;
#[cfg(test)]
mod tests;

pub(crate) use context::{ContextMessage, ValueStory};
pub(crate) use events::{CallStatusName, ModeName, SessionEventShape};
pub(crate) use question::QuestionShape;
