//! The calls that a node may make, and the one call that it plans for another node.

use serde_json::{Value, json};

use crate::call::Call;
use crate::call::freeze::{filled, fit};
use crate::expr::OutputPath;
use crate::fault::{Fault, Rule};
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::policy::Provenance;
use crate::session::graph_run::GraphRun;
use crate::session::{Session, error_data};
use obelus_notebook::call_json::CallJson;
use obelus_notebook::control_field::ControlField;
use obelus_notebook::steps::StepNode;

/// The field of a planned call for the model's wish that a person checks it.
pub(super) const CONFIRM: &str = ControlField::RequiresConfirmation.name();

impl Session {
    /// At a node that asks the model, only the tools that it offers may be called. Planned calls are removed.
    pub(in crate::session) fn offered_only(&mut self, calls: Vec<CallJson>) -> Vec<CallJson> {
        let Some(run) = &self.graph else { return calls };
        let graph = run.graph();
        let Some(node) = graph.nodes.get(run.node()).and_then(StepNode::request) else { return calls };
        let (planned, calls): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| node.plans(call.tool_name()));
        let (offered, others): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| node.offers(call.tool_name()));
        for call in others {
            let fault = Fault::new(Rule::Call3, "this step does not offer that tool");
            match node.plans {
                Some(_) => self.ask_again(&call, &fault),
                None => self.transcript.add_error(error_data(&call, &(&fault).into())),
            }
        }
        match planned.as_slice() {
            [] => {}
            [call] => match self.planned_call(call) {
                Ok((call, origins)) => self.turn.plan_call(call, origins),
                Err(fault) => self.ask_again(call, &fault),
            },
            several => {
                let text = format!("one call is planned at a time, and {} came", several.len());
                self.ask_again(&Value::Null, &Fault::new(Rule::Call3, text));
            }
        }
        offered
    }

    /// A planned call with resolved references, and its origins.
    fn planned_call(&self, call: &CallJson) -> Result<(Value, Origins), Fault> {
        let context = self.context();
        let (call, faults) = Call::read(call, context);
        if let Some(fault) = faults.into_iter().next() {
            return Err(fault);
        }
        let Some(mut params) = filled(&call, &|path: &Path| context.read(path, None)) else {
            let missing = call.reads().into_iter().find(|path| context.read(path, None).is_none());
            let name = missing.map(ToString::to_string).unwrap_or_default();
            return Err(Fault::new(Rule::Plan4, format!("{name} has no value")));
        };
        if let Some(tool) = &call.tool {
            fit(&mut params, call.params.len(), tool, context)?;
        }
        params.shift_remove("_tool");
        let literal = self.transcript.shown().clone().joined(&Origins::of(Origin::Model));
        let sources = Provenance { grounding: None, ..self.provenance_of(&call, None, &literal) };
        let origins = sources.of_call(&call).joined(&literal);
        let mut plan = json!({"tool": call.tool_name(), "params": params});
        if call.asks_confirmation() {
            plan[CONFIRM] = true.into();
        }
        Ok((plan, origins))
    }

    /// Writes the planned call along with the node's output, or that there is none.
    pub(super) fn write_planned_call(&mut self, node: &StepNode) -> Result<(), Fault> {
        let Some(plans) = node.request().and_then(|request| request.plans.as_ref()) else { return Ok(()) };
        let nothing = || (Value::Null, Origins::of(Origin::Author));
        let (plan, origins) = self.turn.take_planned().unwrap_or_else(nothing);
        self.write_for_node(Some(&plans.to), plan, &origins)
    }

    /// Removes the plan at the end of its turn.
    pub(in crate::session) fn forget_plans(&mut self) {
        let Some(graph) = self.graph.as_ref().map(GraphRun::graph) else { return };
        let plans = graph.nodes.values().filter_map(|node| node.request()?.plans.as_ref());
        for plans in plans {
            let Ok(path) = OutputPath::parse(&plans.to) else { continue };
            let is_there = |path: &Path| self.context().read(path, None).is_some_and(|value| !value.is_null());
            if path.paths().any(|path| is_there(path)) {
                // A place that does not accept null keeps its plan: the author wants it so.
                let _ = self.write_for_node(Some(&plans.to), Value::Null, &Origins::of(Origin::Author));
            }
        }
    }
}
