//! Streams one JSON object with `say` and `calls`. Only the current call is buffered.

use super::Piece;
use crate::call_json::CallJson;
use crate::dialect::entries;

/// Longer keys are cut. The known keys are shorter.
const MOST_KEY: usize = 16;
/// Larger calls are not streamed.
const MOST_CALL: usize = 1 << 20;
/// The longest escape is a surrogate pair, such as `\ud83d\ude00`.
const LONGEST_ESCAPE: usize = 12;

#[derive(Default)]
pub(super) struct JsonReader {
    at: Position,
    /// The current key, or the latest one.
    key: Vec<u8>,
    key_escaped: bool,
    /// The nesting within the current value.
    nest: Nesting,
    /// The bytes of the current call.
    call: Vec<u8>,
    calls: usize,
    /// Decoded words that are not passed on yet.
    words: String,
    /// The current escape in the words.
    escape: String,
    has_say: bool,
    has_calls: bool,
}

/// The position of the reader in the answer.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Position {
    /// Before the object; a code fence may be there.
    #[default]
    Start,
    /// Between members of the object.
    Members,
    /// In a key.
    Key,
    /// Between a key and its value.
    Colon,
    /// Before a value.
    Value,
    /// In the text of `say`.
    Say,
    /// Between calls.
    Calls,
    /// In a call.
    Call,
    /// In any other value.
    Other,
    /// After the object, or after an error.
    Done,
}

/// The nesting depth within a value.
#[derive(Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

impl Nesting {
    /// The number of these bytes that belong to the value, if it ends within them.
    fn pass(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                // A number or a literal ends before the character that ends its container.
                b'}' | b']' | b',' if self.depth == 0 => return Some(at),
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            if self.depth == 0 && !self.in_string && matches!(byte, b'"' | b'}' | b']') {
                return Some(at + 1);
            }
        }
        None
    }
}

impl JsonReader {
    pub(super) fn push(&mut self, text: &str, piece: &mut impl FnMut(Piece)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            at += match self.at {
                Position::Done => break,
                Position::Say => self.say(&text[at..]),
                Position::Call => self.in_call(&bytes[at..], piece),
                Position::Other => self.in_other(&bytes[at..]),
                _ => {
                    self.step(bytes[at]);
                    // This byte is the first of a call or another value, which is parsed from here.
                    usize::from(!matches!(self.at, Position::Call | Position::Other))
                }
            };
        }
        if !self.words.is_empty() {
            piece(Piece::Words(std::mem::take(&mut self.words)));
        }
    }

    /// Handles a byte between values.
    fn step(&mut self, byte: u8) {
        if self.at != Position::Key && is_space(byte) {
            return;
        }
        self.at = match (self.at, byte) {
            (Position::Start, b'{') => Position::Members,
            // A code fence and its language.
            (Position::Start, b'`' | b'j' | b's' | b'o' | b'n') => Position::Start,
            (Position::Members, b',') => Position::Members,
            (Position::Members, b'"') => {
                self.key.clear();
                self.key_escaped = false;
                Position::Key
            }
            (Position::Key, b'"') if !self.key_escaped => Position::Colon,
            (Position::Key, byte) => {
                self.key_escaped = byte == b'\\' && !self.key_escaped;
                if self.key.len() <= MOST_KEY {
                    self.key.push(byte);
                }
                Position::Key
            }
            (Position::Colon, b':') => Position::Value,
            (Position::Value, byte) => self.begin_value(byte),
            (Position::Calls, b',') => Position::Calls,
            (Position::Calls, b']') => Position::Members,
            (Position::Calls, _) => {
                self.nest = Nesting::default();
                self.call.clear();
                Position::Call
            }
            _ => Position::Done,
        };
    }

    fn begin_value(&mut self, byte: u8) -> Position {
        match (self.key.as_slice(), byte) {
            // Of two members with the same name the second is used, but the first was already passed on.
            (b"say", _) if std::mem::replace(&mut self.has_say, true) => Position::Done,
            (b"calls", _) if std::mem::replace(&mut self.has_calls, true) => Position::Done,
            (b"say", b'"') => Position::Say,
            (b"calls", b'[') => Position::Calls,
            _ => {
                self.nest = Nesting::default();
                Position::Other
            }
        }
    }

    fn in_other(&mut self, bytes: &[u8]) -> usize {
        match self.nest.pass(bytes) {
            Some(end) => {
                self.at = Position::Members;
                end
            }
            None => bytes.len(),
        }
    }

    fn in_call(&mut self, bytes: &[u8], piece: &mut impl FnMut(Piece)) -> usize {
        let end = self.nest.pass(bytes);
        let taken = end.unwrap_or(bytes.len());
        if self.call.len() <= MOST_CALL {
            self.call.extend_from_slice(&bytes[..taken]);
        }
        if end.is_some() {
            self.at = Position::Calls;
            if self.call.len() <= MOST_CALL {
                let opened = |mut call| entries::open(&mut call).ok().map(|()| call);
                match serde_json::from_slice(&self.call).ok().and_then(opened) {
                    Some(call) => piece(Piece::Call { index: self.calls, call: CallJson::from(call) }),
                    None => self.at = Position::Done,
                }
            }
            self.calls += 1;
        }
        taken
    }

    /// Handles text of `say`: plain text at once, escapes character by character.
    fn say(&mut self, text: &str) -> usize {
        if let Some(c) = text.chars().next().filter(|_| !self.escape.is_empty()) {
            self.escape.push(c);
            if let Ok(decoded) = serde_json::from_str::<String>(&format!("\"{}\"", self.escape)) {
                self.words.push_str(&decoded);
                self.escape.clear();
            } else if self.escape.len() >= LONGEST_ESCAPE {
                self.at = Position::Done;
            }
            return c.len_utf8();
        }
        let end = text.find(['"', '\\']).unwrap_or(text.len());
        self.words.push_str(&text[..end]);
        match text.as_bytes().get(end) {
            None => return end,
            Some(b'"') => self.at = Position::Members,
            Some(_) => self.escape.push('\\'),
        }
        end + 1
    }
}
