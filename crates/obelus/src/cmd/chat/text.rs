//! Styled lines, before they are printed.
//!
//! Text from outside is added by [`StyledLine::shown`], which escapes characters that could control the terminal.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::output::visible;

/// A line of text in pieces, each with its style.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StyledLine {
    pieces: Vec<(Style, String)>,
    /// The indentation of continuation lines.
    hang: usize,
}

pub(crate) const PLAIN: Style = Style::new();

impl StyledLine {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A line of the program's own text.
    pub(crate) fn of(style: Style, text: impl Into<String>) -> Self {
        Self::new().own(style, text)
    }

    /// Adds the program's own text.
    pub(crate) fn own(mut self, style: Style, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push((style, text));
        }
        self
    }

    /// Adds text from outside, with control characters and line breaks escaped.
    pub(crate) fn shown(self, style: Style, text: &str) -> Self {
        let one_line = text.split(['\n', '\r', '\t']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        self.own(style, visible(&one_line))
    }

    /// Appends another line.
    pub(crate) fn append(&mut self, other: StyledLine) {
        self.pieces.extend(other.pieces);
    }

    /// Appends another line.
    pub(crate) fn followed_by(mut self, other: StyledLine) -> Self {
        self.append(other);
        self
    }

    /// The line with blanks before it.
    pub(crate) fn indented(mut self, blanks: &str) -> Self {
        self.pieces.insert(0, (PLAIN, blanks.to_owned()));
        self.hang += blanks.len();
        self
    }

    /// The line with the pieces of another after it.
    pub(crate) fn joined(mut self, other: StyledLine) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// The line without leading blanks.
    pub(crate) fn without_indent(mut self) -> Self {
        if self.pieces.first().is_some_and(|(_, text)| text.trim().is_empty()) {
            self.pieces.remove(0);
        }
        self
    }

    /// Sets the indentation of continuation lines.
    pub(crate) fn hanging(mut self, columns: usize) -> Self {
        self.hang = columns;
        self
    }

    /// The width in columns.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// The text without styles.
    pub(crate) fn plain(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The text with its styles as terminal codes.
    pub(crate) fn styled(&self) -> String {
        let mut line = String::new();
        for (style, text) in &self.pieces {
            if *style == PLAIN { line.push_str(text) } else { line.push_str(&format!("{style}{text}{style:#}")) }
        }
        line
    }

    /// The line cut to a width, with `…` at the end if something is missing.
    pub(crate) fn cut(&self, columns: usize) -> StyledLine {
        if self.width() <= columns {
            return self.clone();
        }
        let mut left = columns.saturating_sub(1);
        let mut cut = StyledLine { pieces: Vec::new(), hang: self.hang };
        for (style, text) in &self.pieces {
            let mut kept = String::new();
            let mut is_whole = true;
            for c in text.chars() {
                let width = c.to_string().width();
                if width > left {
                    is_whole = false;
                    break;
                }
                left -= width;
                kept.push(c);
            }
            cut = cut.own(*style, kept);
            if !is_whole {
                return cut.own(*style, "…");
            }
        }
        cut
    }

    /// The line wrapped at words to a width.
    pub(crate) fn wrap(&self, columns: usize) -> Vec<StyledLine> {
        let columns = columns.max(self.hang + 10);
        let mut lines = vec![StyledLine::new()];
        let mut used = 0;
        let mut is_bare = true;
        for (style, text) in &self.pieces {
            for token in text.split_inclusive(' ') {
                let word = token.trim_end_matches(' ');
                if used + word.width() > columns && !is_bare {
                    used = self.hang;
                    lines.push(StyledLine::of(PLAIN, " ".repeat(self.hang)));
                    is_bare = true;
                }
                for part in split(token, columns, self.hang, &mut used) {
                    if part.is_new_line {
                        lines.push(StyledLine::of(PLAIN, " ".repeat(self.hang)));
                    }
                    let line = lines.pop().unwrap_or_default();
                    lines.push(line.own(*style, part.text));
                }
                is_bare = is_bare && word.is_empty();
            }
        }
        lines
    }
}

struct WordPart<'a> {
    is_new_line: bool,
    text: &'a str,
}

/// Splits a word that is longer than a line.
fn split<'a>(token: &'a str, columns: usize, hang: usize, used: &mut usize) -> Vec<WordPart<'a>> {
    if *used + token.trim_end().width() <= columns {
        *used += token.width();
        return vec![WordPart { is_new_line: false, text: token }];
    }
    let (mut parts, mut begin, mut is_new_line) = (Vec::new(), 0, false);
    for (at, c) in token.char_indices() {
        let width = c.to_string().width();
        if *used + width > columns {
            parts.push(WordPart { is_new_line, text: &token[begin..at] });
            (begin, is_new_line, *used) = (at, true, hang);
        }
        *used += width;
    }
    parts.push(WordPart { is_new_line, text: &token[begin..] });
    parts
}

/// Text of several lines from outside, as lines.
pub(crate) fn paragraphs(style: Style, text: &str, indent: &str) -> Vec<StyledLine> {
    let line = |line: &str| {
        let begin = line.len() - line.trim_start_matches(' ').len();
        let mark = ["- ", "* ", "• "].iter().any(|mark| line[begin..].starts_with(mark));
        let hang = indent.width() + begin + if mark { 2 } else { 0 };
        StyledLine::of(PLAIN, indent).shown(style, &line.replace('\t', "    ")).hanging(hang)
    };
    text.trim_end().lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::BOLD;

    fn plain(lines: &[StyledLine]) -> Vec<String> {
        lines.iter().map(|line| line.plain().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_line_is_wrapped_between_words_with_an_indent() {
        let line = StyledLine::of(BOLD, "1. ").own(PLAIN, "Поставка окон на Ленина").hanging(3);
        assert_eq!(plain(&line.wrap(15)), ["1. Поставка", "   окон на", "   Ленина"]);
        assert_eq!(plain(&line.wrap(80)), ["1. Поставка окон на Ленина"]);
    }

    #[test]
    fn a_word_longer_than_a_line_is_wrapped() {
        let lines = StyledLine::of(PLAIN, "x".repeat(25)).wrap(10);
        assert_eq!(plain(&lines), ["x".repeat(10), "x".repeat(10), "x".repeat(5)]);
        assert!(lines.iter().all(|line| line.width() <= 10));
    }

    #[test]
    fn a_cut_text_has_a_note() {
        let line = StyledLine::of(BOLD, "один ").own(PLAIN, "два три");
        assert_eq!(line.cut(8).plain(), "один дв…");
        assert_eq!(line.cut(12).plain(), "один два три");
        assert_eq!(StyledLine::of(PLAIN, "日本語").cut(4).width(), 3);
    }

    #[test]
    fn outside_text_stays_on_its_line_without_control_characters() {
        let line = StyledLine::new().shown(PLAIN, "a\nb\u{1b}[2J\u{202e}");
        assert_eq!(line.plain(), "a b\\u{1b}[2J\\u{202e}");
        let lines = paragraphs(PLAIN, "one\n  - two\u{7}\n", "  ");
        assert_eq!(plain(&lines), ["  one", "    - two\\u{7}"]);
    }
}
