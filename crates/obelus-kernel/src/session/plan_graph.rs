//! The calls of a turn as a graph: their statuses, and the values between them.

use std::sync::Arc;

use super::Session;
use super::ids::JobRef;
use super::inbox::About;
use super::output::{CallReport, CallStatus};
use super::proposed_step::ProposedStep;
use crate::call::Call;
use crate::context::Context;
use crate::path::Path;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::plan::{Graph, PlanNode, RunsFor};

/// The calls of a turn, and the values between them.
#[derive(Clone, Debug, Default)]
pub struct PlanGraph {
    /// The calls, ended ones first.
    pub calls: Vec<PlannedCall>,
    /// The values they read.
    pub flows: Vec<ValueFlow>,
    /// The number of calls left out.
    pub left_out: usize,
}

/// A call of a turn.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// Its report.
    pub report: CallReport,
    /// Whether its plan has not been started: then it has no id.
    pub is_only_planned: bool,
    /// The proposed call, with its references.
    pub proposed: CallJson,
    /// The paths that it may write.
    pub writes: Vec<Path>,
}

impl PlannedCall {
    /// The instance that it works for.
    pub fn instance(&self) -> Option<&str> {
        self.report.call.instance()
    }
}

/// A value that a call reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueFlow {
    /// The index of the call that may write it; none if it existed before.
    pub from: Option<usize>,
    /// The call that reads it.
    pub to: usize,
    /// The path.
    pub path: Arc<Path>,
}

/// A call, and its data for the graph.
struct Node {
    planned: PlannedCall,
    call: Call,
    /// Its step, and whether that step is sequential.
    step: (u32, bool),
    runs_for: RunsFor,
}

impl Session {
    /// The reports of the turn's calls, ended and running.
    pub fn calls(&self) -> Vec<CallReport> {
        self.transcript.ended().iter().cloned().chain(self.scheduler.reports()).collect()
    }

    /// The same without calls that joined an identical one: they have no effect of their own.
    pub fn distinct_calls(&self) -> Vec<CallReport> {
        let joined = self.inbox.joined_places();
        self.calls().into_iter().filter(|report| !joined.contains(&report.place)).collect()
    }

    /// The places of calls that are new or have a new status since the last call of this function. A place may occur
    /// twice. A driver calls it after each batch of inputs, even without subscribers.
    pub fn take_changed_calls(&mut self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.scheduler.take_changed().map(|at| (at.step, at.job))
    }

    /// The report of a call of the turn.
    pub fn call_report(&self, place: (u32, u32)) -> Option<CallReport> {
        let at = JobRef { step: place.0, job: place.1 };
        let active = self.scheduler.find(at).map(|job| self.scheduler.step_of(at).report_of(at, job));
        active.or_else(|| self.transcript.ended().iter().rev().find(|report| report.place == place).cloned())
    }

    /// The calls of the turn as a graph, at most `most`. A plan that waits for a person, or has not been started,
    /// comes last.
    pub fn plan_graph(&self, most: usize) -> PlanGraph {
        let under_way = self.scheduler.proposed();
        let steps: Vec<&ProposedStep> = self.transcript.proposed().iter().chain(&under_way).collect();
        let mut reports: Vec<(CallReport, bool)> =
            self.distinct_calls().into_iter().map(|report| (report, false)).collect();
        let asked = self.inbox.open().filter(|question| question.about == About::Plan);
        let waiting = asked.flat_map(|question| &question.calls).map(|asked| CallReport {
            place: (0, 0),
            call: asked.call.clone(),
            status: CallStatus::Waiting,
            error: None,
        });
        reports.extend(waiting.chain(self.planned_calls()).map(|report| (report, true)));
        let left_out = reports.len().saturating_sub(most);
        reports.truncate(most);
        let nodes: Vec<Node> = reports
            .into_iter()
            .map(|(report, is_planned)| plan_node(self.context(), report, is_planned, &steps))
            .collect();
        let flows = flows(&nodes);
        PlanGraph { calls: nodes.into_iter().map(|node| node.planned).collect(), flows, left_out }
    }
}

/// A call with its data for the graph.
fn plan_node(context: &Context, report: CallReport, is_only_planned: bool, steps: &[&ProposedStep]) -> Node {
    let (number, job) = report.place;
    let step = steps.iter().find(|step| step.number == number).filter(|_| !is_only_planned);
    let proposed = step.and_then(|step| step.of_job(job)).unwrap_or(&report.call).clone();
    let (mut call, _) = Call::read(&proposed, context);
    if step.is_some_and(|step| step.options.keeps_results) {
        call.keep_result();
    }
    let writes = call.all_writes().cloned().collect();
    let number = if is_only_planned { u32::MAX } else { number };
    let planned = PlannedCall { report, is_only_planned, proposed, writes };
    let runs_for = planned.instance().map_or(RunsFor::Once, |name| RunsFor::One(name.to_owned()));
    Node { step: (number, step.is_some_and(|step| step.options.sequential)), runs_for, planned, call }
}

/// The values that calls read, and their possible writers.
fn flows(nodes: &[Node]) -> Vec<ValueFlow> {
    let of_plan: Vec<PlanNode<'_>> =
        nodes.iter().map(|node| PlanNode { call: &node.call, runs_for: node.runs_for.clone() }).collect();
    // A later write cannot be read before.
    let may_feed = |from: usize, to: usize| {
        let (earlier, later) = (nodes[from].step, nodes[to].step);
        earlier.0 < later.0 || (earlier.0 == later.0 && (!later.1 || from < to))
    };
    let Ok(graph) = Graph::with(&of_plan, may_feed) else { return Vec::new() };
    let mut flows = Vec::new();
    for (to, node) in nodes.iter().enumerate() {
        flows.extend(graph.edges_into(to).iter().map(|edge| ValueFlow {
            from: Some(edge.from),
            to,
            path: Arc::clone(&edge.path),
        }));
        let mut paths = node.call.reads();
        paths.sort_unstable();
        paths.dedup();
        let from_before = paths.into_iter().filter(|path| graph.edges_by(to, path).is_empty());
        flows.extend(from_before.map(|path| ValueFlow { from: None, to, path: Arc::clone(path) }));
    }
    flows
}
