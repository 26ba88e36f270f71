//! The events of a session as text for people.

use std::collections::{BTreeMap, BTreeSet};

use obelus_connect::bitrix24::event_words;
use obelus_kernel::CallJson;
use obelus_kernel::session::report_error::ReportError;
use obelus_kernel::session::{
    About, CallId, CallReport, CallStatus, Decision, Outcome, Question, QuestionId, Reply, Session,
};
use obelus_runtime::EventBody;
use obelus_runtime::people::{StepLine, Titles, how_it_ended};
use serde_json::Value;

use super::super::chat::styled;
use super::super::people::{DelegateTitles, Narrator, by_in_words, happened_step};
use crate::language::{Language, fill};
use crate::output::{BOLD, DIM, YELLOW, visible};

/// Describes the events of a session, in order.
pub(super) struct EventTexts<'a> {
    narrator: &'a Narrator,
    session: &'a Session,
    /// The agent's name.
    agent: String,
    /// The running calls.
    calls: BTreeMap<CallId, CallJson>,
    /// The places of calls that are already listed as begun or not begun. A reply lists them again.
    covered: BTreeSet<(u32, u32)>,
    /// The delegates at work.
    delegates: DelegateTitles,
    /// The calls in doubt, by question.
    doubts: BTreeMap<QuestionId, CallJson>,
}

/// The languages of the session's own reasons.
const LANGUAGES: [Language; 2] = [Language::Russian, Language::English];

impl<'a> EventTexts<'a> {
    pub(super) fn new(narrator: &'a Narrator, session: &'a Session, agent: &str) -> Self {
        Self {
            narrator,
            session,
            agent: visible(agent),
            calls: BTreeMap::new(),
            covered: BTreeSet::new(),
            delegates: DelegateTitles::default(),
            doubts: BTreeMap::new(),
        }
    }

    /// An event as one or more lines; none if it does not concern people.
    pub(super) fn lines_of(&mut self, event: &EventBody) -> Option<String> {
        let words = &self.narrator.phrases.story;
        let small = |text: String| Some(format!("  {DIM}{text}{DIM:#}"));
        match event {
            EventBody::UserSaid { text, by: None } => Some(speech(words.you, text)),
            EventBody::UserSaid { text, by: Some(by) } => Some(speech(&by_in_words(by, self.narrator.phrases), text)),
            EventBody::AgentSaid { text } => Some(speech(&self.agent, text)),
            EventBody::CallBegan { id, call, .. } => {
                self.calls.insert(id.clone(), call.clone());
                self.covered.extend(id.place());
                None
            }
            EventBody::CallEnded { id, outcome } => Some(self.ended(id, outcome)),
            EventBody::Delegated { id, report, tools } => {
                self.covered.extend(id.place());
                let step = self.delegates.step(id, report, tools, self.narrator)?;
                Some(format!("  {}", DelegateTitles::line(id, &step)))
            }
            EventBody::QuestionAsked { question } => Some(self.asked(question)),
            EventBody::QuestionDecided { question, decision, by } => {
                let by = by_in_words(by, self.narrator.phrases);
                let line = small(fill(words.decided, &[&question.to_string(), &self.decided(decision), &by]))?;
                Some(match self.happened(question, decision) {
                    Some(step) => format!("{line}\n{step}"),
                    None => line,
                })
            }
            EventBody::QuestionExpired { question } => small(self.closed(question)),
            EventBody::Happened { event } => small(fill(
                self.narrator.phrases.chat.happened,
                &[&visible(&event_words(event, self.narrator.phrases.language))],
            )),
            EventBody::StateEdited { by } => {
                small(fill(words.state_edited, &[&by_in_words(by, self.narrator.phrases)]))
            }
            EventBody::ModeChanged { mode } => small(fill(words.mode, &[mode.name()])),
            EventBody::RulesChanged => small(words.rules.to_owned()),
            EventBody::Paused { by } => small(fill(words.paused, &[&by_in_words(by, self.narrator.phrases)])),
            EventBody::Resumed { by } => small(fill(words.resumed, &[&by_in_words(by, self.narrator.phrases)])),
            EventBody::Stopped => small(words.stopped.to_owned()),
            EventBody::Rested { reply } => self.rested(reply),
            _ => None,
        }
    }

    /// The name of a call: its title and subject.
    fn name(&self, call: &CallJson, titles: &Titles) -> String {
        StepLine::began(call, None, titles, self.narrator.phrases.language).words().plain()
    }

    fn ended(&self, id: &CallId, outcome: &Outcome) -> String {
        let named = CallJson::of_tool(id.to_string());
        let call = self.calls.get(id).unwrap_or(&named);
        let step = StepLine::ended(
            call,
            outcome,
            self.delegates.of(&id.callers(), self.narrator),
            self.narrator.phrases.language,
        );
        format!("  {}", DelegateTitles::line(id, &step))
    }

    /// A question. One about an effect in doubt is no request for an approval.
    fn asked(&mut self, question: &Question) -> String {
        let words = &self.narrator.phrases.story;
        let call = question.calls.first().map(|asked| &asked.call);
        // A delegate has tools of its own.
        let callers = question.id.callers();
        let titles = || Titles::of(self.session.context_of(&question.id), self.narrator.phrases.code);
        let titles = self.delegates.below(&callers).cloned().unwrap_or_else(titles);
        let what = call.map(|call| self.name(call, &titles));
        let mut what = what.or_else(|| question.description.lines().next().map(visible)).unwrap_or_default();
        if let (About::InDoubt, Some(call)) = (question.about, call) {
            what = fill(words.in_doubt, &[&what]);
            self.doubts.insert(question.id.clone(), call.clone());
        }
        let asked = fill(words.asked, &[&question.id.to_string()]);
        let indent = "  ".repeat(callers.len() + 1);
        format!("{indent}{YELLOW}?{YELLOW:#} {what} {DIM}({asked}){DIM:#}")
    }

    /// The end of a call in doubt of which a person says that it happened. It has no event of its own.
    fn happened(&self, question: &QuestionId, decision: &Decision) -> Option<String> {
        let step = happened_step(self.doubts.get(question)?, decision, self.narrator)?;
        Some(format!("  {}", styled(step.line()).styled()))
    }

    /// A question that ended without an answer: nobody gave one in time, or the agent's file has changed.
    fn closed(&self, id: &QuestionId) -> String {
        let words = &self.narrator.phrases.story;
        let is_late = |reason: &str| LANGUAGES.iter().any(|language| language.words().session.lapsed == reason);
        match self.session.question(id).and_then(|question| question.reason).filter(|reason| !is_late(reason)) {
            Some(reason) => fill(words.closed, &[&id.to_string(), &visible(&reason)]),
            None => fill(words.expired, &[&id.to_string()]),
        }
    }

    fn decided(&self, decision: &Decision) -> String {
        let words = &self.narrator.phrases.story;
        match decision {
            Decision::Approve { only: None } => words.approved.to_owned(),
            Decision::Approve { only: Some(_) } => words.approved_some.to_owned(),
            Decision::Consent { terms, .. } => {
                fill(words.consented, &[&visible(&self.narrator.titles.tool(&terms.tool)), terms.scope.name()])
            }
            Decision::Deny { reason } | Decision::DenySome { reason, .. } => fill(words.denied, &[&visible(reason)]),
            Decision::Edit { .. } => words.edited.to_owned(),
            Decision::Value { .. } => words.answered.to_owned(),
            Decision::Happened { .. } => words.happened.to_owned(),
            Decision::DidNot => words.did_not.to_owned(),
        }
    }

    /// The calls of a turn that never began: refused, skipped, wrong, or ignored because they were denied before. Those
    /// that ended have events of their own, and so has a person's denial.
    fn not_begun(&mut self, reply: &Reply) -> Vec<String> {
        let is_wrong = |error: &ReportError| error.code.is_none() && error.rule.is_some();
        let is_ignored = |error: &ReportError| {
            LANGUAGES.iter().any(|language| error.message == language.words().session.denied_before)
        };
        let is_undone = |report: &&CallReport| match report.status {
            CallStatus::Refused => true,
            CallStatus::Skipped => !report.is_off_branch(),
            CallStatus::Failed => report.error.as_deref().is_some_and(is_wrong),
            CallStatus::Denied => report.error.as_deref().is_some_and(is_ignored),
            _ => false,
        };
        let undone = reply.calls.iter().filter(is_undone).filter(|report| self.covered.insert(report.place));
        let line =
            |report: &CallReport| StepLine::of_report(report, self.session, self.narrator.phrases.language).line();
        undone.map(|report| format!("  {}", styled(line(report)).styled())).collect()
    }

    /// The calls of a turn that never began, its result unless it was already shown, and why it has none.
    fn rested(&mut self, reply: &Reply) -> Option<String> {
        let mut lines = self.not_begun(reply);
        match &reply.output {
            Value::Null => {}
            Value::String(words) if reply.said.contains(words) => {}
            Value::String(words) => lines.push(speech(&self.agent, words)),
            other => {
                lines.push(format!("  {}", fill(self.narrator.phrases.story.result, &[&visible(&other.to_string())])));
            }
        }
        if let Some(how) = how_it_ended(reply, self.narrator.phrases.language) {
            lines.push(format!("  {YELLOW}!{YELLOW:#} {}", visible(&how.what)));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// A message; further lines are indented.
fn speech(who: &str, words: &str) -> String {
    format!("{BOLD}{who}:{BOLD:#} {}", visible(words.trim_end()).replace('\n', "\n  "))
}
