//! Text that people read, in which nothing hides and nothing passes for something else.

use serde_json::Value;

use crate::visible::misleads;

/// A name: plain where it is a plain one, in quotes where it could be read as something else.
pub(crate) fn word(name: &str) -> String {
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

/// A value as JSON on one line, in which every character is what it seems to be.
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

/// Whether letters of another alphabet stand in a word, or a part of an address, to be read as Latin ones.
fn poses_as_latin(run: &str, is_address: bool) -> bool {
    let mut others = run.chars().filter(|c| alphabet(*c).is_some()).peekable();
    let mixes = run.contains(|c: char| c.is_ascii_alphabetic());
    others.peek().is_some() && (mixes || (is_address && others.all(resembles_latin)))
}

#[derive(PartialEq)]
enum Alphabet {
    Cyrillic,
    Greek,
}

/// The alphabet of a letter, where it has letters that look like Latin ones.
fn alphabet(c: char) -> Option<Alphabet> {
    match c {
        '\u{400}'..='\u{52f}' => Some(Alphabet::Cyrillic),
        '\u{370}'..='\u{3ff}' => Some(Alphabet::Greek),
        _ => None,
    }
}

/// Whether a letter of those alphabets may be read as a Latin one. Of Cyrillic ones, all but the unmistakable.
fn resembles_latin(c: char) -> bool {
    !"бвгджзийклмнптфцчшщъыьэюяёБГДЖЗИЙЛПФЦЧШЩЪЫЬЭЮЯЁ".contains(c)
}

/// Whether a character cannot be seen, or is seen as another one.
fn hides(c: char) -> bool {
    misleads(c)
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            // Joiners, and selectors of a variant.
            '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}'
            // Full-width and mathematical forms of Latin letters and digits.
            | '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}')
}

/// Whether a character is drawn onto the one before it. Many of them are drawn over other lines.
fn combines(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}
