//! Planning before reading: a planner sees the shape of untrusted values, not the values.
//!
//! The plan is made lazily from what people and the author said. Untrusted values are handled by model calls and by
//! delegates without tools, and flow by reference. When a plan has ended and the model is asked again, an untrusted
//! value is shown by its type and length, and by those of its keys that schemas and plans name. So the planner sees
//! only trusted data, and its proposals are trusted.

use serde_json::{Value, json};

use super::Session;
use super::inbox::Question;
use super::prompt::Prompt;
use crate::fault::{Fault, Rule};
use crate::origin::Origins;
use crate::path::Path;
use crate::template::Template;
use obelus_notebook::shape::Shapes;

/// The note to the planner on hidden values.
const NOTE: &str = "Values of untrusted origin are not shown to you: in their place stands their shape, such as \
‹text, 120 characters›. Refer to them by their †path, in calls and in the output. To have one read, plan a call that \
is carried out by the model or by a delegate, with the value as its parameter.";

impl Session {
    /// Removes everything untrusted from a planner's prompt. Its errors are already redacted.
    pub(super) fn redact_untrusted(&self, prompt: &mut Prompt) {
        prompt.instructions.push(NOTE.to_owned());
        let shapes = Shapes::new(self.context());
        for shown in &mut prompt.kinds {
            let Some(kind) = shown["kind"].as_str().map(str::to_owned) else { continue };
            let path = Path::root(kind);
            if let Some(value) = shapes.at(&path, None) {
                shown["value"] = value;
            }
            if let Some(Value::Object(instances)) = shown.get_mut("instances") {
                for (name, value) in instances {
                    *value = shapes.at(&path, Some(name)).unwrap_or_default();
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
