//! Quotes untrusted text for people, so that no character is hidden or looks like another.

use serde_json::Value;

use crate::visible::misleads;

/// A name: unchanged if it is a plain identifier, otherwise quoted and escaped.
pub fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.chars().all(is_plain) && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return name.to_owned();
    }
    let is_cyrillic = name.chars().filter(|c| c.is_alphabetic()).all(|c| alphabet(c) == Some(Alphabet::Cyrillic));
    if is_cyrillic && name.chars().any(|c| alphabet(c).is_some() && !resembles_latin(c)) {
        return quoted(name);
    }
    quoted(name).chars().map(|c| if c.is_ascii() { c.to_string() } else { escaped(c) }).collect()
}

/// A value as JSON on one line, with hidden and misleading characters escaped.
pub(crate) fn json(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{}: {}", quoted(name), json(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    let mut combined = false;
    shown.push('"');
    for token in text.split_inclusive(char::is_whitespace) {
        let is_address = token.contains(['@', '.', '/']) && token.contains(|c: char| c.is_ascii_alphabetic());
        let mut rest = token;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c: char| c.is_alphanumeric() != first.is_alphanumeric()).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            let poses = poses_as_latin(run, is_address);
            for c in run.chars() {
                let stacked = combined && combines(c);
                combined = combines(c);
                match c {
                    '"' | '\\' => shown.extend(['\\', c]),
                    _ if hides(c) || stacked || (poses && alphabet(c).is_some()) => shown.push_str(&escaped(c)),
                    _ => shown.push(c),
                }
            }
            rest = after;
        }
    }
    shown.push('"');
    shown
}

fn escaped(c: char) -> String {
    c.escape_default().to_string()
}

/// Whether letters of another alphabet in a word, or a part of an address, could be read as Latin ones.
fn poses_as_latin(run: &str, is_address: bool) -> bool {
    let others: Vec<char> = run.chars().filter(|c| alphabet(*c).is_some()).collect();
    let mixes = run.contains(|c: char| c.is_ascii_alphabetic());
    !others.is_empty()
        && (mixes
            || (is_address && others.iter().all(|c| resembles_latin(*c)))
            || others.iter().all(|c| is_latin_twin(*c)))
}

/// Whether a letter of an alphabet that is rare here looks like a Latin one, so that a whole word may look like
/// another.
fn is_latin_twin(c: char) -> bool {
    match alphabet(c) {
        Some(Alphabet::Armenian) => "օսհոցզյքղւլգպճԼՍՏՕՁՀԱ".contains(c),
        Some(Alphabet::Coptic | Alphabet::Lisu | Alphabet::Cherokee) => true,
        Some(Alphabet::Cyrillic | Alphabet::Greek) | None => false,
    }
}

#[derive(PartialEq)]
enum Alphabet {
    Armenian,
    Cherokee,
    Coptic,
    Cyrillic,
    Greek,
    Lisu,
}

/// The alphabet of a letter, if it is one with letters that look like Latin ones.
fn alphabet(c: char) -> Option<Alphabet> {
    match c {
        '\u{400}'..='\u{52f}' => Some(Alphabet::Cyrillic),
        '\u{3e2}'..='\u{3ef}' | '\u{2c80}'..='\u{2cff}' => Some(Alphabet::Coptic),
        '\u{370}'..='\u{3ff}' => Some(Alphabet::Greek),
        '\u{530}'..='\u{58f}' => Some(Alphabet::Armenian),
        '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Some(Alphabet::Cherokee),
        '\u{a4d0}'..='\u{a4ff}' | '\u{11fb0}' => Some(Alphabet::Lisu),
        _ => None,
    }
}

/// Whether a letter of those alphabets may be read as a Latin one. Only the distinct Cyrillic letters may not.
fn resembles_latin(c: char) -> bool {
    !"бвгджзийклмнптфцчшщъыьэюяёБГДЖЗИЙЛПФЦЧШЩЪЫЬЭЮЯЁ".contains(c)
}

/// Whether a character is invisible, or looks like another one.
fn hides(c: char) -> bool {
    misleads(c)
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            // Joiners and variation selectors.
            '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}'
            // Dots and strokes that look like `.` and `/`.
            | '\u{2024}' | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{fe52}'
            // Full-width and mathematical forms of Latin letters and digits.
            | '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}')
}

/// Whether a character is drawn onto the previous one. Several of them may be drawn over other lines.
fn combines(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookalike_letters_of_rare_alphabets_are_escaped() {
        for (text, shown) in [
            ("p\u{585}y", "\"p\\u{585}y\""),
            ("\u{570}\u{578}\u{585}", "\"\\u{570}\\u{578}\\u{585}\""),
            ("\u{a4ee}\u{a4d1}", "\"\\u{a4ee}\\u{a4d1}\""),
            ("\u{13aa}\u{13bb}", "\"\\u{13aa}\\u{13bb}\""),
            ("\u{2c9f}ne", "\"\\u{2c9f}ne\""),
            ("shop\u{2024}example\u{2044}a", "\"shop\\u{2024}example\\u{2044}a\""),
            ("a\u{2800}b \u{1d173}", "\"a\\u{2800}b \\u{1d173}\""),
        ] {
            assert_eq!(quoted(text), shown);
        }
        for plain in ["Հայաստան", "Поставка окон", "Ελλάδα", "Jürgen"] {
            assert_eq!(quoted(plain), format!("\"{plain}\""));
        }
    }
}
