//! Incremental parsing of an answer: words as they arrive, and calls once they are complete.
//!
//! This is a preview: [`Dialect::read`] parses the whole answer later, and its result is used. After an error the
//! reader returns nothing more.

mod blocks;
mod json;

use crate::call_json::CallJson;

use blocks::BlocksReader;
use json::JsonReader;

use super::Dialect;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// More of the words for the user.
    Words(String),
    /// A complete call.
    Call {
        /// Its index among the calls of the answer.
        index: usize,
        /// The call.
        call: CallJson,
    },
}

/// Parses an answer as it arrives, each character once.
pub struct Reader(ByDialect);

enum ByDialect {
    Json(JsonReader),
    Blocks(BlocksReader),
}

impl Reader {
    /// A reader for an answer in this dialect.
    pub fn new(dialect: Dialect) -> Self {
        Self(match dialect {
            Dialect::Json => ByDialect::Json(JsonReader::default()),
            Dialect::Blocks => ByDialect::Blocks(BlocksReader::default()),
        })
    }

    /// Takes the next part of the answer, and passes on the pieces that it completes.
    pub fn push(&mut self, text: &str, mut piece: impl FnMut(Piece)) {
        match &mut self.0 {
            ByDialect::Json(reader) => reader.push(text, &mut piece),
            ByDialect::Blocks(reader) => reader.push(text, &mut piece),
        }
    }
}

#[cfg(test)]
mod tests;
