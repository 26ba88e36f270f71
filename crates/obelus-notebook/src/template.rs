//! Values with expressions in them, which are resolved when their values are available.

use std::borrow::Cow;
use std::convert::Infallible;

use serde_json::Value;

use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::path::Path;

/// A parameter as proposed: JSON with expressions for values from memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// A value without expressions.
    Literal(Value),
    /// The whole value is an expression.
    Expr(Expr),
    /// A text with references in it: `"D_{†state.deal.id}"`.
    Text(Vec<TextPart>),
    /// An array with an expression somewhere in it.
    Array(Vec<Template>),
    /// An object with an expression somewhere in it.
    Object(Vec<(String, Template)>),
}

/// A part of a text with references.
#[derive(Clone, Debug, PartialEq)]
pub enum TextPart {
    /// Plain words.
    Words(String),
    /// A reference, which is replaced by its value as text.
    Reference(Expr),
}

/// An expression without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub Expr);

impl Template {
    /// Finds the expressions in a value. A string that begins with `†` is one; `††` is an escaped `†`.
    pub fn parse(value: &Value) -> Result<Self, Fault> {
        match value {
            Value::String(text) => match text.strip_prefix('†') {
                Some(rest) if rest.starts_with('†') => Ok(Template::Literal(rest.into())),
                Some(_) => Expr::parse(text).map(Template::Expr),
                None if text.contains(OPENING) => parse_text(text),
                None => Ok(Template::Literal(value.clone())),
            },
            Value::Array(items) if contains_mark(value) => {
                let item = |(i, item)| Template::parse(item).map_err(|fault| fault.at(&format!("[{i}]")));
                items.iter().enumerate().map(item).collect::<Result<_, _>>().map(Template::Array)
            }
            Value::Object(map) if contains_mark(value) => {
                let field = |(name, value): (&String, &Value)| {
                    Template::parse(value).map(|inner| (name.clone(), inner)).map_err(|fault| fault.at(name))
                };
                map.iter().map(field).collect::<Result<_, _>>().map(Template::Object)
            }
            literal => Ok(Template::Literal(literal.clone())),
        }
    }

    /// The value with every expression resolved, or the first expression without a value.
    pub fn resolve<'a>(&self, read: &impl Fn(&Path) -> Option<Cow<'a, Value>>) -> Result<Value, Missing> {
        let value_of = |expr: &Expr| expr.value(read).map(Cow::into_owned).ok_or_else(|| Missing(expr.clone()));
        let text_of = |expr: &Expr| words_of(value_of(expr)?).ok_or_else(|| Missing(expr.clone()));
        self.fill(&value_of, &text_of)
    }

    /// The value with known expressions resolved, and the others as text.
    pub(crate) fn resolve_known(&self, known: &impl Fn(&Expr) -> Option<Value>) -> Value {
        let value_of = |expr: &Expr| Ok::<_, Infallible>(known(expr).unwrap_or_else(|| expr.to_string().into()));
        let text_of = |expr: &Expr| Ok(known(expr).and_then(words_of).unwrap_or_else(|| format!("{{{expr}}}")));
        self.fill(&value_of, &text_of).unwrap_or_else(|never| match never {})
    }

    /// Visits every text with references, with its parts.
    pub(crate) fn each_text<'a>(&'a self, visit: &mut impl FnMut(&'a Template, &'a [TextPart])) {
        match self {
            Template::Literal(_) | Template::Expr(_) => {}
            Template::Text(parts) => visit(self, parts),
            Template::Array(items) => items.iter().for_each(|item| item.each_text(visit)),
            Template::Object(fields) => fields.iter().for_each(|(_, value)| value.each_text(visit)),
        }
    }

    /// The value, with expressions as their text.
    pub fn outline(&self) -> Value {
        self.resolve_known(&|_| None)
    }

    /// The part at a position below this template.
    pub(crate) fn at(&self, place: &[String]) -> Option<&Template> {
        let Some((step, rest)) = place.split_first() else { return Some(self) };
        let inner = match self {
            Template::Array(items) => items.get(step.parse::<usize>().ok()?),
            Template::Object(fields) => fields.iter().find(|(name, _)| name == step).map(|(_, value)| value),
            Template::Literal(_) | Template::Expr(_) | Template::Text(_) => None,
        };
        inner?.at(rest)
    }

    fn fill<E>(
        &self,
        value_of: &impl Fn(&Expr) -> Result<Value, E>,
        text_of: &impl Fn(&Expr) -> Result<String, E>,
    ) -> Result<Value, E> {
        match self {
            Template::Literal(value) => Ok(value.clone()),
            Template::Expr(expr) => value_of(expr),
            Template::Text(parts) => {
                let part = |part: &TextPart| match part {
                    TextPart::Words(words) => Ok(words.clone()),
                    TextPart::Reference(expr) => text_of(expr),
                };
                parts.iter().map(part).collect::<Result<String, _>>().map(Value::String)
            }
            Template::Array(items) => items.iter().map(|item| item.fill(value_of, text_of)).collect(),
            Template::Object(fields) => {
                let field = |(name, value): &(String, Template)| Ok((name.clone(), value.fill(value_of, text_of)?));
                fields.iter().map(field).collect::<Result<_, _>>().map(Value::Object)
            }
        }
    }

    /// Visits every expression with its position below this template.
    pub(crate) fn each_expr<'a>(&'a self, place: &mut Vec<String>, visit: &mut impl FnMut(&[String], &'a Expr)) {
        match self {
            Template::Literal(_) => {}
            Template::Expr(expr) => visit(place, expr),
            Template::Text(parts) => references(parts).for_each(|expr| visit(place, expr)),
            Template::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    place.push(index.to_string());
                    item.each_expr(place, visit);
                    place.pop();
                }
            }
            Template::Object(fields) => {
                for (name, value) in fields {
                    place.push(name.clone());
                    value.each_expr(place, visit);
                    place.pop();
                }
            }
        }
    }

    /// Visits every expression.
    pub fn exprs<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        match self {
            Template::Literal(_) => {}
            Template::Expr(expr) => visit(expr),
            Template::Text(parts) => references(parts).for_each(visit),
            Template::Array(items) => items.iter().for_each(|item| item.exprs(visit)),
            Template::Object(fields) => fields.iter().for_each(|(_, value)| value.exprs(visit)),
        }
    }
}

/// Whether a value can be inserted into a text.
pub(crate) fn has_words(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Array(_) | Value::Object(_))
}

/// A value as inserted into a text; none for values that cannot be.
fn words_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        plain @ (Value::Number(_) | Value::Bool(_)) => Some(plain.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The start of a reference inside a text; a doubled `†` escapes it.
const OPENING: &str = "{†";

/// Parses a text with references (CTX-13).
fn parse_text(text: &str) -> Result<Template, Fault> {
    let mut parts = Vec::new();
    let mut words = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(OPENING) {
        let start = at + found + 1;
        words.push_str(&text[at..start - 1]);
        let after = &text[start + '†'.len_utf8()..];
        if after.starts_with('†') {
            words.push_str(OPENING);
            at = start + 2 * '†'.len_utf8();
            continue;
        }
        let end = start + length_of_reference(&text[start..]);
        let reference = Expr::reference_in(text, start, end)?;
        if end == text.len() {
            let column = text.chars().count() + 1;
            return Err(Fault::at_column(Rule::Ctx12, column, "expected `}`, found the end"));
        }
        if !words.is_empty() {
            parts.push(TextPart::Words(std::mem::take(&mut words)));
        }
        parts.push(TextPart::Reference(reference));
        at = end + 1;
    }
    words.push_str(&text[at..]);
    if parts.is_empty() {
        return Ok(Template::Literal(words.into()));
    }
    if !words.is_empty() {
        parts.push(TextPart::Words(words));
    }
    Ok(Template::Text(parts))
}

/// The number of bytes before the `}` that ends a reference. A `}` inside a quoted key does not end it.
fn length_of_reference(text: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return index,
            _ => {}
        }
    }
    text.len()
}

fn references(parts: &[TextPart]) -> impl Iterator<Item = &Expr> {
    parts.iter().filter_map(|part| match part {
        TextPart::Words(_) => None,
        TextPart::Reference(expr) => Some(expr),
    })
}

fn contains_mark(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with('†') || text.contains(OPENING),
        Value::Array(items) => items.iter().any(contains_mark),
        Value::Object(map) => map.values().any(contains_mark),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_found_at_every_depth_and_text_stays_text() {
        let value = json!({"a": ["†state.x", "see †state.x"], "b": "††note", "c": "(†state.x)", "d": 1});
        let template = Template::parse(&value).unwrap();
        let read = |_: &Path| Some(Cow::Owned(json!({"deep": true})));
        let expected = json!({"a": [{"deep": true}, "see †state.x"], "b": "†note", "c": "(†state.x)", "d": 1});
        assert_eq!(template.resolve(&read), Ok(expected));
    }

    #[test]
    fn references_in_a_text_are_replaced_by_their_values() {
        let read = |path: &Path| match path.to_string().as_str() {
            "†state.id" => Some(Cow::Owned(json!(7))),
            "†state.name" => Some(Cow::Owned(json!("Окна {†state.id}"))),
            "†state[\"a}\"]" => Some(Cow::Owned(json!(true))),
            _ => Some(Cow::Owned(json!(null))),
        };
        for (text, expected) in [
            ("D_{†state.id}", Some("D_7")),
            ("«{†state.name}» {†state.id}{†state.id}", Some("«Окна {†state.id}» 77")),
            ("{†state[\"a}\"]}", Some("true")),
            ("{††state.id} † {x}", Some("{†state.id} † {x}")),
            ("a {†state.none}", None),
        ] {
            let resolved = Template::parse(&json!(text)).unwrap().resolve(&read).ok();
            assert_eq!(resolved, expected.map(Value::from), "{text}");
        }
        for (text, column) in [("ab {†state.x || †y}", 13), ("{† x}", 3), ("{†state.x", 10), ("я{†}", 4)] {
            let fault = Template::parse(&json!(text)).unwrap_err();
            assert!(fault.text.starts_with(&format!("column {column}: ")), "{text}: {fault}");
        }
    }

    #[test]
    fn a_malformed_expression_is_named_with_its_place() {
        let fault = Template::parse(&json!({"rows": [1, {"cell": "†state..x"}]})).unwrap_err();
        assert_eq!(fault.field, "rows[1].cell");
    }

    #[test]
    fn an_unresolvable_reference_is_reported() {
        let template = Template::parse(&json!(["†state.x || †state.y"])).unwrap();
        let missing = template.resolve(&|_| None).unwrap_err();
        assert_eq!(missing.0.to_string(), "†state.x || †state.y");
    }
}
