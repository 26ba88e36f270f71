//! Shapes of what lower layers serialise themselves, for the description of the API: questions, events, messages, the story
//! of a value.
//!
//! Nothing is made of these types at run time. The tests read what the layers below write into them and write it again, so
//! that the description is true.
//!
//! | file | subject |
//! |---|---|
//! | `question` | a question for people |
//! | `events` | what happens in a session |
//! | `context` | messages of the context, and where a value comes from |

mod context;
mod events;
mod question;
#[cfg(test)]
mod tests;

pub(crate) use context::{ContextMessage, ValueStory};
pub(crate) use events::{CallStatusName, SessionEventShape};
pub(crate) use question::QuestionShape;
