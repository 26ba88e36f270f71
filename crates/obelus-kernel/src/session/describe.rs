//! A call in words, for a person to decide about: nothing left out, nothing forged, what is not trusted marked.
//!
//! One line for each value, and every text in quotes. What could hide a part of it or pass for another is shown
//! as an escape, so a value, a name or an address is never read as something that it is not.

use serde_json::Value;

use crate::origin::Origins;
use crate::path::Segment;
use crate::visible::{misleads, visible};

/// A part of a call that comes from somewhere.
pub(super) enum Part<'a> {
    /// That the call is made at all.
    Proposal,
    /// What lies at a place below the parameters.
    Value(&'a [Segment], &'a Value),
    /// What whoever carries it out is shown of memory.
    Scopes,
}

/// Texts longer than this stand after everything else, so that they push nothing out of sight.
const LONG: usize = 400;

/// A call in words. `is_aside` tells the fields that are no part of it, `origins` where its parts come from.
pub(super) fn describe(call: &Value, is_aside: &dyn Fn(&str) -> bool, origins: &dyn Fn(Part<'_>) -> Origins) -> String {
    let Value::Object(fields) = call else { return json(call) };
    let tool = fields.get("_tool").and_then(Value::as_str).unwrap_or_default();
    let head = format!("{}{}", visible(tool), mark(&origins(Part::Proposal)));
    let mut words = Words { lines: vec![head], long: Vec::new() };
    for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with('_') && !is_aside(name)) {
        words.value("", &mut vec![Segment::Key(name.into())], value, origins);
    }
    for (name, value) in fields.iter().filter(|(name, _)| name.starts_with('_')) {
        match (name.as_str(), value) {
            ("_tool" | "_reasoningForCall", _) | (_, Value::Null) => {}
            ("_instance", Value::String(instance)) => words.lines.push(format!("  for {}", word(instance))),
            ("_scopes", scopes) => {
                words.lines.push(format!("  is shown {}{}", json(scopes), mark(&origins(Part::Scopes))));
            }
            ("_delegate", by) => words.lines.push(format!("  carried out by the delegate {}", json(by))),
            ("_activity", by) => words.lines.push(format!("  carried out by the activity {}", json(by))),
            ("_outputPath", path) => words.lines.push(format!("  result to {}", json(path))),
            ("_outputMethod", method) => words.lines.push(format!("  result joins by {}", json(method))),
            _ => words.value("", &mut vec![Segment::Key(name.into())], value, origins),
        }
    }
    let plain = |_: Part<'_>| Origins::default();
    for (name, value) in fields.iter().filter(|(name, _)| is_aside(name)) {
        words.value("beside the call, in the agent's words: ", &mut vec![Segment::Key(name.into())], value, &plain);
    }
    words.lines.append(&mut words.long);
    words.lines.join("\n")
}

struct Words {
    lines: Vec<String>,
    long: Vec<String>,
}

impl Words {
    /// Lines for a value and everything below it.
    fn value(&mut self, before: &str, place: &mut Vec<Segment>, value: &Value, origins: &dyn Fn(Part<'_>) -> Origins) {
        let below: Vec<(Segment, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(name, inner)| (Segment::Key(name.into()), inner)).collect(),
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                (0..).map(Segment::Index).zip(items).collect()
            }
            _ => Vec::new(),
        };
        if below.is_empty() {
            let (name, text) = (name_of(place), json(value));
            let mark = mark(&origins(Part::Value(place, value)));
            if text.chars().count() > LONG {
                let length = text.chars().count();
                self.lines.push(format!("  {before}{name} = {length} characters, whole at the end{mark}"));
                self.long.push(format!("  {before}{name} = {text}{mark}"));
            } else {
                self.lines.push(format!("  {before}{name} = {text}{mark}"));
            }
            return;
        }
        for (step, inner) in below {
            place.push(step);
            self.value(before, place, inner, origins);
            place.pop();
        }
    }
}

pub(super) fn mark(origins: &Origins) -> String {
    let names: Vec<String> = origins.untrusted().map(word).collect();
    if names.is_empty() { String::new() } else { format!("   ← from {}, not trusted", names.join(", ")) }
}

/// A parameter's place: `fields.SUM`, `rows[0].price`, `"a.b".c`.
fn name_of(place: &[Segment]) -> String {
    let mut name = String::new();
    for step in place {
        match step {
            Segment::Index(index) => name.push_str(&format!("[{index}]")),
            Segment::Field(key) | Segment::Key(key) => {
                name.push_str(if name.is_empty() { "" } else { "." });
                name.push_str(&word(key));
            }
        }
    }
    name
}

/// A name: plain where it is a plain one, in quotes where it could be read as something else.
pub(super) fn word(name: &str) -> String {
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
pub(super) fn json(value: &Value) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;
    use serde_json::json as value;

    fn words(call: &Value) -> String {
        describe(call, &|name| name == "comment", &|_| Origins::default())
    }

    fn line(call: &Value) -> String {
        words(call).lines().skip(1).map(str::trim_start).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn nothing_is_left_out() {
        let call = value!({
            "_tool": "pay", "to": "a", "fields": {"SUM": 5, "rows": [{"n": 1}, [2, 3]]}, "tags": ["x", 1], "empty": {},
            "_scopes": ["text"], "_delegate": "anonymous", "_outputPath": "†state.x", "_outputMethod": "push",
            "_instance": "deal 41", "_reasoningForCall": "no part of it", "comment": "please",
        });
        let expected = [
            "pay",
            "  to = \"a\"",
            "  fields.SUM = 5",
            "  fields.rows[0].n = 1",
            "  fields.rows[1] = [2, 3]",
            "  tags = [\"x\", 1]",
            "  empty = {}",
            "  is shown [\"text\"]",
            "  carried out by the delegate \"anonymous\"",
            "  result to \"†state.x\"",
            "  result joins by \"push\"",
            "  for \"deal 41\"",
            "  beside the call, in the agent's words: comment = \"please\"",
        ];
        assert_eq!(words(&call), expected.join("\n"));
    }

    #[test]
    fn a_value_stays_on_its_line_and_in_its_quotes() {
        for (text, shown) in [
            ("a\nb\u{202e}", r#"to = "a\nb\u{202e}""#),
            ("Добрый день\nМир", r#"to = "Добрый день\nМир""#),
            ("a\"\n  to = \"b", r#"to = "a\"\n  to = \"b""#),
            ("a\u{2028}b\u{85}c\r", r#"to = "a\u{2028}b\u{85}c\r""#),
            ("\\u{202e}", r#"to = "\\u{202e}""#),
            ("a\u{200d}b\u{a0}c\u{3000}\u{3164}", r#"to = "a\u{200d}b\u{a0}c\u{3000}\u{3164}""#),
            ("e\u{301}\u{301}\u{301}", "to = \"e\u{301}\\u{301}\\u{301}\""),
            ("ｅvil", r#"to = "\u{ff45}vil""#),
        ] {
            assert_eq!(line(&value!({"_tool": "t", "to": text})), shown);
        }
    }

    #[test]
    fn a_letter_that_poses_as_a_latin_one_is_shown_as_an_escape() {
        for (text, shown) in [
            ("olga@\u{435}xample.test", r#""olga@\u{435}xample.test""#),
            ("https://\u{430}\u{440}\u{440}\u{435}.test", r#""https://\u{430}\u{440}\u{440}\u{435}.test""#),
            ("р\u{430}ypal", r#""\u{440}\u{430}ypal""#),
            ("Привет, Ольга! 1С-Битрикс, о нас.", r#""Привет, Ольга! 1С-Битрикс, о нас.""#),
            ("почта@пример.рф, café", r#""почта@пример.рф, café""#),
        ] {
            assert_eq!(line(&value!({"_tool": "t", "to": text})), format!("to = {shown}"));
        }
    }

    #[test]
    fn a_name_cannot_pass_for_another() {
        for (name, shown) in [
            ("to", "to"),
            ("t\u{43e}", r#""t\u{43e}""#),
            ("со", r#""\u{441}\u{43e}""#),
            ("сумма", "\"сумма\""),
            ("fields.SUM", "\"fields.SUM\""),
            ("to = \"b\"", r#""to = \"b\"""#),
            ("to ", "\"to \""),
            ("a\n  to", r#""a\n  to""#),
            ("", "\"\""),
            ("[0]", "\"[0]\""),
            ("τo", r#""\u{3c4}o""#),
            ("\u{202e}ot", r#""\u{202e}ot""#),
        ] {
            assert_eq!(line(&value!({"_tool": "t", name: 1})), format!("{shown} = 1"));
            assert_eq!(line(&value!({"_tool": "t", "in": {name: 1}})), format!("in.{shown} = 1"));
        }
    }

    #[test]
    fn a_long_text_hides_nothing_and_is_whole() {
        let text = "x".repeat(10_000);
        let words = words(&value!({"_tool": "t", "body": text, "to": "a", "_outputPath": "†state.x"}));
        let lines: Vec<&str> = words.lines().collect();
        assert_eq!(
            lines[1..4],
            ["  body = 10002 characters, whole at the end", "  to = \"a\"", "  result to \"†state.x\""]
        );
        assert_eq!(lines[4], format!("  body = \"{text}\""));
    }

    #[test]
    fn what_is_not_trusted_is_marked_where_it_stands() {
        let page = Origins::of(Origin::Tool { name: "open_page".into(), trusted: false });
        let marked = ["to", "rows[1].id"];
        let origins = |part: Part<'_>| match part {
            Part::Value(place, _) if marked.contains(&name_of(place).as_str()) => page.clone(),
            _ => Origins::default(),
        };
        let call = value!({"_tool": "t", "to": "a", "cc": "b", "rows": [{"id": 1}, {"id": 2}]});
        let expected = [
            "t",
            "  to = \"a\"   ← from open_page, not trusted",
            "  cc = \"b\"",
            "  rows[0].id = 1",
            "  rows[1].id = 2   ← from open_page, not trusted",
        ];
        assert_eq!(describe(&call, &|_| false, &origins), expected.join("\n"));
    }
}
