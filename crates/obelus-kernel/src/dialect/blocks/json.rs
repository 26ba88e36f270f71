//! JSON as strict as it is written down: no key twice, no number that would be rounded. Only white space is taken
//! more freely than the standard has it, for models indent with spaces of many kinds.

use serde_json::{Map, Value};

use super::FormatError;
use super::headings::is_space;
use crate::path::MAX_DEPTH;
use crate::visible::visible;
use crate::wording::short;

/// How deep the array may be nested: a step is a message in a plan, and can be no deeper than others.
const DEEPEST: usize = MAX_DEPTH - 2;

/// A value of which the elements know where they stand.
pub(super) enum Node {
    Array(Vec<(usize, Node)>),
    Object(Vec<(String, Node)>),
    Scalar(Value),
}

impl Node {
    pub(super) fn into_value(self) -> Value {
        match self {
            Node::Array(elements) => elements.into_iter().map(|(_, node)| node.into_value()).collect(),
            Node::Object(fields) => Value::Object(fields_of(fields)),
            Node::Scalar(value) => value,
        }
    }
}

fn fields_of(fields: Vec<(String, Node)>) -> Map<String, Value> {
    fields.into_iter().map(|(name, node)| (name, node.into_value())).collect()
}

/// The value that begins at this byte, and where it ends.
pub(super) fn parse(text: &str, start: usize) -> Result<(Node, usize), FormatError> {
    let mut parser = Parser { text, at: start };
    let node = parser.value(0)?;
    Ok((node, parser.at))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, FormatError> {
        Err(FormatError::at(self.text, self.at, message))
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_space).len();
    }

    /// What stands next, without the space before it.
    fn next(&mut self) -> Option<char> {
        self.skip_space();
        self.rest().chars().next()
    }

    fn expected<T>(&mut self, what: &str) -> Result<T, FormatError> {
        match self.next() {
            None => self.fail(format!("ACTION is not valid JSON: it ends where {what} is expected")),
            Some(c) => {
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
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, FormatError> {
        if depth > DEEPEST {
            return self.fail(format!("ACTION is nested deeper than {DEEPEST} levels"));
        }
        match self.next() {
            Some('[') => self.array(depth),
            Some('{') => self.object(depth),
            Some('"') => Ok(Node::Scalar(self.string()?.into())),
            Some('-' | '0'..='9') => self.number(),
            _ => self.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Node, FormatError> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.next() == Some(']') {
            self.at += 1;
            return Ok(Node::Array(elements));
        }
        loop {
            self.skip_space();
            elements.push((self.at, self.value(depth + 1)?));
            match self.next() {
                Some(',') => self.at += 1,
                Some(']') => {
                    self.at += 1;
                    return Ok(Node::Array(elements));
                }
                _ => return self.expected("`,` or `]`"),
            }
            if self.next() == Some(']') {
                return self.fail("ACTION is not valid JSON: a comma stands before `]`");
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node, FormatError> {
        self.at += 1;
        let mut fields: Vec<(String, Node)> = Vec::new();
        let mut names = std::collections::BTreeSet::new();
        if self.next() == Some('}') {
            self.at += 1;
            return Ok(Node::Object(fields));
        }
        loop {
            if self.next() != Some('"') {
                return self.expected("a name in double quotes");
            }
            let place = self.at;
            let name = self.string()?;
            if !names.insert(name.clone()) {
                let message = format!("the key `{}` stands twice in one object", visible(&name));
                return Err(FormatError::at(self.text, place, message));
            }
            if self.next() != Some(':') {
                return self.expected("`:`");
            }
            self.at += 1;
            fields.push((name, self.value(depth + 1)?));
            match self.next() {
                Some(',') => self.at += 1,
                Some('}') => {
                    self.at += 1;
                    return Ok(Node::Object(fields));
                }
                _ => return self.expected("`,` or `}`"),
            }
            if self.next() == Some('}') {
                return self.fail("ACTION is not valid JSON: a comma stands before `}`");
            }
        }
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
                let message = format!("ACTION is not valid JSON: {}", reason(&error));
                Err(FormatError::at(self.text, place, message))
            }
        }
    }

    fn number(&mut self) -> Result<Node, FormatError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c))).unwrap_or(rest.len());
        let literal = &rest[..end];
        let is_whole = literal.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match serde_json::from_str::<serde_json::Number>(literal) {
            Ok(number) if is_whole && number.is_f64() && literal != "-0" => {
                self.fail(format!("the number {} is too large; write it as a string", short(literal)))
            }
            Ok(number) => {
                self.at += end;
                Ok(Node::Scalar(Value::Number(number)))
            }
            Err(_) => self.fail(format!("ACTION is not valid JSON: `{}` is no number", short(literal))),
        }
    }

    fn word(&mut self) -> Result<Node, FormatError> {
        for (word, value) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
            let after = self.rest().strip_prefix(word);
            if after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')) {
                self.at += word.len();
                return Ok(Node::Scalar(value));
            }
        }
        self.expected("a value")
    }
}

/// What the parser of strings says, without the place, which is counted anew.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
