//! The shape of untrusted values: their types, lengths and known keys, without their content.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::message::Message;
use crate::path::{Path, Segment};
use crate::schema::property_names;
use crate::shorten::{MOST_OF_READ, shorten};

/// The values of a context for a planner that must not see untrusted ones.
pub struct Shapes<'a> {
    context: &'a Context,
    /// The keys that may be shown.
    known: BTreeSet<String>,
}

impl<'a> Shapes<'a> {
    /// Those of a context.
    pub fn new(context: &'a Context) -> Self {
        Self { context, known: known_names(context) }
    }

    /// The value at a path, with all untrusted parts replaced by their shape.
    pub fn at(&self, path: &Path, instance: Option<&str>) -> Option<Value> {
        let value = self.context.read(path, instance)?;
        Some(self.of(&value, &mut path.clone(), instance))
    }

    /// The same, shortened.
    pub fn short_at(&self, path: &Path, instance: Option<&str>) -> Option<Value> {
        Some(shorten(&self.at(path, instance)?, MOST_OF_READ))
    }

    /// A value with all untrusted parts replaced by their shape.
    fn of(&self, value: &Value, path: &mut Path, instance: Option<&str>) -> Value {
        if self.context.origins(path, instance).is_trusted() {
            return value.clone();
        }
        let mut below = |step: Segment, inner: &Value| {
            path.segments.push(step);
            let trusted = self.context.origins(path, instance).is_trusted();
            let shape = self.of(inner, path, instance);
            path.segments.pop();
            (trusted, shape)
        };
        match value {
            Value::Object(fields) => {
                let mut shapes = Map::new();
                let mut unnamed = 0;
                for (name, inner) in fields {
                    let (trusted, shape) = below(Segment::Key(name.into()), inner);
                    // A key that a trusted writer wrote, or that a schema names, may be shown.
                    if trusted || self.known.contains(name) {
                        shapes.insert(name.clone(), shape);
                    } else {
                        unnamed += 1;
                    }
                }
                if unnamed > 0 {
                    shapes.insert("‹more›".to_owned(), format!("‹{unnamed} other keys›").into());
                }
                Value::Object(shapes)
            }
            Value::Array(items) => {
                const MOST: usize = 3;
                let shown = (0..).zip(items).take(MOST).map(|(index, item)| below(Segment::Index(index), item).1);
                let mut shapes: Vec<Value> = shown.collect();
                shapes.insert(0, format!("‹list of {}›", items.len()).into());
                shapes.into()
            }
            Value::String(text) => format!("‹text, {} characters›", text.chars().count()).into(),
            Value::Number(_) => "‹number›".into(),
            Value::Bool(_) => "‹true or false›".into(),
            Value::Null => Value::Null,
        }
    }
}

/// Names in the author's schemas and the planner's own paths: as keys they reveal nothing.
fn known_names(context: &Context) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for tool in context.tools() {
        property_names(&tool.schema, &mut names);
    }
    for (_, view) in context.views() {
        view.schema(None).iter().for_each(|schema| property_names(schema, &mut names));
    }
    for message in context.latest() {
        if let Message::Data(data) = message
            && let Some(output) = &data.output
        {
            names.extend(output.path.segments.iter().map(|segment| segment.key().into_owned()));
        }
    }
    names
}
