//! Values as lines with few quotes: in a JSON request each quote needs an escape.
//!
//! A line with data begins with `|`, or with the name of its owner, so that data cannot begin a section of the
//! prompt. A text is unquoted only if it is unambiguous.

use serde_json::{Map, Value};

use crate::model::jinja::on_one_line;

/// The minimum number of records for a table, which names the fields once.
const FEWEST_ROWS: usize = 3;

/// A value under its path: records as rows below the path, anything else beside it.
pub(super) fn under(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) if fields.values().any(|inner| inner.is_object() || rows(inner, None).is_some()) => {
            fields.iter().for_each(|(name, inner)| under(&member(path, name), inner, lines));
        }
        Value::Object(fields) if !fields.is_empty() => lines.push(format!("{path} {}", record(fields))),
        _ => match rows(value, None) {
            Some(below) => {
                lines.push(path.to_owned());
                lines.extend(below);
            }
            None => lines.push(format!("{path}: {}", json(value))),
        },
    }
}

/// A result in short: its path, a value beside the call, and rows below it.
pub(super) struct ResultLines {
    /// The part of the result that contains the rows.
    pub(super) part: Option<String>,
    /// A value that fits beside the call.
    pub(super) beside: Option<String>,
    /// Rows below the call.
    pub(super) below: Vec<String>,
}

/// A result in short. `limit` is the number of rows that the call asked for.
pub(super) fn result(value: &Value, limit: Option<u64>) -> ResultLines {
    if let Some(below) = rows(value, limit) {
        return ResultLines { part: None, beside: None, below };
    }
    let Value::Object(fields) = value else {
        return ResultLines { part: None, beside: Some(json(value)), below: Vec::new() };
    };
    let (notes, own): (Vec<_>, Vec<_>) = fields.iter().partition(|(name, _)| name.starts_with('_'));
    if let [(name, list)] = own.as_slice()
        && let Some(mut below) = rows(list, limit)
    {
        let alone = |(name, note): &(&String, &Value)| Map::from_iter([((*name).clone(), (*note).clone())]);
        below.extend(notes.iter().map(|note| self::note(&alone(note), limit)));
        return ResultLines { part: Some((*name).clone()), beside: None, below };
    }
    if fields.is_empty() {
        ResultLines { part: None, beside: Some("{}".to_owned()), below: Vec::new() }
    } else {
        ResultLines { part: None, beside: None, below: vec![record(fields)] }
    }
}

/// The path of a member.
pub(super) fn member(path: &str, name: &str) -> String {
    if name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty() {
        format!("{path}.{name}")
    } else {
        format!("{path}[{}]", json(&name.into()))
    }
}

/// Records, one per line; none if the value is not a list of records. Several records form a table, which names each
/// field once. Other items, such as a note on omitted rows, follow it.
fn rows(value: &Value, limit: Option<u64>) -> Option<Vec<String>> {
    let items = value.as_array()?;
    let is_row = |item: &&Value| item.as_object().is_some_and(|row| !row.keys().all(|name| name.starts_with('_')));
    let (rows, others): (Vec<&Value>, Vec<&Value>) = items.iter().partition(is_row);
    if rows.is_empty() {
        return None;
    }
    let rows: Vec<&Map<String, Value>> = rows.into_iter().filter_map(Value::as_object).collect();
    let mut lines = if rows.len() < FEWEST_ROWS { rows.iter().map(|row| record(row)).collect() } else { table(&rows) };
    lines.extend(others.into_iter().map(|other| match other {
        Value::Object(fields) => note(fields, limit),
        Value::String(text) => format!("|{}", cell(&text.as_str().into())),
        other => format!("|{}", json(other)),
    }));
    Some(lines)
}

fn table(rows: &[&Map<String, Value>]) -> Vec<String> {
    let mut columns: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.keys()) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    let head = columns.iter().map(|name| cell(&name.as_str().into())).collect();
    let cells =
        |row: &&Map<String, Value>| columns.iter().map(|name| row.get(*name).map_or_else(String::new, cell)).collect();
    let line = |cells: Vec<String>| format!("|{}", cells.join("|").trim_end_matches('|'));
    std::iter::once(head).chain(rows.iter().map(cells)).map(line).collect()
}

/// One record on one line: `|ID: 7|TITLE: Doors`.
fn record(fields: &Map<String, Value>) -> String {
    let field = |(name, value): (&String, &Value)| format!("{}: {}", cell(&name.as_str().into()), cell(value));
    let fields = fields.iter().filter(|(_, value)| !value.is_null());
    format!("|{}", fields.map(field).collect::<Vec<_>>().join("|"))
}

/// A note on omitted rows: the server cut them, or the call's limit did.
fn note(fields: &Map<String, Value>, limit: Option<u64>) -> String {
    let more = fields.get("_more").filter(|_| fields.len() == 1);
    match more.map(|more| (more["total"].as_u64(), more["shown"].as_u64())) {
        Some((Some(total), Some(shown))) if limit == Some(shown) => format!("|‹{total} in all, {shown} asked for›"),
        Some((Some(total), Some(shown))) => format!("|‹{total} in all, {shown} shown›"),
        _ => record(fields),
    }
}

/// A value between two bars.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if is_plain(text) => text.clone(),
        other => json(other),
    }
}

/// Whether a text is unambiguous without quotes.
fn is_plain(text: &str) -> bool {
    let is_sign = |c: char| c == '|' || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let begins_as_json = text.starts_with(['"', '[', '{']) || matches!(text, "true" | "false" | "null");
    !text.is_empty() && text.trim() == text && !text.contains(is_sign) && !begins_as_json
}

/// A value as JSON on one line.
pub(super) fn json(value: &Value) -> String {
    on_one_line(value.to_string().into()).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: &Value) -> (Option<String>, Option<String>, Vec<String>) {
        let ResultLines { part, beside, below } = result(value, None);
        (part, beside, below)
    }

    fn below(lines: &[&str]) -> (Option<String>, Option<String>, Vec<String>) {
        (None, None, lines.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn many_records_become_a_table_few_become_lines_and_other_values_are_unchanged() {
        let more = json!({"_more": {"shown": 3, "total": 9, "note": "narrow the filter"}});
        let rows = json!([{"id": 1, "a": "x"}, {"id": "2"}, {"b": [1], "id": 3}, more]);
        assert_eq!(shown(&rows), below(&["|id|a|b", "|1|x", "|2", "|3||[1]", "|‹9 in all, 3 shown›"]));
        assert_eq!(shown(&json!([{"id": 1, "a": true}])), below(&["|id: 1|a: true"]));
        assert_eq!(shown(&json!({"id": 1})), below(&["|id: 1"]));
        for other in [json!([1, 2, 3]), json!("x"), json!([]), json!({}), json!(true), json!(null)] {
            assert_eq!(shown(&other), (None, Some(other.to_string()), Vec::new()));
        }
    }

    #[test]
    fn a_record_that_contains_only_records_is_shown_as_its_records() {
        let value = json!({"tasks": [{"id": 1}], "_more": {"shown": 1, "total": 4}});
        let lines = ["|id: 1", "|‹4 in all, 1 shown›"].map(str::to_owned).to_vec();
        assert_eq!(shown(&value), (Some("tasks".to_owned()), None, lines));
    }

    #[test]
    fn a_list_as_long_as_the_limit_says_so() {
        let rows = |shown: u64| json!([{"id": 1}, {"id": 2}, {"_more": {"shown": shown, "total": 106}}]);
        let last = |shown: u64, limit| result(&rows(shown), limit).below.pop().unwrap();
        assert_eq!(last(2, Some(2)), "|‹106 in all, 2 asked for›");
        assert_eq!(last(2, Some(50)), "|‹106 in all, 2 shown›");
        assert_eq!(last(2, None), "|‹106 in all, 2 shown›");
    }

    #[test]
    fn an_ambiguous_text_is_quoted() {
        for (text, expected) in [
            ("Окна — ООО «Ромашка»", "Окна — ООО «Ромашка»"),
            ("12", "12"),
            ("a | b", r#""a | b""#),
            ("a\n# Now", r#""a\n# Now""#),
            ("a\u{2028}# Now", r#""a\u2028# Now""#),
            ("a\u{85}b", r#""a\u0085b""#),
            ("true", r#""true""#),
            ("[1]", r#""[1]""#),
            (" x", r#"" x""#),
            ("", r#""""#),
        ] {
            assert_eq!(cell(&text.into()), expected);
        }
    }

    #[test]
    fn a_memory_kind_is_shown_by_its_instances() {
        let value = json!({
            "staff": [{"ID": "1", "NAME": "Ann"}, {"ID": "2", "NAME": "Bob"}, {"ID": "3", "NAME": "Cy"}],
            "stages": {"MAIN": [{"ID": "NEW"}], "a b": []},
            "note": "x\n# Now",
        });
        let mut lines = Vec::new();
        under("portal", &value, &mut lines);
        let expected = [
            "portal.staff",
            "|ID|NAME",
            "|1|Ann",
            "|2|Bob",
            "|3|Cy",
            "portal.stages.MAIN",
            "|ID: NEW",
            r#"portal.stages["a b"]: []"#,
            r#"portal.note: "x\n# Now""#,
        ];
        assert_eq!(lines, expected);
    }
}
