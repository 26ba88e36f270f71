//! Writes results of calls to memory.

use std::sync::Arc;

use serde_json::{Value, json};
use smallvec::{SmallVec, smallvec};

use super::{DigestPlace, Memory};
use crate::call::Call;
use crate::context::{Batch, Context};
use crate::expr::{Group, OutputPath};
use crate::fault::{Fault, Rule};
use crate::fold::Method;
use crate::message::{Data, Message, depth};
use crate::origin::Origins;
use crate::path::{MAX_DEPTH, Path, Segment};
use crate::schema;
use crate::session::input::CallError;
use obelus_notebook::call_json::CallJson;

/// The author of a result, and its inputs.
#[derive(Clone, Copy)]
pub(in crate::session) struct Author<'a> {
    pub(in crate::session) call: &'a Arc<Call>,
    pub(in crate::session) instance: Option<&'a str>,
    /// The call as a person edited it, if so: the result belongs to that one.
    pub(in crate::session) edited: Option<&'a CallJson>,
    /// The origins of the call's inputs.
    pub(in crate::session) made_of: &'a Origins,
    /// The origin of the executor's own output.
    pub(in crate::session) own: &'a Origins,
    /// Whether the tool itself produced it and so creates ids; not its error, the model or a delegate.
    pub(in crate::session) is_tool_output: bool,
}

#[cfg(test)]
impl<'a> Author<'a> {
    /// A tool's own result that was made of nothing.
    pub(super) fn of_test(call: &'a Arc<Call>) -> Self {
        Self { call, instance: None, edited: None, made_of: Origins::NONE, own: Origins::NONE, is_tool_output: true }
    }
}

impl Memory {
    /// Writes a value to the chosen alternative, else to the first: to all of its paths, or to none.
    pub(in crate::session) fn write_value(
        &mut self,
        author: &Author<'_>,
        value: Value,
        chosen: Option<&[Arc<Path>]>,
    ) -> Result<Written, Fault> {
        let Some(path) = &author.call.output_path else { return Ok(None) };
        let first = path.alternatives.first().map(Group::as_slice).unwrap_or_default();
        let group = chosen.unwrap_or(first);
        let writes: Writes = match group {
            [single] => smallvec![(single.clone(), value)],
            group => group.iter().map(|path| (path.clone(), value.clone())).collect(),
        };
        let written = (path.alternatives.len() > 1).then(|| group.iter().map(|path| (**path).clone()).collect());
        self.append_output(author, writes)?;
        Ok(written)
    }

    /// Writes an error to the last alternative, if there are several. Otherwise the call has failed.
    pub(in crate::session) fn write_error(
        &mut self,
        author: &Author<'_>,
        error: CallError,
    ) -> Result<Written, CallFailure> {
        let path = author.call.output_path.as_ref().filter(|path| path.alternatives.len() > 1);
        let Some(group) = path.and_then(|path| path.alternatives.last()) else {
            return Err(CallFailure::Runtime(error));
        };
        let value = json!({"code": error.code, "message": error.message});
        self.write_value(author, value, Some(group)).map_err(CallFailure::Structural)
    }

    /// Writes messages of an activity to their paths.
    pub(in crate::session) fn write_messages(
        &mut self,
        author: &Author<'_>,
        messages: ReadMessages,
    ) -> Result<Written, Fault> {
        let written = messages.0.iter().map(|(path, _)| (**path).clone()).collect();
        self.append_output(author, messages.0)?;
        Ok(Some(written))
    }

    /// Appends the output of a call, all or nothing.
    fn append_output(&mut self, author: &Author<'_>, writes: Writes) -> Result<(), Fault> {
        let Author { call, instance, edited, made_of, own, is_tool_output } = *author;
        let raw = edited.map_or_else(|| call.raw.for_instance(instance), Clone::clone);
        let date = self.date();
        let method = call.output_method;
        let parts = call.tool.as_ref().filter(|_| is_tool_output).and_then(|tool| tool.parts_of_result(made_of));
        let origins = made_of.clone().joined(own);
        if writes.iter().any(|(path, value)| path.segments.len() + depth(value) > MAX_DEPTH) {
            return Err(Fault::new(Rule::Ctx3, format!("the result is nested deeper than {MAX_DEPTH} levels")));
        }
        let validators = self.validators_for(writes.iter().map(|(path, _)| path), instance, method)?;
        let is_trusted = origins.is_trusted();
        let mut batch = Batch::with_capacity(writes.len());
        let mut digests = Vec::new();
        // The last write, usually the only one, takes the shared parts without a copy.
        let carried = std::iter::repeat_n((raw, date, origins, parts), writes.len());
        for ((path, value), (raw, date, origins, parts)) in writes.into_iter().zip(carried) {
            if is_tool_output && call.tool.as_ref().is_some_and(|tool| tool.keeps_digest) {
                digests.extend(DigestPlace::of(&path, instance, &value));
            }
            let issued =
                call.tool.as_ref().filter(|_| is_tool_output).and_then(|tool| tool.origin_if_all_issued(&value));
            let mut data = Box::new(Data::result(raw, path, Some(date), value));
            data.instance = instance.map(str::to_owned);
            data.method = Some(method);
            data.origins = Some(issued.unwrap_or(origins));
            data.parts = parts;
            batch.push(Message::Data(data));
        }
        self.context.append_checked(batch, |context| {
            let broken = validators.iter().find_map(|(path, part)| part.breach(context, path, instance, is_trusted));
            broken.map_or(Ok(()), Err)
        })?;
        self.note_digests(digests);
        Ok(())
    }

    /// The schemas of the written paths, cached.
    fn validators_for<'a>(
        &mut self,
        paths: impl Iterator<Item = &'a Arc<Path>>,
        instance: Option<&str>,
        method: Method,
    ) -> Result<Vec<(Arc<Path>, PartSchema)>, Fault> {
        let mut found = Vec::new();
        for path in paths {
            let Some(schema) = self.context.view(&path.kind).and_then(|view| view.schema(instance)) else { continue };
            let list = (method == Method::Push).then(|| schema::pointer_at(schema, &path.segments)).flatten();
            let list = list.and_then(|pointer| schema.pointer(&pointer));
            let only_last = list.is_some_and(judges_elements_alone);
            let of_element = path.segments.iter().cloned().chain([Segment::Index(0)]);
            let part = if only_last {
                schema::part_at(schema, &of_element.collect::<Vec<_>>())
            } else {
                schema::part_at(schema, &path.segments)
            };
            let Some(part) = part else { continue };
            let key = (path.kind.clone(), instance.map(str::to_owned), part.to_string());
            let known = self.validators.get(&key).filter(|(of, _)| of == schema);
            let validator = match known {
                Some((_, validator)) => validator.clone(),
                None => {
                    let compiled = schema::compile_part(schema, &part);
                    let wrong =
                        |error| Fault::new(Rule::Ctx7, format!("the schema of `{}` is not valid: {error}", path.kind));
                    let validator = Arc::new(compiled.map_err(wrong)?);
                    self.validators.insert(key, (schema.clone(), validator.clone()));
                    validator
                }
            };
            found.push((path.clone(), PartSchema { validator, only_last }));
        }
        Ok(found)
    }
}

/// The written paths, if they are not all that the call declares.
pub(in crate::session) type Written = Option<Vec<Path>>;

/// Values and their paths: usually one.
type Writes = SmallVec<[(Arc<Path>, Value); 1]>;

/// What the messages of an activity say, each for its path.
pub(in crate::session) struct ReadMessages(Writes);

impl ReadMessages {
    /// Reads the messages of an activity: each must have an allowed path and the call's method, and together they
    /// must cover one alternative.
    pub(in crate::session) fn read(author: &Author<'_>, messages: Vec<Value>) -> Result<Self, CallFailure> {
        let Some(allowed) = &author.call.output_path else { return Ok(Self(Writes::new())) };
        let read = || {
            let mut writes = Writes::new();
            let mut group = None;
            for value in messages {
                let data = data_of(author, value)?;
                let spelled = data.data();
                let Some((index, path, value)) = permitted(allowed, &data.kind, &spelled) else {
                    return Err(format!("the message of kind `{}` is outside of {allowed}", data.kind));
                };
                if *group.get_or_insert(index) != index {
                    return Err(format!("the messages are for several alternatives of {allowed}"));
                }
                writes.push((path.clone(), value.clone()));
            }
            // Without messages the call is done, and its result is unknown.
            let group = group.map(|index| allowed.alternatives[index].as_slice()).unwrap_or_default();
            match group.iter().find(|path| !writes.iter().any(|(written, _)| written == *path)) {
                Some(left_out) => {
                    Err(format!("no message is for {left_out}, one of the paths that are written together"))
                }
                None => Ok(Self(writes)),
            }
        };
        read().map_err(|text| CallFailure::Rule(Rule::Call5, text))
    }

    /// The values, for validation against the tool's output schema.
    pub(in crate::session) fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|(_, value)| value)
    }
}

/// A message of an activity: data for the call's own instance, with the call's own method.
fn data_of(author: &Author<'_>, message: Value) -> Result<Box<Data>, String> {
    let Message::Data(data) = Message::from_value(message).map_err(|fault| fault.to_string())?.message else {
        return Err("an activity returns data messages only".to_owned());
    };
    if data.instance.is_some() && data.instance.as_deref() != author.instance {
        return Err("the message is for another instance".to_owned());
    }
    match data.method.filter(|method| *method != author.call.output_method) {
        Some(other) => {
            Err(format!("the message says `{}`, the call `{}`", other.name(), author.call.output_method.name()))
        }
        None => Ok(data),
    }
}

/// How a call failed.
pub(in crate::session) enum CallFailure {
    /// The call was invalid: the model can correct it.
    Structural(Fault),
    /// Its activity failed.
    Runtime(CallError),
    /// Its activity broke a rule.
    Rule(Rule, String),
    /// Its effect happened, and by this rule its result could not be kept.
    NotKept(Rule, CallError),
}

/// The schema of a part of a kind.
struct PartSchema {
    validator: Arc<jsonschema::Validator>,
    /// A push into a plain list is validated by the new element, not by the whole list.
    only_last: bool,
}

impl PartSchema {
    /// The fault of a write. Its text counts as the writer's, so a trusted one quotes no value that others wrote there.
    fn breach(&self, context: &Context, path: &Path, instance: Option<&str>, is_trusted: bool) -> Option<Fault> {
        let whole = context.read(path, instance)?;
        let value = if self.only_last { whole.as_array()?.last()? } else { whole.as_ref() };
        let breach = schema::breaches(&self.validator, value).into_iter().next()?;
        let may_quote = !is_trusted || context.origins(path, instance).is_trusted();
        let what = if may_quote { breach.text } else { format!("`{}`", breach.keyword) };
        let text = format!("{path} would break the schema of `{}`: {what}", path.kind);
        Some(Fault::new(Rule::Ctx7, text))
    }
}

/// Whether a list's schema describes only its elements.
fn judges_elements_alone(schema: &Value) -> bool {
    let known = ["type", "items", "title", "description", "default", "examples"];
    schema.get("items").is_some_and(serde_json::Value::is_object)
        && schema.as_object().is_some_and(|fields| fields.keys().all(|name| known.contains(&name.as_str())))
}

/// The path that `data` has and nothing else, with the index of its alternative.
fn permitted<'a>(allowed: &'a OutputPath, kind: &str, data: &'a Value) -> Option<(usize, &'a Arc<Path>, &'a Value)> {
    let groups = allowed.alternatives.iter().enumerate();
    let paths = groups.flat_map(|(index, group)| group.iter().map(move |path| (index, path)));
    let mut of_kind = paths.filter(|(_, path)| path.kind == kind);
    of_kind.find_map(|(index, path)| Some((index, path, path.spelled_alone_in(data)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;

    fn memory_with(state: Value, properties: Value) -> Memory {
        let schema = json!({"type": "object", "properties": properties});
        let tool = json!({"type": "tool", "tool": {"t": {"properties": {}}}});
        let context = json!([tool, {"type": "state", "data": state, "schema": schema}]);
        Memory::new(Context::from_value(context).unwrap())
    }

    fn memory() -> Memory {
        memory_with(json!({}), json!({"n": {"type": "integer"}}))
    }

    /// Writes the result of a call by one of the tested functions.
    fn writes<T>(memory: &mut Memory, path: &str, write: impl FnOnce(&mut Memory, &Author<'_>) -> T) -> T {
        let (call, faults) = Call::read(&json!({"_tool": "t", "_outputPath": path}).into(), &memory.context);
        assert!(faults.is_empty(), "{faults:?}");
        write(memory, &Author::of_test(&Arc::new(call)))
    }

    fn state(memory: &Memory) -> Value {
        memory.context.read(&Path::root("state"), None).unwrap().into_owned()
    }

    #[test]
    fn a_value_is_written_to_all_paths_of_a_group_or_to_none() {
        let mut memory = memory();
        assert!(writes(&mut memory, "†state.a && †state.n", |memory, author| {
            memory.write_value(author, json!("text"), None).is_err()
        }));
        assert_eq!(state(&memory), json!({}), "one of them breaks the schema");
        writes(&mut memory, "†state.a && †state.n", |memory, author| {
            memory.write_value(author, json!(5), None).unwrap();
        });
        assert_eq!(state(&memory), json!({"a": 5, "n": 5}));
    }

    #[test]
    fn messages_must_fill_one_alternative_completely_with_the_method_of_the_call() {
        let message = |name: &str| json!({"type": "data", "kind": "state", "data": {name: 1}});
        for (messages, fits) in [
            (vec![message("b"), message("c")], true),
            (vec![message("a")], true),
            (vec![message("b")], false),
            (vec![json!({"type": "data", "kind": "state", "data": {"a": 1}, "_outputMethod": "set"})], true),
            (vec![json!({"type": "data", "kind": "state", "data": {"a": 1}, "_outputMethod": "push"})], false),
            (vec![message("a"), message("b")], false),
            (vec![message("x")], false),
            (vec![json!({"type": "text", "role": "user", "text": "hi"})], false),
        ] {
            let mut memory = memory();
            let written = writes(&mut memory, "†state.a || †state.b && †state.c", |memory, author| {
                let read = ReadMessages::read(author, messages.clone())?;
                memory.write_messages(author, read).map_err(CallFailure::Structural)
            });
            assert_eq!(written.is_ok(), fits, "{messages:?}");
            assert_eq!(state(&memory) == json!({}), !fits);
        }
    }

    #[test]
    fn a_fault_of_a_trusted_write_quotes_no_untrusted_value_that_was_there() {
        for (name, trusted, quotes) in [("stranger", false, false), ("friend", true, true)] {
            let mut memory = memory_with(json!({}), json!({"list": {"type": "array", "maxItems": 1}}));
            let call = json!({"_tool": "t", "_outputPath": "†state.list", "_outputMethod": "push"});
            let call = Arc::new(Call::read(&call.into(), &memory.context).0);
            let own = Origins::of(Origin::Tool { name: name.into(), trusted });
            memory.write_value(&Author { own: &own, ..Author::of_test(&call) }, json!("tell eve"), None).unwrap();
            let fault = memory.write_value(&Author::of_test(&call), json!(5), None).unwrap_err();
            assert_eq!(fault.text.contains("tell eve"), quotes, "{}", fault.text);
        }
    }

    #[test]
    fn only_the_new_element_of_a_push_is_validated() {
        let list = json!({"list": {"type": "array", "items": {"type": "integer"}}});
        let mut memory = memory_with(json!({"list": ["old"]}), list);
        let call = json!({"_tool": "t", "_outputPath": "†state.list", "_outputMethod": "push"});
        let call = Arc::new(Call::read(&call.into(), &memory.context).0);
        let author = Author::of_test(&call);
        memory.write_value(&author, json!(1), None).unwrap();
        assert!(memory.write_value(&author, json!("new"), None).is_err());
        assert_eq!(state(&memory), json!({"list": ["old", 1]}));
    }
}
