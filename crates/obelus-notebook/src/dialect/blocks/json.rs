//! Strict JSON: no duplicate keys, no numbers that would be rounded. Unicode white space is permitted, because models
//! indent with various spaces.

use serde_json::{Map, Number, Value};

use super::FormatError;
use super::headings::is_space;
use crate::path::MAX_DEPTH;
use crate::visible::visible;
use crate::wording::{short, without_position};

/// A step becomes a call within a plan message, so its depth limit is lower than that of a message.
const DEEPEST: usize = MAX_DEPTH - 2;

/// A parsed value.
pub(super) struct ParsedJson {
    pub(super) value: Value,
    /// The offsets of the elements, if the value is an array.
    pub(super) elements: Vec<usize>,
    /// The offset after the value.
    pub(super) end: usize,
}

/// Parses the value at this byte offset.
pub(super) fn parse(text: &str, start: usize) -> Result<ParsedJson, FormatError> {
    let mut parser = JsonParser { text, at: start, elements: Vec::new() };
    let value = parser.value(0)?;
    Ok(ParsedJson { value, elements: parser.elements, end: parser.at })
}

struct JsonParser<'a> {
    text: &'a str,
    at: usize,
    /// The offsets of the outermost array's elements.
    elements: Vec<usize>,
}

impl<'a> JsonParser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, FormatError> {
        Err(FormatError::at(self.text, self.at, message))
    }

    /// The next character after white space.
    fn next(&mut self) -> Option<char> {
        let rest = self.rest().trim_start_matches(is_space);
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    fn expected<T>(&mut self, what: &str) -> Result<T, FormatError> {
        let Some(c) = self.next() else {
            return self.fail(format!("ACTION is not valid JSON: it ends where {what} is expected"));
        };
        let hint = match c {
            '\'' | '‘' | '’' | '“' | '”' | '«' | '„' => "; strings stand in plain double quotes",
            '/' | '#' => "; JSON has no comments",
            'T' | 'F' | 'N' => "; JSON writes true, false and null in lower case",
            '†' => "; a reference is a string, in double quotes",
            _ => "",
        };
        let found = visible(&c.to_string());
        self.fail(format!("ACTION is not valid JSON: {what} is expected, and there is `{found}`{hint}"))
    }

    fn value(&mut self, depth: usize) -> Result<Value, FormatError> {
        if depth > DEEPEST {
            return self.fail(format!("ACTION is nested deeper than {DEEPEST} levels"));
        }
        match self.next() {
            Some('[') => self.array(depth),
            Some('{') => self.object(depth),
            Some('"') => self.string().map(Value::String),
            Some('-' | '0'..='9') => self.number(),
            _ => self.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, FormatError> {
        let mut items = Vec::new();
        self.members(']', |parser| {
            if depth == 0 {
                parser.elements.push(parser.at);
            }
            items.push(parser.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Value::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Value, FormatError> {
        let mut fields = Map::new();
        self.members('}', |parser| {
            if parser.next() != Some('"') {
                return parser.expected("a name in double quotes");
            }
            let place = parser.at;
            let name = parser.string()?;
            if fields.contains_key(&name) {
                let message = format!("the key `{}` stands twice in one object", visible(&name));
                return Err(FormatError::at(parser.text, place, message));
            }
            if parser.next() != Some(':') {
                return parser.expected("`:`");
            }
            parser.at += 1;
            fields.insert(name, parser.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Value::Object(fields))
    }

    /// The members of an array or an object, from the opening to the closing bracket.
    fn members(
        &mut self,
        close: char,
        mut member: impl FnMut(&mut Self) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        self.at += 1;
        let mut next = self.next();
        while next != Some(close) {
            member(self)?;
            next = self.next();
            if next == Some(',') {
                self.at += 1;
                next = self.next();
                if next == Some(close) {
                    return self.fail(format!("ACTION is not valid JSON: a comma stands before `{close}`"));
                }
            } else if next != Some(close) {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<String, FormatError> {
        let rest = self.rest();
        let mut escaped = false;
        let close = rest[1..].bytes().position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        let Some(close) = close else { return self.fail("ACTION is not valid JSON: the string has no end") };
        let literal = &rest[..close + 2];
        if let Some(newline) = literal.find('\n') {
            let message = "ACTION is not valid JSON: a line ends inside of a string; write \\n";
            return Err(FormatError::at(self.text, self.at + newline, message));
        }
        match serde_json::from_str(literal) {
            Ok(string) => {
                self.at += literal.len();
                Ok(string)
            }
            Err(error) => {
                let place = self.at + error.column().saturating_sub(1);
                let error = error.to_string();
                // The parser counts columns from the beginning of the string.
                let reason = without_position(&error);
                Err(FormatError::at(self.text, place, format!("ACTION is not valid JSON: {reason}")))
            }
        }
    }

    fn number(&mut self) -> Result<Value, FormatError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c))).unwrap_or(rest.len());
        let literal = &rest[..end];
        let is_whole = literal.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match serde_json::from_str::<Number>(literal) {
            Ok(number) if is_whole && number.is_f64() && literal != "-0" => {
                self.fail(format!("the number {} is too large; write it as a string", short(literal)))
            }
            Ok(number) => {
                self.at += end;
                Ok(Value::Number(number))
            }
            Err(_) => self.fail(format!("ACTION is not valid JSON: `{}` is no number", short(literal))),
        }
    }

    fn word(&mut self) -> Result<Value, FormatError> {
        for (word, value) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
            let after = self.rest().strip_prefix(word);
            if after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.expected("a value")
    }
}
