//! Lines of text, and a question as lines. Channels with colours map each tone to one.

use obelus_kernel::session::About;
use obelus_kernel::visible;

use super::question::{CallView, QuestionView, RowView};
use crate::words::fill;

/// The style of a piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Normal.
    Plain,
    /// Important.
    Strong,
    /// Unimportant.
    Faint,
    /// A prompt for action.
    Sign,
    /// The mark of an untrusted value.
    Mark,
    /// Success.
    Good,
    /// Failure.
    Bad,
}

/// A line in pieces. Text from outside is escaped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewLine {
    /// The pieces.
    pub pieces: Vec<(Tone, String)>,
    /// The indentation of continuation lines.
    pub hang: usize,
}

impl ViewLine {
    pub(super) fn of(tone: Tone, text: impl Into<String>) -> Self {
        Self::default().with(tone, text)
    }

    pub(super) fn with(mut self, tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push((tone, text));
        }
        self
    }

    /// Adds text from outside, on one line.
    pub(super) fn shown(self, tone: Tone, text: &str) -> Self {
        let one_line = text.split(['\n', '\r', '\t']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        self.with(tone, visible(&one_line))
    }

    pub(super) fn hanging(mut self, columns: usize) -> Self {
        self.hang = columns;
        self
    }

    /// The text without tones.
    pub fn plain(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

impl QuestionView {
    /// The question as lines, without the keys or commands that answer it. Details are only counted.
    pub fn lines(&self) -> Vec<ViewLine> {
        self.build_lines(false)
    }

    /// The question as lines, with all details.
    pub fn lines_with_details(&self) -> Vec<ViewLine> {
        self.build_lines(true)
    }

    /// Whether there are details.
    pub fn has_details(&self) -> bool {
        self.all_details().next().is_some()
    }

    fn all_details(&self) -> impl Iterator<Item = &RowView> {
        self.calls.iter().flat_map(|call| &call.details).chain(&self.common_details)
    }

    fn build_lines(&self, is_unfolded: bool) -> Vec<ViewLine> {
        // Closed questions get no question mark.
        let sign = if self.answers.is_empty() { "· " } else { "? " };
        let head = ViewLine::of(Tone::Sign, sign).with(Tone::Strong, &self.head);
        let mut lines = vec![head.with(Tone::Faint, "  ").shown(Tone::Faint, &self.id)];
        let mut marks = Marks::default();
        let mut text = LineBuilder { view: self, lines: &mut lines, marks: &mut marks, is_unfolded };
        match self.about {
            About::Input => text.asked_words(),
            About::Call if self.calls.len() > 1 => text.list(),
            About::Plan => {
                for call in &self.calls {
                    let number = ViewLine::of(Tone::Plain, format!("  {}. ", call.index + 1));
                    text.call(headed(number, call).hanging(5), call, 5);
                }
            }
            About::Call | About::InDoubt => {
                for call in &self.calls {
                    text.call(headed(ViewLine::of(Tone::Plain, "  "), call), call, 4);
                }
            }
        }
        text.folded();
        lines.extend(marks.explained());
        self.add_remarks(&mut lines);
        lines
    }

    /// A field: its label, its current and its new value.
    fn row(&self, row: &RowView) -> ViewLine {
        let words = &self.language.words().questions;
        if row.place.is_empty() {
            let tone = if row.mark.is_some() { Tone::Plain } else { Tone::Faint };
            return ViewLine::of(tone, format!("{} ", row.label)).shown(tone, &row.value);
        }
        let line = ViewLine::default().shown(Tone::Plain, &row.label).with(Tone::Plain, ": ");
        let line = match row.before.as_ref().map(|before| &before.value) {
            None => line,
            Some(None) => line.with(Tone::Faint, words.now_unknown).with(Tone::Plain, " → "),
            Some(Some(value)) => line.with(Tone::Faint, words.now).shown(Tone::Plain, value).with(Tone::Plain, " → "),
        };
        let is_same = row.before.as_ref().is_some_and(|before| before.is_same);
        let line = line.shown(Tone::Strong, &row.value).with(Tone::Faint, if is_same { words.no_change } else { "" });
        match &row.instead_of {
            Some(proposed) => line.shown(Tone::Good, &fill(words.instead_of, &[proposed])),
            None => line,
        }
    }

    /// The steps that need the result of an effect in doubt, as text.
    pub fn steps_that_read_it(&self) -> String {
        self.result_read_by.iter().map(|title| format!("«{title}»")).collect::<Vec<_>>().join(", ")
    }

    /// The lines below the calls: the text with which the question came, and its reasons.
    fn add_remarks(&self, lines: &mut Vec<ViewLine>) {
        let words = &self.language.words().questions;
        let remark = |head: &str, text: &str| {
            ViewLine::of(Tone::Plain, "  ").with(Tone::Faint, head).shown(Tone::Faint, text).hanging(4)
        };
        let picture = self.picture.as_ref().map(|path| path.display().to_string());
        lines.extend(picture.iter().map(|path| remark(words.picture, path)));
        lines.extend(self.came_as.iter().map(|text| remark(words.came_as, text)));
        lines.extend(self.for_step.iter().map(|title| remark(words.for_step, &format!("«{title}»"))));
        if !self.reasons.is_empty() {
            lines.push(remark(words.because, &self.reasons.join("; ")));
        }
        if !self.result_read_by.is_empty() {
            lines.push(remark(words.result_read_by, &self.steps_that_read_it()));
        }
    }
}

/// The lines being built.
struct LineBuilder<'a> {
    view: &'a QuestionView,
    lines: &'a mut Vec<ViewLine>,
    marks: &'a mut Marks,
    is_unfolded: bool,
}

impl LineBuilder<'_> {
    /// The same call for many instances: a numbered list, then what they have in common.
    fn list(&mut self) {
        let view = self.view;
        let title = view.calls.first().map(|call| call.title.as_str()).unwrap_or_default();
        self.lines.push(ViewLine::of(Tone::Plain, "  ").shown(Tone::Strong, title));
        self.marks.always();
        for call in view.calls.iter().filter(|call| call.is_open) {
            let mut line = ViewLine::of(Tone::Plain, format!("  {:>3}. ", call.index + 1));
            // A record names the instance better than its technical name.
            if let (Some(instance), None) = (&call.instance, &call.record) {
                line = line.shown(Tone::Strong, instance).with(Tone::Plain, "  ");
            }
            let rows = call.record.iter().chain(&call.rows);
            let mut line = self.side_by_side(line, rows).hanging(7);
            if let Some(text) = &call.done_before {
                line = line.with(Tone::Mark, format!("   ↻ {text}"));
            }
            self.lines.push(line);
            self.details(&call.details, 7);
        }
        for row in &view.common {
            self.lines.push(indented(self.marks.sign(view.row(row), row), 4));
        }
        self.details(&view.common_details, 4);
    }

    /// A call: its title and its fields.
    fn call(&mut self, head: ViewLine, call: &CallView, columns: usize) {
        self.lines.push(head);
        let repeated = call.done_before.iter().map(|text| ViewLine::of(Tone::Mark, format!("↻ {text}")));
        self.lines.extend(repeated.map(|line| indented(line, columns)));
        let rows: Vec<&RowView> = call.record.iter().chain(&call.rows).collect();
        self.marks.begin(rows.iter().copied().chain(&call.details));
        for row in rows {
            self.lines.push(indented(self.marks.sign(self.view.row(row), row), columns));
        }
        self.details(&call.details, columns);
    }

    fn side_by_side<'r>(&mut self, mut line: ViewLine, rows: impl IntoIterator<Item = &'r RowView>) -> ViewLine {
        for (n, row) in rows.into_iter().enumerate() {
            if n > 0 {
                line = line.with(Tone::Faint, " · ");
            }
            line.pieces.extend(self.marks.short_sign(self.view.row(row), row).pieces);
        }
        line
    }

    /// Details, if requested.
    fn details(&mut self, rows: &[RowView], columns: usize) {
        for row in rows.iter().filter(|_| self.is_unfolded) {
            let mut line = self.view.row(row);
            line.pieces.iter_mut().for_each(|(tone, _)| *tone = Tone::Faint);
            self.lines.push(indented(self.marks.short_sign(line, row), columns));
        }
    }

    /// The number of details, with their marks: untrusted values are never hidden.
    fn folded(&mut self) {
        let count = self.view.all_details().count();
        if self.is_unfolded || count == 0 {
            return;
        }
        let language = self.view.language;
        let words = language.count(language.words().questions.details, count as u64);
        let mut line = ViewLine::of(Tone::Faint, format!("+ {words}"));
        let mut seen: Vec<&String> = Vec::new();
        for row in self.view.all_details() {
            if let Some(mark) = row.mark.as_ref().filter(|mark| !seen.contains(mark)) {
                seen.push(mark);
                line = self.marks.short_sign(line, row);
            }
        }
        self.lines.push(indented(line, 4));
    }

    fn asked_words(&mut self) {
        let Some(asks) = &self.view.asks else { return };
        if let Some(by) = &asks.by {
            let line = ViewLine::of(Tone::Plain, "  ").shown(Tone::Plain, by);
            let mark = asks.mark.as_ref().map(|mark| format!("   ← {mark}")).unwrap_or_default();
            self.lines.push(line.with(Tone::Mark, mark).hanging(4));
        }
        for line in asks.words.lines() {
            self.lines.push(ViewLine::of(Tone::Plain, "  ").shown(Tone::Plain, line).hanging(2));
        }
    }
}

/// The title of a call, and its instance.
fn headed(line: ViewLine, call: &CallView) -> ViewLine {
    let mut line = line.shown(Tone::Strong, &call.title);
    if let Some(mark) = &call.mark {
        line = line.with(Tone::Mark, format!("   ← {mark}"));
    }
    match &call.instance {
        Some(instance) => line.with(Tone::Plain, "  ").shown(Tone::Plain, instance),
        None => line,
    }
}

fn indented(mut line: ViewLine, columns: usize) -> ViewLine {
    line.pieces.insert(0, (Tone::Plain, " ".repeat(columns)));
    line.hanging(columns + 2)
}

/// Marks on more than one line become signs, explained once below.
#[derive(Default)]
struct Marks {
    /// The marks that have a sign, in order.
    signed: Vec<String>,
    /// Whether every mark gets a sign.
    all: bool,
}

impl Marks {
    fn always(&mut self) {
        self.all = true;
    }

    /// Finds the marks that occur in several of these rows.
    fn begin<'r>(&mut self, rows: impl Iterator<Item = &'r RowView>) {
        let mut seen: Vec<&String> = Vec::new();
        for mark in rows.filter_map(|row| row.mark.as_ref()) {
            if seen.contains(&mark) && !self.signed.contains(mark) {
                self.signed.push(mark.clone());
            }
            seen.push(mark);
        }
    }

    /// The line with its mark: a sign if other lines have the mark too.
    fn sign(&mut self, line: ViewLine, row: &RowView) -> ViewLine {
        match &row.mark {
            Some(mark) if !self.all && !self.signed.contains(mark) => line.with(Tone::Mark, format!("   ← {mark}")),
            _ => self.short_sign(line, row),
        }
    }

    fn short_sign(&mut self, line: ViewLine, row: &RowView) -> ViewLine {
        let Some(mark) = &row.mark else { return line };
        let known = self.signed.iter().position(|known| known == mark);
        let number = known.unwrap_or_else(|| {
            self.signed.push(mark.clone());
            self.signed.len() - 1
        });
        line.with(Tone::Mark, format!(" {}", sign(number + 1)))
    }

    fn explained(self) -> impl Iterator<Item = ViewLine> {
        let line = |(number, mark): (usize, String)| {
            ViewLine::of(Tone::Mark, format!("    {} {mark}", sign(number))).hanging(6)
        };
        (1..).zip(self.signed).map(line)
    }
}

/// The sign for the mark with this number, counted from one.
fn sign(number: usize) -> String {
    if number == 1 { "⚠".to_owned() } else { format!("⚠{number}") }
}
