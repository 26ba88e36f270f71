//! What a turn came to, in words for a person: what was done, what waits, what was not done and why.

mod degraded;

use obelus_kernel::session::{CallReport, CallStatus, Ends, Reply};
use obelus_kernel::visible;
use serde_json::Value;

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

    pub(crate) fn choose(self, russian: &'static str, english: &'static str) -> &'static str {
        match self {
            Language::Russian => russian,
            Language::English => english,
        }
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
    let reason = reply.reason.as_ref().map(|reason| visible(&reason.message)).unwrap_or_default();
    let reason = in_words_of(language, reason);
    let (what, advice) = match reply.ends {
        Ends::Output | Ends::Waiting => return None,
        Ends::Degraded => {
            let code = reply.reason.as_ref().map_or("", |reason| reason.code.as_str());
            let (what, advice) = degraded::words(code, language);
            (format!("{what}: {reason}"), Some(advice))
        }
        Ends::Limit => {
            let what = language.choose("Достигнут предел", "A limit was reached");
            let advice = language.choose("Скажите «продолжай», и работа пойдёт дальше.", "Say “continue” to go on.");
            (format!("{what}: {reason}"), Some(advice))
        }
        // Whoever stopped it knows what they want.
        Ends::Stopped => (language.choose("Остановлено.", "Stopped.").to_owned(), None),
    };
    Some(Ending { what, advice })
}

/// A limit in the user's language; other reasons come from outside, and stay as they are.
fn in_words_of(language: Language, reason: String) -> String {
    if language == Language::English {
        return reason;
    }
    let limits = [
        (" requests to the model in one turn", "обращений к модели за один ход"),
        (" tokens in one turn", "токенов за один ход"),
        (" calls in one turn", "действий за один ход"),
        (" steps in one turn", "шагов за один ход"),
    ];
    let said = limits.iter().find_map(|(words, russian)| Some(format!("{russian}: {}", reason.strip_suffix(words)?)));
    if let Some(said) = said {
        return said;
    }
    match reason.split_once(" times in the same way: ") {
        Some(_) => "одно и то же действие несколько раз подряд не вышло по одной и той же причине".to_owned(),
        None => reason,
    }
}

/// The sum of a turn that did not end with a result; empty for one that did.
pub fn why_it_ended(reply: &Reply, language: Language) -> String {
    let Some(Ending { what, advice }) = how_it_ended(reply, language) else { return String::new() };
    let mut lines = vec![what];
    lines.extend(listed(language.choose("Сделано", "Done"), &reply.calls, CallStatus::Done));
    lines.extend(listed(language.choose("Не сделано", "Not done"), &reply.calls, CallStatus::Skipped));
    lines.extend(listed(language.choose("Не вышло", "Failed"), &reply.calls, CallStatus::Failed));
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
pub fn error_words(error: &Value) -> String {
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
    fn the_language_is_that_of_the_letters() {
        assert_eq!(Language::of("Создай сделку ABC"), Language::Russian);
        assert_eq!(Language::of("Create a deal"), Language::English);
        assert_eq!(Language::of("12345"), Language::English);
    }
}
