//! Calls that a node may make, and the one call that it plans for another node.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Session, StepNode};
use crate::call::{Call, faults_of};
use crate::expr::OutputPath;
use crate::fault::{Fault, Rule};
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::session::freeze::filled;
use crate::session::provenance::Sources;

impl Session {
    /// At a node that asks the model, only the tools that the node offers may be called. What is planned is taken off.
    pub(in crate::session) fn offered_only(&mut self, calls: Vec<Value>) -> Vec<Value> {
        let Some(walk) = &self.walk else { return calls };
        let graph = Arc::clone(&walk.graph);
        let node = graph.nodes.get(&walk.at.node).and_then(|node| node.request.as_ref());
        let Some(node) = node else { return calls };
        let tool = |call: &Value| call["_tool"].as_str().unwrap_or_default().to_owned();
        let (planned, calls): (Vec<Value>, Vec<Value>) = calls.into_iter().partition(|call| node.plans(&tool(call)));
        let (offered, others): (Vec<Value>, Vec<Value>) = calls.into_iter().partition(|call| node.offers(&tool(call)));
        for call in others {
            let fault = Fault::new(Rule::Call3, "this step does not offer that tool");
            if node.plans.is_some() {
                self.ask_again(call, &fault);
            } else {
                let error = json!({"rule": fault.rule.name(), "message": fault.text});
                self.turn.tell_model(json!({"call": call, "error": error}));
            }
        }
        self.turn.planned = None;
        match planned.as_slice() {
            [] => {}
            [call] => match self.planned_call(call) {
                Ok(plan) => self.turn.planned = Some(plan),
                Err(fault) => self.ask_again(call.clone(), &fault),
            },
            several => {
                let text = format!("one call is planned at a time, and {} came", several.len());
                self.ask_again(Value::Null, &Fault::new(Rule::Call3, text));
            }
        }
        offered
    }

    /// A planned call with its references resolved, and where its parts come from.
    fn planned_call(&self, call: &Value) -> Result<(Value, Origins), Fault> {
        let (call, faults) = Call::read(&Arc::new(call.clone()), &self.context);
        if let Some(fault) = faults.into_iter().next() {
            return Err(fault);
        }
        let Some(mut params) = filled(&call, &|path: &Path| self.context.read(path, None)) else {
            let missing = call.reads().into_iter().find(|path| self.context.read(path, None).is_none());
            let name = missing.map(ToString::to_string).unwrap_or_default();
            return Err(Fault::new(Rule::Plan4, format!("{name} has no value")));
        };
        params.shift_remove("_tool");
        let params = Value::Object(params);
        let breaches = call.tool.as_ref().map(|tool| tool.breaches(&params)).unwrap_or_default();
        if let Some(fault) = faults_of(breaches).into_iter().next() {
            return Err(fault);
        }
        let literal = self.shown.clone().joined(&Origins::of(Origin::Model));
        let sources = Sources { context: &self.context, instance: None, literal: &literal, said: &self.said };
        let origins = sources.of_call(&call).joined(&literal);
        Ok((json!({"tool": call.tool_name(), "params": params}), origins))
    }

    /// Writes what was planned along with the node's output, or that nothing was.
    pub(super) fn keep_plan(&mut self, node: &StepNode) -> Result<(), Fault> {
        let Some(plans) = node.request.as_ref().and_then(|request| request.plans.as_ref()) else { return Ok(()) };
        let nothing = || (Value::Null, Origins::of(Origin::Author));
        let (plan, origins) = self.turn.planned.take().unwrap_or_else(nothing);
        self.write_at(&plans.to, plan, &origins)
    }

    /// What was planned is of one turn: nothing of it is left when the turn has ended.
    pub(in crate::session) fn forget_plans(&mut self) {
        let Some(graph) = self.walk.as_ref().map(|walk| walk.graph.clone()) else { return };
        let plans = graph.nodes.values().filter_map(|node| node.request.as_ref()?.plans.as_ref());
        for plans in plans {
            let Ok(path) = OutputPath::parse(&plans.to) else { continue };
            let is_there = |path: &Path| self.context.read(path, None).is_some_and(|value| !value.is_null());
            if path.paths().any(|path| is_there(path)) {
                // A place that does not take null keeps its plan: the author wants it so.
                let _ = self.write_at(&plans.to, Value::Null, &Origins::of(Origin::Author));
            }
        }
    }
}
