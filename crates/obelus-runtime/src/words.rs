//! The result of a turn as text for people: what was done, what waits, what was not done and why.

mod consents;
mod misfits;
mod reasons;
mod record_name;

use obelus_kernel::session::options::Limit;
use obelus_kernel::session::refusals::RefusalCode as Code;
use obelus_kernel::session::report_error::ReportError;
use obelus_kernel::session::{About, CallError, CallReport, CallStatus, FailureCode, Refused, Reply, TurnEnd};
use obelus_kernel::{Rule, visible};
pub use obelus_words::Language;
pub(crate) use obelus_words::fill;

pub use consents::{consent_in_words, never_in_words, terms_in_words};
pub(crate) use reasons::refusal_in_words;
pub use reasons::{ToolNames, explained_reason};
pub(crate) use reasons::{listed_titles, reasons_in_words, refused_by_mode};
pub(crate) use record_name::record_name;

use misfits::misfit_in_words;

/// The end of a turn without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What happened.
    pub what: String,
    /// The remedy.
    pub advice: Option<&'static str>,
}

/// The text for a turn without a result; none if it has a result or waits.
pub fn how_it_ended(reply: &Reply, language: Language) -> Option<Ending> {
    // The agent's graph has its own text for this end.
    if reply.end.is_some() && reply.output.is_string() {
        return None;
    }
    let words = &language.words().turn;
    let (what, advice) = match reply.ends {
        TurnEnd::Output | TurnEnd::Waiting => return None,
        TurnEnd::Degraded => {
            let code = reply.reason.as_ref().map(|reason| reason.code.to_string());
            let (what, advice) = obelus_words::degraded(&code.unwrap_or_default(), language);
            (with_details(what, reply, language), Some(advice))
        }
        TurnEnd::Limit => {
            let limit = reply.reason.as_ref().map(|reason| limit_in_words(reason, language));
            (format!("{}: {}", words.limit_reached, limit.unwrap_or_default()), Some(words.limit_advice))
        }
        // A person who stopped it needs no advice.
        TurnEnd::Stopped => (words.stopped.to_owned(), None),
    };
    Some(Ending { what, advice })
}

/// The text with the server's message. Format errors of an answer are in English, for the model, so only English
/// readers see them; so is the message that there is no key, which the advice repeats.
fn with_details(what: &str, reply: &Reply, language: Language) -> String {
    let is_english = |code: &FailureCode| matches!(code, FailureCode::OutOfFormat | FailureCode::NoKey);
    match &reply.reason {
        Some(reason) if language == Language::English || !is_english(&reason.code) => {
            format!("{what}: {}", visible(&reason.message))
        }
        _ => format!("{what}."),
    }
}

/// A limit in the user's language.
fn limit_in_words(reason: &CallError, language: Language) -> String {
    let words = &language.words().turn;
    let (phrase, most) = match reason.limit {
        Some(Limit::Requests(most)) => (words.limit_requests, most),
        Some(Limit::Tokens(most)) => (words.limit_tokens, most),
        Some(Limit::Calls(most)) => (words.limit_calls, most),
        Some(Limit::Steps(most)) => (words.limit_steps, most),
        None if reason.code == FailureCode::SameFailure && language == Language::Russian => {
            return words.same_failure.to_owned();
        }
        None => return visible(&reason.message),
    };
    fill(phrase, &[&most.to_string()])
}

/// Why an input was refused, in the user's language.
pub fn refused_in_words(refused: &Refused, about: Option<About>, language: Language) -> String {
    let Refused { code, text, misfit } = refused;
    let words = &language.words().refusals;
    let text = visible(text);
    // The session's own text is English and has more detail.
    if language == Language::English {
        return text;
    }
    let details = misfit.as_deref().map_or_else(|| text.clone(), |misfit| misfit_in_words(misfit, &text, language));
    let phrase = match code {
        Code::UnfitAnswer if about == Some(About::InDoubt) => words.in_doubt,
        Code::UnfitAnswer if about == Some(About::Input) => words.unfit_input,
        Code::UnfitAnswer if about.is_some() => words.unfit_call,
        Code::UnknownQuestion | Code::UnknownCall => words.unknown_question,
        Code::AlreadyDecided => words.already_decided,
        Code::Paused => words.paused,
        Code::IdReused => words.id_reused,
        Code::Expired => words.expired,
        Code::Ending => words.ending,
        Code::UnfitAnswer => words.unfit_answer,
        Code::BadEdit => words.bad_edit,
        Code::BadAnswer => words.bad_answer,
        Code::QuestionChanged => words.question_changed,
        Code::SeveralCalls => words.several_calls,
        Code::NotSupported => words.not_supported,
        Code::AtWork => words.at_work,
        Code::TooManyPictures => words.too_many_pictures,
        Code::NotDurable => words.not_durable,
        Code::ConsentEnded => words.consent_ended,
        Code::UnknownConsent => words.unknown_consent,
        Code::UnfitConsent => words.unfit_consent,
        Code::ConsentInDelegate => words.consent_in_delegate,
        Code::NotInThisMode => words.not_in_this_mode,
        Code::NoPlan => words.no_plan,
        Code::BadState => words.bad_state,
        Code::Unreadable => words.unreadable,
        Code::Gone => words.gone,
        Code::Damaged => words.damaged,
        Code::BadEvent
        | Code::BadPicture
        | Code::BadRules
        | Code::Internal
        | Code::NotFromOutside
        | Code::OutcomeUnknown
        | Code::Refused
        | Code::Unreachable
        | Code::Unsupported => return text,
    };
    fill(phrase, &[&details])
}

/// The summary of a turn without a result; empty if it has one. Without titles, tools have their names in the file.
pub fn why_it_ended(reply: &Reply, titles: Option<&dyn ToolNames>, language: Language) -> String {
    let Some(Ending { what, advice }) = how_it_ended(reply, language) else { return String::new() };
    let mut lines = vec![what];
    let words = &language.words().turn;
    let titles = titles.unwrap_or(&reasons::BareNames);
    let name = |report: &CallReport| one_line(report, titles, language);
    lines.extend(listed(words.done, &reply.calls, CallStatus::Done, &name));
    lines.extend(listed(words.not_done, &reply.calls, CallStatus::Skipped, &name));
    lines.extend(listed(words.failed, &reply.calls, CallStatus::Failed, &name));
    lines.extend(advice.map(str::to_owned));
    lines.join("\n")
}

fn listed(
    title: &str,
    calls: &[CallReport],
    status: CallStatus,
    name: &dyn Fn(&CallReport) -> String,
) -> Option<String> {
    let of: Vec<&CallReport> = calls.iter().filter(|report| report.status == status).collect();
    if of.is_empty() {
        return None;
    }
    let names: Vec<String> = of.iter().take(10).map(|report| name(report)).collect();
    let more = if of.len() > 10 { format!(", … ({})", of.len()) } else { String::new() };
    Some(format!("{title}: {}{more}", names.join("; ")))
}

/// A call's report on one line: the tool and the error.
fn one_line(report: &CallReport, titles: &dyn ToolNames, language: Language) -> String {
    let tool = visible(&report.call.tool().map_or_else(|| "?".to_owned(), |name| titles.tool(name)));
    let error = report.error.as_ref().map(|error| error_words(error, language)).unwrap_or_default();
    if error.is_empty() { tool } else { format!("{tool} ({error})") }
}

/// An error of a report or a message as text: its code and message.
pub fn error_words(error: &ReportError, language: Language) -> String {
    let code = error.rule.map(|rule| rule.to_string()).or_else(|| code_of(error)).unwrap_or_default();
    match (code.as_str(), message_in_words(error, language)) {
        ("", message) => visible(&message),
        (code, message) => visible(&format!("{code}: {message}")),
    }
}

/// An error of a report or a message as text: its message, then its code.
pub fn failure_in_words(error: &ReportError, language: Language) -> String {
    match (message_in_words(error, language).as_str(), code_of(error).unwrap_or_default().as_str()) {
        ("", code) => visible(code),
        (message, "") => visible(message),
        (message, code) => visible(&format!("{message} ({code})")),
    }
}

fn code_of(error: &ReportError) -> Option<String> {
    error.code.as_ref().map(FailureCode::to_string)
}

/// The message of an error. Activities write English for the model; other readers get the meaning of the code, if it
/// is known, and what a program or service wrote itself.
fn message_in_words(error: &ReportError, language: Language) -> String {
    let message = error.message.as_str();
    if language == Language::English || message.is_empty() || Language::of(message) == language {
        return message.to_owned();
    }
    // Messages of the policy and reasons of a person's denial are already in the user's language, or were written by a
    // person.
    let known = obelus_words::failure(&code_of(error).unwrap_or_default(), language);
    let number = match &error.code {
        Some(FailureCode::Exit(code)) => Some(code.to_string()),
        Some(FailureCode::Http(status)) => Some(status.to_string()),
        _ => None,
    };
    // A program or service says more than its number.
    if let (Some(known), Some(number)) = (&known, number)
        && !message.ends_with(&number)
    {
        return format!("{known}: {message}");
    }
    let is_by_policy = |rule: &Rule| matches!(rule, Rule::Pol1 | Rule::Pol2);
    let misplaced = error.rule.filter(|rule| !is_by_policy(rule)).map(|_| language.words().steps.wrong_call);
    known.or(misplaced.map(str::to_owned)).unwrap_or_else(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_program_or_a_service_follow_the_meaning_of_the_code() {
        let told = |code: &str, message: &str| {
            let code = Some(code.into());
            let error = ReportError { code, message: message.to_owned(), ..ReportError::default() };
            failure_in_words(&error, Language::Russian)
        };
        let exit = "программа закончилась с кодом 3";
        assert_eq!(told("exit_3", "the card is blocked"), format!("{exit}: the card is blocked (exit_3)"));
        assert_eq!(told("exit_3", "pay.sh ended with exit code 3"), format!("{exit} (exit_3)"));
        let answered = "http://shop.example.test answered 404 Not Found: no such order";
        assert_eq!(told("http_404", answered), format!("служба ответила отказом 404: {answered} (http_404)"));
        assert_eq!(told("timeout", "no result within 3 seconds"), "нет ответа за отведённое время (timeout)");
    }

    #[test]
    fn texts_of_limits_and_refusals_are_chosen_by_code() {
        let error = |limit| CallError { limit, ..CallError::new("limit", "whatever") };
        let told = |limit, language| limit_in_words(&error(Some(limit)), language);
        assert_eq!(told(Limit::Requests(8), Language::Russian), "обращений к модели за один ход: 8");
        assert_eq!(told(Limit::Steps(4), Language::English), "4 steps in one turn");
        assert_eq!(told(Limit::Steps(4), Language::English), Limit::Steps(4).to_string());
        let text = "`sum`: -4 is less than 0";
        let refused = Refused::new(Code::BadEdit, text);
        let words = refused_in_words(&refused, None, Language::Russian);
        assert_eq!(words, "изменение не подходит: `sum`: -4 is less than 0");
        assert_eq!(refused_in_words(&refused, None, Language::English), text);
    }
}
