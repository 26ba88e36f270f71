//! A turn that walks a graph of steps instead of the plain loop.
//!
//! `words` has what filters see and say, `planned` the calls that one node plans for another, `parked` what people say
//! while a node waits for them.

mod parked;
mod planned;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Session;
use super::input::{CallError, Ends};
use super::job::{Origin as By, Status};
use super::turn::{Phase, error_data, fault_data};
use crate::expr::{Expr, OutputPath};
use crate::fault::Fault;
use crate::fold::Method;
use crate::message::{Data, Message};
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
use crate::steps::{CallNode, Start, StepNode, Steps};

/// A turn on its way through a graph.
pub(super) struct Walk {
    pub(super) graph: Arc<Steps>,
    pub(super) at: Place,
    /// The step that carries out the call of the node.
    call: Option<u32>,
    /// Made once, by the nodes whose output or answer they are for.
    validators: BTreeMap<String, Arc<Validator>>,
}

/// Where a turn is in its graph, and what it has counted on the way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) node: String,
    steps: u32,
    /// How often each node was come to.
    visits: BTreeMap<String, u32>,
    /// How often in a row the call of each node came to nothing.
    failed: BTreeMap<String, u32>,
    /// What became of the last call: its tool, its state, its error; or of the last question.
    last: Value,
    /// The same of the last call of each node.
    calls: BTreeMap<String, Value>,
    /// The question that the node has asked.
    asked: Option<String>,
}

impl Walk {
    pub(super) fn new(graph: Arc<Steps>) -> Self {
        let at = Place { node: graph.start.usual().to_owned(), ..Place::default() };
        Self { graph, at, call: None, validators: BTreeMap::new() }
    }

    pub(super) fn current(&self) -> Option<&StepNode> {
        self.graph.nodes.get(&self.at.node)
    }

    pub(super) fn snapshot(&self) -> Value {
        json!(self.at)
    }
}

impl Session {
    /// Goes to the first node.
    pub(super) fn begin_walk(&mut self) {
        let Some(walk) = &mut self.walk else { return };
        let node = walk.graph.start.usual().to_owned();
        walk.at = Place { node, ..Place::default() };
        let graph = walk.graph.clone();
        let start = match &graph.start {
            Start::Node(name) => Ok(name.clone()),
            Start::Ways(ways) => self.way(ways),
        };
        match start {
            Ok(start) => self.enter(&start),
            Err(why) => self.lost(format!("start: {why}")),
        }
    }

    /// Comes to a node and does what it says.
    fn enter(&mut self, name: &str) {
        let Some(walk) = &mut self.walk else { return };
        name.clone_into(&mut walk.at.node);
        if walk.at.steps >= walk.graph.max_steps {
            let text = format!("{} steps in one turn", walk.graph.max_steps);
            return self.rest(Ends::Limit, Some(CallError::new("limit", text)));
        }
        walk.at.steps += 1;
        *walk.at.visits.entry(name.to_owned()).or_default() += 1;
        let graph = Arc::clone(&walk.graph);
        let Some(node) = graph.nodes.get(name) else {
            return self.lost(format!("there is no node `{name}`"));
        };
        self.turn.phase = Phase::Working;
        self.turn.set_output(Value::Null);
        if node.request.is_some() {
            self.request();
        } else if let Some(call) = &node.call {
            walk.call = Some(self.next_step);
            match self.call_of(call) {
                Ok(call) => self.start_step(&[Arc::new(call)], By::Graph, crate::plan::Manner::default()),
                Err(why) => self.lost(why),
            }
        } else if let Some(ask) = &node.ask {
            match self.words(&ask.question, None) {
                Ok(words) => self.ask_at_node(&words, ask.schema.clone()),
                Err(why) => self.lost(why),
            }
        } else if let Some(end) = &node.end {
            match end.reply.as_ref().map(|reply| self.words(reply, None)).transpose() {
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
        let Some(walk) = &self.walk else { return };
        let graph = Arc::clone(&walk.graph);
        let Some(node) = graph.nodes.get(&walk.at.node) else { return };
        if node.request.is_some() {
            let output = self.turn.take_output();
            if output.is_null() {
                return self.request();
            }
            if let Err(fault) = self.keep(node, output).and_then(|()| self.keep_plan(node)) {
                return self.ask_again(Value::Null, &fault);
            }
            let name = self.node().unwrap_or_default().to_owned();
            self.note_success(&name);
            // The next request shows what has happened since, and what went wrong since.
            self.turn.told = (self.turn.ended_calls.len(), self.context.length());
        }
        if node.call.is_some() {
            self.note_call();
        }
        if node.ask.is_some() {
            self.note_answer();
        }
        match self.way(&node.next) {
            Ok(next) => self.enter(&next),
            Err(why) => self.lost(why),
        }
    }

    /// What became of the call of this node, for predicates.
    fn note_call(&mut self) {
        let Some(walk) = &mut self.walk else { return };
        let own = walk.call.and_then(|number| {
            let under_way = self.steps.get(&number).and_then(|step| step.report(number).last());
            let ended = || self.turn.ended_calls.iter().rfind(|report| report.place.0 == number).cloned();
            under_way.or_else(ended)
        });
        let own = own.map(|report| {
            (report.status, json!({"tool": report.call["_tool"], "status": report.status, "error": report.error}))
        });
        let (status, last) = own.unwrap_or_default();
        walk.at.calls.insert(walk.at.node.clone(), last.clone());
        walk.at.last = last;
        let came_to_nothing = [Status::Failed, Status::Refused, Status::Skipped].map(Status::name);
        if came_to_nothing.contains(&status) {
            *walk.at.failed.entry(walk.at.node.clone()).or_default() += 1;
        } else {
            walk.at.failed.remove(&walk.at.node);
        }
    }

    /// The model's answer does not do: it is told why, and asked again.
    fn ask_again(&mut self, call: Value, fault: &Fault) {
        self.turn.set_output(Value::Null);
        self.turn.tell_model(error_data(call, fault_data(fault)));
        let name = self.node().unwrap_or_default().to_owned();
        self.note_failure(&name, &fault.text);
    }

    /// The agent's file is at fault: the turn cannot go on.
    fn lost(&mut self, why: String) {
        let node = self.node().unwrap_or_default();
        let text = format!("at the node `{node}`: {why}");
        self.rest(Ends::Degraded, Some(CallError::new("graph", text)));
    }

    /// A turn that a limit or a person has ended comes to the end that the graph has for that.
    pub(super) fn come_to_end(&mut self, ends: Ends, reason: &mut Option<CallError>) {
        let Some(walk) = &mut self.walk else { return };
        let graph = walk.graph.clone();
        let name = match ends {
            Ends::Limit => graph.at_limit.as_ref(),
            Ends::Stopped => graph.at_stop.as_ref(),
            Ends::Output | Ends::Waiting | Ends::Degraded => None,
        };
        let Some((name, end)) = name.and_then(|name| Some((name, graph.nodes.get(name)?.end.as_ref()?))) else {
            return;
        };
        name.clone_into(&mut walk.at.node);
        self.turn.named_end = Some(end.name.clone());
        let words = end.reply.as_ref().map(|reply| self.words(reply, reason.as_ref())).transpose();
        match (words, reason) {
            (Ok(words), _) => self.turn.set_output(words.map(Value::from).unwrap_or_default()),
            (Err(why), Some(reason)) => {
                self.turn.set_output(Value::Null);
                reason.message.push_str(&format!("; at the node `{name}`: {why}"));
            }
            (Err(_), None) => self.turn.set_output(Value::Null),
        }
    }

    /// What is wrong with a value by the schema of the node where the turn is.
    fn breach(&mut self, schema: Option<&Value>, value: &Value) -> Option<String> {
        let (walk, schema) = (self.walk.as_mut()?, schema?);
        if !walk.validators.contains_key(&walk.at.node) {
            let validator = crate::schema::compile(schema).ok()?;
            walk.validators.insert(walk.at.node.clone(), Arc::new(validator));
        }
        let validator = walk.validators.get(&walk.at.node)?;
        Some(crate::schema::breaches(validator, value).into_iter().next()?.text)
    }

    /// Writes the output of a request node where the node says.
    fn keep(&mut self, node: &StepNode, output: Value) -> Result<(), Fault> {
        let schema = node.request.as_ref().and_then(|request| request.schema.as_ref());
        if let Some(breach) = self.breach(schema, &output) {
            return Err(Fault::new(crate::Rule::Loop1, format!("the output breaks its schema: {breach}")));
        }
        let origins = self.shown.clone().joined(&Origins::of(Origin::Model));
        self.write_for_node(node, output, &origins)
    }

    fn write_for_node(&mut self, node: &StepNode, value: Value, origins: &Origins) -> Result<(), Fault> {
        match &node.output_path {
            Some(path) => self.write_at(path, value, origins),
            None => Ok(()),
        }
    }

    /// Writes what a node brings, in the node's name.
    fn write_at(&mut self, text: &str, value: Value, origins: &Origins) -> Result<(), Fault> {
        let path = OutputPath::parse(text)?;
        let call = Arc::new(json!({"_tool": self.node(), "_outputPath": text}));
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
                    segments.push(Segment::Key(name.into()));
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

    /// Who proposes the call of a node: the author, or whoever named the tool.
    pub(super) fn proposer(&self) -> Origins {
        let tool = self.walk.as_ref().and_then(|walk| Some(walk.current()?.call.as_ref()?.tool.as_str()));
        match tool.filter(|tool| tool.starts_with('†')).map(Expr::parse) {
            Some(Ok(expr)) => {
                let mut all = Origins::default();
                expr.each_ref(&mut |path| all.join(&self.context.origins(path, None)));
                all
            }
            _ => Origins::of(Origin::Author),
        }
    }
}
