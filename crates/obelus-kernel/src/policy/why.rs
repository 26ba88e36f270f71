//! Why a value is what it is: the chain of messages and calls behind it, back to people, the author and tools.
//!
//! Memory is a list of messages, and each result has its call with its references. So the chain is read from the list
//! itself: the last write of this place and all additions since; the inputs of those calls; their writes in turn.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::grounding::{Callee, FoundIn, Grounded, Grounding};

use crate::context::Context;
use crate::expr::Expr;
use crate::fold::Method;
use crate::message::{Data, Message, WriteEffect};
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::template::Template;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::control_field::ControlField;

/// Why a place of memory has its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The place, such as `†state.deal`.
    pub what: String,
    /// Its current value; none below the first level, where it is the value at that time.
    pub value: Option<Value>,
    /// Its origins in total.
    pub origins: Origins,
    /// Its writes, the latest first.
    pub because: Vec<ValueWrite>,
    /// The number of writes that are left out, because they are too many or were already listed.
    pub left_out: usize,
}

/// One write, and its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueWrite {
    /// The index of the message.
    pub message: usize,
    /// Its time, if known.
    pub date: Option<String>,
    /// Its author.
    pub by: Writer,
    /// The place it wrote.
    pub to: String,
    /// How it was combined with the previous value.
    pub method: Method,
    /// Its origins.
    pub origins: Origins,
    /// The parameters of the call.
    pub params: Vec<CallParam>,
    /// What its executor was shown of memory.
    pub shown: Vec<Why>,
    /// The number of the standing consent by which the call ran without a question.
    pub consent: Option<u64>,
    /// Who edited the state, and from where, if the driver has looked it up in the journal.
    pub edited_by: Option<String>,
}

impl ValueWrite {
    /// What the model had read before it chose a parameter, except from the call's own tool. Empty for what the user
    /// named or changed, for a reference, and for a choice before anything untrusted was read.
    pub fn decided_after<'a>(&'a self, given: &CallParam) -> Vec<&'a str> {
        let own = match &self.by {
            Writer::Tool { name, .. } | Writer::Model(name) | Writer::Delegate(name) => name.as_str(),
            _ => return Vec::new(),
        };
        if given.is_edited || !given.from.is_empty() || !given.grounded.is_empty() {
            return Vec::new();
        }
        self.origins.untrusted().filter(|name| *name != own).collect()
    }
}

/// The author of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The agent's author, or the request's.
    Author,
    /// A person.
    User,
    /// A tool that was called.
    Tool {
        /// Its name.
        name: String,
        /// Whether it is trusted.
        trusted: bool,
    },
    /// The model, which carried out a call of this tool itself, or a node of the agent's graph.
    Model(String),
    /// A delegate, which carried out a call of this tool.
    Delegate(String),
    /// A call of this tool outside of the session, before it began.
    Elsewhere(String),
    /// The runtime, about an error.
    Runtime,
}

/// A parameter of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallParam {
    /// Its name.
    pub name: String,
    /// Its value in the call, with references unresolved.
    pub value: Value,
    /// The provenance of each of its references; empty for a literal, which is the proposer's.
    pub from: Vec<Why>,
    /// How a literal is grounded in the user's messages, if that gives it the user's origin.
    pub grounded: Vec<Grounded>,
    /// Whether a person changed it before the call ran.
    pub is_edited: bool,
}

/// The limit of writes for one place.
const MOST_WRITES: usize = 20;
/// The limit of places in all.
const MOST_PLACES: usize = 200;

/// Why an expression has its value in a context. With a grounding, literals are listed with how the user named them.
pub fn why(context: &Context, expr: &Expr, instance: Option<&str>, grounding: Option<Grounding<'_>>) -> Why {
    let path = read_of(context, expr, instance);
    let mut builder = WhyBuilder { context, instance, grounding, traced: BTreeSet::new() };
    let mut why = builder.trace(path, context.messages().len());
    why.value = context.read(path, instance).map(std::borrow::Cow::into_owned);
    why.origins = context.origins(path, instance);
    why
}

/// The path of an expression that is read.
pub(super) fn read_of<'e>(context: &Context, expr: &'e Expr, instance: Option<&str>) -> &'e Path {
    let has = |term: &&Expr| term.value(&|path| context.read(path, instance)).is_some_and(|value| !value.is_null());
    match expr {
        Expr::Ref(path) => path,
        Expr::All(terms) | Expr::Any(terms) => {
            let chosen = if matches!(expr, Expr::Any(_)) { terms.iter().find(has) } else { None };
            let last = terms.last().expect("an expression of several terms has one");
            read_of(context, chosen.unwrap_or(last), instance)
        }
    }
}

pub(crate) struct WhyBuilder<'a> {
    context: &'a Context,
    instance: Option<&'a str>,
    grounding: Option<Grounding<'a>>,
    /// Places already listed, each with the length of the memory at that point.
    traced: BTreeSet<(Path, usize)>,
}

impl<'a> WhyBuilder<'a> {
    /// Lists only writes.
    pub(crate) fn of_writes(context: &'a Context, instance: Option<&'a str>) -> Self {
        Self { context, instance, grounding: None, traced: BTreeSet::new() }
    }

    /// The writes of a place when memory had this many messages.
    fn trace(&mut self, path: &Path, before: usize) -> Why {
        let writes = self.writes(path, before);
        let mut why = Why {
            what: path.to_string(),
            value: None,
            origins: Origins::default(),
            because: Vec::new(),
            left_out: writes.len(),
        };
        for &index in &writes {
            if let Message::Data(data) = &self.context.messages()[index] {
                why.origins.join(&data.all_sources());
            }
        }
        if self.traced.len() >= MOST_PLACES || !self.traced.insert((path.clone(), before)) {
            return why;
        }
        for &index in writes.iter().take(MOST_WRITES) {
            let Message::Data(data) = &self.context.messages()[index] else { continue };
            why.because.push(self.trace_write(index, data));
            why.left_out -= 1;
        }
        why
    }

    /// The messages that reach a place, the latest first, back to the one that wrote it whole.
    pub(super) fn writes(&self, path: &Path, before: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let (mut own_is_covered, mut global_is_covered) = (self.instance.is_none(), false);
        for (index, message) in self.context.messages()[..before].iter().enumerate().rev() {
            let Message::Data(data) = message else { continue };
            let is_own = data.instance.is_some();
            let is_covered = if is_own { own_is_covered } else { global_is_covered };
            if is_covered || data.kind != path.kind || (is_own && data.instance.as_deref() != self.instance) {
                continue;
            }
            match data.effect_on(&path.segments) {
                WriteEffect::Not => continue,
                WriteEffect::Adds => {}
                // An instance's value may be merged with the global one, so one does not cover the other.
                WriteEffect::Covers if is_own => own_is_covered = true,
                WriteEffect::Covers => global_is_covered = true,
            }
            found.push(index);
            if own_is_covered && global_is_covered {
                break;
            }
        }
        found
    }

    fn trace_write(&mut self, index: usize, data: &Data) -> ValueWrite {
        let call = data.output.as_ref().map(|output| output.call.clone());
        let call = call.or_else(|| data.data().get("call").filter(|_| data.is_error()).cloned().map(Into::into));
        let call = call.as_ref();
        let fields = call.and_then(|call| call.as_object());
        let mut params = Vec::new();
        let mut shown = Vec::new();
        for (name, value) in fields.into_iter().flatten() {
            let is_control = ControlField::named(name).is_some() && self.is_no_param(call, name);
            if !name.starts_with('_') && !is_control {
                let from = self.behind(value, index);
                let grounded = if from.is_empty() { self.grounded(call, name, value, index) } else { Vec::new() };
                params.push(CallParam { name: name.clone(), value: value.clone(), from, grounded, is_edited: false });
            }
        }
        for scope in call.and_then(|call| call.scopes()?.as_array()).into_iter().flatten() {
            let path = match scope.as_str() {
                Some(text) if text.starts_with('†') => Expr::parse(text).ok(),
                Some("text" | "tool") | None => None,
                Some(kind) => Some(Expr::Ref(Path::root(kind).into())),
            };
            if let Some(Expr::Ref(path)) = path {
                shown.push(self.trace(&path, index));
            }
        }
        ValueWrite { params, shown, ..self.value_write(index, data, call) }
    }

    /// The write of a message by this call, without the call's inputs.
    pub(super) fn value_write(&self, message: usize, data: &Data, call: Option<&CallJson>) -> ValueWrite {
        let output = data.output.as_ref();
        ValueWrite {
            message,
            date: output.and_then(|output| output.date.as_deref().map(str::to_owned)),
            by: self.writer(data, call),
            to: output.map_or_else(|| Path::root(data.kind.as_str()).to_string(), |output| output.path.to_string()),
            method: data.operation().1,
            origins: data.all_sources(),
            params: Vec::new(),
            shown: Vec::new(),
            consent: None,
            edited_by: None,
        }
    }

    /// The provenance of each reference in a parameter, in memory before the call's result.
    pub(crate) fn behind(&mut self, value: &Value, before: usize) -> Vec<Why> {
        let Ok(template) = Template::parse(value) else { return Vec::new() };
        let mut paths = Vec::new();
        template.exprs(&mut |expr| expr.each_ref(&mut |path| paths.push(path.clone())));
        paths.iter().map(|path| self.trace(path, before)).collect()
    }

    /// How a literal is grounded in memory before the call's result.
    fn grounded(&self, call: Option<&CallJson>, name: &str, value: &Value, before: usize) -> Vec<Grounded> {
        let tool = call.and_then(|call| Some((call, self.context.tool(call.tool()?)?)));
        let (Some(grounding), Some((params, tool))) = (&self.grounding, tool) else { return Vec::new() };
        let mut grounded = grounding.found_in(Callee { tool, params }, name, value);
        grounded.retain(|one| !matches!(one.found.place, FoundIn::Message(index) if index >= before));
        grounded
    }

    fn is_no_param(&self, call: Option<&CallJson>, name: &str) -> bool {
        let tool = call.and_then(|call| self.context.tool(call.tool()?));
        tool.is_none_or(|tool| tool.param(name).is_none())
    }

    pub(super) fn writer(&self, data: &Data, call: Option<&CallJson>) -> Writer {
        if data.is_error() {
            return Writer::Runtime;
        }
        let Some(output) = &data.output else {
            return if data.is_input() { Writer::User } else { Writer::Author };
        };
        let name = output.call.tool_name();
        let sources = data.all_sources();
        let own = sources.iter().find_map(|origin| match origin {
            Origin::Tool { name: known, trusted } if known.as_ref() == name => Some(*trusted),
            _ => None,
        });
        let delegate = call.is_some_and(|call| call.delegate().is_some())
            || self.context.tool(name).is_some_and(|tool| tool.fixed_name("_delegate").is_some());
        match own {
            _ if data.origins.is_none() => Writer::Elsewhere(name.to_owned()),
            Some(trusted) => Writer::Tool { name: name.to_owned(), trusted },
            None if delegate => Writer::Delegate(name.to_owned()),
            // The call of a model's tool may have the same name and no parameters.
            None if output.call == CallJson::of_user() && self.context.tool(name).is_none() => Writer::User,
            None if sources.iter().eq([&Origin::User]) => Writer::User,
            None => Writer::Model(name.to_owned()),
        }
    }
}

impl Writer {
    fn to_json(&self) -> Value {
        match self {
            Writer::Author => json!({"author": true}),
            Writer::User => json!({"user": true}),
            Writer::Tool { name, trusted } => json!({"tool": name, "trusted": trusted}),
            Writer::Model(name) => json!({"model": name}),
            Writer::Delegate(name) => json!({"delegate": name}),
            Writer::Elsewhere(name) => json!({"elsewhere": name}),
            Writer::Runtime => json!({"runtime": true}),
        }
    }
}

impl Why {
    /// Visits every write, however far back.
    pub fn each_write(&mut self, visit: &mut dyn FnMut(&mut ValueWrite)) {
        for one in &mut self.because {
            visit(one);
            one.params.iter_mut().flat_map(|given| &mut given.from).for_each(|why| why.each_write(visit));
            one.shown.iter_mut().for_each(|why| why.each_write(visit));
        }
    }

    /// Whether the place was never written.
    pub fn is_absent(&self) -> bool {
        self.because.is_empty() && self.left_out == 0
    }

    /// The JSON for other programs.
    pub fn to_json(&self) -> Value {
        let all = |whys: &[Why]| whys.iter().map(Why::to_json).collect::<Vec<_>>();
        let because = self.because.iter().map(|one| {
            let given = |given: &CallParam| {
                let mut form = json!({"name": given.name, "value": given.value, "from": all(&given.from)});
                let after = one.decided_after(given);
                if !after.is_empty() {
                    form["decided_after_reading"] = after.into();
                }
                if given.is_edited {
                    form["edited"] = true.into();
                }
                if !given.grounded.is_empty() {
                    form["grounded"] = given.grounded.iter().map(Grounded::to_json).collect();
                }
                form
            };
            let mut form = json!({
                "message": one.message,
                "date": one.date,
                "by": one.by.to_json(),
                "to": one.to,
                "method": one.method.name(),
                "origins": one.origins.to_json(),
                "params": one.params.iter().map(given).collect::<Vec<_>>(),
                "shown": all(&one.shown),
            });
            if let Some(number) = one.consent {
                form["consent"] = super::ConsentId(number).to_string().into();
            }
            if let Some(by) = &one.edited_by {
                form["edited_by"] = by.as_str().into();
            }
            form
        });
        let mut form = json!({
            "what": self.what,
            "origins": self.origins.to_json(),
            "because": because.collect::<Vec<_>>(),
        });
        if let Some(value) = &self.value {
            form["value"] = value.clone();
        }
        if self.left_out > 0 {
            form["left_out"] = self.left_out.into();
        }
        form
    }
}
