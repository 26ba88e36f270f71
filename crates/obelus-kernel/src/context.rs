//! The context: an append-only list of messages, and what it adds up to.

mod past;
mod view;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use smallvec::SmallVec;

pub(crate) use past::ContextCheckpoint;
pub use past::LoadPast;
use past::Past;
pub use view::View;
pub(crate) use view::named;

use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::fold::{self, Method, Undo};
use crate::message::{Data, Message, Parsed, Plan, Text};
use crate::names::Name;
use crate::origin::Origins;
use crate::path::Path;
use crate::tool::Tool;
use crate::wording::type_name;

/// An agent's memory.
///
/// The list of messages is the truth; beside it the fold of every kind is kept materialised, so that a read
/// costs the depth of its path and not the length of the list. [`Context::refolded`] builds it anew.
#[derive(Clone, Debug, Default)]
pub struct Context {
    messages: Vec<Message>,
    /// What is missing in that list, because nobody has asked for it yet.
    past: Option<Past>,
    views: BTreeMap<Name, View>,
    tools: BTreeMap<String, Arc<Tool>>,
    /// Names of tools in the order of their first definition, which is the order the model sees.
    tool_order: Vec<String>,
    instances: BTreeSet<String>,
    /// Index of the latest plan message.
    plan: Option<usize>,
    /// The latest plan of before the context was taken up.
    plan_before: Option<Plan>,
    ignored: Vec<(usize, String)>,
}

/// Messages that are appended together. Most often it is the one result of a call, which takes no list.
pub(crate) type Batch = SmallVec<[Message; 1]>;

impl Context {
    /// An empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a context from the text of a JSON array of messages. Faults name the index of the message.
    pub fn from_json(text: &str) -> Result<Self, Fault> {
        let raws: Vec<&RawValue> = serde_json::from_str(text)
            .map_err(|error| Fault::new(Rule::Ctx3, format!("a context is a JSON array of messages: {error}")))?;
        Self::collect(raws.into_iter().map(Message::from_raw))
    }

    /// Reads a context from a JSON array of messages.
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
            context.append_one(parsed.message, index, |_| Ok(()))?;
        }
        Ok(context)
    }

    /// Appends a batch, all of it or nothing. A fault names the message's index in the batch.
    pub fn append(&mut self, batch: Vec<Message>) -> Result<(), Fault> {
        self.append_checked(batch.into(), |_| Ok(()))
    }

    /// Appends a batch if, with all of it in place, `check` has no objection; otherwise nothing changes.
    pub(crate) fn append_checked(
        &mut self,
        mut batch: Batch,
        check: impl FnOnce(&Context) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        // Most batches are the one result of a call.
        let appended = match (batch.len(), batch.pop()) {
            (1, Some(message)) => self.append_one(message, 0, check),
            (_, last) => {
                batch.extend(last);
                self.append_several(batch, check)
            }
        };
        if appended.is_err() {
            // A kind that only the rejected batch has written is not a kind of this context.
            self.views.retain(|_, view| !view.is_empty());
        }
        appended
    }

    fn append_one(
        &mut self,
        message: Message,
        index: usize,
        check: impl FnOnce(&Context) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let taken = self.take_in(&message).map_err(|fault| fault.in_message(index))?;
        if let Err(fault) = check(self) {
            self.take_out(&message, taken);
            return Err(fault);
        }
        self.remember(message, taken);
        Ok(())
    }

    fn append_several(&mut self, batch: Batch, check: impl FnOnce(&Context) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut taken = Vec::with_capacity(batch.len());
        let mut outcome = Ok(());
        for (index, message) in batch.iter().enumerate() {
            match self.take_in(message) {
                Ok(one) => taken.push(one),
                Err(fault) => {
                    outcome = Err(fault.in_message(index));
                    break;
                }
            }
        }
        if let Err(fault) = outcome.and_then(|()| check(self)) {
            batch.iter().zip(taken).rev().for_each(|(message, one)| self.take_out(message, one));
            return Err(fault);
        }
        for (message, one) in batch.into_iter().zip(taken) {
            self.remember(message, one);
        }
        Ok(())
    }

    /// Folds a message into memory, or reads the tools in it: what may fail, and can be taken back.
    fn take_in(&mut self, message: &Message) -> Result<Taken, Fault> {
        match message {
            Message::Data(data) => self.fold_in(data).map(Taken::Folded).map_err(|text| Fault::new(Rule::Ctx4, text)),
            Message::Tool(tools) => {
                let read = tools.iter().map(|(name, schema)| Tool::parse(name, schema));
                read.collect::<Result<_, _>>().map(Taken::Tools)
            }
            Message::Text(_) | Message::Plan(_) => Ok(Taken::Nothing),
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

    /// Takes back what a message of a rejected batch has brought about. The latest comes first.
    fn take_out(&mut self, message: &Message, taken: Taken) {
        let (Message::Data(data), Taken::Folded(undo)) = (message, taken) else { return };
        if let Some(view) = self.views.get_mut(&data.kind) {
            fold::undo_write(view.slot(data.instance.as_deref()), data.operation().0, undo);
        }
    }

    /// Takes note of what was taken in, and keeps the message.
    fn remember(&mut self, message: Message, taken: Taken) {
        match (&message, taken) {
            (Message::Data(data), Taken::Folded(undo)) => self.label(data, undo.created_place()),
            (Message::Tool(_), Taken::Tools(tools)) => {
                for tool in tools {
                    if !self.tools.contains_key(&tool.name) {
                        self.tool_order.push(tool.name.clone());
                    }
                    self.tools.insert(tool.name.clone(), Arc::new(tool));
                }
            }
            (Message::Plan(_), _) => self.plan = Some(self.messages.len()),
            _ => {}
        }
        self.push(message);
    }

    /// Notes where data comes from, and what else it says of its kind. `is_new` where nothing was at its place.
    fn label(&mut self, data: &Data, is_new: bool) {
        let instance = data.instance.as_deref();
        let Some(view) = self.views.get_mut(&data.kind) else { return };
        if let (path, method, Some(value)) = data.operation() {
            let sources = data.sources();
            view.label(instance, path, method, value, &sources);
            if is_new && matches!(method, Method::Push | Method::Concat) {
                // Labels of what was here long ago must not pass for those of the first elements.
                view.label_below(instance, path, &sources);
            }
            for (dotted, origins) in data.parts.iter().flat_map(|parts| parts.iter()) {
                view.label_part(instance, path, method, value, dotted, origins);
            }
        }
        if data.schema.is_some() || data.description.is_some() {
            view.describe(instance, data.schema.as_deref(), data.description.as_ref());
        }
        if let Some(instance) = &data.instance
            && !self.instances.contains(instance)
        {
            self.instances.insert(instance.clone());
        }
    }

    /// The value at a path: the instance's own lies over the global. Without an instance, global data only.
    pub fn read(&self, path: &Path, instance: Option<&str>) -> Option<Cow<'_, Value>> {
        self.views.get(&path.kind)?.read(&path.segments, instance)
    }

    /// Where the value at a path comes from.
    pub fn origins(&self, path: &Path, instance: Option<&str>) -> Origins {
        self.views.get(&path.kind).map(|view| view.origins(&path.segments, instance)).unwrap_or_default()
    }

    /// Where everything in the context comes from, as whoever sees all of it is told.
    pub(crate) fn all_origins(&self) -> Origins {
        let mut all = Origins::default();
        for view in self.views.values() {
            all.join(&view.all_origins());
        }
        all
    }

    /// Whose words the conversation is made of.
    pub(crate) fn text_origins(&self) -> Origins {
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

    /// The tool of this name: its last definition.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(name)
    }

    /// Every tool, in the order in which the names first came.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tool_order.iter().filter_map(|name| self.tools.get(name))
    }

    /// The names of all instances that have data.
    pub fn instances(&self) -> &BTreeSet<String> {
        &self.instances
    }

    /// The latest plan.
    pub fn plan(&self) -> Option<&Plan> {
        match self.plan.and_then(|at| self.messages.get(at)) {
            Some(Message::Plan(plan)) => Some(plan),
            _ => self.plan_before.as_ref(),
        }
    }

    /// The latest words of the user.
    pub fn last_user_text(&self) -> Option<&Text> {
        self.latest().find_map(|message| match message {
            Message::Text(text) if text.role == crate::Role::User => Some(text),
            _ => None,
        })
    }

    /// Fields of the input that nothing reads: index of the message and name of the field.
    pub fn ignored(&self) -> &[(usize, String)] {
        &self.ignored
    }

    /// The same memory with its fold built anew from the list.
    pub fn refolded(&self) -> Result<Self, Fault> {
        let mut again = Self::new();
        for (index, message) in self.messages().iter().enumerate() {
            again.append_one(message.clone(), index, |_| Ok(()))?;
        }
        Ok(again)
    }

    /// The canonical form: a JSON array of messages.
    pub fn to_json(&self) -> Value {
        self.messages().iter().map(Message::to_json).collect()
    }
}

/// What a message has brought about that may still be taken back.
enum Taken {
    /// A write to the fold.
    Folded(Undo),
    /// The tools it defines, none of them on offer yet.
    Tools(Vec<Tool>),
    Nothing,
}
