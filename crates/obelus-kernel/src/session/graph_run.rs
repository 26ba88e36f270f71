//! A turn along a graph of steps, instead of the plain loop.
//!
//! [`GraphRun`] owns the position of the turn in its graph and its counters. The session asks it what the current
//! node wants, does that, and comes back when nothing moves.
//!
//! | file | subject |
//! |---|---|
//! | `words` | the input of filters, and the texts and edges they choose |
//! | `planned` | calls that one node plans for another |
//! | `waiting` | messages while a node waits for a person |

mod planned;
mod waiting;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Session;
use super::ids::QuestionNumber;
use super::inbox::Question;
use super::input::{CallError, Limit};
use super::output::{CallReport, TurnEnd};
use super::scheduler::Trigger;
use super::turn::Phase;
use crate::context::Context;
use crate::expr::{Expr, OutputPath};
use crate::fault::Fault;
use crate::fold::Method;
use crate::message::{Data, Message};
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
use crate::schema::Breach;
use obelus_notebook::plan::StepOptions;
use obelus_notebook::steps::{CallNode, StepNode, Steps};

/// A turn in a graph.
pub(super) struct GraphRun {
    graph: Arc<Steps>,
    cursor: Cursor,
    /// The step that carries out the call of the node.
    call: Option<u32>,
    /// Validators of the nodes' outputs and answers, cached.
    validators: BTreeMap<String, Arc<Validator>>,
}

/// The position of a turn in its graph, and its counters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cursor {
    node: String,
    steps: u32,
    /// How often each node was entered.
    visits: BTreeMap<String, u32>,
    /// How often in a row the call of each node failed.
    failed: BTreeMap<String, u32>,
    /// The result of the last call (its tool, status and error), or of the last question.
    last: Value,
    /// The same for the last call of each node.
    calls: BTreeMap<String, Value>,
    /// The number of the question that the node has asked.
    asked: Option<u64>,
}

impl GraphRun {
    pub(super) fn new(graph: Arc<Steps>) -> Self {
        let cursor = Cursor { node: graph.start.usual().to_owned(), ..Cursor::default() };
        Self { graph, cursor, call: None, validators: BTreeMap::new() }
    }

    /// The name of the current node.
    pub(super) fn node(&self) -> &str {
        &self.cursor.node
    }

    /// The current node.
    pub(super) fn current(&self) -> Option<&StepNode> {
        self.graph.nodes.get(&self.cursor.node)
    }

    /// All nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &StepNode> {
        self.graph.nodes.values()
    }

    /// Whether some node lets the model call tools itself.
    pub(super) fn runs_calls(&self) -> bool {
        self.nodes().any(|node| node.request().is_some_and(|request| !request.tools.is_empty()))
    }

    pub(super) fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    pub(super) fn restore(&mut self, cursor: Cursor) {
        self.cursor = cursor;
    }

    pub(super) fn snapshot(&self) -> Value {
        json!(self.cursor)
    }

    /// Begins a turn at the default first node.
    fn begin(&mut self) {
        let node = self.graph.start.usual().to_owned();
        self.cursor = Cursor { node, ..Cursor::default() };
    }

    /// Enters a node. Refused at the limit of steps.
    fn enter(&mut self, name: &str) -> Result<(), CallError> {
        name.clone_into(&mut self.cursor.node);
        if self.cursor.steps >= self.graph.max_steps {
            return Err(CallError::at(Limit::Steps(self.graph.max_steps.into())));
        }
        self.cursor.steps += 1;
        *self.cursor.visits.entry(name.to_owned()).or_default() += 1;
        Ok(())
    }

    /// Records the result of this node's call, for predicates.
    fn note_call(&mut self, report: Option<CallReport>) {
        let did_not_succeed = report.as_ref().is_some_and(|report| report.status.did_not_succeed());
        let last =
            report.map(|report| json!({"tool": report.call["_tool"], "status": report.status, "error": report.error}));
        let last = last.unwrap_or_default();
        let Cursor { node, failed, .. } = &mut self.cursor;
        match did_not_succeed {
            true => *failed.entry(node.clone()).or_default() += 1,
            false => drop(failed.remove(node)),
        }
        self.cursor.calls.insert(self.cursor.node.clone(), last.clone());
        self.cursor.last = last;
    }

    /// Whether the question belongs to the current node.
    fn has_asked(&self, number: QuestionNumber) -> bool {
        self.cursor.asked == Some(number.0)
    }

    /// Records the answer to this node's question, for predicates.
    fn note_answer(&mut self, question: Option<&Question>) {
        let answer = question.map(|question| json!({"status": question.status, "reason": question.reason}));
        self.cursor.last = answer.unwrap_or_default();
        self.cursor.asked = None;
    }

    /// The graph's end for a turn that a limit or a person has ended.
    fn forced_end(&self, ends: TurnEnd) -> Option<&str> {
        match ends {
            TurnEnd::Limit => self.graph.at_limit.as_deref(),
            TurnEnd::Stopped => self.graph.at_stop.as_deref(),
            TurnEnd::Output | TurnEnd::Waiting | TurnEnd::Degraded => None,
        }
    }

    /// The violation of the current node's schema by a value, if any.
    fn breach(&mut self, schema: Option<&Value>, value: &Value) -> Option<Breach> {
        let schema = schema?;
        if !self.validators.contains_key(&self.cursor.node) {
            let validator = crate::schema::compile(schema).ok()?;
            self.validators.insert(self.cursor.node.clone(), Arc::new(validator));
        }
        let validator = self.validators.get(&self.cursor.node)?;
        crate::schema::breaches(validator, value).into_iter().next()
    }

    /// The proposer of a node's call: the author, or the source of the tool's name.
    pub(super) fn proposer(&self, context: &Context) -> Origins {
        let tool = match self.current() {
            Some(StepNode::Call { call, .. }) => call.tool.as_str(),
            _ => "",
        };
        match tool.starts_with('†').then(|| Expr::parse(tool)) {
            Some(Ok(expr)) => {
                let mut all = Origins::default();
                expr.each_ref(&mut |path| all.join(&context.origins(path, None)));
                all
            }
            _ => Origins::of(Origin::Author),
        }
    }
}

/// A call node as a call. References are kept, so that origins are not lost.
fn call_of(node: &CallNode, context: &Context) -> Result<Value, String> {
    let mut call = Map::new();
    let tool = match node.tool.starts_with('†') {
        true => words::text_at(&node.tool, context)?,
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
    Ok(Value::Object(call))
}

/// Whether the plan from which a node's tool is read asks for a person.
fn asks_for_person(tool: &str, context: &Context) -> bool {
    let Ok(Expr::Ref(path)) = Expr::parse(tool) else { return false };
    let mut plan = Path::clone(&path);
    plan.segments.pop();
    plan.segments.push(Segment::Key(planned::CONFIRM.into()));
    context.read(&plan, None).as_deref() == Some(&Value::Bool(true))
}

impl Session {
    /// Enters the first node.
    pub(super) fn begin_graph(&mut self) {
        let Some(run) = &mut self.graph else { return };
        run.begin();
        let graph = Arc::clone(&run.graph);
        match words::start(&graph.start, || self.filter_input(None)) {
            Ok(start) => self.enter_node(&start),
            Err(why) => self.end_by_file_error(format!("start: {why}")),
        }
    }

    /// Continues at the node where a limit stopped the previous turn (LOOP-2). A graph with a node for limits starts
    /// anew instead: its author defines what happens.
    pub(super) fn continue_graph(&mut self) {
        match &mut self.graph {
            Some(run) if run.graph.at_limit.is_none() => {
                run.cursor.steps = 0;
                let node = run.cursor.node.clone();
                self.enter_node(&node);
            }
            _ => self.begin_graph(),
        }
    }

    /// Enters a node and carries it out.
    fn enter_node(&mut self, name: &str) {
        let Some(run) = &mut self.graph else { return };
        if let Err(limit) = run.enter(name) {
            return self.rest(TurnEnd::Limit, Some(limit));
        }
        let graph = Arc::clone(&run.graph);
        let Some(node) = graph.nodes.get(name) else {
            return self.end_by_file_error(format!("there is no node `{name}`"));
        };
        self.turn.enter(Phase::Working);
        self.turn.output = Value::Null;
        let done = match node {
            StepNode::Request { .. } => {
                self.request();
                Ok(())
            }
            StepNode::Call { call, .. } => self.start_node_call(call),
            StepNode::Ask { ask, .. } => self.words(&ask.question, None).map(|words| {
                let number = self.ask_for_input(&words, ask.schema.clone());
                if let Some(run) = &mut self.graph {
                    run.cursor.asked = Some(number.0);
                }
            }),
            StepNode::End(end) => {
                let words = end.reply.as_ref().map(|reply| self.words(reply, None)).transpose();
                words.map(|words| {
                    self.turn.output = words.map(Value::from).unwrap_or_default();
                    self.turn.named_end = Some(end.name.clone());
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
        let call = call_of(node, &self.memory.context)?;
        if let Some(run) = &mut self.graph {
            run.call = Some(self.scheduler.next_step());
        }
        self.start_step(&[Arc::new(call)], Trigger::Graph, StepOptions::default());
        Ok(())
    }

    /// Nothing moves at this node: writes its output, and continues.
    pub(super) fn leave_node(&mut self) {
        let Some(run) = &self.graph else { return };
        let graph = Arc::clone(&run.graph);
        let Some(node) = graph.nodes.get(&run.cursor.node) else { return };
        match node {
            StepNode::Request { .. } => {
                let output = std::mem::take(&mut self.turn.output);
                if output.is_null() {
                    return self.request();
                }
                if let Err(fault) = self.keep_output(node, output).and_then(|()| self.keep_plan(node)) {
                    return self.ask_again(Value::Null, &fault);
                }
                let name = self.node().unwrap_or_default().to_owned();
                self.turn.note_success(|| name);
                self.transcript.note_step_end(self.memory.context.length());
            }
            StepNode::Call { .. } => {
                let report = self.report_of_node();
                if let Some(run) = &mut self.graph {
                    run.note_call(report);
                }
            }
            StepNode::Ask { .. } => {
                if let Some(run) = &mut self.graph
                    && let Some(number) = run.cursor.asked
                {
                    run.note_answer(self.inbox.get(QuestionNumber(number)));
                }
            }
            StepNode::End(_) | StepNode::Faulty(_) => {}
        }
        match words::way(node.next(), || self.filter_input(None)) {
            Ok(next) => self.enter_node(&next),
            Err(why) => self.end_by_file_error(why),
        }
    }

    /// The report of this node's call.
    fn report_of_node(&self) -> Option<CallReport> {
        let number = self.graph.as_ref()?.call?;
        let under_way = self.scheduler.step(number).and_then(|step| step.report(number).last());
        let ended = || self.transcript.ended().iter().rfind(|report| report.place.0 == number).cloned();
        under_way.or_else(ended)
    }

    /// The model's answer is invalid: it is told why, and asked again.
    fn ask_again(&mut self, call: Value, fault: &Fault) {
        self.turn.output = Value::Null;
        self.transcript.tell_error(super::error_data(call, &fault.into()));
        let name = self.node().unwrap_or_default().to_owned();
        self.turn.note_failure(&name, &fault.text);
    }

    /// Ends the turn because of an error in the agent's file.
    fn end_by_file_error(&mut self, why: String) {
        let node = self.node().unwrap_or_default();
        let text = format!("at the node `{node}`: {why}");
        self.rest(TurnEnd::Degraded, Some(CallError::new("graph", text)));
    }

    /// Moves a turn that a limit or a person has ended to the graph's end for that.
    pub(super) fn go_to_forced_end(&mut self, ends: TurnEnd, reason: &mut Option<CallError>) {
        let Some(run) = &mut self.graph else { return };
        let graph = Arc::clone(&run.graph);
        let named = run.forced_end(ends).and_then(|name| Some((name.to_owned(), graph.nodes.get(name)?.end()?)));
        let Some((name, end)) = named else { return };
        run.cursor.node.clone_from(&name);
        self.turn.named_end = Some(end.name.clone());
        let words = end.reply.as_ref().map(|reply| self.words(reply, reason.as_ref())).transpose();
        self.turn.output = Value::Null;
        match (words, reason) {
            (Ok(words), _) => self.turn.output = words.map(Value::from).unwrap_or_default(),
            (Err(why), Some(reason)) => reason.message.push_str(&format!("; at the node `{name}`: {why}")),
            (Err(_), None) => {}
        }
    }

    /// Writes the output of a request node to the node's path.
    fn keep_output(&mut self, node: &StepNode, output: Value) -> Result<(), Fault> {
        let schema = node.request().and_then(|request| request.schema.as_ref());
        if let Some(breach) = self.graph.as_mut().and_then(|run| run.breach(schema, &output)) {
            return Err(Fault::new(crate::Rule::Loop1, format!("the output breaks its schema: {}", breach.text)));
        }
        let origins = self.transcript.shown().clone().joined(&Origins::of(Origin::Model));
        self.write_for_node(node.output_path(), output, &origins)
    }

    /// Writes a value in the node's name.
    fn write_for_node(&mut self, path: Option<&str>, value: Value, origins: &Origins) -> Result<(), Fault> {
        let Some(text) = path else { return Ok(()) };
        let path = OutputPath::parse(text)?;
        let call = Arc::new(json!({"_tool": self.node(), "_outputPath": text}));
        let date = self.memory.date();
        let first = path.alternatives.into_iter().next().unwrap_or_default();
        let batch = first.into_iter().map(|path| {
            let mut data = Data::result(call.clone(), path, Some(date.clone()), value.clone());
            data.method = Some(Method::Set);
            data.origins = Some(origins.clone());
            Message::Data(Box::new(data))
        });
        self.memory.context.append(batch.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::output::CallStatus;

    fn run() -> GraphRun {
        let graph = json!({
            "start": "a", "max_steps": 2, "at_limit": "end",
            "nodes": {"a": {"call": {"_tool": "†plan.tool"}, "next": [{"to": "end"}]}, "end": {"end": {"name": "done"}}},
        });
        GraphRun::new(Arc::new(serde_json::from_value(graph).unwrap()))
    }

    fn report(status: CallStatus) -> Option<CallReport> {
        Some(CallReport { place: (0, 0), call: Arc::new(json!({"_tool": "t"})), status, error: None })
    }

    #[test]
    fn the_limit_of_steps_is_for_one_turn() {
        let mut run = run();
        assert!(run.enter("a").is_ok() && run.enter("a").is_ok());
        assert_eq!(run.enter("end").unwrap_err().code, "limit");
        assert_eq!(run.node(), "end", "it came there and does nothing");
        run.begin();
        assert!(run.enter("a").is_ok());
    }

    #[test]
    fn failures_of_a_node_are_counted_in_a_row() {
        let mut run = run();
        for status in [CallStatus::Failed, CallStatus::Skipped, CallStatus::Refused] {
            run.note_call(report(status));
        }
        assert_eq!(run.cursor.failed["a"], 3);
        run.note_call(report(CallStatus::Denied));
        assert!(run.cursor.failed.is_empty(), "a person's no is no failure");
        assert_eq!(run.cursor.last, json!({"tool": "t", "status": "denied", "error": null}));
    }

    #[test]
    fn only_a_limit_or_a_stop_has_a_forced_end() {
        let run = run();
        assert_eq!((run.forced_end(TurnEnd::Limit), run.forced_end(TurnEnd::Stopped)), (Some("end"), None));
        assert_eq!(run.forced_end(TurnEnd::Output), None);
    }

    #[test]
    fn the_origin_of_the_tool_name_is_the_proposer_of_a_nodes_call() {
        let mail = Origins::of(Origin::Tool { name: "mail".into(), trusted: false });
        let mut plan = Data::plain("plan", json!({"tool": "t"}));
        plan.origins = Some(mail);
        let mut context = Context::new();
        context.append(vec![Message::Data(Box::new(plan))]).unwrap();
        let mut run = run();
        assert_eq!(run.proposer(&context).untrusted().collect::<Vec<_>>(), ["mail"]);
        run.enter("end").unwrap();
        assert_eq!(run.proposer(&context), Origins::of(Origin::Author));
    }
}
