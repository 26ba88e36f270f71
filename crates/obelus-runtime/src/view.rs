//! What people see of a session, made once for every channel: questions, and what came of steps.
//!
//! A view is data first ([`QuestionView`]), so that a page or a messenger can lay it out its own way, and lines second
//! ([`ViewLine`]), for everything that shows text.
//!
//! | file | subject |
//! |---|---|
//! | `question`, `details` | a question as data: records, fields before and after, marks, reasons; details |
//! | `lines` | the same as lines of text |
//! | `elicitation` | what a service asks for, in the reader's language |
//! | `form` | the fields of a call that a person changes, one by one |
//! | `steps` | a step and what became of it |
//! | `titles` | what tools and parameters are called |
//! | `pages` | addresses in full, pictures and words of pages |
//! | `results` | what a call brought, in a few words |

mod details;
mod elicitation;
mod form;
mod lines;
mod pages;
mod question;
mod results;
mod steps;
mod titles;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use form::{EditForm, FieldKind, FormField};
pub use lines::{Tone, ViewLine};
pub use pages::PageNotes;
pub use question::{AskedWords, BeforeView, CallView, QuestionView, RowView};
pub use results::result_in_words;
pub use steps::StepLine;
pub use titles::Titles;
