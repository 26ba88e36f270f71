//! One JSON object with `say` and `calls`, byte by byte: a machine that knows where it stands and keeps nothing but
//! the call under way.

use super::Piece;
use crate::dialect::entries;

/// A key longer than this is none of ours.
const MOST_KEY: usize = 16;
/// Calls larger than this are not told ahead of time.
const MOST_CALL: usize = 1 << 20;

/// Where the answer is.
#[derive(Default)]
pub(super) struct Reader {
    at: At,
    /// The key under way, or the latest.
    key: Vec<u8>,
    key_escaped: bool,
    /// What is inside the value under way.
    nest: Nest,
    /// The bytes of the call under way.
    call: Vec<u8>,
    calls: usize,
    /// Words that were decoded and not told yet.
    words: String,
    escape: Escape,
    said: bool,
    called: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum At {
    /// Before the object; a code fence may stand there.
    #[default]
    Start,
    /// In the object, between its members.
    Members,
    /// In a key.
    Key,
    /// Between a key and its value.
    Colon,
    /// Before a value.
    Value,
    /// In the text of `say`.
    Say,
    /// In the array of calls, between them.
    Calls,
    /// In a call.
    Call,
    /// In any other value.
    Other,
    /// After the object, or where nothing can be told any more.
    Done,
}

/// How deep a value is at a byte.
#[derive(Default)]
struct Nest {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

/// Where an escape in a text is.
#[derive(Clone, Copy, Default)]
enum Escape {
    #[default]
    None,
    /// After the backslash.
    Begun,
    /// So many digits of `\uXXXX`, their value, and the high half of a pair before it.
    Digits(u8, u32, Option<u32>),
    /// A high half has come: its low half must follow.
    Half(u32),
    /// … and its backslash has come.
    HalfBegun(u32),
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

impl Nest {
    /// Passes over what belongs to a value. The rest begins with the byte after it, where it has ended.
    fn pass(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    // A number or a word ends before what ends its container.
                    b'}' | b']' | b',' if self.depth == 0 => return Some(at),
                    b'}' | b']' => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        None
    }
}

impl Reader {
    pub(super) fn push(&mut self, text: &str, piece: &mut impl FnMut(Piece)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            at += match self.at {
                At::Done => break,
                At::Say => self.say(&text[at..]),
                At::Call => self.in_call(&bytes[at..], piece),
                At::Other => self.in_other(&bytes[at..]),
                _ => {
                    self.step(bytes[at]);
                    // A call, or another value, begins with the byte that was just seen.
                    usize::from(!matches!(self.at, At::Call | At::Other))
                }
            };
        }
        if !self.words.is_empty() {
            piece(Piece::Words(std::mem::take(&mut self.words)));
        }
    }

    /// A byte between values.
    fn step(&mut self, byte: u8) {
        if self.at != At::Key && is_space(byte) {
            return;
        }
        self.at = match (self.at, byte) {
            (At::Start, b'{') => At::Members,
            // A code fence and its language.
            (At::Start, b'`' | b'j' | b's' | b'o' | b'n') => At::Start,
            (At::Members, b',') => At::Members,
            (At::Members, b'"') => {
                self.key.clear();
                self.key_escaped = false;
                At::Key
            }
            (At::Key, b'"') if !self.key_escaped => At::Colon,
            (At::Key, byte) => {
                self.key_escaped = byte == b'\\' && !self.key_escaped;
                if self.key.len() <= MOST_KEY {
                    self.key.push(byte);
                }
                At::Key
            }
            (At::Colon, b':') => At::Value,
            (At::Value, byte) => self.begin_value(byte),
            (At::Calls, b',') => At::Calls,
            (At::Calls, b']') => At::Members,
            (At::Calls, _) => {
                self.nest = Nest::default();
                self.call.clear();
                At::Call
            }
            _ => At::Done,
        };
    }

    fn begin_value(&mut self, byte: u8) -> At {
        match (self.key.as_slice(), byte) {
            // What stands twice counts the second time, and that is too late.
            (b"say", _) if std::mem::replace(&mut self.said, true) => At::Done,
            (b"calls", _) if std::mem::replace(&mut self.called, true) => At::Done,
            (b"say", b'"') => {
                self.escape = Escape::None;
                At::Say
            }
            (b"calls", b'[') => At::Calls,
            _ => {
                self.nest = Nest::default();
                At::Other
            }
        }
    }

    fn in_other(&mut self, bytes: &[u8]) -> usize {
        match self.nest.pass(bytes) {
            Some(end) => {
                self.at = At::Members;
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
            self.at = At::Calls;
            if self.call.len() <= MOST_CALL {
                match serde_json::from_slice(&self.call)
                    .ok()
                    .and_then(|mut call| entries::open(&mut call).ok().map(|()| call))
                {
                    Some(call) => piece(Piece::Call { index: self.calls, call }),
                    None => self.at = At::Done,
                }
            }
            self.calls += 1;
        }
        taken
    }

    /// Text of `say`: as much as is plain at once, escapes one byte at a time.
    fn say(&mut self, text: &str) -> usize {
        let bytes = text.as_bytes();
        match self.escape {
            Escape::None => {
                let end = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(bytes.len());
                self.words.push_str(&text[..end]);
                match bytes.get(end) {
                    None => return end,
                    Some(b'"') => self.at = At::Members,
                    Some(_) => self.escape = Escape::Begun,
                }
                end + 1
            }
            _ => {
                self.escape_byte(bytes[0]);
                // Whatever byte it was, what follows begins a character: only ASCII can stand in an escape.
                if self.at == At::Done { bytes.len() } else { 1 }
            }
        }
    }

    fn escape_byte(&mut self, byte: u8) {
        let next = match self.escape {
            Escape::None => return,
            Escape::Begun => match byte {
                b'u' => Some(Escape::Digits(0, 0, None)),
                _ => match unescaped(byte) {
                    Some(plain) => {
                        self.words.push(plain);
                        Some(Escape::None)
                    }
                    None => None,
                },
            },
            Escape::Half(high) => (byte == b'\\').then_some(Escape::HalfBegun(high)),
            Escape::HalfBegun(high) => (byte == b'u').then_some(Escape::Digits(0, 0, Some(high))),
            Escape::Digits(count, value, high) => match char::from(byte).to_digit(16) {
                None => None,
                Some(digit) if count < 3 => Some(Escape::Digits(count + 1, value << 4 | digit, high)),
                Some(digit) => self.code_unit(value << 4 | digit, high),
            },
        };
        match next {
            Some(next) => self.escape = next,
            None => self.at = At::Done,
        }
    }

    /// Four digits are together.
    fn code_unit(&mut self, unit: u32, high: Option<u32>) -> Option<Escape> {
        let code = match (high, unit) {
            (None, 0xd800..=0xdbff) => return Some(Escape::Half(unit)),
            (None, _) => unit,
            (Some(high), 0xdc00..=0xdfff) => 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00),
            (Some(_), _) => return None,
        };
        self.words.push(char::from_u32(code)?);
        Some(Escape::None)
    }
}

fn unescaped(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}
