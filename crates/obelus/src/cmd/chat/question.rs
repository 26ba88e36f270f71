//! Lines of the library's views in the colours of the terminal.

use anstyle::{AnsiColor, Style};
use obelus_kernel::session::Question;
use obelus_runtime::people::{QuestionView, Tone, ViewLine};

use super::text::{PLAIN, StyledLine};
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW};

/// The colour of marks of untrusted sources.
const MARK: Style = AnsiColor::Yellow.on_default();

/// A question as lines, without the keys that answer it, with or without details.
pub(crate) fn lines(view: &QuestionView, with_details: bool) -> Vec<StyledLine> {
    let lines = if with_details { view.lines_with_details() } else { view.lines() };
    lines.into_iter().map(styled).collect()
}

/// The style of a tone.
pub(crate) fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => PLAIN,
        Tone::Strong => BOLD,
        Tone::Faint => DIM,
        Tone::Sign => YELLOW,
        Tone::Mark => MARK,
        Tone::Good => GREEN,
        Tone::Bad => RED,
    }
}

/// A line of a view in the colours of the terminal.
pub(crate) fn styled(line: ViewLine) -> StyledLine {
    let hang = line.hang;
    line.pieces.into_iter().fold(StyledLine::new(), |line, (tone, text)| line.own(style(tone), text)).hanging(hang)
}

/// Indexes of the undecided calls.
pub(crate) fn open_calls(question: &Question) -> Vec<usize> {
    (0..question.calls.len()).filter(|index| question.calls[*index].decided.is_none()).collect()
}

/// Example tools and questions, the same that the library tests its views with.
#[cfg(test)]
#[path = "../../../../obelus-runtime/src/view/sample.rs"]
pub(crate) mod sample;
