//! A question as lines of text. Channels with colours give each tone its colour.

use obelus_kernel::session::About;
use obelus_kernel::visible;

use super::question::{CallView, QuestionView, RowView};

/// How a piece of a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// What matters most.
    Strong,
    /// What matters least.
    Faint,
    /// A sign that something is wanted.
    Sign,
    /// The mark of a value that is not trusted.
    Mark,
}

/// A line in pieces. Text from outside is in it with everything escaped that could mislead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewLine {
    /// The pieces.
    pub pieces: Vec<(Tone, String)>,
    /// The indentation of continuation lines.
    pub hang: usize,
}

impl ViewLine {
    fn of(tone: Tone, text: impl Into<String>) -> Self {
        Self::default().with(tone, text)
    }

    fn with(mut self, tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push((tone, text));
        }
        self
    }

    /// Adds text from outside, on one line.
    fn shown(self, tone: Tone, text: &str) -> Self {
        let one_line = text.split(['\n', '\r', '\t']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        self.with(tone, visible(&one_line))
    }

    fn hanging(mut self, columns: usize) -> Self {
        self.hang = columns;
        self
    }

    /// The text alone.
    pub fn plain(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

impl QuestionView {
    /// The question as lines, without the keys or commands that answer it.
    pub fn lines(&self) -> Vec<ViewLine> {
        let head = ViewLine::of(Tone::Sign, "? ").with(Tone::Strong, &self.head);
        let mut lines = vec![head.with(Tone::Faint, "  ").shown(Tone::Faint, &self.id)];
        let mut marks = Marks::default();
        match self.about {
            About::Input => self.add_asked_words(&mut lines),
            About::Call if self.calls.len() > 1 => self.add_list(&mut lines, &mut marks),
            About::Plan => {
                for call in &self.calls {
                    let number = ViewLine::of(Tone::Plain, format!("  {}. ", call.index + 1));
                    lines.push(headed(number, call).hanging(5));
                    self.add_rows(call, 5, &mut lines, &mut marks);
                }
            }
            About::Call | About::InDoubt => {
                for call in &self.calls {
                    lines.push(headed(ViewLine::of(Tone::Plain, "  "), call));
                    self.add_rows(call, 4, &mut lines, &mut marks);
                }
            }
        }
        lines.extend(marks.explained());
        self.add_remarks(&mut lines);
        lines
    }

    /// The same call over many instances: a numbered list, and below it what all have in common.
    fn add_list(&self, lines: &mut Vec<ViewLine>, marks: &mut Marks) {
        let title = self.calls.first().map(|call| call.title.as_str()).unwrap_or_default();
        lines.push(ViewLine::of(Tone::Plain, "  ").shown(Tone::Strong, title));
        marks.always();
        for call in self.calls.iter().filter(|call| call.is_open) {
            let mut line = ViewLine::of(Tone::Plain, format!("  {:>3}. ", call.index + 1));
            if let Some(instance) = &call.instance {
                line = line.shown(Tone::Strong, instance).with(Tone::Plain, "  ");
            }
            let rows = call.record.iter().chain(&call.rows);
            lines.push(self.side_by_side(line, rows, marks).hanging(7));
        }
        for row in &self.common {
            lines.push(indented(marks.sign(self.row(row), row), 4));
        }
        if let Some(details) = self.calls.first().filter(|call| !call.details.is_empty()) {
            lines.push(indented(self.side_by_side(ViewLine::default(), &details.details, marks), 4));
        }
    }

    /// The fields of a call, one below the other, and its details on one line.
    fn add_rows(&self, call: &CallView, columns: usize, lines: &mut Vec<ViewLine>, marks: &mut Marks) {
        let rows: Vec<&RowView> = call.record.iter().chain(&call.rows).collect();
        marks.begin(rows.iter().copied().chain(&call.details));
        for row in rows {
            lines.push(indented(marks.sign(self.row(row), row), columns));
        }
        if !call.details.is_empty() {
            lines.push(indented(self.side_by_side(ViewLine::default(), &call.details, marks), columns));
        }
    }

    fn side_by_side<'r>(
        &self,
        mut line: ViewLine,
        rows: impl IntoIterator<Item = &'r RowView>,
        marks: &mut Marks,
    ) -> ViewLine {
        for (n, row) in rows.into_iter().enumerate() {
            if n > 0 {
                line = line.with(Tone::Faint, " · ");
            }
            line.pieces.extend(marks.short_sign(self.row(row), row).pieces);
        }
        line
    }

    /// A field: its name, and what is there now beside what would be.
    fn row(&self, row: &RowView) -> ViewLine {
        let words = &self.language.words().questions;
        if row.place.is_empty() {
            let tone = if row.mark.is_some() { Tone::Plain } else { Tone::Faint };
            return ViewLine::of(tone, format!("{} ", row.label)).shown(tone, &row.value);
        }
        let line = ViewLine::default().shown(Tone::Plain, &row.label).with(Tone::Plain, ": ");
        let Some(before) = &row.before else { return line.shown(Tone::Strong, &row.value) };
        let line = match &before.value {
            None => line.with(Tone::Faint, words.now_unknown),
            Some(value) => line.with(Tone::Faint, words.now).shown(Tone::Plain, value),
        };
        let line = line.with(Tone::Plain, " → ").shown(Tone::Strong, &row.value);
        if before.is_same { line.with(Tone::Faint, words.no_change) } else { line }
    }

    fn add_asked_words(&self, lines: &mut Vec<ViewLine>) {
        let Some(asks) = &self.asks else { return };
        if let Some(by) = &asks.by {
            let line = ViewLine::of(Tone::Plain, "  ").shown(Tone::Plain, by);
            let mark = asks.mark.as_ref().map(|mark| format!("   ← {mark}")).unwrap_or_default();
            lines.push(line.with(Tone::Mark, mark).hanging(4));
        }
        for line in asks.words.lines() {
            lines.push(ViewLine::of(Tone::Plain, "  ").shown(Tone::Plain, line).hanging(2));
        }
    }

    /// What stands below the calls: the words with which the question came from elsewhere, and why it is asked.
    fn add_remarks(&self, lines: &mut Vec<ViewLine>) {
        let words = &self.language.words().questions;
        let remark = |head: &str, text: &str| {
            ViewLine::of(Tone::Plain, "  ").with(Tone::Faint, head).shown(Tone::Faint, text).hanging(4)
        };
        let picture = self.picture.as_ref().map(|path| path.display().to_string());
        lines.extend(picture.iter().map(|path| remark(words.picture, path)));
        lines.extend(self.came_as.iter().map(|text| remark(words.came_as, text)));
        if !self.reasons.is_empty() {
            lines.push(remark(words.because, &self.reasons.join("; ")));
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

/// Marks that occur on more than one line are signs, which are explained once below.
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

    /// Finds the marks that these rows have in common.
    fn begin<'r>(&mut self, rows: impl Iterator<Item = &'r RowView>) {
        let mut seen: Vec<&String> = Vec::new();
        for mark in rows.filter_map(|row| row.mark.as_ref()) {
            if seen.contains(&mark) && !self.signed.contains(mark) {
                self.signed.push(mark.clone());
            }
            seen.push(mark);
        }
    }

    /// The line with its mark: a sign if the mark stands on other lines too.
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
