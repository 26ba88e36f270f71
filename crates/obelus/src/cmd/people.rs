//! Questions as text outside of a conversation: the inbox, a shown session, a run without a terminal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use obelus_kernel::CallJson;
use obelus_kernel::policy::StandingConsent;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{About, CallId, CallReport, CallStatus, Decision, Outcome, Question, QuestionId, Session};
use obelus_kernel::{Time, Tool};
use obelus_runtime::EventBody;
use obelus_runtime::files::FileNews;
use obelus_runtime::people::{AnswerKind, QuestionView, StepLine, Titles, consent_in_words, typed_value};
use serde_json::Value;

use super::chat::{listed, numbers, question_lines, styled};
use crate::cli::StoreArgs;
use crate::command_error::wrong;
use crate::language::{Words, fill, words_for_message};
use crate::local_time::local_time;
use crate::output::{BOLD, DIM, YELLOW, visible};

/// Renders a session's questions and steps as text.
pub(crate) struct Narrator {
    pub(crate) phrases: &'static Words,
    pub(crate) titles: Titles,
}

impl Narrator {
    /// In the language of a session.
    pub(crate) fn of(session: &Session) -> Self {
        Self::about_to_hear(session, None)
    }

    /// The same for a session that is about to get this message.
    pub(crate) fn about_to_hear(session: &Session, words: Option<&str>) -> Self {
        let phrases = words_for_message(session, words);
        Self { phrases, titles: Titles::of(session.context(), phrases.code) }
    }

    /// Sets the folder of the session's page notes.
    pub(crate) fn with_pages(self, pages: Option<PathBuf>) -> Self {
        Self { titles: self.titles.with_pages(pages), ..self }
    }

    /// A question as text.
    pub(crate) fn question(&self, view: &QuestionView, with_details: bool) -> String {
        let lines = question_lines(view, with_details);
        let mut text: Vec<String> = lines.iter().map(super::chat::StyledLine::styled).collect();
        let until = Time::parse(&view.expires_at).map_or_else(|| view.expires_at.clone(), local_time);
        let until = fill(self.phrases.answering.until, &[&until]);
        text.push(format!("  {DIM}{until}{DIM:#}"));
        text.join("\n")
    }

    /// The commands that answer a question of a stored session.
    pub(crate) fn how_to_answer(&self, view: &QuestionView, id: &str, store: &StoreArgs) -> String {
        let answering = &self.phrases.answering;
        let phrase = match view.about {
            About::Input => answering.how_input,
            About::InDoubt => answering.how_doubt,
            About::Call | About::Plan => answering.how_call,
        };
        let or_edit = if view.answers.contains(&AnswerKind::Edit) { answering.or_edit } else { "" };
        let is_many =
            view.answers.contains(&AnswerKind::Approve) && view.calls.iter().filter(|call| call.is_open).count() > 1;
        let or_only = if is_many { answering.or_only } else { "" };
        let id = with_store(id, store);
        format!("  {DIM}{}{DIM:#}", fill(&format!("{phrase}{or_only}{or_edit}"), &[&id, &id, &id, &id]))
    }

    /// A question on one line: its id, the title of its first call, and the record.
    pub(crate) fn in_short(view: &QuestionView) -> String {
        let first = view.calls.first();
        let record = first.and_then(|call| call.record.as_ref()).map(|record| format!(" · {}", record.value));
        let more = if view.calls.len() > 1 { format!(" (+{})", view.calls.len() - 1) } else { String::new() };
        let title = first.map_or(view.head.as_str(), |call| call.title.as_str());
        let line = visible(&format!("{title}{}{more}", record.unwrap_or_default()));
        format!("{YELLOW}?{YELLOW:#} {BOLD}{}{BOLD:#} {line}", visible(&view.id))
    }
}

/// A name in a command that is shown. The options of the store are named again, so that the line can be pasted.
pub(crate) fn with_store(name: &str, at: &StoreArgs) -> String {
    let folder = at.store.as_ref().map(|folder| format!(" --store {}", quoted(&folder.display().to_string())));
    let insecure = if at.insecure_store { " --insecure-store" } else { "" };
    visible(&format!("{name}{}{insecure}", folder.unwrap_or_default()))
}

/// The indexes of the calls with the numbers of `--only`, such as `1-3,7`, of which these are open; none for all.
pub(crate) fn only_calls(said: &[String], open: &[usize], phrases: &Words) -> Result<Option<Vec<usize>>> {
    if said.is_empty() {
        return Ok(None);
    }
    let chosen = numbers(&said.join(","), open).map_err(|bad| {
        let words = fill(phrases.ask.bad_numbers, &[&visible(&bad), &listed(open)]);
        wrong(format!("--only: {words}"), phrases)
    })?;
    Ok(Some(chosen.into_iter().collect()))
}

/// A path quoted for a shell.
pub(crate) fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-~".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// The delegates at work, by the calls that they carry out: the titles of their tools.
#[derive(Default)]
pub(crate) struct DelegateTitles(BTreeMap<CallId, Titles>);

impl DelegateTitles {
    /// The titles of the tools below these calls: those of the innermost one's delegate, or of the session.
    pub(crate) fn of<'a>(&'a self, callers: &[CallId], narrator: &'a Narrator) -> &'a Titles {
        self.below(callers).unwrap_or(&narrator.titles)
    }

    /// The same, if a delegate at work has them.
    pub(crate) fn below(&self, callers: &[CallId]) -> Option<&Titles> {
        callers.last().and_then(|caller| self.0.get(caller))
    }

    /// The line of a step, indented below the call whose delegate makes it.
    pub(crate) fn line(id: &CallId, step: &StepLine) -> String {
        format!("{}{}", "  ".repeat(id.callers().len()), styled(step.line()).styled())
    }

    /// A call of a delegate that begins or ends, as a step. None if the call has not begun.
    pub(crate) fn step(
        &mut self,
        id: &CallId,
        report: &CallReport,
        tools: &[Arc<Tool>],
        narrator: &Narrator,
    ) -> Option<StepLine> {
        let step = StepLine::delegated(report, self.of(&id.callers(), narrator), narrator.phrases.language);
        match report.status {
            CallStatus::Running => {
                self.0.insert(id.clone(), narrator.titles.for_tools(tools)).is_none().then_some(step)
            }
            _ => self.0.remove(id).map(|_| step),
        }
    }
}

/// The end of a call in doubt of which a person says that it happened. It has no event of its own.
pub(crate) fn happened_step(call: &CallJson, decision: &Decision, narrator: &Narrator) -> Option<StepLine> {
    let Decision::Happened { result } = decision else { return None };
    let outcome = match result {
        Value::Null => Outcome::Messages(Vec::new()),
        result => Outcome::Value(result.clone()),
    };
    Some(StepLine::ended(call, &outcome, &narrator.titles, narrator.phrases.language))
}

/// The running calls and those in doubt, so that the line of an end can name the call.
#[derive(Default)]
pub(crate) struct RunningCalls {
    calls: BTreeMap<CallId, CallJson>,
    doubts: BTreeMap<QuestionId, CallJson>,
    delegates: DelegateTitles,
}

impl RunningCalls {
    /// With the calls of a session that are in doubt.
    pub(crate) fn of(session: &Session) -> Self {
        let mut calls = Self::default();
        session.questions().iter().for_each(|question| calls.asked(question));
        calls
    }

    /// Takes a question: it may be about a call in doubt.
    pub(crate) fn asked(&mut self, question: &Question) {
        if let (About::InDoubt, Some(asked)) = (question.about, question.calls.first()) {
            self.doubts.insert(question.id.clone(), asked.call.clone());
        }
    }

    /// The line for a call that begins or ends (ASK-7): with its result or its error. Those of a delegate are indented
    /// below its call.
    pub(crate) fn line(&mut self, event: &EventBody, narrator: &Narrator) -> Option<String> {
        let language = narrator.phrases.language;
        match event {
            // What is read to show a question is no step.
            EventBody::CallBegan { id, .. } if id.is_preview_read() => None,
            EventBody::CallBegan { id, call, consent, edited_by, .. } => {
                self.calls.insert(id.clone(), call.clone());
                let step = StepLine::began(call, *consent, self.delegates.of(&id.callers(), narrator), language);
                let step = match edited_by {
                    Some(by) => step.edited_by(&by_in_words(by, narrator.phrases), language),
                    None => step,
                };
                (!step.is_quiet).then(|| DelegateTitles::line(id, &step))
            }
            EventBody::CallEnded { id, outcome } => {
                let call = self.calls.remove(id)?;
                let titles = self.delegates.of(&id.callers(), narrator);
                // A read shows in the agent's answer.
                let is_done = matches!(outcome, Outcome::Value(_) | Outcome::Messages(_));
                if is_done && titles.reads(call.tool_name()) {
                    return None;
                }
                Some(format!("  {}", DelegateTitles::line(id, &StepLine::ended(&call, outcome, titles, language))))
            }
            EventBody::QuestionDecided { question, decision, .. } => {
                let step = happened_step(self.doubts.get(question)?, decision, narrator)?;
                Some(format!("  {}", styled(step.line()).styled()))
            }
            EventBody::Delegated { id, report, tools } => {
                let step = self.delegates.step(id, report, tools, narrator)?;
                let reads = self.delegates.of(&id.callers(), narrator).reads(report.call.tool_name());
                match report.status {
                    CallStatus::Running => Some(DelegateTitles::line(id, &step)),
                    CallStatus::Done if reads => None,
                    _ => Some(format!("  {}", DelegateTitles::line(id, &step))),
                }
            }
            _ => None,
        }
    }
}

/// Who sent an input, and from where, as text. Journals have a few special names.
pub(crate) fn by_in_words(by: &str, phrases: &Words) -> String {
    let words = &phrases.story;
    let known = match SentBy::of(by) {
        SentBy::CommandLine => words.at_command_line,
        SentBy::Terminal => words.at_terminal,
        SentBy::Nobody => words.nobody,
        SentBy::Conversation => words.in_conversation,
        SentBy::AgentForUser => words.for_the_user,
        SentBy::StateFile => words.state_file,
        SentBy::ImportOf(source) => return fill(words.import_of, &[&visible(source)]),
        SentBy::ForkOf { session, at } => return fill(words.fork_of, &[&visible(session), &at.to_string()]),
        SentBy::InChannel { .. } | SentBy::Agent | SentBy::Call | SentBy::Check | SentBy::Other(_) => {
            return visible(by);
        }
    };
    known.to_owned()
}

/// The standing consents of a session, one line each.
pub(crate) fn consent_lines(session: &Session, phrases: &Words) -> Vec<String> {
    let line = |consent: &StandingConsent| {
        consent_in_words(consent, session, &by_in_words(&consent.by, phrases), phrases.language)
    };
    session.consents().iter().map(line).collect()
}

/// A notice about the files of a session, as text.
pub(crate) fn file_news(news: &FileNews, phrases: &Words) -> String {
    let files = &phrases.files;
    let name = |path: &std::path::Path| path.display().to_string();
    visible(&match news {
        FileNews::Taken { file } => fill(files.taken, &[&name(file)]),
        FileNews::Refused { place, why, ours } => fill(files.refused, &[place, why, &name(ours)]),
        FileNews::Trouble { file, why } => fill(files.trouble, &[&name(file), why]),
    })
}

/// The value of an argument, which a program may have written: JSON, also for a text and without a schema; else as a
/// person types it.
pub(crate) fn argument_value(argument: &str, schema: Option<&Value>) -> Value {
    match serde_json::from_str(argument) {
        Ok(text @ Value::String(_)) => text,
        _ => typed_value(argument, Some(schema.unwrap_or(&Value::Bool(true)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_shown_command_names_the_options_of_the_store_again() {
        for (store, insecure_store, shown) in [
            (None, false, "s"),
            (Some("a b"), false, "s --store 'a b'"),
            (Some("x"), true, "s --store x --insecure-store"),
            (None, true, "s --insecure-store"),
        ] {
            let at = StoreArgs { store: store.map(PathBuf::from), insecure_store };
            assert_eq!(with_store("s", &at), shown);
        }
    }

    #[test]
    fn digits_stay_a_text_in_a_text_field() {
        let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
        assert_eq!(argument_value("007", Some(&text)), json!("007"));
        assert_eq!(argument_value("731905", Some(&text)), json!("731905"));
        assert_eq!(argument_value("\"731905\"", Some(&text)), json!("731905"));
        assert_eq!(argument_value("4", Some(&number)), json!(4));
        assert_eq!(argument_value("four", Some(&number)), json!("four"));
    }
}
