//! Standing consent in words (ASK-9): what it covers is shown before it counts.

use obelus_kernel::policy::{ConsentScope, ConsentTerms, NeverStanding, StandingConsent};
use obelus_kernel::session::Session;
use obelus_kernel::visible;
use serde_json::Value;

use super::{Language, fill};
use crate::phrases;

phrases! {
    /// What a consent covers, and what became of it.
    ConsentPhrases {
        covers:
            "«{}» без вопроса, если меняется только: {}",
            "“{}” without asking, if it sets nothing but: {}";
        covers_plainly: "«{}» без вопроса", "“{}” without asking";
        records: "для записей этого списка: {}", "for the records of this list: {}";
        person: "если {} — {}", "if {} is {}";
        site: "на сайте {}", "on the site {}";
        tool: "для любых записей", "for any record";
        until: "до {}", "until {}";
        to_the_end: "до конца этого разговора", "to the end of this session";
        more: "и ещё {}", "and {} more";
        given: "{}: {}. Согласие дано {} ({}), шагов без вопроса: {}", "{}: {}. Given {} ({}), steps without a question: {}";
        revoked: "отозвано {}", "taken back {}";
        ended: "срок вышел", "its time is over";
        by_consent: "по вашему согласию {}", "by your consent {}";
        never_effect:
            "об удалении и о настройках спрашивают каждый раз",
            "deletions and configuration are asked about every time";
        never_payment: "о платежах спрашивают каждый раз", "payments are asked about every time";
        never_secret: "о секретах спрашивают каждый раз", "secrets are asked about every time";
        never_here:
            "об этом спрашивают каждый раз: получатель или запись взяты из непроверенного",
            "this is asked about every time: its target comes from what is not trusted";
    }
}

/// So many records of a list are named; the others are counted.
const MOST_RECORDS: usize = 12;

impl Language {
    /// What is said of consents.
    pub(crate) fn consents(self) -> &'static ConsentPhrases {
        match self {
            Language::Russian => &ConsentPhrases::RU,
            Language::English => &ConsentPhrases::EN,
        }
    }
}

/// What a consent covers, in one sentence.
pub fn terms_in_words(terms: &ConsentTerms, session: &Session, language: Language) -> String {
    let words = language.consents();
    let code = Some(language.code());
    let tool = session.context().tool(&terms.tool);
    let title = visible(tool.and_then(|tool| tool.title(code)).unwrap_or(&terms.tool));
    let label = |path: &str| visible(session.label_of(&terms.tool, path, code).unwrap_or(path));
    let record = match &terms.scope {
        ConsentScope::Records { path, .. } => Some(path),
        _ => None,
    };
    let fields: Vec<String> =
        terms.fields.iter().filter(|field| Some(*field) != record).map(|field| label(field)).collect();
    let what = match fields.is_empty() {
        true => fill(words.covers_plainly, &[&title]),
        false => fill(words.covers, &[&title, &fields.join(", ")]),
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

/// A value with the name that the session knows for it.
fn named(session: &Session, tool: &str, path: &str, value: &Value) -> String {
    let text = visible(value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str());
    match session.name_of(tool, path, value) {
        Some(name) => format!("{name} ({text})"),
        None => text,
    }
}

/// A consent that was given, on one line: what it covers, until when, who gave it, and whether it still holds.
pub fn consent_in_words(consent: &StandingConsent, session: &Session, by: &str, language: Language) -> String {
    let words = language.consents();
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

/// Why no consent may stand for the calls of a question.
pub fn never_in_words(never: Option<NeverStanding>, language: Language) -> &'static str {
    let words = language.consents();
    match never {
        Some(NeverStanding::Effect) => words.never_effect,
        Some(NeverStanding::Payment) => words.never_payment,
        Some(NeverStanding::Secret) => words.never_secret,
        None => words.never_here,
    }
}
