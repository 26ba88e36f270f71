//! The report of a turn for the user: a numbered plan with the result of each step.

use obelus_kernel::session::options::ModelMayConfirm;
use obelus_kernel::session::report_error::Lack;
use obelus_kernel::session::{About, CallReport, CallStatus, Question, QuestionId, Reply, Session, TurnEnd};
use obelus_kernel::{Rule, visible};
use serde_json::Value;

use crate::view::{QuestionView, StepLine};
use crate::words::{Ending, Language, fill, how_it_ended};

/// The report at the end of a turn, without the agent's messages.
pub fn render_report(session: &Session, reply: &Reply, language: Language) -> String {
    let mut lines = steps(session, reply, language);
    if let Some(Ending { what, advice }) = how_it_ended(reply, language) {
        lines.push(what);
        lines.extend(advice.map(str::to_owned));
    }
    if let Value::String(words) = &reply.output
        && !reply.said.contains(words)
    {
        lines.push(visible(words));
    }
    lines.join("\n")
}

/// The steps of the turn with their outcomes. A turn that only read has none: its answer shows the result.
fn steps(session: &Session, reply: &Reply, language: Language) -> Vec<String> {
    let is_read = |report: &CallReport| {
        let tool = report.call.tool().and_then(|name| session.context().tool(name));
        report.status == CallStatus::Done && tool.is_some_and(|tool| tool.effect == obelus_kernel::Effect::Read)
    };
    if reply.ends == TurnEnd::Output && reply.calls.iter().all(is_read) {
        return Vec::new();
    }
    let line = |(number, report): (usize, &CallReport)| format!("{}. {}", number + 1, line(report, session, language));
    reply.calls.iter().enumerate().map(line).collect()
}

/// The calls of the turn that were refused, denied, failed or skipped.
pub fn undone(session: &Session, reply: &Reply, language: Language) -> Vec<String> {
    let is_quiet = |report: &CallReport| {
        let tool = report.call.tool().and_then(|name| session.context().tool(name));
        tool.is_some_and(|tool| tool.is_quiet())
    };
    let is_undone = |report: &&CallReport| {
        match report.status {
            // A refusal is always told: nothing else shows it.
            CallStatus::Refused => true,
            CallStatus::Denied | CallStatus::Failed | CallStatus::Skipped => !is_quiet(report),
            _ => false,
        }
    };
    let mut lines: Vec<String> = Vec::new();
    for report in reply.calls.iter().filter(is_undone) {
        let line = line(report, session, language);
        // Repeated denials of the same call are shown once.
        if report.status != CallStatus::Denied || !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

impl QuestionView {
    /// Why a message that may be meant as an answer has left questions open that were open before it (ASK-6); none for other
    /// messages.
    pub fn left_open(session: &Session, said: &str, before: &[QuestionId], language: Language) -> Option<String> {
        let settings = session.settings();
        if !settings.consent.may_be_meant_as_answer(said) {
            return None;
        }
        let is_left = |question: &Question| question.is_open() && question.about != About::Input;
        let left: Vec<Question> = before.iter().filter_map(|id| session.question(id)).filter(is_left).collect();
        let words = &language.words().ask;
        let why = match left.as_slice() {
            [] => return None,
            [only] if before.len() == 1 && only.about == About::InDoubt => words.left_doubt,
            [only] if before.len() == 1 && only.calls.len() == 1 => match settings.model_may_confirm {
                ModelMayConfirm::Never => words.left_never,
                ModelMayConfirm::AfterConsent if only.needs_direct_answer() => words.left_direct,
                ModelMayConfirm::AfterConsent => words.left_by_agent,
            },
            _ => words.left_several,
        };
        let ids: Vec<String> = left.iter().map(|question| visible(&question.id.to_string())).collect();
        Some(fill(words.left_open, &[&ids.join(", "), why]))
    }
}

fn line(report: &CallReport, session: &Session, language: Language) -> String {
    StepLine::of_report(report, session, language).line().plain()
}

/// Why a call could not begin, in the user's language: a missing tool, activity or missing data.
pub(crate) fn missing_data(report: &CallReport, session: &Session, language: Language) -> Option<String> {
    let error = report.error.as_deref()?;
    let tool = report.call.tool_name();
    let Some(known) = session.context().tool(tool) else {
        return Some(language.words().steps.no_tool.to_owned());
    };
    // A tool with a declared result is meant for the model; another one lacks its activity.
    if error.rule == Some(Rule::Call1) && known.output().is_none() {
        return Some(fill(language.words().steps.no_activity, &[&visible(tool)]));
    }
    let Some(Lack::Property { field, name }) = &error.lacks else { return None };
    let whole = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
    let missing = match session.label_of(tool, &whole, Some(language.code())) {
        Some(label) => format!("{label} ({name})"),
        None => whole,
    };
    Some(fill(language.words().steps.missing, &[&visible(&missing)]))
}
