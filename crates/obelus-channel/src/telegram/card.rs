//! Questions as cards: text, buttons, and the meaning of buttons.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use obelus_runtime::Language;
use obelus_words::fill;
use serde_json::{Value, json};

use super::split::{LONGEST, units};
use crate::types::{AnswerBody, QuestionRow};

/// The limit of values that a card offers; others are typed.
const MOST_VALUES: usize = 8;
/// Space for the bot's additions to a question.
const ASIDE: usize = 400;

/// The meaning of a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Approve,
    /// Deny; a reason may follow.
    Deny,
    /// Deny without a reason.
    DenyNow,
    /// Back from denying.
    Back,
    Happened,
    DidNot,
    /// One of the offered values.
    Value(usize),
}

impl Action {
    fn name(self) -> String {
        match self {
            Self::Approve => "a".to_owned(),
            Self::Deny => "d".to_owned(),
            Self::DenyNow => "n".to_owned(),
            Self::Back => "b".to_owned(),
            Self::Happened => "h".to_owned(),
            Self::DidNot => "x".to_owned(),
            Self::Value(index) => format!("v{index}"),
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "a" => Self::Approve,
            "d" => Self::Deny,
            "n" => Self::DenyNow,
            "b" => Self::Back,
            "h" => Self::Happened,
            "x" => Self::DidNot,
            other => Self::Value(other.strip_prefix('v')?.parse().ok()?),
        })
    }

    /// The answer that this button gives.
    pub(super) fn answer(self, row: &QuestionRow) -> Option<AnswerBody> {
        Some(match self {
            Self::Approve => AnswerBody::Approve { only: None },
            Self::Deny | Self::DenyNow => AnswerBody::Deny { reason: String::new(), only: None },
            Self::Happened => AnswerBody::Happened { result: Value::Null },
            Self::DidNot => AnswerBody::DidNot,
            Self::Value(index) => AnswerBody::Value { value: offered(row).get(index)?.clone() },
            Self::Back => return None,
        })
    }
}

/// An unguessable token.
pub(super) fn draw_token() -> Result<String, String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The token and meaning of a pressed button.
pub(super) fn read_data(data: &str) -> Option<(&str, Action)> {
    let (token, action) = data.split_once(':')?;
    Some((token, Action::named(action)?))
}

/// The question as text, without the id that only commands need.
fn plain(row: &QuestionRow) -> String {
    row.text.replacen(&format!("  {}", row.id), "", 1)
}

/// The whole question, if it is too long for a message.
pub(super) fn whole_if_long(row: &QuestionRow) -> Option<String> {
    let text = plain(row);
    (units(&text) > LONGEST - ASIDE).then_some(text)
}

/// The text of a card.
pub(super) fn text_of(row: &QuestionRow, language: Language) -> String {
    let text = plain(row);
    match units(&text) > LONGEST - ASIDE {
        false => text,
        true => {
            let head = super::split::beginning(&text, LONGEST / 2);
            format!("{head}\n\n{}", language.words().bot.in_the_file)
        }
    }
}

/// An open question: its text and its buttons.
pub(super) fn open_card(row: &QuestionRow, token: &str, is_denying: bool, language: Language) -> (String, Value) {
    let words = &language.words().bot;
    let text = text_of(row, language);
    let button =
        |label: &str, action: Action| json!({"text": label, "callback_data": format!("{token}:{}", action.name())});
    let has = |answer: &str| row.answers.iter().any(|known| known == answer);
    if is_denying {
        let keys = json!([[button(words.deny_now, Action::DenyNow)], [button(words.back, Action::Back)]]);
        return (format!("{text}\n\n{}", words.give_reason), keyboard(keys));
    }
    if has("value") {
        let label = |value: &Value| value.as_str().map_or_else(|| value.to_string(), obelus_kernel::visible);
        let short = |value: &Value| label(value).chars().take(60).collect::<String>();
        let values = offered(row).into_iter().enumerate();
        let mut keys: Vec<Value> =
            values.map(|(index, value)| json!([button(&short(&value), Action::Value(index))])).collect();
        keys.push(json!([button(words.decline, Action::DenyNow)]));
        return (format!("{text}\n\n{}", words.give_value), keyboard(keys.into()));
    }
    let keys = match has("happened") {
        true => json!([[button(words.happened, Action::Happened)], [button(words.did_not, Action::DidNot)]]),
        false => json!([[button(words.approve, Action::Approve), button(words.deny, Action::Deny)]]),
    };
    (text, keyboard(keys))
}

/// A closed question: its text and result.
pub(super) fn closed_card(
    row: &QuestionRow,
    language: Language,
    name_of: impl FnOnce(i64) -> Option<String>,
) -> (String, Value) {
    let words = &language.words().bot;
    let by = row.by.as_deref().unwrap_or_default();
    let is_here = by.starts_with("telegram:");
    let outcome = match (row.status.as_str(), is_here) {
        ("approved", true) => words.approved,
        ("approved", false) => words.approved_elsewhere,
        ("denied", true) => words.denied,
        ("denied", false) => words.denied_elsewhere,
        ("expired", _) => words.expired,
        (_, true) => words.answered,
        (_, false) => words.answered_elsewhere,
    };
    let outcome = fill(outcome, &[&super::words::who(words, by, name_of)]);
    (format!("{}\n\n{outcome}", text_of(row, language)), keyboard(json!([])))
}

fn keyboard(keys: Value) -> Value {
    json!({"inline_keyboard": keys})
}

/// The values that a question's schema offers.
fn offered(row: &QuestionRow) -> Vec<Value> {
    let schema = row.schema.as_ref();
    let values = schema.and_then(|schema| schema["enum"].as_array().cloned());
    let both = || schema.filter(|schema| schema["type"] == "boolean").map(|_| vec![json!(true), json!(false)]);
    values.or_else(both).filter(|values| values.len() <= MOST_VALUES).unwrap_or_default()
}

/// The typed value: a text if the schema wants one, else JSON if it is valid.
pub(super) fn typed(text: &str, row: &QuestionRow) -> Value {
    let wants_text = row.schema.as_ref().is_none_or(|schema| schema["type"] == "string");
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_string() || !wants_text => value,
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buttons_fit_into_their_64_bytes_and_say_what_they_mean() {
        let (one, other) = (draw_token().unwrap(), draw_token().unwrap());
        assert!(one != other && one.len() == 22);
        let all = [
            Action::Approve,
            Action::Deny,
            Action::DenyNow,
            Action::Back,
            Action::Happened,
            Action::DidNot,
            Action::Value(7),
        ];
        for action in all {
            let data = format!("{one}:{}", action.name());
            assert!(data.len() <= 64);
            assert_eq!(read_data(&data), Some((one.as_str(), action)));
        }
        for wrong in ["", "abc", "abc:", "abc:z", "abc:v", "abc:v-1"] {
            assert_eq!(read_data(wrong), None, "{wrong}");
        }
    }
}
