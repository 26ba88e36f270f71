//! Why a call is skipped: the reference without a value, and the call that should have brought it.

use super::step::{ActiveStep, Status, ValueState};
use crate::context::Context;
use crate::expr::Expr;
use crate::fault::Rule;
use crate::path::Path;
use crate::session::report_error::{Lack, ReportError};
use obelus_notebook::failure_code::FailureCode;
use obelus_notebook::plan::Edge;

impl ActiveStep {
    /// Why a job cannot run, for its report: `{rule, code, message}` (PLAN-4).
    pub(crate) fn missing(&self, job: usize, context: &Context) -> Option<ReportError> {
        let mut found = None;
        self.call(job).exprs(&mut |expr| {
            found = found.take().or_else(|| self.dead_path(job, expr, context));
        });
        let (path, is_chosen) = found?;
        if self.has_no_rows(job, path) {
            return Some(ReportError::new(FailureCode::NoRows, "no rows, nothing to do"));
        }
        let is_unknown = self.graph.edges_by(job, path).iter().any(|edge| self.jobs[edge.from].is_result_unknown);
        let code = match (is_unknown, is_chosen) {
            (true, _) => FailureCode::NoResult,
            (false, true) => FailureCode::NoValue,
            (false, false) => FailureCode::NotChosen,
        };
        let message = format!("{path} has no value{}", self.failed_writers(job, path));
        let lacks = Some(Lack::Value(path.to_string()));
        Some(ReportError { rule: Some(Rule::Plan4), lacks, ..ReportError::new(code, message) })
    }

    /// The first path that leaves an expression without a value, and whether its branch was chosen.
    fn dead_path<'a>(&self, job: usize, expr: &'a Expr, context: &Context) -> Option<(&'a Path, bool)> {
        if !matches!(self.settled(job, expr, context), ValueState::Dead | ValueState::Null) {
            return None;
        }
        let dead = |terms: &'a [Expr]| -> Vec<(&'a Path, bool)> {
            terms.iter().filter_map(|term| self.dead_path(job, term, context)).collect()
        };
        match expr {
            Expr::Ref(path) => Some((path, !self.is_off_branch(job, path))),
            // One chosen alternative without a value suffices.
            Expr::Any(terms) => dead(terms).into_iter().max_by_key(|(_, is_chosen)| *is_chosen),
            // One condition that was not chosen suffices.
            Expr::All(terms) => dead(terms).into_iter().min_by_key(|(_, is_chosen)| *is_chosen),
        }
    }

    /// Whether every call that may write a path has chosen another one, or was itself on a branch that was not
    /// chosen.
    fn is_off_branch(&self, job: usize, path: &Path) -> bool {
        let chose_another = |edge: &Edge| !self.jobs[edge.from].is_result_unknown && !self.has_written(edge, path);
        self.every_feeder(job, path, &FailureCode::NotChosen, &chose_another)
    }

    /// Whether a path has no value because a list has no rows, for this call or the one before it.
    fn has_no_rows(&self, job: usize, path: &Path) -> bool {
        self.every_feeder(job, path, &FailureCode::NoRows, &|edge| self.lacks_rows(job, edge))
    }

    /// Whether each of the calls that may write a path is done in this way, or was skipped with this code.
    fn every_feeder(&self, job: usize, path: &Path, code: &FailureCode, is_done_so: &dyn Fn(&Edge) -> bool) -> bool {
        let edges = self.graph.edges_by(job, path);
        let holds = |edge: &Edge| match &self.jobs[edge.from] {
            feeder if feeder.status == Status::Done => is_done_so(edge),
            feeder => {
                feeder.status == Status::Skipped
                    && feeder.error.as_ref().is_some_and(|error| error.code.as_ref() == Some(code))
            }
        };
        !edges.is_empty() && edges.iter().all(holds)
    }

    /// Whether the call of an edge chose this path, or one above or below it.
    fn has_written(&self, edge: &Edge, path: &Path) -> bool {
        let written = self.jobs[edge.from].written.as_ref();
        written.is_none_or(|written| written.iter().any(|written| written.covers(path) || path.covers(written)))
    }

    /// Whether the call of an edge returns rows that become instances, and this job is for none of them.
    fn lacks_rows(&self, job: usize, edge: &Edge) -> bool {
        let call = &self.calls[self.jobs[edge.from].call];
        let kind = self.jobs[job].instance.as_deref().and_then(|name| name.split_once(' ')).map(|(kind, _)| kind);
        let is_row = call.writes().any(|path| kind == Some(&*path.kind));
        call.tool.as_ref().is_some_and(|tool| tool.instances.is_some()) && !is_row
    }

    /// The outcome of the calls that should have brought a value; failed ones first.
    fn failed_writers(&self, job: usize, path: &Path) -> String {
        let edges = self.graph.edges_by(job, path);
        let what = |edge: &Edge| match self.jobs[edge.from].status {
            Status::Failed => (0, "failed"),
            Status::Denied => (1, "was denied"),
            Status::Refused => (2, "was refused"),
            Status::Skipped => (3, "was skipped"),
            _ if self.jobs[edge.from].is_result_unknown => (3, "happened, and its result was not given"),
            _ if self.lacks_rows(job, edge) => (4, "brought no rows"),
            _ if self.has_written(edge, path) => (4, "did not bring it"),
            _ => (5, "chose another path"),
        };
        let Some(edge) = edges.iter().min_by_key(|edge| what(edge).0) else { return String::new() };
        let call = self.jobs[edge.from].call;
        format!(": call {call} `{}` {}", self.calls[call].tool_name(), what(edge).1)
    }
}
