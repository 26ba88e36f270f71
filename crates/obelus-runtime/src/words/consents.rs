//! Standing consents as text (ASK-9): what one covers is shown before it counts.

use obelus_kernel::policy::{ConsentScope, ConsentTerms, NeverStanding, StandingConsent};
use obelus_kernel::session::Session;
use obelus_kernel::visible;
use obelus_notebook::wording::plain_text;
use serde_json::Value;

use super::{Language, fill, record_name};

/// The number of records that are named; the others are counted.
const MOST_RECORDS: usize = 12;

/// What a consent covers, in one sentence.
pub fn terms_in_words(terms: &ConsentTerms, session: &Session, language: Language) -> String {
    let words = &language.words().consents;
    let code = Some(language.code());
    let tool = session.context().tool(&terms.tool);
    let title = visible(&tool.map_or_else(|| terms.tool.clone(), |tool| tool.shown_title(code)));
    let label = |path: &str| visible(session.label_of(&terms.tool, path, code).unwrap_or(path));
    let record = match &terms.scope {
        ConsentScope::Records { path, .. } => Some(path),
        _ => None,
    };
    let fields: Vec<String> =
        terms.fields.iter().filter(|field| Some(*field) != record).map(|field| label(field)).collect();
    let what = if fields.is_empty() {
        fill(words.covers_plainly, &[&title])
    } else {
        fill(words.covers, &[&title, &fields.join(", ")])
    };
    let named = |path: &str, value: &Value| named(session, &terms.tool, path, value);
    let pinned = |values: &[(String, Value)]| {
        let each = values.iter().map(|(path, value)| fill(words.person, &[&label(path), &named(path, value)]));
        each.collect::<Vec<_>>().join(", ")
    };
    let scope = match &terms.scope {
        ConsentScope::Records { path, values, others } => {
            let mut shown: Vec<String> = values.iter().take(MOST_RECORDS).map(|value| named(path, value)).collect();
            if values.len() > MOST_RECORDS {
                shown.push(fill(words.more, &[&(values.len() - MOST_RECORDS).to_string()]));
            }
            let records = fill(words.records, &[&shown.join(", ")]);
            if others.is_empty() { records } else { format!("{records}; {}", pinned(others)) }
        }
        ConsentScope::Person { values } => pinned(values),
        ConsentScope::Site { host } => fill(words.site, &[&visible(host)]),
        ConsentScope::Tool => words.tool.to_owned(),
    };
    format!("{what}; {scope}")
}

/// A value with its name, if the session knows one.
fn named(session: &Session, tool: &str, path: &str, value: &Value) -> String {
    let text = visible(&plain_text(value));
    match session.name_of(tool, path, value) {
        Some(name) => format!("{} ({text})", record_name(&name)),
        None => text,
    }
}

/// A given consent on one line: what it covers, until when, who gave it, and whether it is valid.
pub fn consent_in_words(consent: &StandingConsent, session: &Session, by: &str, language: Language) -> String {
    let words = &language.words().consents;
    let until = consent.until.map(|until| fill(words.until, &[&until.to_string()]));
    let until = until.unwrap_or_else(|| words.to_the_end.to_owned());
    let covers = format!("{}, {until}", terms_in_words(&consent.terms, session, language));
    let uses = consent.uses.to_string();
    let line = fill(words.given, &[&consent.id(), &covers, &consent.at.to_string(), by, &uses]);
    match &consent.revoked {
        Some((at, _)) => format!("{line}; {}", fill(words.revoked, &[&at.to_string()])),
        None if !consent.holds(session.now()) => format!("{line}; {}", words.ended),
        None => line,
    }
}

/// Why a standing consent is not possible for the calls of a question.
pub fn never_in_words(never: Option<NeverStanding>, language: Language) -> &'static str {
    let words = &language.words().consents;
    match never {
        Some(NeverStanding::Effect) => words.never_effect,
        Some(NeverStanding::Payment) => words.never_payment,
        Some(NeverStanding::Secret) => words.never_secret,
        Some(NeverStanding::Delegate) => words.never_delegate,
        None => words.never_here,
    }
}
