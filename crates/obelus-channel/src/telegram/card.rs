//! Questions as cards: their text and their buttons.

use obelus_kernel::session::QuestionStatus;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::visible;
use obelus_runtime::Language;
use obelus_runtime::people::AnswerKind;
use obelus_runtime::text::plain_text;
use obelus_words::fill;
use serde_json::{Value, json};

use super::CHANNEL;
use super::action::ButtonAction;
use super::split::{LONGEST, beginning, units};
use crate::types::{FieldKindName, FormFieldView, QuestionRow};

/// The limit of values that a card offers; others are typed.
const MOST_VALUES: usize = 8;
/// The limit of fields that a card offers.
const MOST_FIELDS: usize = 40;
/// The longest label of a button.
const LONGEST_LABEL: usize = 60;
/// Room for what the bot adds to a question.
const ASIDE: usize = 1_000;

/// The view of an open card beside the question.
pub(super) enum CardFace {
    /// The answers.
    Answers,
    /// "Deny" was pressed, and a reason may follow.
    Denying,
    /// The standing consents that an approval can include.
    Consents,
    /// The fields that can be changed.
    Fields(Vec<FormFieldView>),
    /// The field whose new value is asked for.
    Field(Box<FormFieldView>),
    /// The question as an edit makes it.
    Edited,
    /// Only the beginning, because the file with the rest could not be sent. It can be denied.
    Cut,
}

/// The question as text: as the library shows it, without the id that only commands need.
pub(super) fn plain(text: &str, id: &str) -> String {
    text.replacen(&format!("  {id}"), "", 1)
}

/// Whether a question is too long for a message, and is sent as a file.
pub(super) fn is_long(text: &str) -> bool {
    units(text) > LONGEST - ASIDE
}

/// The text of a card.
fn text_of(text: &str, language: Language) -> String {
    if is_long(text) {
        format!("{}\n\n{}", beginning(text, LONGEST / 2), language.words().bot.in_the_file)
    } else {
        text.to_owned()
    }
}

/// An open question: its text and its buttons. `text` is the present question, with the edit if there is one.
pub(super) fn open_card(
    row: &QuestionRow,
    text: &str,
    face: &CardFace,
    token: &str,
    is_group: bool,
    language: Language,
) -> (String, Value) {
    let words = &language.words().bot;
    let key = |label: &str, action: ButtonAction| {
        let label = short(label);
        json!({"text": label, "callback_data": format!("{token}:{}", action.name())})
    };
    let (more, mut keys) = match face {
        CardFace::Answers => answers(row, language, key),
        CardFace::Denying => (words.give_reason.to_owned(), vec![vec![key(words.deny_now, ButtonAction::DenyNow)]]),
        CardFace::Consents => consents(row, language, key),
        CardFace::Fields(fields) => {
            let named = fields.iter().take(MOST_FIELDS).enumerate();
            let label = |field: &FormFieldView| format!("{}: {}", field.label, one_line(&field.typed));
            let keys = named.map(|(index, field)| vec![key(&label(field), ButtonAction::Field(index))]).collect();
            let rest = if fields.len() > MOST_FIELDS {
                format!(" {}", fill(words.first_fields, &[&MOST_FIELDS.to_string()]))
            } else {
                String::new()
            };
            (format!("{}{rest}", words.which_field), keys)
        }
        CardFace::Field(field) => {
            let how = if is_group { words.give_field_in_group } else { words.give_field };
            let choices = choices_of(field, language).into_iter().enumerate();
            let keys = choices.map(|(index, (label, _))| vec![key(&label, ButtonAction::Choice(index))]).collect();
            (fill(how, &[&field.label, &beginning(&one_line(&field.typed), 200)]), keys)
        }
        CardFace::Edited => {
            let keys = vec![
                vec![key(words.approve_edit, ButtonAction::Approve)],
                vec![key(words.edit_more, ButtonAction::Edit)],
            ];
            (words.edited.to_owned(), keys)
        }
        CardFace::Cut => {
            let can_deny = row.answers.contains(&AnswerKind::Deny);
            let keys = can_deny.then(|| vec![key(words.deny, ButtonAction::DenyNow)]).into_iter().collect();
            (words.file_failed.to_owned(), keys)
        }
    };
    match face {
        CardFace::Answers | CardFace::Cut => {}
        CardFace::Edited => keys.push(vec![key(words.drop_edit, ButtonAction::Back)]),
        _ => keys.push(vec![key(words.back, ButtonAction::Back)]),
    }
    let text = match face {
        CardFace::Cut => beginning(text, LONGEST / 2),
        _ => text_of(text, language),
    };
    let text = if more.is_empty() { text } else { format!("{text}\n\n{more}") };
    (text, keyboard(json!(keys)))
}

/// A label of a button, with a mark if it is cut.
fn short(label: &str) -> String {
    if label.chars().count() <= LONGEST_LABEL {
        return label.to_owned();
    }
    label.chars().take(LONGEST_LABEL - 1).chain(['…']).collect()
}

/// The buttons that answer a question, and their explanation.
fn answers(
    row: &QuestionRow,
    language: Language,
    key: impl Fn(&str, ButtonAction) -> Value,
) -> (String, Vec<Vec<Value>>) {
    let words = &language.words().bot;
    let has = |answer: AnswerKind| row.answers.contains(&answer);
    if has(AnswerKind::Value) {
        let label = |value: &Value| value.as_str().map_or_else(|| value.to_string(), visible);
        let values = offered(row).into_iter().enumerate();
        let mut keys: Vec<Vec<Value>> =
            values.map(|(index, value)| vec![key(&label(&value), ButtonAction::Value(index))]).collect();
        keys.push(vec![key(words.decline, ButtonAction::DenyNow)]);
        return (words.give_value.to_owned(), keys);
    }
    if has(AnswerKind::Happened) {
        let keys =
            vec![vec![key(words.happened, ButtonAction::Happened)], vec![key(words.did_not, ButtonAction::DidNot)]];
        return (String::new(), keys);
    }
    let mut keys = vec![vec![key(words.approve, ButtonAction::Approve), key(words.deny, ButtonAction::Deny)]];
    if has(AnswerKind::Edit) {
        keys.push(vec![key(words.edit, ButtonAction::Edit)]);
    }
    if !row.consents.is_empty() {
        keys.push(vec![key(words.consents, ButtonAction::Consents)]);
    }
    (String::new(), keys)
}

/// The standing consents that an approval can include: each with its description and a numbered button (ASK-9).
fn consents(
    row: &QuestionRow,
    language: Language,
    key: impl Fn(&str, ButtonAction) -> Value,
) -> (String, Vec<Vec<Value>>) {
    let words = &language.words().bot;
    let (mut lines, mut keys) = (vec![language.words().ask.consents.to_owned()], Vec::new());
    let offers = row.consents.iter().filter_map(|offer| Some((offer, u32::from_str_radix(&offer.code, 16).ok()?)));
    for (number, (offer, code)) in (1..).zip(offers) {
        // A consent can be given only if its description is shown completely.
        if units(&offer.covers) + lines.iter().map(|line| units(line)).sum::<usize>() > ASIDE - 200 {
            lines.push(fill(words.offer_too_long, &[&number.to_string()]));
            break;
        }
        lines.push(format!("{number}. {}", offer.covers));
        keys.push(vec![key(&fill(words.agree, &[&number.to_string()]), ButtonAction::Consent(code))]);
    }
    lines.push(words.consents_end.to_owned());
    (lines.join("\n"), keys)
}

/// A closed question: its text and result.
pub(super) fn closed_card(
    row: &QuestionRow,
    language: Language,
    name_of: impl FnOnce(i64) -> Option<String>,
) -> (String, Value) {
    let words = &language.words().bot;
    let by = row.by.as_deref().unwrap_or_default();
    let is_here = matches!(SentBy::of(by), SentBy::InChannel { channel: CHANNEL, .. });
    let is_edited = row.decision == Some(AnswerKind::Edit);
    let outcome = match (row.status, is_here) {
        (QuestionStatus::Approved, true) if is_edited => words.approved_edited,
        (QuestionStatus::Approved, false) if is_edited => words.approved_edited_elsewhere,
        (QuestionStatus::Approved, true) => words.approved,
        (QuestionStatus::Approved, false) => words.approved_elsewhere,
        (QuestionStatus::Denied, true) => words.denied,
        (QuestionStatus::Denied, false) => words.denied_elsewhere,
        (QuestionStatus::Expired, _) => words.expired,
        (_, true) => words.answered,
        (_, false) => words.answered_elsewhere,
    };
    let mut outcome = fill(outcome, &[&super::words::who(language, by, name_of)]);
    if let Some(reason) =
        row.reason.as_deref().filter(|reason| !reason.trim().is_empty() && row.status == QuestionStatus::Denied)
    {
        outcome.push_str(&format!(": {}", beginning(&one_line(reason), ASIDE / 2)));
    }
    if let Some(at) = row.decided_at.as_deref() {
        outcome.push_str(&format!("\n{at}"));
    }
    // The person who decided is shown below, with the name known to the bot.
    let text = plain(&row.text, &row.id);
    let text = text.split_once('\n').map_or(text.as_str(), |(_, rest)| rest);
    (format!("{}\n\n{outcome}", text_of(text, language)), keyboard(json!([])))
}

fn keyboard(keys: Value) -> Value {
    json!({"inline_keyboard": keys})
}

/// A value as it would be typed, in one line.
fn one_line(typed: &str) -> String {
    visible(&typed.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The values that a question offers by its schema.
pub(super) fn offered(row: &QuestionRow) -> Vec<Value> {
    let schema = row.schema.as_ref();
    let values = schema.and_then(|schema| schema["enum"].as_array().cloned());
    let both = || schema.filter(|schema| schema["type"] == "boolean").map(|_| vec![json!(true), json!(false)]);
    values.or_else(both).filter(|values| values.len() <= MOST_VALUES).unwrap_or_default()
}

/// The values that a field of a form offers: the label of the button, and the value.
pub(super) fn choices_of(field: &FormFieldView, language: Language) -> Vec<(String, String)> {
    let words = &language.words().bot;
    match field.kind {
        FieldKindName::Boolean => [(words.yes, "true"), (words.no, "false")]
            .map(|(label, typed)| (label.to_owned(), typed.to_owned()))
            .to_vec(),
        FieldKindName::Choice if field.choices.len() <= MOST_VALUES => {
            field.choices.iter().map(plain_text).map(|text| (one_line(&text), text)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_label_has_a_mark() {
        assert_eq!(short("Sum: 120"), "Sum: 120");
        let cut = short(&"x".repeat(61));
        assert!(cut.chars().count() == LONGEST_LABEL && cut.ends_with('…'), "{cut}");
    }
}
