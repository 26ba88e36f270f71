//! What a turn came to, in words for a person: what was done, what waits, what was not done and why.

mod consents;
mod degraded;
mod forms;
mod misfits;
mod phrases;
mod questions;
mod reasons;
mod table;

use obelus_kernel::session::options::Limit;
use obelus_kernel::session::{About, CallError, CallReport, CallStatus, Ends, Misfit, Refused, Reply};
use obelus_kernel::visible;
use serde_json::Value;

pub use consents::{consent_in_words, never_in_words, terms_in_words};
pub use phrases::{PhraseTable, fault_of, fill};
pub(crate) use reasons::{ToolNames, listed_titles, reasons_in_words, refusal_in_words};

use crate::actor::NOT_DURABLE;
use misfits::misfit_in_words;

/// A language that words can be said in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Russian.
    Russian,
    /// English.
    English,
}

impl Language {
    /// The language of somebody's words, as far as letters tell.
    pub fn of(words: &str) -> Self {
        let cyrillic = words.chars().filter(|c| ('\u{400}'..='\u{4ff}').contains(c)).count();
        let latin = words.chars().filter(char::is_ascii_alphabetic).count();
        if cyrillic > latin { Language::Russian } else { Language::English }
    }

    /// The language that an agent's file names; English where it names none that is known.
    pub fn named(name: Option<&str>) -> Self {
        match name {
            Some(name) if name.to_lowercase().starts_with("ru") => Language::Russian,
            _ => Language::English,
        }
    }

    /// Its code, as agents' files have it.
    pub fn code(self) -> &'static str {
        self.choose("ru", "en")
    }

    /// A number with its noun. The forms are separated by `|`: for one, for few (in Russian), for many.
    pub fn count(self, forms: &str, n: u64) -> String {
        let forms: Vec<&str> = forms.split('|').collect();
        let form = match (self, n % 10, n % 100) {
            (Language::English, ..) => usize::from(n != 1),
            (Language::Russian, _, 11..=14) => 2,
            (Language::Russian, 1, _) => 0,
            (Language::Russian, 2..=4, _) => 1,
            (Language::Russian, ..) => 2,
        };
        fill(forms[form.min(forms.len() - 1)], &[&n.to_string()])
    }

    fn choose(self, russian: &'static str, english: &'static str) -> &'static str {
        match self {
            Language::Russian => russian,
            Language::English => english,
        }
    }
}

impl serde::Serialize for Language {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// How a turn ended that has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What happened.
    pub what: String,
    /// What to do about it.
    pub advice: Option<&'static str>,
}

/// What to say of a turn that did not end with a result; nothing for one that did, or that waits.
pub fn how_it_ended(reply: &Reply, language: Language) -> Option<Ending> {
    // The agent's graph has words of its own for this end.
    if reply.end.is_some() && reply.output.is_string() {
        return None;
    }
    let words = language.turn();
    let (what, advice) = match reply.ends {
        Ends::Output | Ends::Waiting => return None,
        Ends::Degraded => {
            let code = reply.reason.as_ref().map_or("", |reason| reason.code.as_str());
            let (what, advice) = degraded::words(code, language);
            (with_details(what, reply, code, language), Some(advice))
        }
        Ends::Limit => {
            let limit = reply.reason.as_ref().map(|reason| limit_in_words(reason, language));
            (format!("{}: {}", words.limit_reached, limit.unwrap_or_default()), Some(words.limit_advice))
        }
        // Whoever stopped it knows what they want.
        Ends::Stopped => (words.stopped.to_owned(), None),
    };
    Some(Ending { what, advice })
}

/// What happened, with what the model's server says of it. How an answer was out of format is told to the model, in
/// English, and to whoever reads English.
fn with_details(what: &str, reply: &Reply, code: &str, language: Language) -> String {
    match &reply.reason {
        Some(reason) if code != "out_of_format" || language == Language::English => {
            format!("{what}: {}", visible(&reason.message))
        }
        _ => format!("{what}."),
    }
}

/// A limit in the user's language.
fn limit_in_words(reason: &CallError, language: Language) -> String {
    let words = language.turn();
    let (phrase, most) = match reason.limit {
        Some(Limit::Requests(most)) => (words.limit_requests, most),
        Some(Limit::Tokens(most)) => (words.limit_tokens, most),
        Some(Limit::Calls(most)) => (words.limit_calls, most),
        Some(Limit::Steps(most)) => (words.limit_steps, most),
        None if reason.code == "same_failure" && language == Language::Russian => return words.same_failure.to_owned(),
        None => return visible(&reason.message),
    };
    fill(phrase, &[&most.to_string()])
}

/// Why an input was refused, in the user's language.
pub fn refused_in_words(refused: &Refused, about: Option<About>, language: Language) -> String {
    refusal_by_code(refused.code, &refused.text, refused.misfit.as_deref(), about, language)
}

/// The same, where another process tells of the refusal.
pub fn refusal_by_code(
    code: &str,
    text: &str,
    misfit: Option<&Misfit>,
    about: Option<About>,
    language: Language,
) -> String {
    let words = language.refusals();
    let text = visible(text);
    // The session itself speaks English, and says more.
    if language == Language::English {
        return text;
    }
    let details = misfit.map_or_else(|| text.clone(), |misfit| misfit_in_words(misfit, &text, language));
    let phrase = match code {
        "unfit_answer" if about == Some(About::InDoubt) => words.in_doubt,
        "unknown_question" | "unknown_call" => words.unknown_question,
        "already_decided" => words.already_decided,
        "expired" => words.expired,
        "ending" => words.ending,
        "unfit_answer" => words.unfit_answer,
        "bad_edit" => words.bad_edit,
        "bad_answer" => words.bad_answer,
        "question_changed" => words.question_changed,
        "several_calls" => words.several_calls,
        "at_work" => words.at_work,
        "too_many_pictures" => words.too_many_pictures,
        NOT_DURABLE => words.not_durable,
        _ => return text,
    };
    fill(phrase, &[&details])
}

/// The sum of a turn that did not end with a result; empty for one that did.
pub fn why_it_ended(reply: &Reply, language: Language) -> String {
    let Some(Ending { what, advice }) = how_it_ended(reply, language) else { return String::new() };
    let mut lines = vec![what];
    let words = language.turn();
    lines.extend(listed(words.done, &reply.calls, CallStatus::Done));
    lines.extend(listed(words.not_done, &reply.calls, CallStatus::Skipped));
    lines.extend(listed(words.failed, &reply.calls, CallStatus::Failed));
    lines.extend(advice.map(str::to_owned));
    lines.join("\n")
}

fn listed(title: &str, calls: &[CallReport], status: CallStatus) -> Option<String> {
    let of: Vec<&CallReport> = calls.iter().filter(|report| report.status == status).collect();
    if of.is_empty() {
        return None;
    }
    let names: Vec<String> = of.iter().take(10).map(|report| one_line(report)).collect();
    let more = if of.len() > 10 { format!(", … ({})", of.len()) } else { String::new() };
    Some(format!("{title}: {}{more}", names.join("; ")))
}

/// A call's report on one line: the tool, and what went wrong.
pub fn one_line(report: &CallReport) -> String {
    let tool = visible(report.call["_tool"].as_str().unwrap_or("?"));
    let error = report.error.as_ref().map(error_words).unwrap_or_default();
    if error.is_empty() { tool } else { format!("{tool} ({error})") }
}

/// An error as it stands in a report or a message, in words.
fn error_words(error: &Value) -> String {
    let text = |name: &str| error[name].as_str().unwrap_or_default();
    let code = if text("rule").is_empty() { text("code") } else { text("rule") };
    match (code, text("message")) {
        ("", message) => visible(message),
        (code, message) => visible(&format!("{code}: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_by_what_they_limit_and_refusals_by_their_code() {
        let error = |limit| CallError { code: "limit".to_owned(), message: "whatever".to_owned(), limit };
        let told = |limit, language| limit_in_words(&error(Some(limit)), language);
        assert_eq!(told(Limit::Requests(8), Language::Russian), "обращений к модели за один ход: 8");
        assert_eq!(told(Limit::Steps(4), Language::English), "4 steps in one turn");
        assert_eq!(told(Limit::Steps(4), Language::English), Limit::Steps(4).to_string());
        let text = "`sum`: -4 is less than 0";
        let refused = Refused::new("bad_edit", text);
        let words = refused_in_words(&refused, None, Language::Russian);
        assert_eq!(words, "изменение не подходит: `sum`: -4 is less than 0");
        assert_eq!(refused_in_words(&refused, None, Language::English), text);
    }

    #[test]
    fn the_language_is_that_of_the_letters() {
        assert_eq!(Language::of("Создай сделку ABC"), Language::Russian);
        assert_eq!(Language::of("Create a deal"), Language::English);
        assert_eq!(Language::of("12345"), Language::English);
    }
}
