//! Parts of messages to people and models: types of values, values as text, suggested names, shortened texts.

use serde_json::Value;

/// The type of a value, with its article.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A value as plain text: a string without quotes, any other value as JSON.
pub fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The known name that is most similar to a misspelt one.
pub fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    known.iter().map(|known| (distance(name, known), *known)).filter(|(d, _)| *d <= limit).min().map(|(_, known)| known)
}

/// The edit distance: letters added, removed, replaced or exchanged with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    // The cost grows with the product of the lengths.
    let [a, b] = [a, b].map(|text| text.chars().take(64).collect::<String>());
    strsim::osa_distance(&a, &b)
}

/// The text, shortened if it is long, so that messages never contain whole documents.
pub fn short(text: &str) -> String {
    clip(text, 300)
}

/// The first characters of a text, at most `most`, with `…` if there are more.
pub fn clip(text: &str, most: usize) -> String {
    let end = match text.as_bytes().get(..most) {
        None => return text.to_owned(),
        Some(head) if head.is_ascii() => most,
        Some(_) => text.char_indices().nth(most).map_or(text.len(), |(end, _)| end),
    };
    if end == text.len() { text.to_owned() } else { format!("{}…", &text[..end]) }
}

/// A parser's message on one line, without its position, which messages name in their own form.
pub fn without_position(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    line.rsplit_once(" at line ").map_or(line, |(words, _)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parsers_message_loses_its_position() {
        let error = serde_json::from_str::<Value>("[1 2]").unwrap_err();
        assert_eq!(without_position(&error.to_string()), "expected `,` or `]`");
        assert_eq!(without_position("no place\nand more"), "no place");
    }

    #[test]
    fn a_text_is_cut_by_characters() {
        for (text, most, cut) in [
            ("", 0, ""),
            ("abc", 3, "abc"),
            ("abcd", 3, "abc…"),
            ("ёлка", 4, "ёлка"),
            ("ёлка", 3, "ёлк…"),
            ("abё", 2, "ab…"),
        ] {
            assert_eq!(clip(text, most), cut);
        }
    }

    #[test]
    fn an_added_missing_wrong_or_swapped_letter_is_one_mistake() {
        for (name, meant) in
            [("payy", "pay"), ("py", "pay"), ("pax", "pay"), ("pya", "pay"), ("_outputPaht", "_outputPath")]
        {
            assert_eq!(closest(name, &["send", meant]), Some(meant), "{name}");
        }
        assert_eq!((distance("", "pay"), distance("pay", "pay"), closest("ypa", &["pay"])), (3, 0, None));
    }
}
