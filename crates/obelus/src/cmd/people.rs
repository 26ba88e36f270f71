//! Questions as text for people who are not in a conversation: the inbox, a session that is looked at, a run without a
//! terminal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use obelus_kernel::policy::StandingConsent;
use obelus_kernel::session::{About, CallId, Outcome, Question, Session};
use obelus_runtime::EventBody;
use obelus_runtime::files::FileNews;
use obelus_runtime::people::{Titles, consent_in_words, error_words, result_in_words};
use serde_json::{Value, json};

use super::chat::question_lines;
use crate::language::{Words, fill, words_about_to_hear};
use crate::output::{DIM, GREEN, RED, YELLOW, visible};

/// What is needed to tell a session's questions and steps in words.
pub(crate) struct Narrator {
    pub(crate) phrases: &'static Words,
    pub(crate) titles: Titles,
}

impl Narrator {
    /// In the language of a session.
    pub(crate) fn of(session: &Session) -> Self {
        Self::about_to_hear(session, None)
    }

    /// The same for a session that is about to hear these words.
    pub(crate) fn about_to_hear(session: &Session, words: Option<&str>) -> Self {
        let phrases = words_about_to_hear(session, words);
        Self { phrases, titles: Titles::of(session.context(), phrases.code) }
    }

    /// The same, with what is noted of the pages that the session has seen.
    pub(crate) fn with_pages(self, pages: Option<PathBuf>) -> Self {
        Self { titles: self.titles.with_pages(pages), ..self }
    }

    /// A question as text, under the id by which it is answered.
    pub(crate) fn question(&self, question: &Question, id: &str) -> String {
        let lines = question_lines(question, id, &self.titles, self.phrases);
        let mut text: Vec<String> = lines.iter().map(super::chat::Line::styled).collect();
        let until = fill(self.phrases.answering.until, &[&question.expires_at.to_string()]);
        text.push(format!("  {DIM}{until}{DIM:#}"));
        text.join("\n")
    }

    /// What a call does, in the words of the agent's author where there are some.
    pub(crate) fn step(&self, call: &Value) -> String {
        let tool = call["_tool"].as_str().unwrap_or_default();
        let title = if self.titles.has_own_words(tool) { self.titles.tool(tool) } else { tool.to_owned() };
        match self.titles.subject(tool, call) {
            Some(subject) => format!("{title} · {subject}"),
            None => title,
        }
    }

    /// How a question is answered at the command line, by the id of a kept session's question.
    pub(crate) fn how_to_answer(&self, question: &Question, id: &str) -> String {
        let answering = &self.phrases.answering;
        let phrase = match question.about {
            About::Input => answering.how_input,
            About::InDoubt => answering.how_doubt,
            About::Call | About::Plan => answering.how_call,
        };
        let id = visible(id);
        format!("  {DIM}{}{DIM:#}", fill(phrase, &[&id, &id]))
    }
}

/// The calls at work, so that the line of an end can name the call.
#[derive(Default)]
pub(crate) struct Begun(BTreeMap<CallId, Arc<Value>>);

impl Begun {
    /// What is told of a call that begins or ends (ASK-7): at once, done with its result, or failed and why.
    pub(crate) fn line(&mut self, event: &EventBody, look: &Narrator) -> Option<String> {
        match event {
            EventBody::CallBegan { id, call, consent, .. } => {
                self.0.insert(id.clone(), Arc::clone(call));
                if look.titles.is_quiet(call["_tool"].as_str().unwrap_or_default()) {
                    return None;
                }
                let by = consent.map(|number| fill(look.phrases.because.by_consent, &[&format!("c{number}")]));
                let by = by.map(|by| format!(" · {by}")).unwrap_or_default();
                Some(format!("{DIM}▸ {}{by}{DIM:#}", visible(&look.step(call))))
            }
            EventBody::CallEnded { id, outcome } => ended(&*self.0.remove(id)?, outcome, look),
            _ => None,
        }
    }
}

/// What is told of a call that has ended; nothing of a read that succeeded.
fn ended(call: &Value, outcome: &Outcome, look: &Narrator) -> Option<String> {
    let title = visible(&look.step(call));
    Some(match outcome {
        Outcome::Error(error) => {
            let words = error_words(&json!({"code": error.code, "message": error.message}), look.phrases.language);
            format!("  {RED}✗{RED:#} {title}: {}", visible(&words))
        }
        Outcome::Lost { message } => {
            let words = fill(look.phrases.running.answer_lost, &[&visible(message)]);
            format!("  {YELLOW}?{YELLOW:#} {title}: {words}")
        }
        // A read is told by the answer that is made of it.
        _ if look.titles.reads(call["_tool"].as_str().unwrap_or_default()) => return None,
        Outcome::Value(_) | Outcome::Messages(_) => {
            let result = match outcome {
                Outcome::Value(value) => {
                    result_in_words(&look.titles.pages().told(value), false, look.phrases.language)
                }
                _ => None,
            };
            let result = result.unwrap_or_else(|| look.phrases.status.done.to_owned());
            format!("  {GREEN}✓{GREEN:#} {title}: {}", visible(&result))
        }
    })
}

/// The names of people at this program, in journals.
pub(crate) const AT_TERMINAL: &str = "a person at the terminal";
/// How the name of an import begins there; that of the file follows.
pub(crate) const IMPORT_OF: &str = "the import of ";
pub(crate) const AT_COMMAND_LINE: &str = "a person at the command line";

/// Who said something, and from where. Journals have a few names of their own for that.
pub(crate) fn by_in_words(by: &str, phrases: &Words) -> String {
    let words = &phrases.story;
    let known = match by {
        AT_COMMAND_LINE => words.at_command_line,
        AT_TERMINAL => words.at_terminal,
        "nobody" => words.nobody,
        "the user, in conversation" => words.in_conversation,
        "the agent, for the user" => words.for_the_user,
        "the state's file" => words.state_file,
        other => {
            return match other.strip_prefix(IMPORT_OF) {
                Some(file) => fill(words.import_of, &[&visible(file)]),
                None => visible(other),
            };
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

/// News about the files of a session.
pub(crate) fn file_news(news: &FileNews, phrases: &Words) -> String {
    let files = &phrases.files;
    let name = |path: &std::path::Path| path.display().to_string();
    visible(&match news {
        FileNews::Taken { file } => fill(files.taken, &[&name(file)]),
        FileNews::Refused { place, why, ours } => fill(files.refused, &[place, why, &name(ours)]),
        FileNews::Trouble { file, why } => fill(files.trouble, &[&name(file), why]),
    })
}

/// The typed value: JSON or plain text. If the schema asks for text, digits are text.
pub(crate) fn value_said(typed: &str, schema: Option<&Value>) -> Value {
    let wants_text = schema.is_some_and(|schema| schema["type"] == "string");
    match serde_json::from_str::<Value>(typed) {
        Ok(value) if value.is_string() || !wants_text => value,
        _ => typed.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn digits_are_a_text_where_a_text_is_asked_for() {
        let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
        assert_eq!(value_said("007", Some(&text)), json!("007"));
        assert_eq!(value_said("731905", Some(&text)), json!("731905"));
        assert_eq!(value_said("\"731905\"", Some(&text)), json!("731905"));
        assert_eq!(value_said("4", Some(&number)), json!(4));
        assert_eq!(value_said("four", Some(&number)), json!("four"));
    }
}
