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
use super::output::CallReport;
use super::prompt::Prompt;
use super::report_error::ReportError;
use super::scheduler::{ActiveStep, Job};
use crate::call::Call;
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

/// Replaces the text of an error that is hidden.
const UNSHOWN: &str = "its words are not shown: they come from what is not trusted";

impl Session {
    /// Removes everything untrusted from a planner's prompt.
    pub(super) fn redact_untrusted(&self, prompt: &mut Prompt) {
        prompt.instructions.push(NOTE.to_owned());
        let known = self.known_names();
        for shown in &mut prompt.kinds {
            let Some(kind) = shown["kind"].as_str().map(str::to_owned) else { continue };
            let Some(view) = self.context().view(&kind) else { continue };
            let shape = |instance: Option<&str>| {
                let value = view.read(&[], instance)?;
                Some(self.shape_of(&value, &mut Path::root(kind.as_str()), instance, &known))
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
        let unseen = self.untrusted_errors();
        for error in &mut prompt.errors {
            if unseen.iter().any(|known| **known == *error) {
                error["error"] = redacted_error(&error["error"]);
            }
        }
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

    /// The value at a path, as a planner sees it.
    pub(super) fn shape_at(&self, path: &Path, instance: Option<&str>) -> Option<Value> {
        let value = self.context().read(path, instance)?;
        Some(shorten(&self.shape_of(&value, &mut path.clone(), instance, &self.known_names()), MOST_OF_READ))
    }

    /// Errors with untrusted text.
    fn untrusted_errors(&self) -> Vec<std::borrow::Cow<'_, Value>> {
        let errors = self.context().latest().filter_map(|message| match message {
            Message::Data(data) if data.is_error() && !data.all_sources().is_trusted() => Some(data.data()),
            _ => None,
        });
        errors.collect()
    }

    /// Names in the author's schemas and the planner's own paths: as keys they reveal nothing.
    fn known_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for tool in self.context().tools() {
            property_names(&tool.schema, &mut names);
        }
        for (_, view) in self.context().views() {
            view.schema(None).iter().for_each(|schema| property_names(schema, &mut names));
        }
        for message in self.context().latest() {
            if let Message::Data(data) = message
                && let Some(output) = &data.output
            {
                names.extend(output.path.segments.iter().map(|segment| segment.key().into_owned()));
            }
        }
        names
    }

    /// A value with all untrusted parts replaced by their shape.
    fn shape_of(&self, value: &Value, path: &mut Path, instance: Option<&str>, known: &BTreeSet<String>) -> Value {
        if self.context().origins(path, instance).is_trusted() {
            return value.clone();
        }
        let mut below = |step: Segment, inner: &Value| {
            path.segments.push(step);
            let trusted = self.context().origins(path, instance).is_trusted();
            let shape = self.shape_of(inner, path, instance, known);
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
}

impl ActiveStep {
    /// The reports of calls as proposed, with references unresolved.
    pub(super) fn report_as_proposed(&self, number: u32) -> Vec<CallReport> {
        let plainly = |(report, job): (CallReport, &Job)| {
            let call = &self.calls[job.call];
            let is_trusted = job.has_trusted_error(call);
            CallReport {
                call: call.raw.for_instance(job.instance.as_deref()),
                error: report
                    .error
                    .map(|error| Box::new(if is_trusted { error.without_reason() } else { error.redacted() })),
                ..report
            }
        };
        self.report(number).zip(&self.jobs).map(plainly).collect()
    }
}

impl Job {
    /// Whether the text of its error is trusted: a rule's about a call that has not run, or a trusted tool's. A rule's
    /// about a result may quote it.
    pub(super) fn has_trusted_error(&self, call: &Call) -> bool {
        let is_about_call = self.attempt == 0 && self.error.as_ref().is_some_and(|error| error.rule.is_some());
        let is_of_trusted_tool = || call.tool.as_ref().is_none_or(|tool| tool.error_origin().is_trusted());
        self.origins.is_trusted() && (is_about_call || is_of_trusted_tool())
    }
}

impl ReportError {
    /// The error without its structured reason, which is for channels.
    pub(super) fn without_reason(self) -> Self {
        Self { reason: None, ..self }
    }

    /// Only that there was an error, and its rule.
    pub(super) fn redacted(&self) -> Self {
        Self { rule: self.rule, message: UNSHOWN.to_owned(), ..Self::default() }
    }
}

/// The same for an error in a message.
pub(super) fn redacted_error(error: &Value) -> Value {
    let mut plain = json!({"message": UNSHOWN});
    if let Some(rule) = error.get("rule") {
        plain["rule"] = rule.clone();
    }
    plain
}
