//! A turn that walks a graph of steps instead of the plain loop.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::input::{CallError, Ends};
use super::job::Origin as By;
use super::turn::Phase;
use super::{Refused, Session};
use crate::expr::{Expr, OutputPath};
use crate::fault::Fault;
use crate::fold::Method;
use crate::jq::Filter;
use crate::message::{Data, Message};
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
use crate::steps::{CallNode, StepNode, Steps, Words};

/// Where a turn is in its graph.
pub(super) struct Walk {
    pub(super) graph: Arc<Steps>,
    pub(super) node: String,
    steps: u32,
    /// What became of the last call: its tool, its state, its error.
    last: Value,
    filters: BTreeMap<String, Arc<Filter>>,
}

impl Walk {
    pub(super) fn new(graph: Arc<Steps>) -> Self {
        Self { node: graph.start.clone(), graph, steps: 0, last: Value::Null, filters: BTreeMap::new() }
    }

    pub(super) fn current(&self) -> Option<&StepNode> {
        self.graph.nodes.get(&self.node)
    }

    pub(super) fn kept(&self) -> (String, u32, Value) {
        (self.node.clone(), self.steps, self.last.clone())
    }

    pub(super) fn take_up(&mut self, kept: (String, u32, Value)) {
        (self.node, self.steps, self.last) = kept;
    }

    pub(super) fn snapshot(&self) -> Value {
        json!({"node": self.node, "steps": self.steps, "last": self.last})
    }
}

impl Session {
    /// Goes to the first node.
    pub(super) fn begin_walk(&mut self) {
        let Some(walk) = &mut self.walk else { return };
        walk.steps = 0;
        walk.last = Value::Null;
        let start = walk.graph.start.clone();
        self.enter(&start);
    }

    /// Comes to a node and does what it says.
    fn enter(&mut self, name: &str) {
        let Some(walk) = &mut self.walk else { return };
        name.clone_into(&mut walk.node);
        if walk.steps >= walk.graph.max_steps {
            let text = format!("{} steps in one turn", walk.graph.max_steps);
            return self.rest(Ends::Limit, Some(CallError::new("limit", text)));
        }
        walk.steps += 1;
        let Some(node) = walk.current().cloned() else {
            return self.lost(format!("there is no node `{name}`"));
        };
        self.turn.phase = Phase::Working;
        self.turn.set_output(Value::Null);
        if node.request.is_some() {
            self.request();
        } else if let Some(call) = &node.call {
            match self.call_of(call) {
                Ok(call) => self.start_step(&[Arc::new(call)], By::Graph, crate::plan::Manner::default()),
                Err(why) => self.lost(why),
            }
        } else if let Some(ask) = &node.ask {
            match self.words(&ask.question) {
                Ok(words) => self.ask_for_input(&words, ask.schema.clone()),
                Err(why) => self.lost(why),
            }
        } else if let Some(end) = &node.end {
            let words = end.reply.as_ref().map(|reply| self.words(reply)).transpose();
            match words {
                Ok(words) => {
                    self.turn.set_output(words.map(Value::from).unwrap_or_default());
                    self.turn.named_end = Some(end.name.clone());
                    self.rest(Ends::Output, None);
                }
                Err(why) => self.lost(why),
            }
        }
    }

    /// Nothing moves any more at this node: write what it brought, and go on.
    pub(super) fn leave(&mut self) {
        let Some(node) = self.walk.as_ref().and_then(|walk| walk.current().cloned()) else { return };
        if node.request.is_some() {
            let output = self.turn.take_output();
            if output.is_null() {
                return self.request();
            }
            if let Err(fault) = self.keep(&node, output) {
                self.turn
                    .tell_model(json!({"call": null, "error": {"rule": fault.rule.name(), "message": fault.words()}}));
                self.note_failure(&self.walk.as_ref().map(|walk| walk.node.clone()).unwrap_or_default(), &fault.text);
                return;
            }
        }
        if node.call.is_some() {
            let last = self
                .calls()
                .pop()
                .map(|report| json!({"tool": report.call["_tool"], "status": report.status, "error": report.error}));
            if let Some(walk) = &mut self.walk {
                walk.last = last.unwrap_or_default();
            }
        }
        match self.way_out(&node) {
            Ok(next) => self.enter(&next),
            Err(why) => self.lost(why),
        }
    }

    /// The agent's file is at fault: the turn cannot go on.
    fn lost(&mut self, why: String) {
        let node = self.walk.as_ref().map(|walk| walk.node.clone()).unwrap_or_default();
        self.rest(Ends::Degraded, Some(CallError::new("graph", format!("at the node `{node}`: {why}"))));
    }

    /// Writes the output of a request node where the node says.
    fn keep(&mut self, node: &StepNode, output: Value) -> Result<(), Fault> {
        let schema = node.request.as_ref().and_then(|request| request.schema.as_ref());
        if let Some(Ok(validator)) = schema.map(crate::schema::compile)
            && let Some(breach) = crate::schema::breaches(&validator, &output).into_iter().next()
        {
            return Err(Fault::new(crate::Rule::Loop1, format!("the output breaks its schema: {}", breach.text)));
        }
        let origins = self.shown.clone().joined(&Origins::of(Origin::Model));
        self.write_for_node(node, output, &origins)
    }

    pub(super) fn write_for_node(&mut self, node: &StepNode, value: Value, origins: &Origins) -> Result<(), Fault> {
        let Some(text) = &node.output_path else { return Ok(()) };
        let name = self.walk.as_ref().map(|walk| walk.node.clone()).unwrap_or_default();
        let path = OutputPath::parse(text)?;
        let call = Arc::new(json!({"_tool": name, "_outputPath": text}));
        let date = self.date();
        let first = path.alternatives.into_iter().next().unwrap_or_default();
        let batch = first.into_iter().map(|path| {
            let mut data = Data::result(call.clone(), path, Some(date.clone()), value.clone());
            data.method = Some(Method::Set);
            data.origins = Some(origins.clone());
            Message::Data(Box::new(data))
        });
        self.context.append(batch.collect())
    }

    /// A call node as a call. References stay references, so that origins are not lost.
    fn call_of(&self, node: &CallNode) -> Result<Value, String> {
        let mut call = Map::new();
        let tool = match node.tool.starts_with('†') {
            true => self.text_at(&node.tool)?,
            false => node.tool.clone(),
        };
        call.insert("_tool".to_owned(), tool.into());
        match &node.params {
            Value::Null => {}
            Value::Object(params) => call.extend(params.clone()),
            Value::String(text) if text.starts_with('†') => {
                let Ok(Expr::Ref(path)) = Expr::parse(text) else {
                    return Err(format!("call.params: `{text}` is not one reference"));
                };
                let params = self.context.read(&path, None).map(std::borrow::Cow::into_owned).unwrap_or_default();
                for name in params.as_object().into_iter().flatten().map(|(name, _)| name) {
                    let mut segments = path.segments.clone();
                    segments.push(Segment::Key(name.clone()));
                    let reference = Path { kind: path.kind.clone(), segments };
                    call.insert(name.clone(), reference.to_string().into());
                }
            }
            other => return Err(format!("call.params is an object or a reference, not {}", crate::type_name(other))),
        }
        let metas = [("_outputPath", &node.output_path), ("_outputMethod", &node.output_method)];
        for (name, value) in metas {
            call.extend(value.as_ref().map(|value| (name.to_owned(), value.as_str().into())));
        }
        Ok(Value::Object(call))
    }

    fn text_at(&self, reference: &str) -> Result<String, String> {
        let expr = Expr::parse(reference).map_err(|fault| fault.text)?;
        match self.context.resolve(&expr, None).as_deref() {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(format!("{reference} is {}, not a text", crate::type_name(other))),
            None => Err(format!("{reference} has no value")),
        }
    }

    fn words(&mut self, words: &Words) -> Result<String, String> {
        match words {
            Words::Text(text) if text.starts_with('†') => self.text_at(text),
            Words::Text(text) => Ok(text.clone()),
            Words::Made { jq } => match self.filtered(jq)? {
                Value::String(text) => Ok(text),
                other => Ok(other.to_string()),
            },
        }
    }

    fn way_out(&mut self, node: &StepNode) -> Result<String, String> {
        for next in &node.next {
            let holds = match &next.when {
                None => true,
                Some(filter) => !matches!(self.filtered(filter)?, Value::Null | Value::Bool(false)),
            };
            if holds {
                return Ok(next.to.clone());
            }
        }
        Err("no way leads out".to_owned())
    }

    /// What a filter makes of the folded kinds and the counters.
    fn filtered(&mut self, text: &str) -> Result<Value, String> {
        let mut input: Map<String, Value> = self
            .context
            .views()
            .filter_map(|(kind, view)| Some((kind.to_owned(), view.read(&[], None)?.into_owned())))
            .collect();
        let user = self.context.last_user_text().map(|text| text.text.clone());
        let Some(walk) = &mut self.walk else { return Ok(Value::Null) };
        input.insert("counters".to_owned(), json!({"steps": walk.steps, "calls": self.turn.calls}));
        input.insert("last".to_owned(), walk.last.clone());
        input.insert("user".to_owned(), user.into());
        let filter = match walk.filters.get(text) {
            Some(filter) => filter.clone(),
            None => {
                let filter = Arc::new(Filter::compile(text)?);
                walk.filters.insert(text.to_owned(), filter.clone());
                filter
            }
        };
        filter.one(&Value::Object(input)).map_err(|error| format!("`{text}`: {error}"))
    }

    /// At a node that asks the model, only the tools that the node offers may be called.
    pub(super) fn offered_only(&mut self, calls: Vec<Value>) -> Vec<Value> {
        let Some(node) = self.walk.as_ref().and_then(|walk| walk.current()?.request.clone()) else { return calls };
        let is_offered =
            |call: &Value| call["_tool"].as_str().is_some_and(|name| node.tools.iter().any(|tool| tool == name));
        let (offered, others): (Vec<Value>, Vec<Value>) = calls.into_iter().partition(is_offered);
        for call in others {
            let error = json!({"rule": crate::Rule::Call3.name(), "message": "this step does not offer that tool"});
            self.turn.tell_model(json!({"call": call, "error": error}));
        }
        offered
    }

    /// Words said while a step waits for a value, and for nothing else, are that value.
    pub(super) fn is_answer(&mut self, text: &str) -> bool {
        let open: Vec<String> = self.questions.open().map(|question| question.id.clone()).collect();
        let [id] = open.as_slice() else { return false };
        let asks = self
            .questions
            .get(id)
            .is_some_and(|question| question.about == super::About::Input && question.inquiry.is_none());
        let rests = matches!(self.turn.phase, Phase::Rested(_));
        if !(asks && rests && self.take_input(text.into()).is_ok()) {
            return false;
        }
        self.remember_words(crate::Role::User, text);
        self.questions.decided(id, super::QuestionStatus::Answered, self.now, "the user, in conversation", None);
        self.reopen();
        true
    }

    /// A person gave the value that a node asked for.
    pub(super) fn take_input(&mut self, value: Value) -> Result<(), Refused> {
        let Some(node) = self.walk.as_ref().and_then(|walk| walk.current().cloned()) else { return Ok(()) };
        let schema = node.ask.as_ref().and_then(|ask| ask.schema.as_ref());
        if let Some(Ok(validator)) = schema.map(crate::schema::compile)
            && let Some(breach) = crate::schema::breaches(&validator, &value).into_iter().next()
        {
            return Err(Refused::new("bad_answer", breach.text));
        }
        self.write_for_node(&node, value, &Origins::of(Origin::User))
            .map_err(|fault| Refused::new("bad_answer", fault.words()))
    }
}
