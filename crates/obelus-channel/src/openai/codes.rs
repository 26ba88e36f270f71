//! Answers to questions as text. The protocol has no other way, so a question is shown with a code, and the user's
//! message `approve CODE` answers it.
//!
//! A code is derived from the question and its digest: it is valid once, and only for what was shown.

use obelus_kernel::session::About;
use obelus_runtime::Language;
use obelus_runtime::people::AnswerKind;
use obelus_words::fill;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::types::{AnswerBody, QuestionRow};

/// Unambiguous letters and digits.
const SIGNS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: usize = 8;

/// The code of a question as it is now.
pub(super) fn code_of(question: &QuestionRow) -> String {
    signs(&format!("{}\n{}", question.id, question.digest))
}

/// A mark that distinguishes sessions.
pub(super) fn mark_of(session: &str) -> String {
    signs(session)
}

fn signs(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(LENGTH).map(|byte| char::from(SIGNS[usize::from(byte % 32)])).collect()
}

/// A question with the texts that answer it.
pub(super) fn shown(question: &QuestionRow, language: Language) -> String {
    let (words, code) = (&language.words().codes, code_of(question));
    let how = match question.about {
        About::Input => fill(words.value, &[&code]),
        About::InDoubt => fill(words.in_doubt, &[&code, &code]),
        About::Call | About::Plan => fill(words.decide, &[&code, &code]),
    };
    format!("{}\n\n{how}", question.text)
}

/// The answer in the user's message: the code, and the answer.
pub(super) fn answer_in(text: &str) -> Option<(String, AnswerBody)> {
    let text = text.trim().trim_matches('`');
    let (verb, rest) = text.split_once(char::is_whitespace)?;
    let (code, more) = rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    let code = code.trim_matches('`').to_ascii_uppercase();
    let is_code = code.len() == LENGTH && code.bytes().all(|byte| SIGNS.contains(&byte));
    let more = more.trim().to_owned();
    let answer = match verb.to_lowercase().as_str() {
        "approve" if more.is_empty() => AnswerBody::Approve { only: None },
        "deny" => AnswerBody::Deny { reason: more, only: None },
        "answer" if !more.is_empty() => AnswerBody::Value { value: Value::String(more) },
        "happened" if more.is_empty() => AnswerBody::Happened { result: Value::Null },
        "did_not" if more.is_empty() => AnswerBody::DidNot,
        _ => return None,
    };
    is_code.then_some((code, answer))
}

/// The kind of answer that a message begins with, and the rest of the message.
pub(super) fn verb_of(text: &str) -> Option<(AnswerKind, &str)> {
    let text = text.trim().trim_matches('`');
    let (verb, rest) = text.split_once(char::is_whitespace)?;
    let known = [
        ("approve", AnswerKind::Approve),
        ("deny", AnswerKind::Deny),
        ("answer", AnswerKind::Value),
        ("happened", AnswerKind::Happened),
        ("did_not", AnswerKind::DidNot),
    ];
    known.iter().find(|(known, _)| verb.eq_ignore_ascii_case(known)).map(|(_, answer)| (*answer, rest))
}

/// The text in place of a code, if a message looks like an answer to an open question but has no valid code. Such a
/// message is not sent to the model.
pub(super) fn mistyped<'a>(text: &'a str, open: &[QuestionRow]) -> Option<&'a str> {
    let (wanted, rest) = verb_of(text)?;
    let (code, more) = rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    let looks_like_code = code.chars().any(|sign| sign.is_ascii_digit())
        || (code.len() > 3 && code.chars().all(|sign| sign.is_ascii_uppercase()));
    let fits = open.iter().any(|question| question.answers.contains(&wanted));
    (fits && (more.is_empty() || looks_like_code)).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_verb_with_a_code_answers_a_question() {
        let of = |text: &str| answer_in(text);
        assert_eq!(of("approve ABCD1234"), Some(("ABCD1234".to_owned(), AnswerBody::Approve { only: None })));
        assert_eq!(of(" `Approve abcd1234` ").map(|(code, _)| code).as_deref(), Some("ABCD1234"));
        let denied = AnswerBody::Deny { reason: "not today".to_owned(), only: None };
        assert_eq!(of("deny ABCD1234 not today"), Some(("ABCD1234".to_owned(), denied)));
        for plain in
            ["approve", "approve it", "approve ABCD1234 and more", "deny everything", "yes ABCD1234", "ABCD1234"]
        {
            assert_eq!(of(plain), None, "{plain}");
        }
    }
}
