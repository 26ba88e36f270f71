//! Prompt parts before and after the transcript: descriptions of memory, which stay the same; and the state without what
//! the transcript tells, and unfinished calls, which change with every request.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Session;
use super::output::{CallReport, CallStatus};
use super::prompt::{recipe, show_recipes_of_instances};
use super::transcript::TranscriptEvent;
use super::transcript_writes::result_for_model;
use crate::context::View;
use crate::path::Path;
use crate::tool::Tool;
use obelus_notebook::shape::Shapes;
use obelus_notebook::shorten::{is_empty, shorten};
use obelus_notebook::steps::StepNode;

/// The limit of characters of a state value whose result is no longer visible.
const MOST_OF_VALUE: usize = 400;

/// A call's result that the transcript tells.
struct TranscriptValue<'a> {
    path: Path,
    instance: Option<&'a str>,
    /// The value as the prompt shows it; none if only a line is left of it.
    result: Option<&'a Value>,
    tool: Option<&'a Tool>,
}

impl Session {
    /// Schemas and descriptions of the request's own kinds (PROMPT-1).
    pub(super) fn recipes(&self) -> Vec<Value> {
        let of = |(kind, view): (&str, &View)| {
            let mut recipe = recipe(kind, view);
            show_recipes_of_instances(self.context(), view, &mut recipe);
            recipe
        };
        let given = self.context().views().filter(|(kind, _)| self.memory.is_given(kind));
        given.map(of).filter(|recipe| recipe.as_object().is_some_and(|fields| fields.len() > 1)).collect()
    }

    /// Unchanged values of the request itself: they are shown once, before everything else.
    pub(super) fn given_part(&self) -> Vec<Value> {
        let unchanged = self.context().views().filter(|(kind, _)| self.memory.is_unchanged(kind));
        let value = |(kind, view): (&str, &View)| {
            let value = self.value_not_in_transcript(kind, view, &[]).filter(|value| !is_empty(value))?;
            Some(json!({"kind": kind, "value": value}))
        };
        unchanged.filter_map(value).collect()
    }

    /// The memory that neither [`Self::given_part`] nor the transcript tells. Values of other kinds are results of
    /// calls: each is in the transcript, with its path.
    pub(super) fn state_part(&self) -> Vec<Value> {
        let sent = self.transcript_results();
        let mut kinds = Vec::new();
        let is_shown = |kind: &str| kind == "state" || self.memory.is_given(kind) && !self.memory.is_unchanged(kind);
        for (kind, view) in self.context().views().filter(|(kind, _)| is_shown(kind)) {
            let mut shown = json!({"kind": kind});
            let global = self.value_not_in_transcript(kind, view, &sent);
            if let Some(value) = global.filter(|value| !is_empty(value)) {
                shown["value"] = value;
            }
            if view.is_instanced() {
                let left = self.instances_not_in_transcript(kind, view, &sent);
                if !left.is_empty() {
                    shown["instances"] = left.into();
                }
            }
            if shown.as_object().is_some_and(|fields| fields.len() > 1) {
                kinds.push(shown);
            }
        }
        kinds
    }

    fn value_not_in_transcript(&self, kind: &str, view: &View, sent: &[TranscriptValue<'_>]) -> Option<Value> {
        let mut value = if self.settings.plans_before_reading() {
            Shapes::new(self.context()).short_at(&Path::root(kind), None)?
        } else {
            let read = || self.state_not_in_transcript();
            self.transcript.filtered(kind, view, read)?
        };
        subtract(&mut value, kind, None, sent);
        if let Value::Object(fields) = &mut value {
            let is_sent = |field: &Value| kind == "state" && self.transcript.answers_have(field);
            fields.retain(|_, field| !is_empty(field) && !is_sent(field));
        }
        Some(value)
    }

    /// What differs between instances.
    fn instances_not_in_transcript(&self, kind: &str, view: &View, sent: &[TranscriptValue<'_>]) -> Map<String, Value> {
        let global = view.read(&[], None);
        let left = |name: &String| {
            let mut value = if self.settings.plans_before_reading() {
                Shapes::new(self.context()).short_at(&Path::root(kind), Some(name))?
            } else {
                view.read(&[], Some(name))?.into_owned()
            };
            subtract(&mut value, kind, Some(name), sent);
            if let (Value::Object(fields), Some(global)) = (&mut value, &global) {
                fields.retain(|name, field| global.get(name.as_str()) != Some(field));
            }
            (!is_empty(&value)).then(|| (name.clone(), value))
        };
        // Instances from calls are in the transcript, like all results of calls.
        self.memory.given_instances().filter_map(left).collect()
    }

    /// The state without the goals, results and denials that the transcript tells.
    fn state_not_in_transcript(&self) -> Value {
        let mut state = self.state_for_model();
        if let Some(Value::Object(confirmations)) =
            self.settings.managed.confirmations.as_ref().and_then(|name| state.get_mut(name))
        {
            confirmations.retain(|_, entry| !self.transcript.has_denial(entry));
        }
        let goals = self.settings.managed.goals.as_deref();
        for (name, field) in state.as_object_mut().into_iter().flatten() {
            let Value::Array(items) = field else { continue };
            let listed = self.transcript.listed(name).min(items.len());
            if goals == Some(name.as_str()) {
                items.drain(..listed);
            } else {
                items.truncate(items.len() - listed);
            }
        }
        state
    }

    /// The results of calls, as the transcript tells them.
    fn transcript_results(&self) -> Vec<TranscriptValue<'_>> {
        let mut values = Vec::new();
        for entry in self.transcript.sent() {
            let TranscriptEvent::Call(call) = &entry.what else { continue };
            for path in call.at.iter().filter_map(|path| crate::expr::OutputPath::parse(path).ok()) {
                let Some(path) = path.paths().next().map(|path| Path::clone(path)) else { continue };
                let instance = call.call.instance();
                let result = call.result.as_ref().filter(|_| !entry.is_digest);
                let tool = call.call.tool().and_then(|name| self.context().tool(name));
                values.push(TranscriptValue { path, instance, result, tool: tool.map(AsRef::as_ref) });
            }
        }
        values
    }

    /// Unfinished calls that no question tells of, and those that are only planned.
    pub(super) fn open_calls(&self) -> Vec<CallReport> {
        let is_planner = self.settings.plans_before_reading();
        let under_way = self.scheduler.steps().flat_map(|(number, step)| {
            if is_planner { step.report_as_proposed(number) } else { step.report(number).collect() }
        });
        let is_open = |report: &CallReport| {
            matches!(report.status, CallStatus::Blocked | CallStatus::Ready | CallStatus::Running)
        };
        under_way.filter(is_open).chain(self.planned_calls()).collect()
    }

    /// Every tool that some step of the agent may call, in a fixed order; without a graph, all of them.
    pub(super) fn catalogue(&self) -> Vec<Arc<Tool>> {
        let nodes = self.graph.as_ref().map(|run| run.nodes().filter_map(StepNode::request).collect::<Vec<_>>());
        let is_offered = |tool: &&Arc<Tool>| match &nodes {
            None => !tool.is_unlisted(),
            Some(nodes) => nodes.iter().any(|node| node.offers(&tool.name) || node.plans(&tool.name)),
        };
        self.context().tools().filter(is_offered).cloned().collect()
    }
}

/// Removes from a kind's value the results in the transcript. Of a result that it shows no longer, the beginning stays.
fn subtract(value: &mut Value, kind: &str, instance: Option<&str>, sent: &[TranscriptValue<'_>]) {
    for shown in sent.iter().rev().filter(|shown| shown.path.kind == kind && shown.instance == instance) {
        let Some((last, above)) = shown.path.segments.split_last() else {
            if shown.result.is_some_and(|result| result_for_model(shown.tool, value) == *result) {
                *value = Value::Null;
            }
            continue;
        };
        let pointer: String = above.iter().map(|segment| format!("/{}", segment.key())).collect();
        let Some(Value::Object(fields)) = value.pointer_mut(&pointer) else { continue };
        let Some(field) = fields.get_mut(last.key().as_ref()) else { continue };
        match shown.result {
            Some(result) if result_for_model(shown.tool, field) == *result => {
                drop(fields.shift_remove(last.key().as_ref()));
            }
            Some(_) => {}
            None => *field = shorten(field, MOST_OF_VALUE),
        }
    }
}
