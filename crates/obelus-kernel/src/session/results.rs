//! Results of calls.

use std::sync::Arc;

use serde_json::Value;

use super::ids::JobRef;
use super::input::{CallError, Outcome};
use super::memory::{Author, CallFailure, Memory, ReadMessages, Written};
use super::report_error::ReportError;
use super::scheduler::{Job, Status};
use super::settings::Settings;
use super::{FailureCode, Session, error_data};
use crate::call::Call;
use crate::fault::Rule;
use crate::fold::Method;
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::policy::Reason;
use crate::tool::Tool;
use obelus_notebook::shorten::size;

impl Session {
    /// Takes the outcome of an activity or a delegate.
    pub(super) fn finish(&mut self, at: JobRef, outcome: Outcome) {
        self.close_elicitations(at);
        if matches!(&outcome, Outcome::Error(error) if error.may_have_happened) {
            self.note_happened(at, Reason::MayHaveHappened);
        }
        let call = Arc::clone(self.scheduler.call(at));
        if call.output_path.is_none() {
            self.finish_without_path(at, &call, outcome);
        } else {
            self.finish_with_path(at, &call, outcome);
        }
    }

    /// Ends a call whose result is not stored; only side writes are.
    fn finish_without_path(&mut self, at: JobRef, call: &Arc<Call>, outcome: Outcome) {
        if let Outcome::Value(result) = &outcome {
            self.write_side_writes(at, call, result, &None);
        }
        let error = match outcome {
            Outcome::Value(_) | Outcome::Messages(_) => {
                self.note_success(at);
                None
            }
            Outcome::Error(error) if error.happened => Some(self.error_of_result(at, error)),
            Outcome::Error(error) => Some(error),
            Outcome::Lost { message } => Some(CallError::new(FailureCode::Lost, message)),
        };
        self.close_without_result(at, error);
    }

    /// Ends a call whose result, or error, is written at its path.
    fn finish_with_path(&mut self, at: JobRef, call: &Arc<Call>, outcome: Outcome) {
        let fault = fault_of_result(&self.settings, call, &outcome);
        let outcome = match (fault.or_else(|| self.fault_of_messages(at, call, &outcome)), outcome) {
            (Some(error), _) => Outcome::Error(self.error_of_result(at, error)),
            (None, Outcome::Error(error)) if error.happened => Outcome::Error(self.error_of_result(at, error)),
            (None, outcome) => outcome,
        };
        let has_result = matches!(outcome, Outcome::Value(_) | Outcome::Messages(_));
        let has_side_writes = call.tool.as_ref().is_some_and(|tool| !tool.side_writes.is_empty());
        let result = match &outcome {
            Outcome::Value(result) if has_side_writes => Some(result.clone()),
            _ => None,
        };
        if let Outcome::Value(value) = &outcome {
            self.scheduler.note_added(at, value);
        }
        let written = match self.write_outcome(at, call, outcome) {
            Err(failure) if has_result => Err(self.failure_of_result(at, failure)),
            written => written,
        };
        if let Ok(paths) = &written {
            if has_result {
                self.note_success(at);
            }
            if call.tool.as_ref().is_some_and(|tool| tool.instances.is_some()) {
                self.scheduler.expand(at, self.memory.context());
            }
            if let Some(result) = result {
                self.write_side_writes(at, call, &result, paths);
            }
        }
        self.end_with(at, written);
    }

    /// A call was done, and its result is known.
    fn note_success(&mut self, at: JobRef) {
        self.forget_happened(at);
        self.note_done(at);
    }

    /// Ends a call whose result is not stored. Its failure is only logged: the turn may have ended long ago.
    fn close_without_result(&mut self, at: JobRef, error: Option<CallError>) {
        let status = if error.is_some() { Status::Failed } else { Status::Done };
        let own = self.settings.origin_of_error(self.scheduler.call(at));
        if let Some(error) = error {
            self.scheduler.set_error(at, (&error).into());
            // The next request shows the model why, in the tool's text.
            self.scheduler.add_origins(at, &own);
        }
        self.close(at, status);
        if self.turn.is_at_rest() {
            self.report_errors();
        }
    }

    /// The first of an activity's messages that violates the tool's output schema. Messages for other paths are found
    /// when they are written.
    fn fault_of_messages(&self, at: JobRef, call: &Arc<Call>, outcome: &Outcome) -> Option<CallError> {
        let (Outcome::Messages(messages), Some(tool)) = (outcome, call.tool.as_deref()) else { return None };
        let read = ReadMessages::read(&author(self.scheduler.job(at), call), messages.clone()).ok()?;
        read.values().find_map(|value| bad_result(tool, value))
    }

    fn write_outcome(&mut self, at: JobRef, call: &Arc<Call>, outcome: Outcome) -> Result<Written, CallFailure> {
        let author = author(self.scheduler.job(at), call);
        let failed = |memory: &mut Memory, error: CallError| {
            let own = &self.settings.origin_of_error(call);
            memory.write_error(&Author { own, is_tool_output: false, ..author }, error)
        };
        let memory = &mut self.memory;
        match outcome {
            Outcome::Value(Value::Array(rows)) if call.tool.as_ref().is_some_and(|tool| tool.instances.is_some()) => {
                memory.write_instances(&author, rows)
            }
            Outcome::Value(value) => memory.write_value(&author, value, None).map_err(CallFailure::Structural),
            Outcome::Messages(messages) => {
                let read = ReadMessages::read(&author, messages)?;
                let author = Author { is_tool_output: true, ..author };
                memory.write_messages(&author, read).map_err(CallFailure::Structural)
            }
            Outcome::Error(error) => failed(memory, error),
            Outcome::Lost { message } => failed(memory, CallError::new(FailureCode::Lost, message)),
        }
    }

    /// Writes what the call's tool declares beside its result. Errors are shown to the model.
    fn write_side_writes(&mut self, at: JobRef, call: &Arc<Call>, result: &Value, written: &Written) {
        let job = self.scheduler.job(at);
        let Some(frozen) = job.frozen.as_ref().map(|frozen| frozen.call.clone()) else { return };
        let author = Author { is_tool_output: false, ..author(job, call) };
        let (is_global, job_origins) = (author.instance.is_none(), job.origins.clone());
        let (beside, failed) = self.memory.write_side_writes(&author, &frozen, result);
        if is_global {
            let sides = call.tool.iter().flat_map(|tool| &tool.side_writes);
            let pushed = sides.filter(|side| side.method == Method::Push && beside.contains(&side.to));
            for side in pushed.filter(|side| side.to.kind == "state") {
                if let [field] = side.to.segments.as_slice() {
                    self.transcript.note_listed(&field.key());
                }
            }
        }
        let of_result = match written {
            Some(paths) => paths.clone(),
            None => call.writes().map(|path| (**path).clone()).collect(),
        };
        self.scheduler.note_written(at, of_result.into_iter().chain(beside).collect());
        // The text may quote the result.
        let origins = job_origins.joined(&self.settings.origin_of_error(call));
        for message in failed {
            let error = error_data(&frozen, &ReportError::new(FailureCode::Leaves, message));
            self.transcribe_fault(&error, &origins);
            self.scheduler.add_error(at.step, error, origins.clone());
        }
    }

    /// The result of a model call. A violation of its schema is a structural error: the model can correct it.
    pub(super) fn finish_model_call(&mut self, at: JobRef, output: Value, chosen: Option<&[Arc<Path>]>) {
        let call = Arc::clone(self.scheduler.call(at));
        self.scheduler.add_origins(at, &Origins::of(Origin::Model));
        let breach = call.tool.as_ref().and_then(|tool| tool.output_breaches(&output).into_iter().next());
        let job = self.scheduler.job(at);
        let (instance, made_of) = (job.instance.as_deref(), &job.origins);
        let author = Author { call: &call, instance, edited: None, made_of, own: Origins::NONE, is_tool_output: false };
        let written = match breach {
            Some(breach) => Err(CallFailure::Structural(breach.into_fault(Rule::Call3).at("_output"))),
            // A result without a path is for this step only.
            None if call.output_path.is_none() => Ok(None),
            None => self.memory.write_value(&author, output, chosen).map_err(CallFailure::Structural),
        };
        self.end_with(at, written);
    }

    fn end_with(&mut self, at: JobRef, written: Result<Written, CallFailure>) {
        self.turn.note_progress();
        match written {
            Ok(written) => {
                if let Some(paths) = written {
                    self.scheduler.note_written(at, paths);
                }
                self.turn.note_success(|| self.scheduler.identity(at));
                self.close(at, Status::Done);
            }
            Err(CallFailure::Structural(fault)) => self.fail_by(at, &fault),
            Err(CallFailure::Runtime(error)) => self.fail_with(at, &error),
            Err(CallFailure::Rule(rule, text)) => {
                self.record_error(at, ReportError::by(rule, text), true);
                self.close(at, Status::Failed);
            }
            Err(CallFailure::NotKept(rule, CallError { code, message, .. })) => {
                let error = ReportError { rule: Some(rule), ..ReportError::new(code, message) };
                self.record_error(at, error, true);
                self.close(at, Status::Failed);
            }
        }
    }
}

/// The author of the result of a job's call.
fn author<'a>(job: &'a Job, call: &'a Arc<Call>) -> Author<'a> {
    Author {
        call,
        instance: job.instance.as_deref(),
        edited: job.edited(),
        made_of: &job.origins,
        own: own_origin(call, job.is_model_call),
        is_tool_output: call.delegate.is_none(),
    }
}

/// The origin of an executor's own output. The model and a delegate have none: their output has the origins of what
/// they were shown, whatever the tool declares.
fn own_origin(call: &Call, is_model_call: bool) -> &Origins {
    match call.tool.as_deref() {
        Some(tool) if call.delegate.is_none() && !is_model_call => tool.origin(),
        _ => Origins::NONE,
    }
}

/// A result that is too large or invalid is an error of the activity.
fn fault_of_result(settings: &Settings, call: &Call, outcome: &Outcome) -> Option<CallError> {
    let most = usize::try_from(settings.max_result_bytes).unwrap_or(usize::MAX);
    let bytes = match outcome {
        Outcome::Value(value) => size(value, most),
        Outcome::Messages(messages) => messages.iter().map(|message| size(message, most)).sum(),
        Outcome::Error(_) | Outcome::Lost { .. } => 0,
    };
    if bytes > most {
        let hint = match (call.acts(), &call.delegate) {
            (false, _) => "; ask for less",
            // The error of the effect says it.
            (true, None) => "",
            (true, Some(_)) => "; the call itself was carried out: do not repeat it",
        };
        let text = format!("the result is larger than the {most} bytes that are kept{hint}");
        return Some(CallError::new(FailureCode::ResultTooLarge, text));
    }
    match (outcome, &call.tool) {
        (Outcome::Value(value), Some(tool)) => bad_result(tool, value),
        _ => None,
    }
}

/// The violation of the tool's output schema, if any.
fn bad_result(tool: &Tool, value: &Value) -> Option<CallError> {
    if tool.keeps_digest && !value["digest"].is_string() {
        let text = "of what this tool brings only a digest is kept, and there is none";
        return Some(CallError::new(FailureCode::BadResult, text));
    }
    let breach = tool.output_breaches(value).into_iter().next()?;
    let place = if breach.place.is_empty() { String::new() } else { format!("`{}`: ", breach.place.join(".")) };
    Some(CallError::new(FailureCode::BadResult, format!("not what the tool returns: {place}{}", breach.text)))
}
