//! Words of the dialect `blocks` as they come. Calls there run in order and are checked together: none is early.

use super::Piece;
use crate::dialect::blocks::headings::{Block, of_line};

/// The longest line that can be a heading with words after it; longer ones are not looked at.
const MOST_LINE: usize = 64 * 1024;

/// Where the answer is.
#[derive(Default)]
pub(super) struct Reader {
    /// The line under way, before the words have begun.
    line: String,
    place: Place,
}

#[derive(Default, PartialEq)]
enum Place {
    /// Before the actions, where a heading ASSISTANT is prose.
    #[default]
    Before,
    /// After the heading ACTION.
    Action,
    /// In the words.
    Words,
}

impl Reader {
    pub(super) fn push(&mut self, text: &str, piece: &mut impl FnMut(Piece)) {
        let mut rest = text;
        while self.place != Place::Words && !rest.is_empty() {
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
            Block::Action => self.place = Place::Action,
            Block::Assistant if self.place == Place::Action => {
                self.place = Place::Words;
                let beside = line[heading.content..].trim();
                if !beside.is_empty() {
                    piece(Piece::Words(format!("{beside}\n")));
                }
            }
            _ => {}
        }
    }
}
