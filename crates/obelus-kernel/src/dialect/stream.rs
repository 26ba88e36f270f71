//! An answer while it is still being written: words as they come, and calls as soon as they are whole.
//!
//! What is told here is told ahead of time. The whole answer is read by [`Dialect::read`] when it is there, and that
//! is what counts: where an answer turns out not to be in format, the reader just falls silent.

mod blocks;
mod json;

use serde_json::Value;

use super::Dialect;

/// A part of an answer that has come.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// More of the words for the user.
    Words(String),
    /// A whole call.
    Call {
        /// Its place among the calls of the answer.
        index: usize,
        /// The call.
        call: Value,
    },
}

/// Reads an answer as it comes. Every character is looked at once, however small the pieces are.
pub struct Reader(Inner);

enum Inner {
    Json(json::Reader),
    Blocks(blocks::Reader),
}

impl Reader {
    /// A reader for an answer in this dialect.
    pub fn new(dialect: Dialect) -> Self {
        Self(match dialect {
            Dialect::Json => Inner::Json(json::Reader::default()),
            Dialect::Blocks => Inner::Blocks(blocks::Reader::default()),
        })
    }

    /// Takes more of the answer, and tells what that completes.
    pub fn push(&mut self, text: &str, mut piece: impl FnMut(Piece)) {
        match &mut self.0 {
            Inner::Json(reader) => reader.push(text, &mut piece),
            Inner::Blocks(reader) => reader.push(text, &mut piece),
        }
    }
}

#[cfg(test)]
mod tests;
