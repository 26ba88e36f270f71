//! A service's question in the reader's language. The kernel describes it in English, and the question's digest
//! covers that description, so it is translated here.

use obelus_kernel::session::elicitations::{ElicitationForm, RequestedField, RequestedKind};

use crate::words::{Language, fill};

/// The lines of a service's question: its own text is unchanged, the lines of its fields are translated.
pub(super) fn elicitation_in_words(form: &ElicitationForm, language: Language) -> String {
    let cut = form.shown.map(|most| format!("  ({})", fill(language.words().elicitations.cut, &[&most.to_string()])));
    let fields = form.fields.iter().map(|field| field_in_words(field, language));
    form.own_lines.iter().cloned().chain(cut).chain(fields).collect::<Vec<_>>().join("\n")
}

fn field_in_words(field: &RequestedField, language: Language) -> String {
    let RequestedField { name, kind, is_optional, own_texts } = field;
    let optional = if *is_optional { format!(", {}", language.words().elicitations.optional) } else { String::new() };
    format!("  {name}: {}{optional}{own_texts}", kind_in_words(kind, language))
}

fn kind_in_words(kind: &RequestedKind, language: Language) -> String {
    let words = &language.words().elicitations;
    match kind {
        RequestedKind::OneOf(choices) => fill(words.one_of, &[choices]),
        RequestedKind::ListOf(choices) => fill(words.list_of, &[choices]),
        RequestedKind::Value { name, format, suggested } => {
            let name = match name.as_deref() {
                Some("string") => words.text,
                Some("integer") => words.integer,
                Some("number") => words.number,
                Some("boolean") => words.boolean,
                Some(other) => other,
                None => words.value,
            };
            let format = format.as_ref().map(|format| format!(" ({format})")).unwrap_or_default();
            let suggested = suggested.as_ref().map(|value| format!(", {}", fill(words.suggested, &[value])));
            format!("{name}{format}{}", suggested.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, kind: RequestedKind) -> RequestedField {
        RequestedField { name: name.to_owned(), kind, is_optional: false, own_texts: String::new() }
    }

    fn value(name: &str) -> RequestedKind {
        RequestedKind::Value { name: Some(name.to_owned()), format: None, suggested: None }
    }

    #[test]
    fn labels_are_in_the_readers_language_and_texts_of_the_service_are_unchanged() {
        let (format, suggested) = (Some("email".to_owned()), Some("\"a\"".to_owned()));
        let mail = RequestedKind::Value { name: Some("string".to_owned()), format, suggested };
        let form = ElicitationForm {
            is_trusted: false,
            own_lines: vec!["  │ Enter the code: string, may be left out".to_owned()],
            shown: Some(2000),
            fields: vec![
                RequestedField { is_optional: true, ..field("code", value("string")) },
                RequestedField { own_texts: " │ How many: string".to_owned(), ..field("n", value("integer")) },
                field("mail", mail),
                field("size", RequestedKind::OneOf("\"S\", \"M\"".to_owned())),
            ],
        };
        assert_eq!(
            elicitation_in_words(&form, Language::Russian),
            "  │ Enter the code: string, may be left out\n  (показаны только первые знаки: 2000)\n  \
             code: текст, можно не указывать\n  n: целое число │ How many: string\n  \
             mail: текст (email), предлагается \"a\"\n  size: одно из: \"S\", \"M\""
        );
    }
}
