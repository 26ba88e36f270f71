//! The steps that a question belongs to: that of a delegate, and those that wait for the result of an effect in doubt.

use obelus_kernel::session::{About, CallStatus, Question, Session};

use super::titles::Titles;
use crate::words::Language;

/// The limit of calls that are searched.
const MOST_CALLS: usize = 10_000;

/// The title of the step whose delegate asks a question.
pub(super) fn step_of_delegate(session: &Session, question: &Question, language: Language) -> Option<String> {
    let report = session.call_report(question.id.delegate_place()?)?;
    Some(Titles::of(session.context(), language.code()).tool(report.call.tool_name()))
}

/// The titles of the waiting steps that read the result of an effect in doubt, each once.
pub(super) fn readers_of_result(session: &Session, question: &Question, titles: &Titles) -> Vec<String> {
    let Some(asked) = question.calls.first().filter(|_| question.about == About::InDoubt) else { return Vec::new() };
    let graph = session.plan_graph(MOST_CALLS);
    let is_doubtful = |index: usize| {
        let report = &graph.calls[index].report;
        report.status == CallStatus::Running && report.call == asked.call
    };
    let flows = graph.flows.iter().filter(|flow| flow.from.is_some_and(is_doubtful));
    let waiting = flows.map(|flow| &graph.calls[flow.to].report).filter(|report| report.status == CallStatus::Blocked);
    let mut readers: Vec<String> = Vec::new();
    for report in waiting {
        let title = titles.tool(report.call.tool_name());
        if !readers.contains(&title) {
            readers.push(title);
        }
    }
    readers
}
