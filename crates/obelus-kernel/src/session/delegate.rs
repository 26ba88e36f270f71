//! Calls carried out by a session of their own, which sees nothing but what it is given.

use std::sync::Arc;

use serde_json::{Value, json};

use super::input::{CallError, Ends, Outcome, Task};
use super::job::JobRef;
use super::settings::Planning;
use super::{Input, Refused, Session};
use crate::context::Context;
use crate::message::Message;
use crate::origin::{Origin, Origins};

impl Session {
    /// Starts the child that carries out a call, or asks for the file that says what the child is.
    pub(super) fn start_delegate(&mut self, at: JobRef, delegate: &str, scope: Vec<Value>) {
        if let Some(step) = self.steps.get_mut(&at.step) {
            step.jobs[at.job as usize].scope = scope;
        }
        if delegate == "anonymous" {
            return self.start_child(at, Value::Null);
        }
        if let Err(why) = stays_inside(delegate) {
            let error = CallError::new("DEL-1", format!("the delegate `{delegate}` is refused: {why}"));
            return self.finish(at, Outcome::Error(error));
        }
        self.tasks.push_back(Task::Load { id: at.to_string(), path: delegate.to_owned() });
    }

    pub(super) fn take_loaded(&mut self, id: &str, request: Result<Value, String>) {
        if let Some((job, rest)) = id.split_once('/') {
            return self.tell_child(job, Input::Loaded { id: rest.to_owned(), request });
        }
        let Some(at) = self.find(id) else { return };
        let step = &self.steps[&at.step];
        let (job, call) = (&step.jobs[at.job as usize], step.call(at.job as usize));
        if job.status != super::job::Status::Running || job.child.is_some() || call.delegate.is_none() {
            return;
        }
        match request {
            Ok(request) => self.start_child(at, request),
            Err(why) => self.finish(at, Outcome::Error(CallError::new("delegate_unreadable", why))),
        }
    }

    /// The child's context: the saved request's own, then what the scopes name, then the parameters as input.
    fn start_child(&mut self, at: JobRef, request: Value) {
        match self.make_child(at, request) {
            Err(error) => self.finish(at, Outcome::Error(error)),
            Ok(child) => {
                if let Some(step) = self.steps.get_mut(&at.step) {
                    step.jobs[at.job as usize].child = Some(Box::new(child));
                }
                self.tell_child(&at.to_string(), Input::Start);
            }
        }
    }

    fn make_child(&self, at: JobRef, request: Value) -> Result<Session, CallError> {
        if self.depth >= self.settings.max_depth {
            let text = format!("delegates are nested deeper than {} levels", self.settings.max_depth);
            return Err(CallError::new("too_deep", text));
        }
        let step = &self.steps[&at.step];
        let (job, call) = (&step.jobs[at.job as usize], step.call(at.job as usize));
        let (Some(frozen), Some(tool)) = (&job.frozen, &call.tool) else {
            return Err(CallError::new("delegate_unreadable", "the call is not there any more"));
        };
        let mut messages = match request.get("context") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(messages)) => messages.clone(),
            Some(_) => return Err(CallError::new("delegate_unreadable", "its `context` is not an array")),
        };
        // Where plans are made before reading, whoever reads what is not trusted has no tools.
        let reads_only = self.plans_before_reading() && !job.origins.is_trusted();
        let is_tool = |message: &Value| message["type"] == "tool";
        messages.retain(|message| !(reads_only && is_tool(message)));
        let expected =
            messages.iter().find(|message| message["type"] == "input").and_then(|message| message.get("schema"));
        let input = json!({"type": "input", "schema": expected.unwrap_or(tool.params()), "data": frozen.params(call)});
        let unreadable = |fault: crate::Fault| CallError::new("delegate_unreadable", fault.to_string());
        let given: Vec<Message> = job
            .scope
            .iter()
            .filter(|message| !(reads_only && is_tool(message)))
            .cloned()
            .chain([input])
            .map(|message| {
                let mut message = Message::from_value(message)?.message;
                if let Message::Data(data) = &mut message {
                    // What the parent did not trust, the child does not trust either.
                    data.origins = Some(job.origins.clone());
                }
                Ok(message)
            })
            .collect::<Result<_, _>>()
            .map_err(unreadable)?;
        let mut context = Context::from_value(Value::Array(messages)).map_err(unreadable)?;
        context.append(given).map_err(unreadable)?;
        let schema = request.get("schema").filter(|schema| !schema.is_null()).or(tool.output()).cloned();
        // A delegate may take half of what its caller may: without that, limits would multiply with every level.
        let mut settings = (*self.settings).clone();
        settings.max_requests = (settings.max_requests / 2).max(2);
        settings.max_calls = (settings.max_calls / 2).max(2);
        if reads_only {
            settings.planning = Planning::WhileReading;
        }
        let id = format!("{}/{at}", self.id);
        let mut child = Session::new(id, context, schema, Arc::new(settings)).map_err(unreadable)?;
        child.depth = self.depth + 1;
        Ok(child)
    }

    /// Passes an input on to a child, and takes up what it wants done.
    pub(super) fn tell_child(&mut self, id: &str, input: Input) {
        // A child refuses only what a person says, and that comes by `decide_in_child`.
        let _ = self.with_child(id, input);
    }

    pub(super) fn decide_in_child(&mut self, id: &str, input: Input) -> Result<(), Refused> {
        match self.with_child(id, input) {
            Some(answer) => answer,
            None => Err(Refused::new("unknown_question", format!("there is no question below `{id}` any more"))),
        }
    }

    pub(super) fn with_child(&mut self, id: &str, input: Input) -> Option<Result<(), Refused>> {
        let at = self.find(id)?;
        let mut child = self.steps.get_mut(&at.step)?.jobs[at.job as usize].child.take()?;
        let was_at_rest = child.is_waiting();
        let answer = child.handle(self.now, input);
        if answer.is_ok() && child.is_waiting() != was_at_rest {
            self.set_resting(at, !was_at_rest);
            if was_at_rest {
                self.reopen();
            }
        }
        let mut reply = None;
        while let Some(task) = child.poll() {
            match task {
                Task::AskModel { id: inner } => self.tasks.push_back(Task::AskModel { id: format!("{id}/{inner}") }),
                Task::Load { id: inner, path } => {
                    self.tasks.push_back(Task::Load { id: format!("{id}/{inner}"), path });
                }
                Task::Ask { id: inner } => self.tasks.push_back(Task::Ask { id: format!("{id}/{inner}") }),
                Task::AskAgain { id: inner, because } => {
                    self.tasks.push_back(Task::AskAgain { id: format!("{id}/{inner}"), because });
                }
                Task::Call(mut start) => {
                    start.id = format!("{id}/{}", start.id);
                    self.tasks.push_back(Task::Call(start));
                }
                Task::AnswerElicitation { id: inner, key, answer } => {
                    self.tasks.push_back(Task::AnswerElicitation { id: format!("{id}/{inner}"), key, answer });
                }
                // A child speaks to whoever called it, by its output.
                Task::Say(_) => {}
                Task::Rest(rest) => reply = Some(rest),
            }
        }
        self.steps.get_mut(&at.step)?.jobs[at.job as usize].child = Some(child);
        if let Some(reply) = reply {
            let shown = self.child(id).map(|child| child.shown.clone().joined(&child.output_origins()));
            let shown = shown.unwrap_or_default();
            self.add_origins(at, &shown.joined(&Origins::of(Origin::Model)));
            match reply.ends {
                // Somebody answered below, and something else waits there still.
                Ends::Waiting if was_at_rest => self.reopen(),
                Ends::Waiting => {}
                Ends::Output => self.finish(at, Outcome::Value(reply.output)),
                Ends::Degraded | Ends::Limit | Ends::Stopped => {
                    let why = reply.reason.unwrap_or_else(|| CallError::new("ended", "it ended without a result"));
                    // Said once, however many delegates it came through.
                    let code = why.code.strip_prefix("delegate_").unwrap_or(&why.code);
                    let error = CallError::new(format!("delegate_{code}"), crate::wording::short(&why.message));
                    self.finish(at, Outcome::Error(error));
                }
            }
        }
        Some(answer)
    }
}

/// A delegate's file lies in the agent's own folder.
fn stays_inside(path: &str) -> Result<(), &'static str> {
    if path.contains("://") {
        return Err("addresses must be allowed by the configuration");
    }
    if path.starts_with('/') || path.starts_with('\\') || path.contains(':') {
        return Err("only paths inside the agent's folder are");
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err("it leads out of the agent's folder");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delegate_stays_inside_its_folder() {
        assert!(stays_inside("letters/polite.yaml").is_ok());
        for path in
            ["/etc/passwd", "../other.json", "a/../../b.json", "https://example.test/x", "C:\\x.json", "a\\..\\b"]
        {
            assert!(stays_inside(path).is_err(), "{path}");
        }
    }
}
