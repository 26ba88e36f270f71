//! A call as text for a person's decision: complete, unforgeable, with untrusted parts marked.
//!
//! One line for each value, and every text in quotes (see `quote`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call_json::CallJson;
use crate::origin::Origins;
use crate::path::Segment;
use crate::quote::{json, word};
use crate::visible::visible;

/// A part of a call with origins.
pub enum CallPart<'a> {
    /// That the call is made at all.
    Proposal,
    /// The value at a path below the parameters.
    Value(&'a [Segment], &'a Value),
    /// The scopes that its executor sees.
    Scopes,
}

/// Longer texts come last, so that they do not push others out of sight.
const LONG: usize = 400;

/// A call as text. `is_control` identifies control fields, `origins` gives the origins of parts.
pub fn describe(
    call: &CallJson,
    is_control: &dyn Fn(&str) -> bool,
    origins: &dyn Fn(CallPart<'_>) -> Origins,
) -> String {
    let Some(fields) = call.as_object() else { return json(call) };
    let tool = call.tool_name();
    let head = format!("{}{}", visible(tool), mark(&origins(CallPart::Proposal)));
    let mut words = ValueLines { lines: vec![head], long: Vec::new() };
    for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with('_') && !is_control(name)) {
        words.add("", name, value, origins);
    }
    for (name, value) in fields.iter().filter(|(name, _)| name.starts_with('_')) {
        match (name.as_str(), value) {
            ("_tool" | "_reasoningForCall", _) | (_, Value::Null) => {}
            ("_instance", Value::String(instance)) => words.lines.push(format!("  for {}", word(instance))),
            ("_scopes", scopes) => {
                words.lines.push(format!("  is shown {}{}", json(scopes), mark(&origins(CallPart::Scopes))));
            }
            ("_delegate", by) => words.lines.push(format!("  carried out by the delegate {}", json(by))),
            ("_activity", by) => words.lines.push(format!("  carried out by the activity {}", json(by))),
            ("_outputPath", path) => words.lines.push(format!("  result to {}", json(path))),
            ("_outputMethod", method) => words.lines.push(format!("  result joins by {}", json(method))),
            _ => words.add("", name, value, origins),
        }
    }
    let plain = |_: CallPart<'_>| Origins::default();
    for (name, value) in fields.iter().filter(|(name, _)| is_control(name)) {
        words.add("beside the call, in the agent's words: ", name, value, &plain);
    }
    words.lines.append(&mut words.long);
    words.lines.join("\n")
}

/// An untrusted value of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueMark {
    /// Its place, as in the description: `fields.SUM`. Empty for the proposal, `_scopes` for the scopes.
    pub place: String,
    /// The tools it comes from.
    pub sources: Vec<String>,
}

/// The untrusted parts of a call, with the places of the description.
pub fn marks(
    call: &CallJson,
    is_control: &dyn Fn(&str) -> bool,
    origins: &dyn Fn(CallPart<'_>) -> Origins,
) -> Vec<ValueMark> {
    let mut found = Vec::new();
    let mut note = |place: String, origins: &Origins| {
        if !origins.is_trusted() {
            found.push(ValueMark { place, sources: origins.untrusted().map(str::to_owned).collect() });
        }
    };
    note(String::new(), &origins(CallPart::Proposal));
    let fields = call.as_object().into_iter().flatten();
    for (name, value) in fields.filter(|(name, _)| !is_control(name)) {
        match name.as_str() {
            "_scopes" => note(name.clone(), &origins(CallPart::Scopes)),
            "_tool" | "_reasoningForCall" | "_instance" | "_delegate" | "_activity" | "_outputPath"
            | "_outputMethod" => {}
            _ => each_leaf(&mut vec![Segment::Key(name.into())], value, &mut |place, leaf| {
                note(name_of(place), &origins(CallPart::Value(place, leaf)));
            }),
        }
    }
    found
}

/// The mark of an untrusted value, with the tools it comes from.
pub fn mark(origins: &Origins) -> String {
    let names: Vec<String> = origins.untrusted().map(word).collect();
    if names.is_empty() { String::new() } else { format!("   ← from {}, not trusted", names.join(", ")) }
}

/// A value for people: texts in quotes, misleading characters escaped.
pub fn quoted_value(value: &Value) -> String {
    json(value)
}

/// The fields of a call that have a line of their own, with their places: parameters and remarks.
pub fn leaves(call: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    let fields = call.as_object().into_iter().flatten();
    for (name, value) in fields.filter(|(name, _)| !name.starts_with('_')) {
        each_leaf(&mut vec![Segment::Key(name.into())], value, &mut |place, leaf| found.push((name_of(place), leaf)));
    }
    found
}

/// Visits the values that have a line of their own: those with nothing below.
fn each_leaf<'v>(place: &mut Vec<Segment>, value: &'v Value, visit: &mut dyn FnMut(&[Segment], &'v Value)) {
    let below = below(value);
    if below.is_empty() {
        return visit(place, value);
    }
    for (step, inner) in below {
        place.push(step);
        each_leaf(place, inner, visit);
        place.pop();
    }
}

/// The parts of a value that have lines of their own.
fn below(value: &Value) -> Vec<(Segment, &Value)> {
    match value {
        Value::Object(fields) => fields.iter().map(|(name, inner)| (Segment::Key(name.into()), inner)).collect(),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            (0..).map(Segment::Index).zip(items).collect()
        }
        _ => Vec::new(),
    }
}

struct ValueLines {
    lines: Vec<String>,
    long: Vec<String>,
}

impl ValueLines {
    /// Lines for a field and everything below it.
    fn add(&mut self, before: &str, name: &str, value: &Value, origins: &dyn Fn(CallPart<'_>) -> Origins) {
        each_leaf(&mut vec![Segment::Key(name.into())], value, &mut |place, leaf| {
            let (name, text) = (name_of(place), json(leaf));
            let mark = mark(&origins(CallPart::Value(place, leaf)));
            let length = text.chars().count();
            let line = format!("  {before}{name} = {text}{mark}");
            if length > LONG {
                self.lines.push(format!("  {before}{name} = {length} characters, whole at the end{mark}"));
                self.long.push(line);
            } else {
                self.lines.push(line);
            }
        });
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;
    use serde_json::json as value;

    fn words(call: &Value) -> String {
        describe(&call.clone().into(), &|name| name == "comment", &|_| Origins::default())
    }

    fn line(call: &Value) -> String {
        words(call).lines().skip(1).map(str::trim_start).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_description_contains_every_parameter() {
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
    fn a_letter_that_looks_like_a_latin_one_is_shown_as_an_escape() {
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
    fn a_misleading_parameter_name_is_quoted_or_escaped() {
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
    fn a_long_text_is_shown_completely() {
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
    fn untrusted_values_are_marked_in_place() {
        let page = Origins::of(Origin::Tool { name: "open_page".into(), trusted: false });
        let marked = ["to", "rows[1].id"];
        let origins = |part: CallPart<'_>| match part {
            CallPart::Value(place, _) if marked.contains(&name_of(place).as_str()) => page.clone(),
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
        assert_eq!(describe(&call.into(), &|_| false, &origins), expected.join("\n"));
    }
}
