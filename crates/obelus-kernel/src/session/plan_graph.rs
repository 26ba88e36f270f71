//! The calls of a turn as a graph: how each stands, and which values flow between them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Session;
use super::inbox::About;
use super::output::{CallReport, CallStatus};
use super::scheduler::Step;
use crate::call::{Call, Manner};
use crate::path::Path;
use obelus_notebook::plan::{Graph, PlanNode, Who};

/// The calls of a turn, and which values flow between them.
#[derive(Clone, Debug, Default)]
pub struct PlanGraph {
    /// The calls, those that have ended first.
    pub calls: Vec<PlannedCall>,
    /// What they read.
    pub flows: Vec<ValueFlow>,
    /// How many more calls there are.
    pub left_out: usize,
}

/// A call of a turn.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// How it stands.
    pub report: CallReport,
    /// Whether it is part of a plan that is not at work: it has no id then.
    pub is_only_planned: bool,
    /// The call as it was proposed, with its references.
    pub proposed: Arc<Value>,
    /// The paths that it may write.
    pub writes: Vec<Path>,
}

impl PlannedCall {
    /// The instance that it works for.
    pub fn instance(&self) -> Option<&str> {
        self.report.call.get("_instance").and_then(Value::as_str)
    }
}

/// A value that a call reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueFlow {
    /// The call that may write it, by its place in the list; none where it was there before.
    pub from: Option<usize>,
    /// The call that reads it.
    pub to: usize,
    /// The path.
    pub path: Arc<Path>,
}

/// The calls of a step as they were proposed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ProposedStep {
    number: u32,
    manner: Manner,
    calls: Vec<Arc<Value>>,
    /// The call of each job.
    jobs: Vec<usize>,
}

impl ProposedStep {
    pub(super) fn of(number: u32, step: &Step) -> Self {
        let keeps_results = step.calls.iter().any(|call| call.keeps_by_default);
        Self {
            number,
            manner: Manner { sequential: step.sequential, keeps_results },
            calls: step.calls.iter().map(|call| Arc::clone(&call.raw)).collect(),
            jobs: step.jobs.iter().map(|job| job.call).collect(),
        }
    }

    fn of_job(&self, job: u32) -> Option<&Arc<Value>> {
        self.calls.get(*self.jobs.get(usize::try_from(job).ok()?)?)
    }
}

/// A call, and what the graph needs to know of it.
struct Node {
    planned: PlannedCall,
    call: Call,
    /// Its step, and whether the calls of that run in their order.
    step: (u32, bool),
    who: Who,
}

impl Session {
    /// What became of the turn's calls, and the status of those under way.
    pub fn calls(&self) -> Vec<CallReport> {
        self.transcript.ended().iter().cloned().chain(self.scheduler.reports()).collect()
    }

    /// The calls of the turn as a graph, no more than so many. A plan that waits for a person, or that nobody has set to
    /// work, is behind them.
    pub fn plan_graph(&self, most: usize) -> PlanGraph {
        let under_way = self.scheduler.proposed();
        let steps: Vec<&ProposedStep> = self.transcript.proposed().iter().chain(&under_way).collect();
        let mut reports: Vec<(CallReport, bool)> = self.calls().into_iter().map(|report| (report, false)).collect();
        let asked = self.inbox.open().filter(|question| question.about == About::Plan);
        let waiting = asked.flat_map(|question| &question.calls).map(|asked| CallReport {
            place: (0, 0),
            call: Arc::clone(&asked.call),
            status: CallStatus::Waiting,
            error: None,
        });
        reports.extend(waiting.chain(self.planned_calls()).map(|report| (report, true)));
        let left_out = reports.len().saturating_sub(most);
        reports.truncate(most);
        let nodes: Vec<Node> =
            reports.into_iter().map(|(report, is_planned)| self.plan_node(report, is_planned, &steps)).collect();
        let flows = flows(&nodes);
        PlanGraph { calls: nodes.into_iter().map(|node| node.planned).collect(), flows, left_out }
    }

    fn plan_node(&self, report: CallReport, is_only_planned: bool, steps: &[&ProposedStep]) -> Node {
        let (number, job) = report.place;
        let step = steps.iter().find(|step| step.number == number).filter(|_| !is_only_planned);
        let proposed = step.and_then(|step| step.of_job(job)).unwrap_or(&report.call).clone();
        let (mut call, _) = Call::read(&proposed, &self.memory.context);
        if step.is_some_and(|step| step.manner.keeps_results) {
            call.keep_result();
        }
        let writes = call.all_writes().cloned().collect();
        let number = if is_only_planned { u32::MAX } else { number };
        let planned = PlannedCall { report, is_only_planned, proposed, writes };
        let who = planned.instance().map_or(Who::Once, |name| Who::One(name.to_owned()));
        Node { step: (number, step.is_some_and(|step| step.manner.sequential)), who, planned, call }
    }
}

/// What the calls read, and which of them may have written it.
fn flows(nodes: &[Node]) -> Vec<ValueFlow> {
    let of_plan: Vec<PlanNode<'_>> =
        nodes.iter().map(|node| PlanNode { call: &node.call, who: node.who.clone() }).collect();
    // What is written later cannot be read before.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Answer, Input, Outcome, Settings, Solution, Task};
    use super::*;
    use crate::{Context, Time};

    /// A session that has looked something up and writes down what it found.
    fn session() -> Session {
        let tools = json!({"look": {"x-effect": "read", "properties": {"n": {}}}, "note": {"x-effect": "create",
            "properties": {"text": {}, "of": {}}}});
        let context = json!([{"type": "state", "data": {"n": 7}}, {"type": "tool", "tool": tools}]);
        let activities = ["look", "note"].map(str::to_owned).into();
        let settings = Settings { mode: super::super::Mode::Full, activities, ..Settings::default() };
        let mut session = Session::new("s", Context::from_value(context).unwrap(), None, Arc::new(settings)).unwrap();
        session.handle(Time(0), Input::User { text: "go".to_owned() }).unwrap();
        let Some(Task::AskModel { id }) = session.poll() else { panic!("the model is asked") };
        let solution = Solution::from_value(json!({"calls": [
            {"_tool": "look", "n": "†state.n", "_outputPath": "†state.found"},
            {"_tool": "note", "text": "†state.found.name", "of": "†state.n"},
        ]}));
        let answer = Answer::Solution { solution: solution.unwrap(), tokens: 1 };
        session.handle(Time(0), Input::Answer { id, answer }).unwrap();
        session
    }

    fn told(graph: &PlanGraph) -> Vec<(Option<usize>, usize, String)> {
        graph.flows.iter().map(|flow| (flow.from, flow.to, flow.path.to_string())).collect()
    }

    #[test]
    fn values_flow_between_calls_and_from_before_also_when_the_calls_have_run() {
        let mut session = session();
        let expected = [
            (None, 0, "†state.n".to_owned()),
            (Some(0), 1, "†state.found.name".to_owned()),
            (None, 1, "†state.n".to_owned()),
        ];
        let graph = session.plan_graph(100);
        assert_eq!(told(&graph), expected);
        assert_eq!(graph.calls[0].writes[0].to_string(), "†state.found");
        let Some(Task::Call(start)) = session.poll() else { panic!("it looks") };
        let outcome = Outcome::Value(json!({"name": "Anna"}));
        session.handle(Time(1), Input::Ended { id: start.id.clone(), outcome }).unwrap();
        let graph = session.plan_graph(100);
        assert_eq!(graph.calls[0].report.call["n"], 7, "{graph:?}");
        assert_eq!(graph.calls[0].proposed["n"], "†state.n");
        assert_eq!(told(&graph), expected);
        let part = session.plan_graph(1);
        assert_eq!((part.calls.len(), part.left_out), (1, 1));
    }

    #[test]
    fn a_turn_that_has_ended_still_knows_its_proposals() {
        let mut session = session();
        while let Some(task) = session.poll() {
            if let Task::Call(start) = task {
                let outcome = Outcome::Value(json!({"name": "Anna"}));
                session.handle(Time(1), Input::Ended { id: start.id.clone(), outcome }).unwrap();
            }
        }
        session.handle(Time(2), Input::Stop).unwrap();
        let flows = told(&session.plan_graph(100));
        assert!(flows.contains(&(Some(0), 1, "†state.found.name".to_owned())), "{flows:?}");
    }
}
