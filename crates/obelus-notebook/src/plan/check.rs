//! Checks a plan before anything runs.

use std::sync::Arc;

use serde_json::{Value, json};

use super::StepOptions;
use super::graph::{Edge, Graph, PlanNode, TooDense};
use super::template::{RunsFor, instances_of, runs_for};
use super::types::{self, Shape};
use super::write_conflicts::write_conflicts;
use crate::call::Call;
use crate::call_json::CallJson;
use crate::context::Context;
use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::message::PlanMode;
use crate::path::{Path, Segment};
use crate::template::has_words;

/// The result of checking a plan.
#[derive(Clone, Debug)]
pub struct Check {
    /// The calls, parsed as far as possible.
    pub calls: Vec<Call>,
    /// The instances that each call runs for.
    pub runs_for: Vec<RunsFor>,
    /// The dependencies between calls; empty if the plan is too dense.
    pub graph: Graph,
    /// Indexes of calls by wave; empty if there is a cycle.
    pub waves: Vec<Vec<usize>>,
    /// Errors that prevent the plan from running.
    pub errors: Vec<Fault>,
    /// Possible mistakes.
    pub warnings: Vec<Warning>,
}

/// A possible mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The rule.
    pub rule: Rule,
    /// The first call concerned.
    pub call: Option<usize>,
    /// The message.
    pub text: String,
}

impl Check {
    /// Whether the plan can run.
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// The check as JSON.
    pub fn to_json(&self) -> Value {
        let edge = |edge: &Edge| json!([edge.from, edge.to, edge.path.to_string()]);
        let mut edges: Vec<_> = self.graph.edges().iter().collect();
        edges.sort();
        let error = |fault: &Fault| json!({"rule": fault.rule.name(), "call": fault.call, "message": fault.words()});
        let warning = |found: &Warning| json!({"rule": found.rule.name(), "call": found.call, "message": found.text});
        json!({
            "valid": self.is_valid(),
            "waves": self.waves,
            "edges": edges.into_iter().map(edge).collect::<Vec<_>>(),
            "errors": self.errors.iter().map(error).collect::<Vec<_>>(),
            "warnings": self.warnings.iter().map(warning).collect::<Vec<_>>(),
        })
    }
}

/// Checks the calls of a plan in the context in which they would run.
pub fn check(proposals: &[CallJson], mode: PlanMode, context: &Context) -> Check {
    check_with_options(proposals, mode, StepOptions::default(), context)
}

/// Checks calls that run in this manner.
pub fn check_with_options(proposals: &[CallJson], mode: PlanMode, manner: StepOptions, context: &Context) -> Check {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    let mut calls = Vec::with_capacity(proposals.len());
    for (index, proposal) in proposals.iter().enumerate() {
        let (mut call, faults) = Call::read(proposal, context);
        if manner.keeps_results {
            call.keep_result();
        }
        errors.extend(faults.into_iter().map(|fault| fault.in_call(index)));
        let has_output = call.output.as_ref().is_some_and(|output| !output.is_null());
        if has_output && mode == PlanMode::Lazy {
            let text = "a lazy plan carries no results: leave `_output` out";
            errors.push(Fault::new(Rule::Plan9, text).in_call(index));
        } else if has_output {
            let text = "its `_output` is frozen: the model is not asked, whatever the input is".to_owned();
            warnings.push(Warning { rule: Rule::Plan12, call: Some(index), text });
        }
        calls.push(call);
    }
    errors.extend(context.tools().filter_map(|tool| tool.check().err()));
    let runs_for = runs_for(&calls, context);
    let nodes: Vec<_> =
        calls.iter().zip(&runs_for).map(|(call, runs_for)| PlanNode { call, runs_for: runs_for.clone() }).collect();
    let graph = Graph::with(&nodes, |from, to| !manner.sequential || from < to);
    drop(nodes);
    let mut check = Check { calls, runs_for, graph: Graph::default(), waves: Vec::new(), errors, warnings };
    match graph {
        Ok(graph) => check.graph = graph,
        Err(TooDense) => {
            let text = "the calls are too entangled: over 2,000,000 pairs of a write and a read";
            check.errors.push(Fault::new(Rule::Plan2, text));
            return check;
        }
    }
    match check.graph.waves() {
        Ok(waves) => check.waves = waves,
        Err(cycle) => check.errors.push(cycle.fault(|call| (call, check.calls[call].tool_name()))),
    }
    check.check_unknown_names();
    check.check_missing_reference_signs(context);
    check.check_stray_paths();
    check.check_inputs(context);
    check.check_type_conflicts(context);
    check.check_known_params(context);
    check.warnings.extend(write_conflicts(&check));
    check.errors.sort_by_key(|fault| (fault.call, fault.rule));
    check
}

impl Check {
    /// Finds expressions without a value that no call writes.
    fn check_inputs(&mut self, context: &Context) {
        for (index, call) in self.calls.iter().enumerate() {
            let fed = |path: &Path| !self.graph.edges_by(index, path).is_empty();
            let readers = readers(&self.runs_for[index], &self.calls, context);
            let mut exprs: Vec<(&Expr, Vec<String>)> = Vec::new();
            call.each_expr(&mut |place, expr| exprs.push((expr, place.to_vec())));
            for (expr, place) in exprs {
                if expr.can_have(&fed) {
                    continue;
                }
                let is_text = call.is_text_at(&place);
                let has = |instance: Option<&str>| {
                    if expr.refs().iter().any(|path| fed(path)) {
                        expr.can_have(&|path| fed(path) || context.read(path, instance).is_some())
                    } else {
                        let value = expr.value(&|path: &Path| context.read(path, instance));
                        value.is_some_and(|value| !is_text || has_words(&value))
                    }
                };
                let without: Vec<_> = readers.iter().filter(|instance| !has(**instance)).collect();
                if without.is_empty() {
                    continue;
                }
                if without.len() == readers.len() {
                    let text = format!("{expr} has no value, and no call writes it{}", self.hint(expr, context));
                    self.errors.push(Fault::new(Rule::Plan4, text).at(&place.join(".")).in_call(index));
                } else {
                    let names = without.iter().filter_map(|instance| **instance).take(5).collect::<Vec<_>>().join(", ");
                    let text =
                        format!("{expr} has no value for {names}, and no call writes it; the other instances run");
                    self.warnings.push(Warning { rule: Rule::Plan4, call: Some(index), text });
                }
            }
        }
    }

    /// The instances that a call runs for; `None` is one run on global data.
    pub fn readers<'a>(&'a self, index: usize, context: &'a Context) -> Vec<Option<&'a str>> {
        readers(&self.runs_for[index], &self.calls, context)
    }

    /// Finds values that are written as one type and read as another.
    fn check_type_conflicts(&mut self, context: &Context) {
        let output = |call: &Call| Some(types::written(call.tool.as_ref()?.output()?, call.output_method));
        let outputs: Vec<Option<Value>> = self.calls.iter().map(output).collect();
        let mut found = Vec::new();
        // In a text, a reference is replaced by its value as text, if that is a scalar other than null (CTX-13).
        let in_text = json!({"type": ["string", "number", "boolean"]});
        for (index, call) in self.calls.iter().enumerate() {
            call.each_expr(&mut |place, expr| {
                let is_known =
                    |path: &Arc<Path>| self.graph.edges_by(index, path).iter().any(|edge| outputs[edge.from].is_some());
                if !expr.sources().into_iter().any(is_known) {
                    return;
                }
                let of_param = || call.tool.as_ref().and_then(|tool| param_shape(tool.params(), place));
                let read = if call.is_text_at(place) { Shape::new(&in_text) } else { of_param() };
                let Some(read) = read else { return };
                for path in expr.sources() {
                    for edge in self.graph.edges_by(index, path) {
                        let writer = &self.calls[edge.from];
                        let Some(output) = outputs[edge.from].as_ref().and_then(Shape::new) else { continue };
                        for written in certain_writes(writer).filter(|written| written.overlaps(path)) {
                            if let Some(why) = clash_between(output, written, read, path) {
                                let text =
                                    format!("{path}, written by call {} ({}): {why}", edge.from, writer.tool_name());
                                found.push(Fault::new(Rule::Plan11, text).at(&place.join(".")).in_call(index));
                            }
                        }
                    }
                }
            });
            let Some(output) = outputs[index].as_ref().and_then(Shape::new) else { continue };
            for path in certain_writes(call) {
                let schema = context.view(&path.kind).and_then(|view| view.schema(call.instance.as_deref()));
                let Some(expected) = schema.and_then(Shape::new).and_then(|shape| shape.below(&path.segments)) else {
                    continue;
                };
                if let Some(why) = types::clash(output, expected) {
                    let text = format!("{path} does not fit the schema of its kind: {why}");
                    found.push(Fault::new(Rule::Plan11, text).in_call(index));
                }
            }
        }
        self.errors.extend(found);
    }
}

fn readers<'a>(runs_for: &'a RunsFor, calls: &[Call], context: &'a Context) -> Vec<Option<&'a str>> {
    match runs_for {
        RunsFor::Once => vec![None],
        RunsFor::One(name) => vec![Some(name)],
        RunsFor::Each => instances_of(calls, context).into_iter().map(|name| Some(name.as_str())).collect(),
    }
}

/// The paths that get the result. The last of several alternatives may get an error instead.
fn certain_writes(call: &Call) -> impl Iterator<Item = &Arc<Path>> {
    let alternatives = call.output_path.as_ref().map_or(&[][..], |path| &path.alternatives);
    alternatives.iter().take(alternatives.len().saturating_sub(1).max(1)).flatten()
}

pub(super) fn param_shape<'a>(params: &'a Value, place: &[String]) -> Option<Shape<'a>> {
    let path: Vec<_> = place.iter().map(|step| Segment::Field(step.into())).collect();
    Shape::new(params)?.below(&path)
}

/// Compares the schemas at the end of the longer path; one path is a prefix of the other.
fn clash_between(output: Shape<'_>, written: &Path, read: Shape<'_>, path: &Path) -> Option<String> {
    if written.segments.len() <= path.segments.len() {
        types::clash(output.below(&path.segments[written.segments.len()..])?, read)
    } else {
        types::clash(output, read.below(&written.segments[path.segments.len()..])?)
    }
}
