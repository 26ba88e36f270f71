//! Errors of commands: text for people, a code for programs, and an exit code.

use std::fmt;

use obelus_kernel::session::Refused;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_runtime::files::{ImageError, Unreadable};
use obelus_runtime::people::refused_in_words;
use obelus_runtime::{HostError, StoreError};
use serde_json::json;

use crate::language::{Language, Words, fill, words_of};
use crate::output::{self, Exit};

/// A session's refusal, in the session's language.
#[derive(Debug)]
pub(crate) struct Declined {
    /// The stable code.
    pub(crate) code: String,
    pub(crate) words: String,
    pub(crate) language: Language,
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Declined {}

/// An error of usage in the language of a session.
pub(crate) fn wrong(words: String, table: &Words) -> anyhow::Error {
    Declined { code: BAD_INPUT.to_owned(), words, language: table.language }.into()
}

/// The code of a session that does not exist.
pub(crate) const UNKNOWN_SESSION: &str = "unknown_session";

/// The code of wrong usage.
const BAD_INPUT: &str = "bad_input";

/// Reports a failed command: text for people, and one JSON document for programs, unless they already have one.
/// Returns the exit code.
pub(crate) fn report(error: &anyhow::Error, as_json: bool) -> Exit {
    let declined = error.chain().find_map(|cause| cause.downcast_ref::<Declined>());
    let phrases = declined.map_or_else(|| words_of(None), |declined| declined.language.words());
    let (words, code) = (in_words(error, phrases), code(error));
    output::error(&words, phrases);
    if as_json && !output::has_json() {
        output::json(&json!({"error": {"code": code, "message": output::visible(&words)}}));
    }
    if is_refusal(error) { Exit::Failed } else { Exit::Usage }
}

/// Whether the error is a session's refusal.
fn is_refusal(error: &anyhow::Error) -> bool {
    // These codes mean that something cannot be found, read or written.
    let other = [
        RefusalCode::Damaged.name(),
        RefusalCode::NotDurable.name(),
        RefusalCode::OutcomeUnknown.name(),
        RefusalCode::Gone.name(),
        RefusalCode::Unreadable.name(),
        RefusalCode::UnknownQuestion.name(),
        RefusalCode::UnknownCall.name(),
        UNKNOWN_SESSION,
        BAD_INPUT,
    ];
    let is_said = error.chain().any(|cause| cause.is::<Declined>() || cause.is::<Refused>());
    is_said && !other.contains(&code(error).as_str())
}

/// The stable code of an error.
fn code(error: &anyhow::Error) -> String {
    let known = error.chain().find_map(|cause| {
        let store = cause.downcast_ref::<StoreError>().map(code_of_store);
        let host = || cause.downcast_ref::<HostError>().map(code_of_host);
        let refused = || cause.downcast_ref::<Refused>().map(|refused| refused.code.name());
        let declined = || cause.downcast_ref::<Declined>().map(|declined| declined.code.as_str());
        let unreadable = || (cause.is::<Unreadable>() || cause.is::<std::io::Error>()).then_some("unreadable");
        store.or_else(host).or_else(refused).or_else(declined).or_else(unreadable)
    });
    known.unwrap_or(BAD_INPUT).to_owned()
}

fn code_of_host(error: &HostError) -> &'static str {
    match error {
        HostError::Store(error) => code_of_store(error),
        HostError::Refused(refused) => refused.code.name(),
        HostError::NoRecord { .. } => "no_record",
        HostError::NoStore => "no_store",
        HostError::Restore(_) => RefusalCode::Damaged.name(),
        HostError::Spec(_) | HostError::Connect(_) | HostError::Agent(_) => "bad_input",
    }
}

fn code_of_store(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unknown(_) => UNKNOWN_SESSION,
        StoreError::Held { .. } | StoreError::Locked(_) | StoreError::MovedOn { .. } => "held",
        StoreError::Exists(_) | StoreError::NameUsed(_) => "exists",
        StoreError::BadName(_) => "bad_name",
        StoreError::Newer { .. } | StoreError::Older { .. } => "other_form",
        StoreError::Damaged { .. } | StoreError::DamagedIndex | StoreError::Emptied(_) => RefusalCode::Damaged.name(),
        StoreError::OutcomeUnknown(_) => RefusalCode::OutcomeUnknown.name(),
        _ => "store",
    }
}

/// The error with its context. Errors that people meet are in their language.
pub(crate) fn in_words(error: &anyhow::Error, phrases: &Words) -> String {
    // The errors themselves have the English texts.
    if phrases.language == Language::English {
        return format!("{error:#}");
    }
    let mut parts = Vec::new();
    for cause in error.chain() {
        let store = cause.downcast_ref::<StoreError>().map(|error| error.in_words(phrases.language));
        let host = || cause.downcast_ref::<HostError>().map(|error| host_in_words(error, phrases));
        let file = || cause.downcast_ref::<Unreadable>().map(|error| error.in_words(phrases.language));
        let picture = || cause.downcast_ref::<ImageError>().map(|error| error.in_words(phrases.language));
        let refused = |refused| refused_in_words(refused, None, phrases.language);
        if let Some(words) =
            store.or_else(host).or_else(file).or_else(picture).or_else(|| cause.downcast_ref().map(refused))
        {
            parts.push(words);
            break;
        }
        parts.push(cause.to_string());
    }
    parts.join(": ")
}

fn host_in_words(error: &HostError, phrases: &Words) -> String {
    match error {
        HostError::Store(error) => error.in_words(phrases.language),
        HostError::Refused(refused) => refused_in_words(refused, None, phrases.language),
        HostError::NoRecord { session, records, at } => {
            fill(phrases.store.no_record, &[session, &records.to_string(), &at.to_string()])
        }
        HostError::NoStore => phrases.store.no_store.to_owned(),
        HostError::Restore(error) => fill(phrases.store.not_restored, &[&error.to_string()]),
        HostError::Spec(_) | HostError::Connect(_) | HostError::Agent(_) => error.to_string(),
    }
}
