//! Streams the words of the dialect `blocks`. Calls are not streamed: they run in order and are checked together.

use super::Piece;
use crate::dialect::blocks::headings::{Block, of_line};

/// Pieces that would make a line longer than this are dropped.
const MOST_LINE: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct BlocksReader {
    /// The current line, before the words begin.
    line: String,
    section: Section,
}

#[derive(Default, PartialEq)]
enum Section {
    /// Before ACTION, where ASSISTANT is prose.
    #[default]
    Before,
    /// After ACTION.
    Action,
    /// In the words.
    Words,
}

impl BlocksReader {
    pub(super) fn push(&mut self, text: &str, piece: &mut impl FnMut(Piece)) {
        let mut rest = text;
        while self.section != Section::Words && !rest.is_empty() {
            let Some(end) = rest.find('\n') else {
                if self.line.len() + rest.len() <= MOST_LINE {
                    self.line.push_str(rest);
                }
                return;
            };
            if self.line.len() + end <= MOST_LINE {
                self.line.push_str(&rest[..end]);
            }
            rest = &rest[end + 1..];
            self.end_line(piece);
        }
        if !rest.is_empty() {
            piece(Piece::Words(rest.to_owned()));
        }
    }

    fn end_line(&mut self, piece: &mut impl FnMut(Piece)) {
        let line = std::mem::take(&mut self.line);
        let Some(heading) = of_line(&line, 0) else { return };
        match heading.block {
            Block::Action => self.section = Section::Action,
            Block::Assistant if self.section == Section::Action => {
                self.section = Section::Words;
                let beside = line[heading.content..].trim();
                if !beside.is_empty() {
                    piece(Piece::Words(format!("{beside}\n")));
                }
            }
            _ => {}
        }
    }
}
