//! The context: an append-only list of messages, and its fold.

mod past;
mod view;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexSet;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use smallvec::SmallVec;

pub use past::ContextCheckpoint;
pub use past::LoadPast;
use past::Past;
pub use view::View;
pub use view::named;

use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::fold::{self, Undo};
use crate::message::{Data, Message, Parsed, Plan, Text};
use crate::names::{ByName, Name};
use crate::origin::Origins;
use crate::path::Path;
use crate::schema;
use crate::tool::Tool;
use crate::wording::type_name;

/// An agent's memory.
///
/// The list of messages is the source of truth. The fold of each kind is kept beside it, so that the cost of a read
/// depends on the depth of its path and not on the length of the list.
#[derive(Clone, Debug, Default)]
pub struct Context {
    messages: Vec<Message>,
    /// Messages that are not in the list and are loaded on demand.
    past: Option<Past>,
    views: BTreeMap<Name, View>,
    /// Tools in the order of their first definition, which is their order for the model.
    tools: ByName<String, Arc<Tool>>,
    instances: Instances,
    /// Index of the latest plan message.
    plan: Option<usize>,
    /// The latest plan from before the context was restored.
    plan_before: Option<Plan>,
    ignored: Vec<(usize, String)>,
}

/// Names of instances, in the order in which they were added.
pub type Instances = IndexSet<String, hashbrown::DefaultHashBuilder>;

/// Messages that are appended together. Usually one result, which needs no allocation.
pub type Batch = SmallVec<[Message; 1]>;

impl Context {
    /// An empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The fields of a call with the parameter names that its tool declares; none if nothing changes. Two spellings of
    /// one declared name are a fault.
    pub fn respelled(&self, fields: &Map<String, Value>, tool: &Tool) -> Result<Option<Map<String, Value>>, Fault> {
        if tool.surely_declares(fields) {
            return Ok(None);
        }
        schema::as_declared(fields, tool.params()).map_err(|schema::NameClash { mut place, declared }| {
            let text = format!("`{declared}` is given twice, in two spellings: give it once, as `{declared}`");
            place.push(declared);
            Fault::new(Rule::Call3, text).at(&place.join("."))
        })
    }

    /// Parses a context from the text of a JSON array of messages. Faults have the index of the message.
    pub fn from_json(text: &str) -> Result<Self, Fault> {
        let raws: Vec<&RawValue> = serde_json::from_str(text)
            .map_err(|error| Fault::new(Rule::Ctx3, format!("a context is a JSON array of messages: {error}")))?;
        Self::collect(raws.into_iter().map(Message::from_raw))
    }

    /// Parses a context from a JSON array of messages.
    pub fn from_value(value: Value) -> Result<Self, Fault> {
        let Value::Array(messages) = value else {
            let text = format!("a context is an array of messages, not {}", type_name(&value));
            return Err(Fault::new(Rule::Ctx3, text));
        };
        Self::collect(messages.into_iter().map(Message::from_value))
    }

    fn collect(messages: impl Iterator<Item = Result<Parsed, Fault>>) -> Result<Self, Fault> {
        let mut context = Self::new();
        for (index, parsed) in messages.enumerate() {
            let parsed = parsed.map_err(|fault| fault.in_message(index))?;
            context.ignored.extend(parsed.ignored.into_iter().map(|name| (index, name)));
            let applied = context.apply(&parsed.message).map_err(|fault| fault.in_message(index))?;
            context.commit(parsed.message, applied);
        }
        Ok(context)
    }

    /// Appends the whole batch or nothing. Faults have the message's index in the batch.
    pub fn append(&mut self, batch: Vec<Message>) -> Result<(), Fault> {
        self.append_checked(batch.into(), |_| Ok(()))
    }

    /// Appends a batch if `check` accepts the context with all of it; otherwise nothing changes.
    pub fn append_checked(
        &mut self,
        batch: Batch,
        check: impl FnOnce(&Context) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut applied = SmallVec::<[AppliedMessage; 1]>::with_capacity(batch.len());
        let outcome = batch.iter().enumerate().try_for_each(|(index, message)| {
            applied.push(self.apply(message).map_err(|fault| fault.in_message(index))?);
            Ok(())
        });
        if let Err(fault) = outcome.and_then(|()| check(self)) {
            batch.iter().zip(applied).rev().for_each(|(message, one)| self.revert(message, one));
            // Remove kinds that only the rejected batch wrote.
            self.views.retain(|_, view| !view.is_empty());
            return Err(fault);
        }
        batch.into_iter().zip(applied).for_each(|(message, one)| self.commit(message, one));
        Ok(())
    }

    /// The part of appending that can fail: folds a message, or parses its tools.
    fn apply(&mut self, message: &Message) -> Result<AppliedMessage, Fault> {
        match message {
            Message::Data(data) => {
                self.fold_in(data).map(AppliedMessage::Folded).map_err(|text| Fault::new(Rule::Ctx4, text))
            }
            Message::Tool(tools) => {
                let read = tools.iter().map(|(name, schema)| Tool::parse(name, schema));
                read.collect::<Result<_, _>>().map(AppliedMessage::Tools)
            }
            Message::Text(_) | Message::Plan(_) => Ok(AppliedMessage::Nothing),
        }
    }

    fn fold_in(&mut self, data: &Data) -> Result<Undo, String> {
        let (path, method, value) = data.operation();
        let Some(value) = value else {
            return Err("`data` does not spell its `_outputPath`".to_owned());
        };
        let view = match self.views.get_mut(&data.kind) {
            Some(view) => view,
            None => self.views.entry(data.kind.clone()).or_default(),
        };
        fold::write(view.slot(data.instance.as_deref()), path, method, value.clone())
    }

    /// Undoes a message of a rejected batch. The latest must be undone first.
    fn revert(&mut self, message: &Message, taken: AppliedMessage) {
        let (Message::Data(data), AppliedMessage::Folded(undo)) = (message, taken) else { return };
        if let Some(view) = self.views.get_mut(&data.kind) {
            fold::undo_write(view.slot(data.instance.as_deref()), data.operation().0, undo);
        }
    }

    /// The part of appending that cannot fail. Adds the message to the list.
    fn commit(&mut self, message: Message, taken: AppliedMessage) {
        match (&message, taken) {
            (Message::Data(data), AppliedMessage::Folded(undo)) => {
                if let Some(view) = self.views.get_mut(&data.kind) {
                    view.note(data, undo.created_place());
                }
                if let Some(instance) = data.instance.as_ref().filter(|name| !self.instances.contains(*name)) {
                    self.instances.insert(instance.clone());
                }
            }
            (Message::Tool(_), AppliedMessage::Tools(tools)) => {
                tools.into_iter().for_each(|tool| self.define(tool));
            }
            (Message::Plan(_), _) => self.plan = Some(self.messages.len()),
            _ => {}
        }
        self.push(message);
    }

    /// Adds or replaces the definition of a tool.
    fn define(&mut self, tool: Tool) {
        self.tools.insert(tool.name.clone(), Arc::new(tool));
    }

    /// The value at a path: the instance's data over the global data, or the global data without an instance.
    pub fn read(&self, path: &Path, instance: Option<&str>) -> Option<Cow<'_, Value>> {
        self.views.get(&path.kind)?.read(&path.segments, instance)
    }

    /// The origins of the value at a path.
    pub fn origins(&self, path: &Path, instance: Option<&str>) -> Origins {
        self.views.get(&path.kind).map(|view| view.origins(&path.segments, instance)).unwrap_or_default()
    }

    /// The origins of everything in the context.
    pub fn all_origins(&self) -> Origins {
        self.views.values().fold(Origins::default(), |all, view| all.joined(&view.all_origins()))
    }

    /// The origins of the conversation's texts, by their roles.
    pub fn text_origins(&self) -> Origins {
        let texts = self.messages.iter().filter_map(|message| match message {
            Message::Text(text) => Some(Origins::of(text.role.into())),
            _ => None,
        });
        texts.fold(Origins::default(), |all, of| all.joined(&of))
    }

    /// The value of an expression.
    pub fn resolve(&self, expr: &Expr, instance: Option<&str>) -> Option<Cow<'_, Value>> {
        expr.value(&|path| self.read(path, instance))
    }

    /// The folded kinds by name.
    pub fn views(&self) -> impl Iterator<Item = (&str, &View)> {
        self.views.iter().map(|(kind, view)| (kind.as_str(), view))
    }

    /// The fold of one kind.
    pub fn view(&self, kind: &str) -> Option<&View> {
        self.views.get(kind)
    }

    /// The breaches of the kind's schema. Missing fields are ignored if the data is not complete yet.
    pub fn breaches(&self, kind: &str, is_whole: bool) -> Vec<Fault> {
        let Some(view) = self.views.get(kind) else { return Vec::new() };
        let (Some(schema), Some(value)) = (view.schema(None), view.read(&[], None)) else { return Vec::new() };
        let validator = match schema::compile(schema) {
            Ok(validator) => validator,
            Err(error) => {
                let fault = Fault::invalid_schema(Rule::Ctx7, format!("not a valid JSON Schema: {error}"));
                return vec![fault.at("schema")];
            }
        };
        let breaches = schema::breaches(&validator, &value).into_iter();
        let judged = breaches.filter(|breach| is_whole || breach.keyword != "required");
        judged.map(|breach| Fault::new(Rule::Ctx7, breach.text).at(&breach.place.join("."))).collect()
    }

    /// The current definition of a tool.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(name)
    }

    /// All tools, in the order of first definition.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    /// The names of all instances that have data, in the order in which they were added.
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// The latest plan.
    pub fn plan(&self) -> Option<&Plan> {
        match self.plan.and_then(|at| self.messages.get(at)) {
            Some(Message::Plan(plan)) => Some(plan),
            _ => self.plan_before.as_ref(),
        }
    }

    /// The user's latest message.
    pub fn last_user_text(&self) -> Option<&Text> {
        self.latest().find_map(|message| match message {
            Message::Text(text) if text.role == crate::message::Role::User => Some(text),
            _ => None,
        })
    }

    /// Fields that were ignored: index of the message and name of the field.
    pub fn ignored(&self) -> &[(usize, String)] {
        &self.ignored
    }

    /// The canonical form: a JSON array of messages.
    pub fn to_json(&self) -> Value {
        self.messages().iter().map(Message::to_json).collect()
    }
}

/// The effect of a message, which can still be undone.
enum AppliedMessage {
    /// A write to the fold.
    Folded(Undo),
    /// The tools defined in it.
    Tools(Vec<Tool>),
    Nothing,
}
