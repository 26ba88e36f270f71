//! Adds events to the transcript, as the model sees them (PROMPT-2).
//!
//! Each event is told once, when it happens. A planner that does not read untrusted data is told calls as proposed,
//! and the shape of results.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Session;
use super::ids::JobRef;
use super::redact::plain_error;
use super::report_error::ReportError;
use super::scheduler::{Job, Status, with_instance};
use super::sent_by::SentBy;
use super::solve::brings_output;
use super::transcript::{CallEntry, PendingCall, TranscriptEvent, params_alone};
use crate::call::Call;
use crate::expr::OutputPath;
use crate::message::{Message, Role};
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
use crate::tool::{Effect, Tool};
use obelus_notebook::call_fields::CallFields as _;
use obelus_notebook::dialect::Solution;
use obelus_notebook::shorten::{MOST_OF_CHANGE, MOST_OF_READ, clip, shorten};

/// The limit of characters of the model's thought.
const MOST_OF_THOUGHT: usize = 60;

impl Session {
    /// Adds the request's own conversation.
    pub(super) fn tell_given_texts(&mut self) {
        let texts: Vec<(Role, String)> = self
            .memory
            .context
            .messages()
            .iter()
            .filter_map(|message| match message {
                Message::Text(text) => Some((text.role, text.text.clone())),
                _ => None,
            })
            .collect();
        texts.into_iter().for_each(|(role, text)| self.tell_words(role, text));
    }

    /// Adds a message. The model's own text is added with its answer.
    pub(super) fn tell_words(&mut self, role: Role, text: String) {
        let what = match role {
            Role::User => TranscriptEvent::User { text, time: self.memory.now() },
            Role::Assistant if !self.transcript.answer_has(&text) => TranscriptEvent::Assistant { text },
            Role::Assistant | Role::System => return,
        };
        self.transcript.tell(what, &Origins::of(role.into()));
    }

    /// Adds the model's answer.
    pub(super) fn tell_answer(&mut self, solution: &Solution) {
        let Solution { thought, say, calls, output, .. } = solution.clone();
        // Thoughts are for the log. Their beginning stays, to show the form of an answer.
        let thought = thought.map(|thought| clip(&thought, MOST_OF_THOUGHT));
        let calls = calls.iter().map(without_null_fields).collect();
        let node = self.node().map(str::to_owned);
        self.transcript
            .tell(TranscriptEvent::Answer { node, thought, say, calls, output }, &Origins::of(Origin::Model));
    }

    /// Adds a decision that does not belong to a single call.
    pub(super) fn tell_decision(&mut self, decision: Value) {
        self.transcript.tell(TranscriptEvent::Decision { decision }, &Origins::of(Origin::User));
    }

    /// Adds an error that does not belong to a started call.
    pub(super) fn tell_fault(&mut self, error: &Value, origins: &Origins) {
        let mut error = error.clone();
        if self.settings.plans_before_reading() {
            error["call"] = json!({"_tool": error["call"]["_tool"]});
            if !origins.is_trusted() {
                error["error"] = plain_error(&error["error"]);
            }
        }
        if let Some(reason) = error["error"].as_object_mut() {
            reason.remove("reason");
        }
        self.transcript.tell(TranscriptEvent::Error { error }, &self.settings.counted_as_shown(origins.clone()));
    }

    /// Adds an event from outside.
    pub(super) fn tell_event(&mut self, event: &Value, origins: &Origins) {
        let event = match self.settings.plans_before_reading() {
            true => json!("an event: it is in †events, and its words are not shown"),
            false => shorten(event, MOST_OF_READ),
        };
        self.transcript.tell(TranscriptEvent::Event { event }, &self.settings.counted_as_shown(origins.clone()));
    }

    /// Remembers a message of the user, and who sent it.
    pub(super) fn hear(&mut self, text: &str, by: Option<&str>) {
        self.remember_words(Role::User, text);
        self.words.speaker = by.map(str::to_owned);
    }

    /// The sender of the user's latest message.
    pub(super) fn speaker(&self) -> String {
        self.words.speaker.clone().unwrap_or_else(|| SentBy::CONVERSATION.to_owned())
    }

    pub(super) fn remember_words(&mut self, role: Role, text: &str) {
        self.transcript.show(&Origins::of(role.into()));
        if role == Role::Assistant {
            self.transcript.note_agent_message();
        }
        self.tell_words(role, text.to_owned());
        self.memory.remember(Message::text(role, text));
        if role == Role::User {
            self.inbox.note_words();
        }
    }

    /// Adds the end of a call.
    pub(super) fn tell_call(&mut self, at: JobRef, status: Status) {
        let call = Arc::clone(self.scheduler.call(at));
        self.tell_end(at, &call, status);
        // A planner sees an allowed observation as long as its digest is in memory.
        let observes = call.tool.as_ref().is_some_and(|tool| tool.keeps_digest);
        if observes && status == Status::Done && !self.settings.plans_before_reading() {
            self.tell_observation(at, &call);
        }
    }

    fn tell_observation(&mut self, at: JobRef, call: &Call) {
        let job = self.scheduler.job(at);
        let paths = self.paths_of_result(job, call);
        let Some(path) = first_path(paths.as_deref(), call) else { return };
        let Some(about) = self.memory.context.read(path, job.instance.as_deref()) else { return };
        let is_part = about["part"] == true;
        let what = TranscriptEvent::Observed { tool: call.tool_name().to_owned(), about: about.into_owned(), is_part };
        let origins = self.memory.context.origins(path, job.instance.as_deref());
        self.transcript.tell(what, &self.settings.counted_as_shown(origins));
    }

    fn tell_end(&mut self, at: JobRef, call: &Arc<Call>, status: Status) {
        let job = self.scheduler.job(at);
        let is_done = status == Status::Done;
        if is_done && self.graph.is_some() && call.tool.as_ref().is_some_and(|tool| tool.is_quiet()) {
            return;
        }
        let is_planner = self.settings.plans_before_reading();
        let shown = match &job.frozen {
            Some(frozen) if !is_planner => Arc::clone(&frozen.call),
            _ => with_instance(&call.raw, job.instance.as_deref()),
        };
        let paths = if is_done { self.paths_of_result(job, call) } else { Some(Vec::new()) };
        // The model's own result is in its answer.
        let is_own = job.is_model_call && brings_output(call);
        let path = first_path(paths.as_deref(), call).filter(|_| !is_own);
        let result = path.and_then(|path| self.result_at(call.tool_name(), path, job.instance.as_deref()));
        // A value in memory counts as shown with the request; the text of an error is only here.
        let mut origins = job.origins.clone();
        let has_spoken = status == Status::Failed || !self.settings.denials_are_trusted;
        if job.error.is_some() && has_spoken {
            origins.join(&self.settings.origin_of_error(call));
        }
        let error = job.error.as_deref().map(|error| self.error_for_model(job, call, error));
        let entry = CallEntry {
            place: (at.step, at.job),
            call: shown,
            status: status.into(),
            error,
            at: paths.iter().flatten().map(ToString::to_string).collect(),
            result,
            changes: call.tool.as_ref().is_some_and(|tool| tool.effect != Effect::Read),
            approved: job.is_approved,
        };
        // In a graph, the model's own proposals are shown without details.
        let (has_declared_path, leaves_out_details) = (paths.is_none(), self.graph.is_some());
        let told = PendingCall { entry, call: Arc::clone(call), has_declared_path, leaves_out_details };
        self.transcript.tell_call(told, &self.settings.counted_as_shown(origins));
    }

    /// Adds calls that wait for a person, once and as proposed: otherwise a model takes them for lost.
    pub(super) fn tell_waiting_calls(&mut self) {
        // In a graph, the step itself tells what waits.
        if self.graph.is_some() {
            return;
        }
        let steps = self.scheduler.steps().flat_map(|(number, step)| {
            let jobs = (0..).zip(&step.jobs).filter(|(_, job)| job.status == Status::Waiting);
            jobs.map(move |(index, job)| ((number, index), job, &step.calls[job.call]))
        });
        let waiting = steps.filter(|(place, ..)| !self.transcript.has_shown_waiting(*place));
        let told: Vec<(TranscriptEvent, Origins)> = waiting
            .map(|(place, job, call)| {
                let proposed = with_instance(&call.raw, job.instance.as_deref());
                let entry = CallEntry {
                    place,
                    call: Arc::new(params_alone(&proposed, call)),
                    status: Status::Waiting.into(),
                    error: None,
                    at: Vec::new(),
                    result: None,
                    changes: call.tool.as_ref().is_some_and(|tool| tool.effect != Effect::Read),
                    approved: false,
                };
                // Names of instances are data; the rest is the model's own.
                let origins = job.instance.as_ref().map_or_else(|| Origins::of(Origin::Model), |_| job.origins.clone());
                (TranscriptEvent::Call(Box::new(entry)), self.settings.counted_as_shown(origins))
            })
            .collect();
        told.into_iter().for_each(|(what, origins)| self.transcript.tell(what, &origins));
    }

    /// The value at a result's path, as the model sees it.
    fn result_at(&self, tool: &str, path: &Path, instance: Option<&str>) -> Option<Value> {
        let tool = self.memory.context.tool(tool);
        if self.settings.plans_before_reading() {
            return self.shape_at(path, instance);
        }
        if tool.is_some_and(|tool| tool.instances.is_some()) {
            let own = |name: &&String| name.strip_prefix(path.kind.as_str()).is_some_and(|rest| rest.starts_with(' '));
            let names = self.memory.context.instances().in_order().into_iter().filter(own);
            let rows = names.filter_map(|name| self.memory.context.read(path, Some(name)));
            return Some(result_for_model(tool.map(AsRef::as_ref), &rows.map(Cow::into_owned).collect()));
        }
        Some(result_for_model(tool.map(AsRef::as_ref), &*self.memory.context.read(path, instance)?))
    }

    /// Drops a result that was overwritten before it was shown; it counts for nothing.
    pub(super) fn forget_overwritten(&mut self) {
        self.transcript.settle();
        let is_gone = |call: &CallEntry| {
            let path = call.at.first().and_then(|path| OutputPath::parse(path).ok());
            let path = path.as_ref().and_then(|path| path.paths().next());
            let (tool, instance) = (call.call.tool(), call.call.instance());
            let now = path.and_then(|path| self.result_at(tool.unwrap_or_default(), path, instance));
            call.result.is_some() && now != call.result
        };
        let gone: Vec<usize> =
            self.transcript.unsent_calls().filter(|(_, call)| is_gone(call)).map(|(at, _)| at).collect();
        gone.into_iter().for_each(|at| self.transcript.forget_result(at));
    }

    fn error_for_model(&self, job: &Job, call: &Call, error: &ReportError) -> Value {
        let is_by_rule = error.rule.is_some();
        let is_trusted_tool = call.tool.as_ref().is_none_or(|tool| tool.error_origin().is_trusted());
        if self.settings.plans_before_reading() && !(job.origins.is_trusted() && (is_by_rule || is_trusted_tool)) {
            return plain_error(&json!(error));
        }
        json!(error.clone().without_reason())
    }

    /// The paths of a call's result, with its index if it was added to a list; none if it is the declared one.
    fn paths_of_result(&self, job: &Job, call: &Call) -> Option<Vec<Path>> {
        let is_result = |path: &Path| call.writes().any(|own| **own == *path);
        let is_added = call.output_method == crate::fold::Method::Push;
        let mut paths: Vec<Path> = match &job.written {
            Some(written) => written.iter().filter(|path| is_result(path)).cloned().collect(),
            None if is_added => call.writes().take(1).map(|path| (**path).clone()).collect(),
            None => return None,
        };
        for path in paths.iter_mut().filter(|_| is_added) {
            let list = self.memory.context.read(path, job.instance.as_deref());
            let last = list.as_deref().and_then(Value::as_array).map_or(0, Vec::len).saturating_sub(1);
            path.segments.push(Segment::Index(i64::try_from(last).unwrap_or_default()));
        }
        Some(paths)
    }
}

/// The first path of a call's result: the declared one, if there are no others.
fn first_path<'a>(paths: Option<&'a [Path]>, call: &'a Call) -> Option<&'a Path> {
    paths.map_or_else(|| call.writes().next().map(|path| &**path), <[Path]>::first)
}

/// A result as the model sees it: the fields that the tool's author names, without empty ones, shortened.
pub(super) fn result_for_model(tool: Option<&Tool>, value: &Value) -> Value {
    let most = match tool.is_none_or(|tool| tool.effect == Effect::Read) {
        true => MOST_OF_READ,
        false => MOST_OF_CHANGE,
    };
    match tool.filter(|_| value.is_object() || value.is_array()).and_then(Tool::shown_fields) {
        Some(fields) => shorten(&with_fields(value, &fields), most),
        None => shorten(value, most),
    }
}

/// Records with only these fields, anywhere in a value. An object with none of them is not a record.
fn with_fields(value: &Value, names: &[&str]) -> Value {
    match value {
        Value::Array(rows) => rows.iter().map(|row| with_fields(row, names)).collect(),
        Value::Object(fields) if fields.keys().any(|name| names.contains(&name.as_str())) => {
            let stays = |name: &str| names.contains(&name) || name.starts_with('_');
            let fields = fields.iter().filter(|(name, _)| stays(name));
            fields.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), with_fields(value, names))).collect(),
        other => other.clone(),
    }
}

/// A proposal without the fields that only a strict schema requires.
fn without_null_fields(call: &Value) -> Value {
    match call {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        other => other.clone(),
    }
}
