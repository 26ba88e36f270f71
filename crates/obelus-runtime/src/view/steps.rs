//! A step of a turn on one line: what it does, and its outcome. Chat, runs, answers and reports share it.

use obelus_kernel::CallJson;
use obelus_kernel::policy::ConsentId;
use obelus_kernel::session::report_error::{Lack, ReportError};
use obelus_kernel::session::{CallReport, CallStatus, FailureCode, Mode, Outcome, Session};
use obelus_kernel::{Rule, visible};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lines::{Tone, ViewLine};
use super::results::result_in_words;
use super::titles::Titles;
use crate::events::StepView;
use crate::report::missing_data;
use crate::words::{Language, error_words, failure_in_words, fill, refusal_in_words, refused_by_mode};

/// The limit of characters of a plan's result on its line; `--json` has all of it.
const LONGEST: usize = 1_000;

/// A step for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepLine {
    /// What it does.
    pub headline: String,
    /// The agent's comment, or the subject if the headline lacks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its status.
    pub status: CallStatus,
    /// The outcome as text: the result, or an error. None while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The standing consent by which it ran without a question, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<String>,
    /// Who approved it with other values than the agent's, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
    /// Whether it is shown only if it fails.
    pub is_quiet: bool,
}

impl StepLine {
    /// A step of the event [`Moved`](crate::EventBody::Moved). An acting step names its object once that is known; a
    /// reading one only says what it reads.
    pub fn of(step: &StepView, titles: &Titles, mode: Mode, language: Language) -> Self {
        let StepView { report, headline, lacks, consent, .. } = step;
        let tool = report.call.tool_name();
        let is_settled = !matches!(report.status, CallStatus::Blocked | CallStatus::Ready)
            && !report.call.to_string().contains("\"†");
        let mut line = Self::named(&report.call, titles);
        if titles.has_own_words(tool) && !titles.reads(tool) && is_settled {
            (line.headline, line.comment) = (headline.clone(), None);
        }
        line.status = report.status;
        line.outcome = outcome(report, lacks.as_deref(), titles, mode, language);
        line.consent = consent.map(|number| by_consent(number, language));
        line
    }

    /// A step of a turn that has ended or rests.
    pub fn of_report(report: &CallReport, session: &Session, language: Language) -> Self {
        let titles = Titles::of(session.context(), language.code());
        let headline = session.call_headline_in(&report.call, Some(language.code()));
        Self { headline, comment: None, ..Self::reported(report, &titles, session, language) }
    }

    /// Whether a call was left undone, and the agent need not have said so (LOOP-7): the policy refused it, or nobody
    /// gave the result that it needs. A call outside the mode stays planned.
    pub fn is_left_undone(status: CallStatus, error: Option<&ReportError>) -> bool {
        match status {
            CallStatus::Refused => error.is_none_or(|error| error.rule != Some(Rule::Pol1)),
            CallStatus::Skipped => error.is_some_and(|error| error.code == Some(FailureCode::NoResult)),
            _ => false,
        }
    }

    /// The same under the name of a running call.
    fn reported(report: &CallReport, titles: &Titles, session: &Session, language: Language) -> Self {
        let lacks = report.error.as_ref().and_then(|_| missing_data(report, session, language));
        Self {
            status: report.status,
            outcome: outcome(report, lacks.as_deref(), titles, session.settings().mode, language),
            consent: session.consent_of(report.place).map(|consent| by_consent(consent.number, language)),
            ..Self::named(&report.call, titles)
        }
    }

    /// A step of a plan that was run alone. Its results are the plan's answer, so they are shown in full, and its
    /// author is told what a skipped step lacked.
    pub fn of_plan(
        report: &CallReport,
        result: Option<&Value>,
        titles: &Titles,
        session: &Session,
        language: Language,
    ) -> Self {
        let line = Self::reported(report, titles, session, language);
        let outcome = match (report.status, result, &report.error) {
            (CallStatus::Done, Some(Value::String(text)), _) => Some(shortened(text, language)),
            (CallStatus::Done, Some(value), _) if !value.is_null() => Some(shortened(&value.to_string(), language)),
            (CallStatus::Skipped, _, Some(error)) => {
                line.outcome.map(|said| format!("{said} ({})", lacked(error, language)))
            }
            _ => line.outcome,
        };
        Self { outcome, ..line }
    }

    /// A starting call.
    pub fn began(call: &CallJson, consent: Option<u64>, titles: &Titles, language: Language) -> Self {
        Self { consent: consent.map(|number| by_consent(number, language)), ..Self::named(call, titles) }
    }

    /// A call that has ended (ASK-7).
    pub fn ended(call: &CallJson, outcome: &Outcome, titles: &Titles, language: Language) -> Self {
        let words = &language.words().steps;
        let (status, said) = match outcome {
            Outcome::Error(error) => {
                // The kernel says the same of an effect that has happened.
                let is_done = error.happened && !titles.reads(call.tool_name());
                let mut error = ReportError::from(error);
                if is_done {
                    error.code = Some(FailureCode::ResultNotKept);
                }
                (CallStatus::Failed, failed(&error, None, language))
            }
            Outcome::Lost { message } => (CallStatus::Waiting, fill(words.lost, &[&visible(message)])),
            Outcome::Value(value) => {
                let result =
                    result_in_words(&titles.pages().with_full_address(value), titles.reads(call.tool_name()), language);
                (CallStatus::Done, result.map_or_else(|| words.done.to_owned(), |result| visible(&result)))
            }
            Outcome::Messages(_) => (CallStatus::Done, words.done.to_owned()),
        };
        Self { status, outcome: Some(said), ..Self::named(call, titles) }
    }

    /// A call that a delegate carries out: it runs, or has ended. Its result is in the agent's memory.
    pub fn delegated(report: &CallReport, titles: &Titles, language: Language) -> Self {
        let outcome = match (report.status, report.error.as_deref()) {
            (CallStatus::Failed, Some(error)) => Some(failed(error, None, language)),
            _ => outcome(report, None, titles, Mode::default(), language),
        };
        Self { status: report.status, outcome, ..Self::named(&report.call, titles) }
    }

    /// The name of a running call.
    fn named(call: &CallJson, titles: &Titles) -> Self {
        let tool = call.tool_name();
        let comment = call.get("comment").and_then(Value::as_str).filter(|words| !words.trim().is_empty());
        let about = comment.or_else(|| titles.subject(tool, call)).or_else(|| call.instance());
        Self {
            headline: titles.tool(tool),
            comment: about.map(str::to_owned),
            status: CallStatus::Running,
            outcome: None,
            consent: None,
            edited: None,
            is_quiet: titles.is_quiet(tool),
        }
    }

    /// The same step, with the person who edited it.
    #[must_use]
    pub fn edited_by(self, who: &str, language: Language) -> Self {
        Self { edited: Some(fill(language.words().steps.edited_by, &[who])), ..self }
    }

    /// Its sign.
    pub fn sign(&self) -> &'static str {
        match self.status {
            CallStatus::Done => "✓",
            CallStatus::Failed => "✗",
            CallStatus::Refused | CallStatus::Denied => "⊘",
            CallStatus::Skipped => "–",
            CallStatus::Waiting => "?",
            CallStatus::Running => "▸",
            CallStatus::Planned | CallStatus::Blocked | CallStatus::Ready => "·",
        }
    }

    /// The tone of its sign.
    pub fn tone(&self) -> Tone {
        match self.status {
            CallStatus::Done => Tone::Good,
            CallStatus::Failed => Tone::Bad,
            CallStatus::Refused | CallStatus::Denied | CallStatus::Waiting => Tone::Mark,
            _ => Tone::Faint,
        }
    }

    /// The tone of its outcome: a success needs no colour.
    pub fn outcome_tone(&self) -> Tone {
        if self.status == CallStatus::Done { Tone::Faint } else { self.tone() }
    }

    /// The step on one line, with its sign.
    pub fn line(&self) -> ViewLine {
        let mut line = ViewLine::of(self.tone(), self.sign()).with(Tone::Plain, " ");
        line.pieces.extend(self.words().pieces);
        line.hanging(2)
    }

    /// The step on one line, without its sign.
    pub fn words(&self) -> ViewLine {
        let mut line = ViewLine::default().shown(Tone::Plain, &self.headline);
        if let Some(comment) = &self.comment {
            line = line.with(Tone::Faint, " · ").shown(Tone::Faint, comment);
        }
        if let Some(outcome) = &self.outcome {
            line = line.with(Tone::Plain, ": ").shown(self.outcome_tone(), outcome);
        }
        if let Some(consent) = &self.consent {
            line = line.with(Tone::Faint, format!(" · {consent}"));
        }
        if let Some(edited) = &self.edited {
            line = line.with(Tone::Faint, " · ").shown(Tone::Faint, edited);
        }
        line
    }
}

fn by_consent(number: u64, language: Language) -> String {
    fill(language.words().consents.by_consent, &[&ConsentId(number).to_string()])
}

/// The outcome of a step; none while it runs.
fn outcome(
    report: &CallReport,
    lacks: Option<&str>,
    titles: &Titles,
    mode: Mode,
    language: Language,
) -> Option<String> {
    let words = &language.words().steps;
    let none = ReportError::default();
    let error = report.error.as_deref().unwrap_or(&none);
    let with = |head: &str, why: &str| if why.is_empty() { head.to_owned() } else { format!("{head}: {why}") };
    Some(match report.status {
        CallStatus::Done => words.done.to_owned(),
        CallStatus::Failed => failed(error, lacks, language),
        CallStatus::Skipped if error.code == Some(FailureCode::NotStarted) => words.not_started.to_owned(),
        CallStatus::Skipped if error.code == Some(FailureCode::NoResult) => words.no_result.to_owned(),
        CallStatus::Skipped => words.skipped.to_owned(),
        CallStatus::Denied => with(words.denied, &visible(&error.message)),
        // The mode may have changed since.
        CallStatus::Refused if error.rule == Some(Rule::Pol1) => match refused_by_mode(error).unwrap_or(mode) {
            Mode::Shadow => words.only_planned.to_owned(),
            mode => fill(words.outside_mode, &[mode.name()]),
        },
        CallStatus::Refused => with(words.refused, &refusal_in_words(error, report.call.tool_name(), titles, language)),
        CallStatus::Waiting => words.waits.to_owned(),
        CallStatus::Running => return None,
        CallStatus::Planned | CallStatus::Blocked | CallStatus::Ready => words.planned.to_owned(),
    })
}

/// What a skipped step of a plan lacked: in English the whole reason, else the reference without a value.
fn lacked(error: &ReportError, language: Language) -> String {
    match (&error.lacks, error.rule) {
        (Some(Lack::Value(path)), Some(rule)) if language != Language::English => visible(&format!("{rule}: {path}")),
        _ => error_words(error, language),
    }
}

/// The beginning of a long result.
fn shortened(text: &str, language: Language) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => {
            let all = fill(language.words().running.characters, &[&text.chars().count().to_string()]);
            format!("{}… ({all})", &text[..end])
        }
    }
}

/// Why a step failed: what it lacked, in the user's language, or a service's message with its code.
fn failed(error: &ReportError, lacks: Option<&str>, language: Language) -> String {
    let words = &language.words().steps;
    let why = match (lacks, &error.code) {
        (Some(lacks), _) => lacks.to_owned(),
        (None, Some(FailureCode::Stopped)) => return words.stopped.to_owned(),
        (None, Some(FailureCode::Timeout)) => return words.too_late.to_owned(),
        // It has not failed.
        (None, Some(FailureCode::ResultNotKept)) => return failure_in_words(error, language),
        (None, _) => failure_in_words(error, language),
    };
    if why.is_empty() { words.failed.to_owned() } else { format!("{}: {why}", words.failed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_and_says_how_long_it_is() {
        assert_eq!(shortened("короткий", Language::English), "короткий");
        let long = shortened(&"ж".repeat(LONGEST + 1), Language::English);
        assert!(long.ends_with("ж… (1001 characters in all)"), "{long}");
    }
}
