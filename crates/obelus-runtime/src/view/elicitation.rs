//! A service's question in the reader's language. The kernel describes it in English, and the question's digest
//! covers that description, so it is translated here.

use crate::words::{Language, fill};

/// The lines of a description: the service's own text is unchanged, the lines of its fields are translated.
pub(super) fn elicitation_in_words(description: &str, language: Language) -> String {
    if language == Language::English {
        return description.to_owned();
    }
    description.lines().map(|line| said(line, language)).collect::<Vec<_>>().join("\n")
}

fn said(line: &str, language: Language) -> String {
    let words = &language.words().elicitations;
    if let Some(most) =
        line.strip_prefix("  (only the first ").and_then(|rest| rest.strip_suffix(" characters are shown)"))
    {
        return format!("  ({})", fill(words.cut, &[most]));
    }
    let field = line.strip_prefix("  ").filter(|rest| !rest.starts_with('│'));
    let Some((name, rest)) = field.and_then(|field| field.split_once(": ")) else { return line.to_owned() };
    let (kind, theirs) =
        rest.split_once(" │ ").map_or((rest, String::new()), |(kind, said)| (kind, format!(" │ {said}")));
    let (kind, is_optional) = kind.strip_suffix(", may be left out").map_or((kind, false), |kind| (kind, true));
    let optional = if is_optional { format!(", {}", words.optional) } else { String::new() };
    format!("  {name}: {}{optional}{theirs}", kind_in_words(kind, language))
}

fn kind_in_words(kind: &str, language: Language) -> String {
    let words = &language.words().elicitations;
    if let Some(choices) = kind.strip_prefix("one of ") {
        return fill(words.one_of, &[choices]);
    }
    if let Some(choices) = kind.strip_prefix("a list of ") {
        return fill(words.list_of, &[choices]);
    }
    if let Some((kind, value)) = kind.strip_suffix(" is suggested").and_then(|rest| rest.split_once(", ")) {
        return format!("{}, {}", kind_in_words(kind, language), fill(words.suggested, &[value]));
    }
    let (name, format) = kind.split_once(' ').map_or((kind, String::new()), |(name, rest)| (name, format!(" {rest}")));
    let name = match name {
        "string" => words.text,
        "integer" => words.integer,
        "number" => words.number,
        "boolean" => words.boolean,
        _ if kind == "a value" => return words.value.to_owned(),
        _ => return kind.to_owned(),
    };
    format!("{name}{format}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_in_the_readers_language_and_texts_of_the_service_are_unchanged() {
        let asked = "  │ Enter the code: string, may be left out\n  code: string, may be left out\n  n: integer │ How many: string\n  \
                     mail: string (email), \"a\" is suggested\n  size: one of \"S\", \"M\"\n  (only the first 2000 characters are shown)";
        assert_eq!(elicitation_in_words(asked, Language::English), asked);
        assert_eq!(
            elicitation_in_words(asked, Language::Russian),
            "  │ Enter the code: string, may be left out\n  code: текст, можно не указывать\n  n: целое число │ How many: string\n  \
             mail: текст (email), предлагается \"a\"\n  size: одно из: \"S\", \"M\"\n  (показаны только первые знаки: 2000)"
        );
    }
}
