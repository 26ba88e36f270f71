//! A question as lines for the terminal. What stands in them is made by the library, for every channel alike.

use anstyle::{AnsiColor, Style};
use obelus_kernel::session::Question;
use obelus_runtime::people::{QuestionView, Titles, Tone, ViewLine};
use serde_json::Value;

use super::text::{Line, PLAIN};
use crate::language::Words;
use crate::output::{BOLD, DIM, YELLOW};

/// The colour of marks of untrusted sources.
const MARK: Style = AnsiColor::Yellow.on_default();

/// A question in lines, under the id by which it is answered, without the keys that answer it.
pub(crate) fn lines(question: &Question, id: &str, titles: &Titles, phrases: &Words) -> Vec<Line> {
    let view = QuestionView::of(question, id, titles, phrases.language);
    view.lines().into_iter().map(styled).collect()
}

/// A line of a view in the colours of the terminal.
fn styled(line: ViewLine) -> Line {
    let style = |tone: Tone| match tone {
        Tone::Plain => PLAIN,
        Tone::Strong => BOLD,
        Tone::Faint => DIM,
        Tone::Sign => YELLOW,
        Tone::Mark => MARK,
    };
    let hang = line.hang;
    line.pieces.into_iter().fold(Line::new(), |line, (tone, text)| line.own(style(tone), text)).hanging(hang)
}

/// Indexes of the undecided calls.
pub(crate) fn open_calls(question: &Question) -> Vec<usize> {
    (0..question.calls.len()).filter(|index| question.calls[*index].decided.is_none()).collect()
}

/// The parameters of a question's only open call, for editing.
pub(crate) fn params(question: &Question) -> Option<Value> {
    let [index] = open_calls(question)[..] else { return None };
    let fields = question.calls[index].call.as_object()?;
    let is_param = |name: &str| !name.starts_with('_') && !ASIDES.contains(&name);
    Some(fields.iter().filter(|(name, _)| is_param(name)).map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Fields of a call that are not parameters (CALL-1).
const ASIDES: [&str; 6] =
    ["comment", "requires_confirmation", "confirmed", "confirmation_decision", "confirmation_reason", "http_method"];

#[cfg(test)]
pub(crate) mod tests;
