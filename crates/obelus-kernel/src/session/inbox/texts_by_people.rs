//! People's texts in decisions. They count as the user's own words (POL-7).

use std::collections::BTreeSet;

use serde_json::Value;

use super::Inbox;
use crate::session::ids::QuestionNumber;
use crate::session::input::Decision;

impl Inbox {
    /// People's texts in reasons, answers and edits, oldest first.
    pub(in crate::session) fn texts_by_people(&self) -> &[String] {
        &self.texts_by_people
    }

    pub(in crate::session) fn note_texts_by_people(&mut self, texts: Vec<String>) {
        self.texts_by_people.extend(texts);
    }

    /// A person's text in a decision counts as the user's own: a reason, the requested value, and new values of an
    /// edit.
    pub(in crate::session) fn texts_of_decision(&self, number: QuestionNumber, decision: &Decision) -> Vec<String> {
        let Some(question) = self.get(number) else { return Vec::new() };
        let mut texts = Vec::new();
        match decision {
            Decision::Deny { reason } | Decision::DenySome { reason, .. } => texts.push(reason.clone()),
            Decision::Edit { params } => {
                let mut shown = BTreeSet::new();
                question.calls.iter().for_each(|asked| tokens(&asked.call, &mut shown));
                params.values().for_each(|value| each_text(value, &mut |text| add_new_parts(text, &shown, &mut texts)));
            }
            // An elicitation's answer is for its call only, and its choices are the call's own.
            Decision::Value { value } if question.elicitation.is_none() => {
                each_text(value, &mut |text| texts.push(text.to_owned()));
            }
            _ => {}
        }
        texts.retain(|text| !text.trim().is_empty());
        texts
    }
}

/// Visits every text and number in a value, as text.
pub(in crate::session) fn each_text(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Number(number) => visit(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, visit)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Adds all words of the texts of a call.
fn tokens(call: &Value, found: &mut BTreeSet<String>) {
    each_text(call, &mut |text| found.extend(text.split_whitespace().map(str::to_owned)));
}

/// The words of a text that were not shown before: in an edited text, the rest was not written by the person.
fn add_new_parts(text: &str, shown: &BTreeSet<String>, texts: &mut Vec<String>) {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    texts.extend(tokens.split(|token| shown.contains(*token)).map(|part| part.join(" ")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_values_added_by_an_edit_count_as_the_persons_words() {
        let mut shown = BTreeSet::new();
        tokens(&json!({"to": "audit@evil.test", "body": "Call audit@evil.test now", "sum": 900}), &mut shown);
        for (text, expected) in [
            ("olga@example.test", vec!["olga@example.test"]),
            ("audit@evil.test", vec![""]),
            ("Call audit@evil.test or olga@example.test now", vec!["", "", "or olga@example.test", ""]),
            ("900", vec![""]),
        ] {
            let mut texts = Vec::new();
            add_new_parts(text, &shown, &mut texts);
            texts.retain(|text| !text.is_empty());
            assert_eq!(texts, expected.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>(), "{text}");
        }
    }
}
