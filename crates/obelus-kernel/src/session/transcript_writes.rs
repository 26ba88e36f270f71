//! Adds events to the transcript, as the model sees them (PROMPT-2).
//!
//! Each event is added once, when it happens. For a planner that does not read untrusted data, calls are added as
//! proposed, and results by their shape.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Session;
use super::ids::JobRef;
use super::report_error::{ReportError, redacted_error};
use super::scheduler::{Job, Status};
use super::transcript::{CallEntry, PendingCall, TranscriptEvent, params_alone};
use crate::call::Call;
use crate::context::Context;
use crate::expr::OutputPath;
use crate::message::{Message, Role};
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
use crate::tool::{Effect, Tool};
use obelus_notebook::call_json::CallJson;
use obelus_notebook::dialect::Solution;
use obelus_notebook::shape::Shapes;
use obelus_notebook::shorten::{MOST_OF_CHANGE, MOST_OF_READ, clip, only_fields, shorten};

/// The limit of characters of the model's thought.
const MOST_OF_THOUGHT: usize = 60;

impl Session {
    /// Adds the request's own conversation.
    pub(super) fn transcribe_given_texts(&mut self) {
        let texts: Vec<(Role, String)> = self
            .memory
            .context()
            .messages()
            .iter()
            .filter_map(|message| match message {
                Message::Text(text) => Some((text.role, text.text.clone())),
                _ => None,
            })
            .collect();
        texts.into_iter().for_each(|(role, text)| self.transcribe_text(role, text));
    }

    /// Adds a message. The model's own text is added with its answer.
    pub(super) fn transcribe_text(&mut self, role: Role, text: String) {
        let event = match role {
            Role::User => TranscriptEvent::User { text, time: self.memory.now() },
            Role::Assistant if !self.transcript.answer_has(&text) => TranscriptEvent::Assistant { text },
            Role::Assistant | Role::System => return,
        };
        self.transcript.add(event, &Origins::of(role.into()));
    }

    /// Adds the model's answer.
    pub(super) fn transcribe_answer(&mut self, solution: &Solution) {
        let Solution { thought, say, calls, output, .. } = solution.clone();
        // Thoughts are for the log. Their beginning stays, to show the form of an answer.
        let thought = thought.map(|thought| clip(&thought, MOST_OF_THOUGHT));
        let calls = calls.iter().map(without_null_fields).collect();
        let node = self.node().map(str::to_owned);
        self.transcript.add(TranscriptEvent::Answer { node, thought, say, calls, output }, &Origins::of(Origin::Model));
    }

    /// Adds an error that does not belong to a started call.
    pub(super) fn transcribe_fault(&mut self, error: &Value, origins: &Origins) {
        let mut error = error.clone();
        if self.settings.plans_before_reading() {
            error["call"] = json!({"_tool": error["call"]["_tool"]});
            if !origins.is_trusted() {
                error["error"] = redacted_error(&error["error"]);
            }
        }
        if let Some(reason) = error["error"].as_object_mut() {
            reason.remove("reason");
        }
        self.transcript.add(TranscriptEvent::Error { error }, &self.settings.counted_as_shown(origins.clone()));
    }

    /// Adds an event from outside.
    pub(super) fn transcribe_event(&mut self, event: &Value, origins: &Origins) {
        let event = if self.settings.plans_before_reading() {
            json!("an event: it is in †events, and its words are not shown")
        } else {
            shorten(event, MOST_OF_READ)
        };
        self.transcript.add(TranscriptEvent::Event { event }, &self.settings.counted_as_shown(origins.clone()));
    }

    /// Adds a message of the user, and notes who sent it.
    pub(super) fn add_user_message(&mut self, text: &str, by: Option<&str>) {
        self.add_message(Role::User, text);
        self.pending.note_sender(by);
    }

    /// Adds a message of the user or the agent to memory and to the transcript.
    pub(super) fn add_message(&mut self, role: Role, text: &str) {
        self.transcript.note_shown(&Origins::of(role.into()));
        if role == Role::Assistant {
            self.transcript.note_agent_message();
        }
        self.transcribe_text(role, text.to_owned());
        self.memory.remember(Message::text(role, text));
        if role == Role::User {
            self.call_rules.past.note_user_message();
        }
    }

    /// Adds the end of a call.
    pub(super) fn transcribe_call(&mut self, at: JobRef, status: Status) {
        let call = Arc::clone(self.scheduler.call(at));
        self.transcribe_end(at, &call, status);
        // A planner sees an allowed observation as long as its digest is in memory.
        let observes = call.tool.as_ref().is_some_and(|tool| tool.keeps_digest);
        if observes && status == Status::Done && !self.settings.plans_before_reading() {
            self.transcribe_observation(at, &call);
        }
    }

    fn transcribe_observation(&mut self, at: JobRef, call: &Call) {
        let job = self.scheduler.job(at);
        let paths = paths_of_result(self.context(), job, call);
        let Some(path) = first_path(paths.as_deref(), call) else { return };
        let Some(about) = self.context().read(path, job.instance.as_deref()) else { return };
        let is_part = about["part"] == true;
        let event = TranscriptEvent::Observed { tool: call.tool_name().to_owned(), about: about.into_owned(), is_part };
        let origins = self.context().origins(path, job.instance.as_deref());
        self.transcript.add(event, &self.settings.counted_as_shown(origins));
    }

    fn transcribe_end(&mut self, at: JobRef, call: &Arc<Call>, status: Status) {
        let job = self.scheduler.job(at);
        let is_done = status == Status::Done;
        if is_done && self.graph.is_some() && call.tool.as_ref().is_some_and(|tool| tool.is_quiet()) {
            return;
        }
        let is_planner = self.settings.plans_before_reading();
        let shown = match &job.frozen {
            Some(frozen) if !is_planner => frozen.call.clone(),
            _ => call.raw.for_instance(job.instance.as_deref()),
        };
        let paths = if is_done { paths_of_result(self.context(), job, call) } else { Some(Vec::new()) };
        let is_in_answer = job.is_model_call && call.has_output();
        let result = match first_path(paths.as_deref(), call) {
            Some(path) if !is_in_answer => self.result_at(call.tool_name(), path, job.instance.as_deref()),
            _ => None,
        };
        // A value in memory counts as shown with the request; the text of an error is only here.
        let mut origins = job.origins.clone();
        if job.error.is_some() && status == Status::Failed {
            origins.join(&self.settings.origin_of_error(call));
        }
        let hides_error = is_planner && !job.has_trusted_error(call);
        let error_for_model = |error: &ReportError| {
            if hides_error { redacted_error(&json!(error)) } else { json!(error.clone().without_reason()) }
        };
        let entry = CallEntry {
            place: (at.step, at.job),
            call: shown,
            status: status.into(),
            error: job.error.as_deref().map(error_for_model),
            at: paths.iter().flatten().map(ToString::to_string).collect(),
            result,
            changes: call.acts(),
            approved: job.is_approved,
        };
        let pending = PendingCall {
            entry,
            call: Arc::clone(call),
            has_declared_path: paths.is_none(),
            // In a graph, the model's own proposals are shown without details.
            leaves_out_details: self.graph.is_some(),
        };
        self.transcript.add_call(pending, &self.settings.counted_as_shown(origins));
    }

    /// Adds calls that wait for a person, once and as proposed: otherwise a model takes them for lost.
    pub(super) fn transcribe_waiting_calls(&mut self) {
        // In a graph, the node itself shows what waits.
        if self.graph.is_some() {
            return;
        }
        let waiting = self.scheduler.jobs().filter(|(_, job)| job.status == Status::Waiting);
        let events: Vec<(TranscriptEvent, Origins)> = waiting
            .filter(|(at, _)| !self.transcript.has_shown_waiting((at.step, at.job)))
            .map(|(at, job)| {
                let call = self.scheduler.call(at);
                let proposed = call.raw.for_instance(job.instance.as_deref());
                let entry = CallEntry {
                    place: (at.step, at.job),
                    call: params_alone(&proposed, call).into(),
                    status: Status::Waiting.into(),
                    error: None,
                    at: Vec::new(),
                    result: None,
                    changes: call.acts(),
                    approved: false,
                };
                // Names of instances are data; the rest is the model's own.
                let is_of_instance = job.instance.is_some();
                let origins = if is_of_instance { job.origins.clone() } else { Origins::of(Origin::Model) };
                (TranscriptEvent::Call(Box::new(entry)), self.settings.counted_as_shown(origins))
            })
            .collect();
        events.into_iter().for_each(|(event, origins)| self.transcript.add(event, &origins));
    }

    /// The value at a result's path, as the model sees it.
    fn result_at(&self, tool: &str, path: &Path, instance: Option<&str>) -> Option<Value> {
        let tool = self.context().tool(tool);
        if self.settings.plans_before_reading() {
            return Shapes::new(self.context()).short_at(path, instance);
        }
        if tool.is_some_and(|tool| tool.instances.is_some()) {
            let is_row =
                |name: &&String| name.strip_prefix(path.kind.as_str()).is_some_and(|rest| rest.starts_with(' '));
            let names = self.context().instances().iter().filter(is_row);
            let rows = names.filter_map(|name| self.context().read(path, Some(name)));
            return Some(result_for_model(tool.map(AsRef::as_ref), &rows.map(Cow::into_owned).collect()));
        }
        Some(result_for_model(tool.map(AsRef::as_ref), &*self.context().read(path, instance)?))
    }

    /// Drops a result that was overwritten before it was shown; it counts for nothing.
    pub(super) fn forget_overwritten(&mut self) {
        self.transcript.flush();
        let is_overwritten = |call: &CallEntry| {
            let path = call.at.first().and_then(|path| OutputPath::parse(path).ok());
            let path = path.as_ref().and_then(|path| path.paths().next());
            let now = path.and_then(|path| self.result_at(call.call.tool_name(), path, call.call.instance()));
            call.result.is_some() && now != call.result
        };
        let calls = self.transcript.unsent_calls().filter(|(_, call)| is_overwritten(call));
        let overwritten: Vec<usize> = calls.map(|(at, _)| at).collect();
        overwritten.into_iter().for_each(|at| self.transcript.forget_result(at));
    }
}

/// The paths of a call's result, with its index if it was added to a list; none if it is the declared one.
fn paths_of_result(context: &Context, job: &Job, call: &Call) -> Option<Vec<Path>> {
    let is_result = |path: &Path| call.writes().any(|declared| **declared == *path);
    let is_added = call.output_method == crate::fold::Method::Push;
    let mut paths: Vec<Path> = match &job.written {
        Some(written) => written.iter().filter(|path| is_result(path)).cloned().collect(),
        None if is_added => call.writes().take(1).map(|path| (**path).clone()).collect(),
        None => return None,
    };
    if is_added {
        for path in &mut paths {
            let list = context.read(path, job.instance.as_deref());
            let last = list.as_deref().and_then(Value::as_array).map_or(0, Vec::len).saturating_sub(1);
            path.segments.push(Segment::Index(i64::try_from(last).unwrap_or_default()));
        }
    }
    Some(paths)
}

/// The first path of a call's result: the declared one, if there are no others.
fn first_path<'a>(paths: Option<&'a [Path]>, call: &'a Call) -> Option<&'a Path> {
    match paths {
        Some(paths) => paths.first(),
        None => call.writes().next().map(|path| &**path),
    }
}

/// A result as the model sees it: the fields that the tool's author names, without empty ones, shortened.
pub(super) fn result_for_model(tool: Option<&Tool>, value: &Value) -> Value {
    let most = if tool.is_none_or(|tool| tool.effect == Effect::Read) { MOST_OF_READ } else { MOST_OF_CHANGE };
    match tool.and_then(Tool::shown_fields) {
        Some(fields) => shorten(&only_fields(value, &fields), most),
        None => shorten(value, most),
    }
}

/// A proposal without the fields that only a strict schema requires.
fn without_null_fields(call: &CallJson) -> CallJson {
    let Some(fields) = call.as_object().filter(|fields| fields.values().any(Value::is_null)) else {
        return call.clone();
    };
    let own = fields.iter().filter(|(_, value)| !value.is_null());
    own.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<String, Value>>().into()
}
