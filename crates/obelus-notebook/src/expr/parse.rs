//! The grammar of expressions.
//!
//! ```text
//! expression = or
//! or         = and { "||" and }
//! and        = term { "&&" term }
//! term       = reference | "(" or ")"
//! reference  = "†" kind { "." segment | "[" index "]" | "[" json-string "]" }
//! ```

use std::sync::Arc;

use super::Expr;
use crate::fault::{Fault, Rule};
use crate::names::Name;
use crate::path::{MAX_DEPTH, Path, Segment, Segments};

pub(super) fn expression(text: &str) -> Result<Expr, Fault> {
    if let Some(path) = plain_reference(text) {
        return Ok(Expr::Ref(Arc::new(path)));
    }
    let mut parser = ExprParser { text, rest: text, depth: 0 };
    parser.space();
    let expr = parser.or()?;
    match parser.peek() {
        None => Ok(expr),
        Some(')') => Err(parser.expected("an operator or the end; this `)` closes nothing")),
        Some(_) => Err(parser.expected("`||`, `&&` or the end")),
    }
}

/// One reference from `start` to `end` of a longer text. Columns are counted in the whole text.
pub(crate) fn reference_in(text: &str, start: usize, end: usize) -> Result<Path, Fault> {
    let mut parser = ExprParser { text: &text[..end], rest: &text[start..end], depth: 0 };
    parser.take("†");
    let path = parser.reference()?;
    match parser.peek() {
        None => Ok(path),
        Some(_) => Err(parser.expected("one reference and `}`")),
    }
}

const STATE: &str = "state";

/// The common case: one reference of plain names.
fn plain_reference(text: &str) -> Option<Path> {
    let text = text.strip_prefix("†").filter(|text| begins_kind(text))?;
    let (kind, mut rest) = text.split_at(plain_letters(text));
    let mut segments = Segments::new();
    while !rest.is_empty() && segments.len() < MAX_DEPTH {
        let name = rest.strip_prefix(".")?;
        let (name, after) = name.split_at(plain_letters(name));
        if name.is_empty() {
            return None;
        }
        segments.push(Segment::Field(name.into()));
        rest = after;
    }
    let kind = if kind == STATE { const { Name::new_static(STATE) } } else { kind.into() };
    rest.is_empty().then_some(Path { kind, segments })
}

struct ExprParser<'a> {
    text: &'a str,
    /// The rest to be parsed.
    rest: &'a str,
    /// The number of open parentheses, limited so that hostile text cannot exhaust the stack.
    depth: usize,
}

impl<'a> ExprParser<'a> {
    fn or(&mut self) -> Result<Expr, Fault> {
        self.joined("|", Self::and, Expr::Any)
    }

    fn and(&mut self) -> Result<Expr, Fault> {
        self.joined("&", Self::term, Expr::All)
    }

    /// One term, or several with a doubled operator between them.
    fn joined(
        &mut self,
        sign: &str,
        term: fn(&mut Self) -> Result<Expr, Fault>,
        join: fn(Vec<Expr>) -> Expr,
    ) -> Result<Expr, Fault> {
        let first = term(self)?;
        let mut terms = Vec::new();
        while self.operator(sign)? {
            terms.push(term(self)?);
        }
        if terms.is_empty() {
            return Ok(first);
        }
        terms.insert(0, first);
        Ok(join(terms))
    }

    fn term(&mut self) -> Result<Expr, Fault> {
        let term = if self.take("†") {
            Expr::Ref(Arc::new(self.reference()?))
        } else if self.take("(") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.expected(&format!("no more than {MAX_DEPTH} parentheses")));
            }
            self.space();
            let inner = self.or()?;
            if !self.take(")") {
                return Err(self.expected("`)`"));
            }
            self.depth -= 1;
            inner
        } else {
            return Err(self.expected("a reference, which begins with `†`, or `(`"));
        };
        self.space();
        Ok(term)
    }

    /// Takes a doubled operator; a single character is an error.
    fn operator(&mut self, sign: &str) -> Result<bool, Fault> {
        if !self.take(sign) {
            return Ok(false);
        }
        if !self.take(sign) {
            return Err(self.expected(&format!("a second `{sign}`")));
        }
        self.space();
        Ok(true)
    }

    fn reference(&mut self) -> Result<Path, Fault> {
        let kind = self.kind()?;
        let mut segments = Segments::new();
        loop {
            if segments.len() > MAX_DEPTH {
                return Err(self.expected(&format!("a path of at most {MAX_DEPTH} segments")));
            }
            if self.take(".") {
                segments.push(self.segment()?);
            } else if self.take("[") {
                segments.push(self.bracket()?);
            } else {
                return Ok(Path { kind, segments });
            }
        }
    }

    fn kind(&mut self) -> Result<Name, Fault> {
        if !begins_kind(self.rest) {
            return Err(self.expected("the name of a kind, such as `state` or `input`"));
        }
        Ok(self.take_bytes(plain_letters(self.rest)).into())
    }

    fn segment(&mut self) -> Result<Segment, Fault> {
        let name = self.take_bytes(end_of_name(self.rest));
        if name.is_empty() {
            return Err(self.expected("the name of a field after `.`"));
        }
        Ok(Segment::Field(name.into()))
    }

    fn bracket(&mut self) -> Result<Segment, Fault> {
        let segment = if self.peek() == Some('"') { self.json_string()? } else { self.index()? };
        if !self.take("]") {
            return Err(self.expected("`]`"));
        }
        Ok(segment)
    }

    fn index(&mut self) -> Result<Segment, Fault> {
        let start = self.rest;
        self.take("-");
        if self.take_while(|c| c.is_ascii_digit()).is_empty() {
            return Err(self.expected("an index or a key in double quotes"));
        }
        let Ok(index) = start[..start.len() - self.rest.len()].parse() else {
            self.rest = start;
            return Err(self.expected("an index of at most 18 digits"));
        };
        Ok(Segment::Index(index))
    }

    fn json_string(&mut self) -> Result<Segment, Fault> {
        let mut strings = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
        match strings.next() {
            Some(Ok(key)) => {
                self.take_bytes(strings.byte_offset());
                Ok(Segment::Key(key.into()))
            }
            Some(Err(error)) if error.is_eof() => {
                self.rest = "";
                Err(self.expected("the closing `\"` of the key"))
            }
            _ => Err(self.expected("a key written as a JSON string")),
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    #[inline]
    fn take(&mut self, wanted: &str) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        self.take_bytes(self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len()))
    }

    fn take_bytes(&mut self, count: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn expected(&self, what: &str) -> Fault {
        let column = self.text[..self.text.len() - self.rest.len()].chars().count() + 1;
        let found = match self.peek() {
            Some(c) => format!("found `{}`", c.escape_debug()),
            None => "found the end".to_owned(),
        };
        Fault::at_column(Rule::Ctx12, column, format_args!("expected {what}, {found}"))
    }
}

/// Characters of a kind's name after the first.
pub(crate) const fn is_kind_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The same as a table of bytes, used for other names too.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        plain[byte as usize] = is_kind_char(byte as char);
        byte += 1;
    }
    plain
};

/// Whether a text begins with a valid first character of a kind.
fn begins_kind(text: &str) -> bool {
    text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
}

/// The number of plain characters at the beginning of a text.
fn plain_letters(text: &str) -> usize {
    text.bytes().position(|byte| !PLAIN[byte as usize]).unwrap_or(text.len())
}

/// The length of the bare segment at the beginning of a text.
fn end_of_name(text: &str) -> usize {
    let plain = plain_letters(text);
    let rest = &text[plain..];
    plain + rest.find(is_special).unwrap_or(rest.len())
}

/// Characters that end a bare segment.
fn is_special(c: char) -> bool {
    matches!(c, '.' | '[' | ']' | '(' | ')' | '|' | '&') || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_points_at_the_column_and_says_what_was_expected() {
        for (text, column, words) in [
            ("†state..a", 8, "name of a field"),
            ("†state.a | †state.b", 11, "a second `|`"),
            ("(†state.a", 10, "`)`"),
            ("†state.a)", 9, "closes nothing"),
            ("†state[a]", 8, "an index or a key"),
            ("†1state", 2, "name of a kind"),
            ("state.a", 1, "begins with `†`"),
            ("†state[\"a]", 11, "closing"),
            ("†state.a †b", 10, "the end"),
            ("", 1, "a reference"),
        ] {
            let fault = expression(text).unwrap_err();
            assert_eq!(fault.rule, Rule::Ctx12);
            assert!(fault.text.starts_with(&format!("column {column}: ")), "{text}: {fault}");
            assert!(fault.text.contains(words), "{text}: {fault}");
        }
    }

    #[test]
    fn hostile_text_is_refused_without_a_crash() {
        assert!(expression(&"(".repeat(100_000)).is_err());
        assert!(expression(&format!("†a{}", ".b".repeat(100_000))).is_err());
        assert!(expression("†a[99999999999999999999]").is_err());
        assert!(expression("†a[\"\\q\"]").is_err());
    }
}
