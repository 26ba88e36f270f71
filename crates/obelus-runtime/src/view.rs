//! Views of a session for people, shared by all channels: questions, and the results of steps.
//!
//! A view is data ([`QuestionView`]), so that a page or a messenger can lay it out its own way, and also lines
//! ([`ViewLine`]), for text output.
//!
//! | file | subject |
//! |---|---|
//! | `answer_kind` | the kinds of answers to a question |
//! | `language_code` | a language in JSON |
//! | `question`, `details` | a question as data: records, fields before and after, marks, reasons; details |
//! | `lines` | the same as lines of text |
//! | `local_time` | times in the time zone of the agent |
//! | `elicitation` | a service's question, in the reader's language |
//! | `form` | the fields of a call, for editing one by one |
//! | `steps` | a step and its outcome |
//! | `titles` | titles of tools and parameters |
//! | `pages` | full addresses and pictures of pages |
//! | `results` | the result of a call, in a few words |
//! | `values` | values as text, and whether two are the same for a service |
//! | `readers` | the step whose delegate asks, and the steps that wait for the result of an effect in doubt |

mod answer_kind;
mod details;
mod elicitation;
mod form;
mod language_code;
mod lines;
mod local_time;
mod pages;
mod question;
mod readers;
mod results;
mod steps;
mod titles;
mod values;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use answer_kind::AnswerKind;
pub use form::{EditForm, FieldKind, FormField, typed_value};
pub use lines::{Tone, ViewLine};
pub(crate) use local_time::local_time;
pub use pages::PageNotes;
pub use question::{AskedWords, BeforeView, CallView, QuestionView, RowView};
pub use results::result_in_words;
pub use steps::StepLine;
pub use titles::Titles;
