//! The outcome of each call of a turn: its status, its result, and why it has none.

use std::collections::{BTreeMap, VecDeque};

use obelus_kernel::CallJson;
use obelus_kernel::session::{CallReport, CallStatus, Reply, Session};
use obelus_kernel::{Expr, Message};
use obelus_runtime::people::{StepLine, Titles};
use serde_json::{Value, json};

use super::super::chat::styled;
use crate::language::Language;

/// A call with its outcome.
pub(super) struct CallOutcome<'a> {
    report: &'a CallReport,
    result: Option<&'a Value>,
}

/// The calls of a turn, in order, each with its result in memory.
pub(super) fn outcomes<'a>(session: &'a Session, reply: &'a Reply) -> Vec<CallOutcome<'a>> {
    let mut results = Results::of(session);
    let mut result = |report: &CallReport| match report.status {
        CallStatus::Done => results.take(&report.call),
        _ => None,
    };
    reply.calls.iter().map(|report| CallOutcome { report, result: result(report) }).collect()
}

/// A result, with the call as it was proposed.
struct ProposedResult<'a> {
    call: &'a CallJson,
    instance: &'a str,
    value: &'a Value,
}

/// The results in memory by the path that they were written to, oldest first.
struct Results<'a>(BTreeMap<String, VecDeque<ProposedResult<'a>>>);

impl<'a> Results<'a> {
    fn of(session: &'a Session) -> Self {
        let mut all: BTreeMap<_, VecDeque<_>> = BTreeMap::new();
        for message in session.context().messages() {
            let Message::Data(data) = message else { continue };
            let Some((call, path, value)) = data.as_result() else { continue };
            let instance = data.instance.as_deref().unwrap_or_default();
            all.entry(path.to_string()).or_default().push_back(ProposedResult { call, instance, value });
        }
        Self(all)
    }

    /// The result of a call as it ran. It is found by the proposal, which has references instead of values.
    fn take(&mut self, call: &CallJson) -> Option<&'a Value> {
        let written = call.output_path()?;
        self.take_at(written, call).or_else(|| {
            // It names several paths.
            let paths = Expr::parse(written).ok()?;
            paths.refs().into_iter().find_map(|path| self.take_at(&path.to_string(), call))
        })
    }

    fn take_at(&mut self, path: &str, call: &CallJson) -> Option<&'a Value> {
        let instance = call.instance().unwrap_or_default();
        let is_of = |result: &ProposedResult<'_>| {
            result.instance == instance
                && result.call.tool_name() == call.tool_name()
                && is_proposal_of(result.call, call)
        };
        let results = self.0.get_mut(path)?;
        let at = results.iter().position(is_of)?;
        results.remove(at).map(|result| result.value)
    }
}

/// Whether a call ran as proposed, apart from references.
pub(crate) fn is_proposal_of(proposed: &Value, ran: &Value) -> bool {
    match (proposed, ran) {
        (Value::String(text), _) if text.contains('†') => true,
        (Value::Object(fields), Value::Object(ran)) => fields
            .iter()
            .filter(|(name, value)| !name.starts_with('_') && !value.is_null())
            .all(|(name, value)| ran.get(name).is_some_and(|ran| is_proposal_of(value, ran))),
        (Value::Array(items), Value::Array(ran)) => {
            items.len() == ran.len() && items.iter().zip(ran).all(|(item, ran)| is_proposal_of(item, ran))
        }
        _ => proposed == ran,
    }
}

/// Whether a call was not carried out: it failed, or was skipped although its branch was chosen.
pub(super) fn is_undone(report: &CallReport) -> bool {
    match report.status {
        CallStatus::Failed | CallStatus::Refused | CallStatus::Denied => true,
        CallStatus::Skipped => !report.is_off_branch(),
        _ => false,
    }
}

impl CallOutcome<'_> {
    /// `{call, status, reason?, result?, error?}`.
    pub(super) fn to_json(&self) -> Value {
        let mut row = json!(self.report);
        if let Some(result) = self.result {
            row["result"] = result.clone();
        }
        if let (CallStatus::Skipped | CallStatus::Denied | CallStatus::Refused, Some(error)) =
            (self.report.status, &self.report.error)
        {
            row["reason"] = error.message.as_str().into();
        }
        row
    }

    /// The same on one line for people.
    pub(super) fn line(&self, titles: &Titles, session: &Session, language: Language) -> String {
        styled(StepLine::of_plan(self.report, self.result, titles, session, language).line()).styled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_matched_with_its_proposal() {
        let proposed = json!({"_tool": "t", "a": "†state.x", "b": [1, "{†state.y}!"], "_outputPath": "†state.z"});
        assert!(is_proposal_of(&proposed, &json!({"_tool": "t", "a": {"any": 1}, "b": [1, "so!"]})));
        assert!(!is_proposal_of(&proposed, &json!({"_tool": "t", "a": 1, "b": [2, "so!"]})));
        assert!(!is_proposal_of(&proposed, &json!({"_tool": "t", "a": 1})));
    }
}
