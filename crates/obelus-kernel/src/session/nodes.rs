//! The nodes of a graph of steps: a turn enters one, carries it out, and leaves it when nothing moves.
//!
//! | file | subject |
//! |---|---|
//! | `words` | the input of filters, and the texts and edges they choose |
//! | `planned` | calls that one node plans for another |
//! | `waiting` | messages while a node waits for a person |

mod planned;
mod waiting;
mod words;

use serde_json::{Map, Value, json};

use super::graph_run::GraphRun;
use super::input::CallError;
use super::output::{CallReport, TurnEnd};
use super::scheduler::Trigger;
use super::{FailureCode, Session};
use crate::context::Context;
use crate::expr::{Expr, OutputPath};
use crate::fault::Fault;
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
use crate::schema::first_breach;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::plan::StepOptions;
use obelus_notebook::steps::{CallNode, StepNode};

impl Session {
    /// Enters the first node.
    pub(super) fn begin_graph(&mut self) {
        let Some(run) = &mut self.graph else { return };
        run.begin();
        let graph = run.graph();
        match words::start(&graph.start, || self.filter_input(None)) {
            Ok(start) => self.enter_node(&start),
            Err(why) => self.end_by_file_error(format!("start: {why}")),
        }
    }

    /// Continues at the node where a limit stopped the previous turn (LOOP-2). A graph with a node for limits starts
    /// anew instead: its author defines what happens.
    pub(super) fn continue_graph(&mut self) {
        match self.graph.as_mut().and_then(GraphRun::begin_at_limit) {
            Some(node) => self.enter_node(&node),
            None => self.begin_graph(),
        }
    }

    /// Enters a node and carries it out.
    fn enter_node(&mut self, name: &str) {
        let Some(run) = &mut self.graph else { return };
        if let Err(limit) = run.enter(name) {
            return self.rest(TurnEnd::Limit, Some(limit));
        }
        let graph = run.graph();
        let Some(node) = graph.nodes.get(name) else {
            return self.end_by_file_error(format!("there is no node `{name}`"));
        };
        self.turn.enter_node();
        let done = match node {
            StepNode::Request { .. } => {
                self.request();
                Ok(())
            }
            StepNode::Call { call, .. } => self.start_node_call(call),
            StepNode::Ask { ask, .. } => self.step_text(&ask.question, None).map(|text| {
                let number = self.ask_for_input(&text, ask.schema.clone());
                if let Some(run) = &mut self.graph {
                    run.note_asked(number);
                }
            }),
            StepNode::End(end) => {
                let text = end.reply.as_ref().map(|reply| self.step_text(reply, None)).transpose();
                text.map(|text| {
                    self.turn.end_at(&end.name, text);
                    self.rest(TurnEnd::Output, None);
                })
            }
            StepNode::Faulty(node) => Err(node.why()),
        };
        if let Err(why) = done {
            self.end_by_file_error(why);
        }
    }

    fn start_node_call(&mut self, node: &CallNode) -> Result<(), String> {
        let call = call_of(node, self.context())?;
        if let Some(run) = &mut self.graph {
            run.note_step(self.scheduler.next_step());
        }
        self.start_step(&[call], Trigger::Graph, StepOptions::default());
        Ok(())
    }

    /// Nothing moves at this node: writes its output, and continues.
    pub(super) fn leave_node(&mut self) {
        let Some(run) = &self.graph else { return };
        let graph = run.graph();
        let Some(node) = graph.nodes.get(run.node()) else { return };
        match node {
            StepNode::Request { .. } => {
                let output = self.turn.take_output();
                if output.is_null() {
                    return self.request();
                }
                if let Err(fault) = self.keep_output(node, output).and_then(|()| self.write_planned_call(node)) {
                    return self.ask_again(&Value::Null, &fault);
                }
                let name = self.node().unwrap_or_default().to_owned();
                self.turn.note_success(|| name);
                self.transcript.note_step_end(self.context().length());
            }
            StepNode::Call { .. } => {
                let report = self.report_of_node();
                if let Some(run) = &mut self.graph {
                    run.note_call(report);
                }
            }
            StepNode::Ask { .. } => {
                if let Some(run) = &mut self.graph
                    && let Some(number) = run.asked()
                {
                    let question = self.inbox.get(number);
                    let answer = question.map(|question| json!({"status": question.status, "reason": question.reason}));
                    run.note_answer(answer.unwrap_or_default());
                }
            }
            StepNode::End(_) | StepNode::Faulty(_) => {}
        }
        match words::next_node(node.next(), || self.filter_input(None)) {
            Ok(next) => self.enter_node(&next),
            Err(why) => self.end_by_file_error(why),
        }
    }

    /// The report of this node's call.
    fn report_of_node(&self) -> Option<CallReport> {
        let number = self.graph.as_ref()?.step()?;
        let under_way = self.scheduler.step(number).and_then(|step| step.report(number).last());
        let ended = || self.transcript.ended().iter().rfind(|report| report.place.0 == number).cloned();
        under_way.or_else(ended)
    }

    /// The model's answer is invalid: it gets the error, and is asked again.
    fn ask_again(&mut self, call: &Value, fault: &Fault) {
        self.turn.take_output();
        self.transcript.add_error(super::error_data(call, &fault.into()));
        let name = self.node().unwrap_or_default().to_owned();
        self.turn.note_failure(&name, &fault.text);
    }

    /// Ends the turn because of an error in the agent's file.
    fn end_by_file_error(&mut self, why: String) {
        let node = self.node().unwrap_or_default();
        let text = format!("at the node `{node}`: {why}");
        self.rest(TurnEnd::Degraded, Some(CallError::new(FailureCode::Graph, text)));
    }

    /// Moves a turn that a limit or a person has ended to the graph's end for that.
    pub(super) fn go_to_forced_end(&mut self, ends: TurnEnd, reason: &mut Option<CallError>) {
        let Some(run) = &mut self.graph else { return };
        let graph = run.graph();
        let named = run.forced_end(ends).and_then(|name| Some((name.to_owned(), graph.nodes.get(name)?.end()?)));
        let Some((name, end)) = named else { return };
        run.move_to_end(&name);
        let text = end.reply.as_ref().map(|reply| self.step_text(reply, reason.as_ref())).transpose();
        let text = text.unwrap_or_else(|why| {
            if let Some(reason) = reason {
                reason.message.push_str(&format!("; at the node `{name}`: {why}"));
            }
            None
        });
        self.turn.end_at(&end.name, text);
    }

    /// Writes the output of a request node to the node's path.
    fn keep_output(&mut self, node: &StepNode, output: Value) -> Result<(), Fault> {
        let schema = node.request().and_then(|request| request.schema.as_ref());
        if let Some(breach) = schema.and_then(|schema| first_breach(schema, &output)) {
            return Err(Fault::new(crate::Rule::Loop1, format!("the output breaks its schema: {}", breach.text)));
        }
        let origins = self.transcript.shown().clone().joined(&Origins::of(Origin::Model));
        self.write_for_node(node.output_path(), output, &origins)
    }

    /// Writes a value in the node's name.
    fn write_for_node(&mut self, path: Option<&str>, value: Value, origins: &Origins) -> Result<(), Fault> {
        let Some(text) = path else { return Ok(()) };
        let path = OutputPath::parse(text)?;
        let call = json!({"_tool": self.node(), "_outputPath": text}).into();
        let first = path.alternatives.into_iter().next().unwrap_or_default();
        self.memory.write_at_all(&call, first, &value, origins)
    }
}

/// A call node as a call. References are kept, so that origins are not lost.
fn call_of(node: &CallNode, context: &Context) -> Result<CallJson, String> {
    let mut call = Map::new();
    let tool = if node.tool.starts_with('†') { words::text_at(&node.tool, context)? } else { node.tool.clone() };
    call.insert("_tool".to_owned(), tool.into());
    match &node.params {
        Value::Null => {}
        Value::Object(params) => call.extend(params.clone()),
        Value::String(text) if text.starts_with('†') => {
            let Ok(Expr::Ref(path)) = Expr::parse(text) else {
                return Err(format!("call.params: `{text}` is not one reference"));
            };
            let params = context.read(&path, None).map(std::borrow::Cow::into_owned).unwrap_or_default();
            for name in params.as_object().into_iter().flatten().map(|(name, _)| name) {
                let mut segments = path.segments.clone();
                segments.push(Segment::Key(name.into()));
                let reference = Path { kind: path.kind.clone(), segments };
                call.insert(name.clone(), reference.to_string().into());
            }
        }
        other => return Err(format!("call.params is an object or a reference, not {}", crate::type_name(other))),
    }
    if asks_for_person(&node.tool, context) {
        call.insert(planned::CONFIRM.to_owned(), true.into());
    }
    let metas = [("_outputPath", &node.output_path), ("_outputMethod", &node.output_method)];
    for (name, value) in metas {
        call.extend(value.as_ref().map(|value| (name.to_owned(), value.as_str().into())));
    }
    Ok(call.into())
}

/// Whether the plan from which a node's tool is read asks for a person.
fn asks_for_person(tool: &str, context: &Context) -> bool {
    let Ok(Expr::Ref(path)) = Expr::parse(tool) else { return false };
    let mut plan = Path::clone(&path);
    plan.segments.pop();
    plan.segments.push(Segment::Key(planned::CONFIRM.into()));
    context.read(&plan, None).as_deref() == Some(&Value::Bool(true))
}
