//! Values with expressions in them, which are resolved when their values are there.

use std::borrow::Cow;
use std::convert::Infallible;

use serde_json::Value;

use crate::expr::Expr;
use crate::fault::Fault;
use crate::path::Path;

/// A parameter as it was proposed: JSON with expressions for values from memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// A value without expressions.
    Literal(Value),
    /// The whole value is an expression.
    Expr(Expr),
    /// An array with an expression somewhere in it.
    Array(Vec<Template>),
    /// An object with an expression somewhere in it.
    Object(Vec<(String, Template)>),
}

/// An expression without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub Expr);

impl Template {
    /// Finds the expressions in a value. A string that begins with `†` is one; `††` stands for a plain `†`.
    pub fn parse(value: &Value) -> Result<Self, Fault> {
        match value {
            Value::String(text) => match text.strip_prefix('†') {
                Some(rest) if rest.starts_with('†') => Ok(Template::Literal(rest.into())),
                Some(_) => Expr::parse(text).map(Template::Expr),
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
        self.fill(&|expr| expr.value(read).map(Cow::into_owned).ok_or_else(|| Missing(expr.clone())))
    }

    /// The value, with expressions as their text.
    pub fn outline(&self) -> Value {
        self.fill(&|expr| Ok::<_, Infallible>(expr.to_string().into())).unwrap_or_else(|never| match never {})
    }

    fn fill<E>(&self, value_of: &impl Fn(&Expr) -> Result<Value, E>) -> Result<Value, E> {
        match self {
            Template::Literal(value) => Ok(value.clone()),
            Template::Expr(expr) => value_of(expr),
            Template::Array(items) => items.iter().map(|item| item.fill(value_of)).collect(),
            Template::Object(fields) => {
                let field = |(name, value): &(String, Template)| Ok((name.clone(), value.fill(value_of)?));
                fields.iter().map(field).collect::<Result<_, _>>().map(Value::Object)
            }
        }
    }

    /// Visits every expression with its place below this template.
    pub(crate) fn each_expr<'a>(&'a self, place: &mut Vec<String>, visit: &mut impl FnMut(&[String], &'a Expr)) {
        match self {
            Template::Literal(_) => {}
            Template::Expr(expr) => visit(place, expr),
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

    /// Every expression, without its place.
    pub(crate) fn exprs<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        match self {
            Template::Literal(_) => {}
            Template::Expr(expr) => visit(expr),
            Template::Array(items) => items.iter().for_each(|item| item.exprs(visit)),
            Template::Object(fields) => fields.iter().for_each(|(_, value)| value.exprs(visit)),
        }
    }
}

fn contains_mark(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with('†'),
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
    fn a_malformed_expression_is_named_with_its_place() {
        let fault = Template::parse(&json!({"rows": [1, {"cell": "†state..x"}]})).unwrap_err();
        assert_eq!(fault.field, "rows[1].cell");
    }

    #[test]
    fn what_cannot_be_resolved_is_said() {
        let template = Template::parse(&json!(["†state.x || †state.y"])).unwrap();
        let missing = template.resolve(&|_| None).unwrap_err();
        assert_eq!(missing.0.to_string(), "†state.x || †state.y");
    }
}
