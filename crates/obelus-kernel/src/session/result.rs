//! What a call brings, written to memory.

use std::sync::Arc;

use serde_json::{Value, json};
use smallvec::{SmallVec, smallvec};

use super::Session;
use super::input::{Answer, CallError, Ends, Outcome};
use super::job::{JobRef, Status, with_instance};
use super::observation::Observed;
use crate::call::{Call, without_absent};
use crate::context::{Batch, Context};
use crate::expr::{Group, OutputPath};
use crate::fault::{Fault, Rule};
use crate::fold::Method;
use crate::message::{Data, Message, depth};
use crate::origin::{Origin, Origins};
use crate::path::{MAX_DEPTH, Path};
use crate::schema;

impl Session {
    /// An activity, or a delegate, has come to its end.
    pub(super) fn finish(&mut self, at: JobRef, mut outcome: Outcome) {
        self.close_elicitations(at);
        let step = &self.steps[&at.step];
        let call = step.call(at.job as usize).clone();
        self.running -= 1;
        if call.output_path.is_none() {
            self.forgotten -= 1;
            if let Outcome::Value(result) = &outcome {
                self.write_side_writes(at, &call, result);
            }
            let status =
                if matches!(outcome, Outcome::Error(_) | Outcome::Lost { .. }) { Status::Failed } else { Status::Done };
            return self.close(at, status);
        }
        if let Some(error) = self.fault_of_result(&call, &outcome) {
            outcome = Outcome::Error(error);
        }
        let leaves = call.tool.as_ref().is_some_and(|tool| !tool.side_writes.is_empty());
        let result = match &outcome {
            Outcome::Value(result) if leaves => Some(result.clone()),
            _ => None,
        };
        let written = match outcome {
            Outcome::Value(Value::Array(rows)) if call.tool.as_ref().is_some_and(|tool| tool.instances.is_some()) => {
                self.write_instances(at, &call, rows)
            }
            Outcome::Value(value) => {
                let mints = call.delegate.is_none();
                self.write_value(at, &call, value, None, mints).map_err(Failure::Structural)
            }
            Outcome::Messages(messages) => self.write_messages(at, &call, messages),
            Outcome::Error(error) => self.write_error(at, &call, error),
            Outcome::Lost { message } => self.write_error(at, &call, CallError::new("lost", message)),
        };
        if let (Ok(()), Some(result)) = (&written, result) {
            self.write_side_writes(at, &call, &result);
        }
        self.end_with(at, written);
    }

    /// A latent call's result: a breach of its schema is a structural error, for the model can mend it.
    pub(super) fn finish_thought(&mut self, at: JobRef, output: Value) {
        self.finish_thought_at(at, output, None);
    }

    fn finish_thought_at(&mut self, at: JobRef, output: Value, chosen: Option<&[Arc<Path>]>) {
        let call = self.steps[&at.step].call(at.job as usize).clone();
        self.running -= 1;
        self.add_origins(at, &Origins::of(Origin::Model));
        let breach = call.tool.as_ref().and_then(|tool| tool.output_breaches(&output).into_iter().next());
        let written = match breach {
            Some(breach) => Err(Failure::Structural(Fault::new(Rule::Call3, breach.text).at("_output"))),
            // A thought without a path is for this step alone.
            None if call.output_path.is_none() => Ok(()),
            None => self.write_value(at, &call, output, chosen, false).map_err(Failure::Structural),
        };
        self.end_with(at, written);
    }

    /// The model's answer to the sub-request of a latent call.
    pub(super) fn take_sub_answer(&mut self, at: JobRef, answer: Answer) {
        let call = self.steps[&at.step].call(at.job as usize).clone();
        if let Answer::Solution { tokens, .. } | Answer::OutOfFormat { tokens, .. } = &answer {
            self.turn.tokens += tokens;
        }
        let failed = match answer {
            Answer::Solution { solution, .. } => match chosen_output(&call, solution) {
                Ok((output, chosen)) => return self.finish_thought_at(at, output, chosen.as_deref()),
                Err(text) => Failure::Structural(Fault::new(Rule::Plan9, text)),
            },
            Answer::OutOfFormat { error, .. } => Failure::Structural(Fault::new(Rule::Plan9, error)),
            Answer::Failed { code, message } => {
                self.turn.must_end(Ends::Degraded, &code, message.clone());
                Failure::Runtime(CallError::new(code, message))
            }
        };
        self.running -= 1;
        self.end_with(at, Err(failed));
    }

    /// The result of a job is made of this as well.
    pub(super) fn add_origins(&mut self, at: JobRef, more: &Origins) {
        if let Some(step) = self.steps.get_mut(&at.step) {
            step.jobs[at.job as usize].origins.join(more);
        }
    }

    fn end_with(&mut self, at: JobRef, written: Result<(), Failure>) {
        match written {
            Ok(()) => {
                if self.turn.has_failures() {
                    let name = self.steps[&at.step].identity(at.job as usize);
                    self.note_success(&name);
                }
                self.close(at, Status::Done);
            }
            Err(Failure::Structural(fault)) => self.fail_by(at, &fault),
            Err(Failure::Runtime(error)) => self.fail_with(at, &error),
            Err(Failure::Rule(rule, text)) => {
                self.record_error(at, json!({"rule": rule.name(), "message": text}));
                self.close(at, Status::Failed);
            }
        }
    }

    /// A result that is too large, or not what the tool promised, is an error of the activity.
    fn fault_of_result(&self, call: &Call, outcome: &Outcome) -> Option<CallError> {
        let most = usize::try_from(self.settings.max_result_bytes).unwrap_or(usize::MAX);
        let bytes = match outcome {
            Outcome::Value(value) => size(value, most),
            Outcome::Messages(messages) => messages.iter().map(|message| size(message, most)).sum(),
            Outcome::Error(_) | Outcome::Lost { .. } => 0,
        };
        if bytes > most {
            let text = format!("the result is larger than the {most} bytes that are kept; ask for less");
            return Some(CallError::new("result_too_large", text));
        }
        let (Outcome::Value(value), Some(tool)) = (outcome, &call.tool) else { return None };
        if tool.keeps_digest && !value["digest"].is_string() {
            let text = "of what this tool brings only a digest is kept, and there is none";
            return Some(CallError::new("bad_result", text));
        }
        let breach = tool.output_breaches(value).into_iter().next()?;
        let place = if breach.place.is_empty() { String::new() } else { format!("`{}`: ", breach.place.join(".")) };
        Some(CallError::new("bad_result", format!("not what the tool returns: {place}{}", breach.text)))
    }

    /// A value goes to the chosen alternative, else to the first: to every path of it, or to none.
    fn write_value(
        &mut self,
        at: JobRef,
        call: &Arc<Call>,
        value: Value,
        chosen: Option<&[Arc<Path>]>,
        mints: bool,
    ) -> Result<(), Fault> {
        let Some(path) = &call.output_path else { return Ok(()) };
        let first = path.alternatives.first().map(Group::as_slice).unwrap_or_default();
        let writes: Writes = match chosen.unwrap_or(first) {
            [single] => smallvec![(single.clone(), value)],
            group => group.iter().map(|path| (path.clone(), value.clone())).collect(),
        };
        self.append_output(at, call, writes, mints)
    }

    /// An error with alternatives is handled: the last of them takes it. Without, it is the call's failure.
    fn write_error(&mut self, at: JobRef, call: &Arc<Call>, error: CallError) -> Result<(), Failure> {
        let path = call.output_path.as_ref().filter(|path| path.alternatives.len() > 1);
        let Some(group) = path.and_then(|path| path.alternatives.last()) else { return Err(Failure::Runtime(error)) };
        let value = json!({"code": error.code, "message": error.message});
        self.write_value(at, call, value, Some(group), false).map_err(Failure::Structural)
    }

    /// Messages of an activity, each for a path that the call may write, all of one alternative.
    fn write_messages(&mut self, at: JobRef, call: &Arc<Call>, messages: Vec<Value>) -> Result<(), Failure> {
        let outside = |text: String| Failure::Rule(Rule::Call5, text);
        let Some(allowed) = &call.output_path else { return Ok(()) };
        let instance = self.steps[&at.step].jobs[at.job as usize].instance.clone();
        let mut writes = Writes::new();
        let mut group = None;
        for value in messages {
            let parsed = Message::from_value(value).map_err(|fault| outside(fault.to_string()))?;
            let Message::Data(data) = parsed.message else {
                return Err(outside("an activity returns data messages only".to_owned()));
            };
            if data.instance.is_some() && data.instance != instance {
                return Err(outside("the message is for another instance".to_owned()));
            }
            let spelled = data.data();
            let Some((index, path, value)) = permitted(allowed, &data.kind, &spelled) else {
                return Err(outside(format!("the message of kind `{}` is outside of {allowed}", data.kind)));
            };
            if *group.get_or_insert(index) != index {
                return Err(outside(format!("the messages are for several alternatives of {allowed}")));
            }
            writes.push((path.clone(), value.clone()));
        }
        self.append_output(at, call, writes, true).map_err(Failure::Structural)
    }

    /// Appends what a call has brought. `mints` where the tool itself speaks, and not its error, the model or a delegate.
    fn append_output(&mut self, at: JobRef, call: &Arc<Call>, writes: Writes, mints: bool) -> Result<(), Fault> {
        let instance = self.steps[&at.step].jobs[at.job as usize].instance.clone();
        let raw = with_instance(&call.raw, instance.as_deref());
        let date = self.date();
        let method = call.output_method;
        let made_of = &self.steps[&at.step].jobs[at.job as usize].origins;
        let parts = call.tool.as_ref().filter(|_| mints).and_then(|tool| tool.parts_of_result(made_of));
        let origins = match mints {
            true => made_of.clone().joined(self.own_origin(at, call)),
            false => made_of.clone().joined(&self.origin_of_error(call)),
        };
        if writes.iter().any(|(path, value)| path.segments.len() + depth(value) > MAX_DEPTH) {
            return Err(Fault::new(Rule::Ctx3, format!("the result is nested deeper than {MAX_DEPTH} levels")));
        }
        let validators = self.validators_for(writes.iter().map(|(path, _)| path), instance.as_deref(), method)?;
        let mut batch = Batch::with_capacity(writes.len());
        let mut observed = Vec::new();
        // The last one, which most often is the only one, takes without a copy what all of them carry.
        let carried = std::iter::repeat_n((raw, date, origins, parts), writes.len());
        for ((path, value), (raw, date, origins, parts)) in writes.into_iter().zip(carried) {
            if mints && call.tool.as_ref().is_some_and(|tool| tool.keeps_digest) {
                observed.extend(Observed::of(&path, instance.as_deref(), &value));
            }
            let mut data = Box::new(Data::result(raw, path, Some(date), value));
            data.instance.clone_from(&instance);
            data.method = Some(method);
            data.origins = Some(origins);
            data.parts = parts;
            batch.push(Message::Data(data));
        }
        self.context.append_checked(batch, |context| {
            let broken = validators.iter().find_map(|(path, part)| part.breach(context, path, instance.as_deref()));
            broken.map_or(Ok(()), Err)
        })?;
        self.note_seen(observed);
        Ok(())
    }

    /// What the written paths must look like by the schemas of their kinds, made once and kept.
    fn validators_for<'a>(
        &mut self,
        paths: impl Iterator<Item = &'a Arc<Path>>,
        instance: Option<&str>,
        method: Method,
    ) -> Result<Vec<(Arc<Path>, Part)>, Fault> {
        let mut found = Vec::new();
        for path in paths {
            let Some(schema) = self.context.view(&path.kind).and_then(|view| view.schema(instance)) else { continue };
            let Some(pointer) = schema::pointer_at(schema, &path.segments) else { continue };
            let only_last = method == Method::Push && schema.pointer(&pointer).is_some_and(judges_elements_alone);
            let pointer = if only_last { format!("{pointer}/items") } else { pointer };
            let key = (path.kind.clone(), instance.map(str::to_owned), pointer);
            let known = self.part_validators.get(&key).filter(|(of, _)| of == schema);
            let validator = match known {
                Some((_, validator)) => validator.clone(),
                None => {
                    let compiled = schema::compile_at(schema, &key.2);
                    let wrong =
                        |error| Fault::new(Rule::Ctx7, format!("the schema of `{}` is not valid: {error}", path.kind));
                    let validator = Arc::new(compiled.map_err(wrong)?);
                    self.part_validators.insert(key, (schema.clone(), validator.clone()));
                    validator
                }
            };
            found.push((path.clone(), Part { validator, only_last }));
        }
        Ok(found)
    }
}

/// What goes where: most often one value to one path.
type Writes = SmallVec<[(Arc<Path>, Value); 1]>;

/// How a call failed.
pub(super) enum Failure {
    /// The call itself was wrong: the model can mend it.
    Structural(Fault),
    /// Its activity failed.
    Runtime(CallError),
    /// Its activity broke a rule.
    Rule(Rule, String),
}

/// The schema of a part of a kind.
struct Part {
    validator: Arc<jsonschema::Validator>,
    /// A push into a plain list is judged by the new element, not by the whole list again.
    only_last: bool,
}

impl Part {
    fn breach(&self, context: &Context, path: &Path, instance: Option<&str>) -> Option<Fault> {
        let whole = context.read(path, instance)?;
        let value = if self.only_last { whole.as_array()?.last()? } else { whole.as_ref() };
        let breach = schema::breaches(&self.validator, value).into_iter().next()?;
        let text = format!("{path} would break the schema of `{}`: {}", path.kind, breach.text);
        Some(Fault::new(Rule::Ctx7, text))
    }
}

/// Whether a list's schema says nothing but what its elements are.
fn judges_elements_alone(schema: &Value) -> bool {
    let known = ["type", "items", "title", "description", "default", "examples"];
    schema.get("items").is_some_and(serde_json::Value::is_object)
        && schema.as_object().is_some_and(|fields| fields.keys().all(|name| known.contains(&name.as_str())))
}

/// The path that `data` spells and nothing beside it, with the index of its alternative.
fn permitted<'a>(allowed: &'a OutputPath, kind: &str, data: &'a Value) -> Option<(usize, &'a Arc<Path>, &'a Value)> {
    let groups = allowed.alternatives.iter().enumerate();
    groups.flat_map(|(index, group)| group.iter().map(move |path| (index, path))).find_map(|(index, path)| {
        let mut value = data;
        for segment in &path.segments {
            let fields = value.as_object().filter(|fields| fields.len() == 1)?;
            value = fields.get(segment.key().as_ref())?;
        }
        (path.kind == kind).then_some((index, path, value))
    })
}

/// A result, and the alternative it was chosen for.
type Thought = (Value, Option<Group>);

/// What a sub-request brought: plain output, or one call of the tool with its output and its path.
fn chosen_output(call: &Call, solution: super::Solution) -> Result<Thought, String> {
    let [answer] = solution.calls.as_slice() else {
        return match solution.calls.len() {
            0 => Ok((without_absent(&solution.output, call.tool.as_deref()), None)),
            n => Err(format!("one call of `{}` was asked for, and {n} came", call.tool_name())),
        };
    };
    if answer.get("_tool").and_then(Value::as_str) != Some(call.tool_name()) {
        return Err(format!("a call of `{}` was asked for, and another came", call.tool_name()));
    }
    let output = answer.get("_output").ok_or("the call came without `_output`")?;
    let output = without_absent(output, call.tool.as_deref());
    let chosen = match answer.get("_outputPath").and_then(Value::as_str) {
        None => None,
        Some(text) => {
            let said = OutputPath::parse(text).map_err(|fault| fault.to_string())?;
            let allowed = call.output_path.iter().flat_map(|path| &path.alternatives);
            match said.alternatives.as_slice() {
                [group] if allowed.clone().any(|known| known == group) => Some(group.clone()),
                several if several.len() > 1 => None,
                _ => return Err(format!("`{text}` is none of the alternatives")),
            }
        }
    };
    Ok((output, chosen))
}

/// About how many bytes a value takes as JSON; counting stops past `most`.
fn size(value: &Value, most: usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            let mut sum = 2;
            for item in items {
                sum += size(item, most) + 1;
                if sum > most {
                    break;
                }
            }
            sum
        }
        Value::Object(fields) => {
            let mut sum = 2;
            for (name, value) in fields {
                sum += name.len() + 4 + size(value, most);
                if sum > most {
                    break;
                }
            }
            sum
        }
    }
}
