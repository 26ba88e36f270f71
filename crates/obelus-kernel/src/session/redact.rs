//! Planning before reading: a planner sees the shape of untrusted values, not the values.
//!
//! The plan is made lazily from what people and the author said. Untrusted values are handled by model calls and by
//! delegates without tools, and flow by reference. When a plan has ended and the model is asked again, an untrusted
//! value is shown by its type and length, and by those of its keys that schemas and plans name. So the planner sees
//! only trusted data, and its proposals are trusted.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Session;
use super::inbox::Question;
use super::prompt::Prompt;
use crate::context::Context;
use crate::fault::{Fault, Rule};
use crate::message::Message;
use crate::origin::Origins;
use crate::path::{Path, Segment};
use crate::template::Template;
use obelus_notebook::schema::property_names;
use obelus_notebook::shorten::{MOST_OF_READ, shorten};

/// The note to the planner on hidden values.
const NOTE: &str = "Values of untrusted origin are not shown to you: in their place stands their shape, such as \
‹text, 120 characters›. Refer to them by their †path, in calls and in the output. To have one read, plan a call that \
is carried out by the model or by a delegate, with the value as its parameter.";

impl Session {
    /// Removes everything untrusted from a planner's prompt. Its errors are already redacted.
    pub(super) fn redact_untrusted(&self, prompt: &mut Prompt) {
        prompt.instructions.push(NOTE.to_owned());
        let known = known_names(self.context());
        for shown in &mut prompt.kinds {
            let Some(kind) = shown["kind"].as_str().map(str::to_owned) else { continue };
            let Some(view) = self.context().view(&kind) else { continue };
            let shape = |instance: Option<&str>| {
                let value = view.read(&[], instance)?;
                Some(shape_of(self.context(), &value, &mut Path::root(kind.as_str()), instance, &known))
            };
            if let Some(value) = shape(None) {
                shown["value"] = value;
            }
            if let Some(Value::Object(instances)) = shown.get_mut("instances") {
                for (name, value) in instances {
                    *value = shape(Some(name)).unwrap_or_default();
                }
            }
        }
        let under_way = self.scheduler.steps().flat_map(|(number, step)| step.report_as_proposed(number));
        prompt.plan =
            self.transcript.ended_as_proposed().cloned().chain(under_way).chain(self.planned_calls()).collect();
        let open = self.questions().into_iter().filter(Question::is_open);
        let plainly = |question: Question| {
            let tools: Vec<&str> = question.calls.iter().filter_map(|asked| asked.call.tool()).collect();
            json!({"id": question.id, "about": question.about, "tools": tools})
        };
        prompt.questions = open.map(plainly).collect();
    }

    /// The result with resolved references: a planner can refer to values that it has not read.
    pub(super) fn output_for_people(&self) -> Result<Value, Fault> {
        let output = self.turn.output();
        if !self.settings.plans_before_reading() || self.graph.is_some() {
            return Ok(output.clone());
        }
        let template = Template::parse(output).map_err(|fault| fault.at("output"))?;
        template
            .resolve(&|path: &Path| self.context().read(path, None))
            .map_err(|missing| Fault::new(Rule::Plan4, format!("{} has no value", missing.0)).at("output"))
    }

    /// The origins of the values that the result refers to.
    pub(super) fn output_origins(&self) -> Origins {
        let mut all = Origins::default();
        if self.settings.plans_before_reading()
            && let Ok(template) = Template::parse(self.turn.output())
        {
            template.exprs(&mut |expr| expr.each_ref(&mut |path| all.join(&self.context().origins(path, None))));
        }
        all
    }
}

/// The value at a path, as a planner sees it.
pub(super) fn shape_at(context: &Context, path: &Path, instance: Option<&str>) -> Option<Value> {
    let value = context.read(path, instance)?;
    Some(shorten(&shape_of(context, &value, &mut path.clone(), instance, &known_names(context)), MOST_OF_READ))
}

/// A value with all untrusted parts replaced by their shape.
fn shape_of(
    context: &Context,
    value: &Value,
    path: &mut Path,
    instance: Option<&str>,
    known: &BTreeSet<String>,
) -> Value {
    if context.origins(path, instance).is_trusted() {
        return value.clone();
    }
    let mut below = |step: Segment, inner: &Value| {
        path.segments.push(step);
        let trusted = context.origins(path, instance).is_trusted();
        let shape = shape_of(context, inner, path, instance, known);
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
                if trusted || known.contains(name) {
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
