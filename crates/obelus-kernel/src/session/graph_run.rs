//! A turn along a graph of steps, instead of the plain loop.
//!
//! [`GraphRun`] owns the position of the turn in its graph and its counters. The session asks it what the current
//! node wants, does that (`nodes`), and comes back when nothing moves.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ids::QuestionNumber;
use super::input::{CallError, Limit};
use super::output::{CallReport, TurnEnd};
use crate::context::Context;
use crate::expr::Expr;
use crate::origin::{Origin, Origins};
use obelus_notebook::jq::Read;
use obelus_notebook::steps::{StepNode, Steps};

/// A turn in a graph.
pub(super) struct GraphRun {
    graph: Arc<Steps>,
    cursor: Cursor,
    /// The step that carries out the call of the node.
    call: Option<u32>,
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
        Self { graph, cursor, call: None }
    }

    /// The name of the current node.
    pub(super) fn node(&self) -> &str {
        &self.cursor.node
    }

    /// The current node.
    pub(super) fn current(&self) -> Option<&StepNode> {
        self.graph.nodes.get(&self.cursor.node)
    }

    /// The graph.
    pub(super) fn graph(&self) -> Arc<Steps> {
        Arc::clone(&self.graph)
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
    pub(super) fn begin(&mut self) {
        let node = self.graph.start.usual().to_owned();
        self.cursor = Cursor { node, ..Cursor::default() };
    }

    /// Begins a turn at the node where a limit stopped the previous one, with new steps; returns that node. None if the
    /// graph has a node for limits: its author defines what happens.
    pub(super) fn begin_at_limit(&mut self) -> Option<String> {
        if self.graph.at_limit.is_some() {
            return None;
        }
        self.cursor.steps = 0;
        Some(self.cursor.node.clone())
    }

    /// Moves to an end, whatever the limits.
    pub(super) fn move_to_end(&mut self, name: &str) {
        name.clone_into(&mut self.cursor.node);
    }

    /// Enters a node. Refused at the limit of steps.
    pub(super) fn enter(&mut self, name: &str) -> Result<(), CallError> {
        name.clone_into(&mut self.cursor.node);
        if self.cursor.steps >= self.graph.max_steps {
            return Err(CallError::at(Limit::Steps(self.graph.max_steps.into())));
        }
        self.cursor.steps += 1;
        *self.cursor.visits.entry(name.to_owned()).or_default() += 1;
        Ok(())
    }

    /// Records the result of this node's call, for predicates.
    pub(super) fn note_call(&mut self, report: Option<CallReport>) {
        let did_not_succeed = report.as_ref().is_some_and(|report| report.status.did_not_succeed());
        let last =
            report.map(|report| json!({"tool": report.call.tool(), "status": report.status, "error": report.error}));
        let last = last.unwrap_or_default();
        let Cursor { node, failed, .. } = &mut self.cursor;
        if did_not_succeed {
            *failed.entry(node.clone()).or_default() += 1;
        } else {
            failed.remove(node);
        }
        self.cursor.calls.insert(self.cursor.node.clone(), last.clone());
        self.cursor.last = last;
    }

    /// This step carries out the call of the node.
    pub(super) fn note_step(&mut self, step: u32) {
        self.call = Some(step);
    }

    /// The step that carries out the call of the node.
    pub(super) fn step(&self) -> Option<u32> {
        self.call
    }

    /// The node has asked this question.
    pub(super) fn note_asked(&mut self, number: QuestionNumber) {
        self.cursor.asked = Some(number.0);
    }

    /// The question that the node has asked.
    pub(super) fn asked(&self) -> Option<QuestionNumber> {
        self.cursor.asked.map(QuestionNumber)
    }

    /// The counters and results that filters read. `calls` is the number of calls in the turn.
    pub(super) fn filter_input(&self, calls: u32) -> [(&'static str, Read); 3] {
        let Cursor { steps, visits, failed, last, calls: results, .. } = &self.cursor;
        let counters = json!({"steps": steps, "calls": calls, "visits": visits, "failed": failed});
        let results = results.iter().map(|(node, call)| (node.as_str(), Read::new(call)));
        [("counters", Read::new(&counters)), ("last", Read::new(last)), ("calls", Read::of_fields(results))]
    }

    /// Whether the question belongs to the current node.
    pub(super) fn has_asked(&self, number: QuestionNumber) -> bool {
        self.cursor.asked == Some(number.0)
    }

    /// Records the answer to this node's question, for predicates.
    pub(super) fn note_answer(&mut self, answer: Value) {
        self.cursor.last = answer;
        self.cursor.asked = None;
    }

    /// The graph's end for a turn that a limit or a person has ended.
    pub(super) fn forced_end(&self, ends: TurnEnd) -> Option<&str> {
        match ends {
            TurnEnd::Limit => self.graph.at_limit.as_deref(),
            TurnEnd::Stopped => self.graph.at_stop.as_deref(),
            TurnEnd::Output | TurnEnd::Waiting | TurnEnd::Degraded => None,
        }
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

#[cfg(test)]
mod tests {
    use obelus_notebook::call_json::CallJson;

    use super::*;
    use crate::session::output::CallStatus;

    fn report(status: CallStatus) -> Option<CallReport> {
        Some(CallReport { place: (0, 0), call: CallJson::of_tool("t"), status, error: None })
    }

    #[test]
    fn failures_of_a_node_are_counted_in_a_row() {
        let graph = json!({"start": "a", "nodes": {"a": {"call": {"_tool": "t"}, "next": [{"to": "a"}]}}});
        let mut run = GraphRun::new(Arc::new(serde_json::from_value(graph).unwrap()));
        for status in [CallStatus::Failed, CallStatus::Skipped, CallStatus::Refused] {
            run.note_call(report(status));
        }
        assert_eq!(run.cursor.failed["a"], 3);
        run.note_call(report(CallStatus::Denied));
        assert!(run.cursor.failed.is_empty(), "a person's no is no failure");
        assert_eq!(run.cursor.last, json!({"tool": "t", "status": "denied", "error": null}));
    }
}
