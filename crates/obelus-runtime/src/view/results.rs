//! The result of a step in a few words: the number of records, or a name. No ids, no structure.

use serde_json::{Map, Value};

use crate::words::{Language, fill};

/// Fields that hold a record's name.
const NAMES: [&str; 8] = ["title", "name", "subject", "text", "summary", "label", "what", "full_name"];

/// The number of characters shown of a result.
const MOST: usize = 60;

/// A result in a few words; `None` if there is nothing to add to "done".
pub fn result_in_words(value: &Value, reads: bool, language: Language) -> Option<String> {
    match value {
        Value::Null | Value::Bool(true) => None,
        Value::Bool(false) => Some(language.words().results.no.to_owned()),
        // The number returned by a creation is an id, which is useless to people.
        Value::Number(number) => reads.then(|| number.to_string()),
        Value::String(text) => short(text),
        // A change finds nothing: its lists say what it did, or what went wrong.
        Value::Array(items) => reads.then(|| counted(items, items.last(), language)),
        Value::Object(fields) => named(fields).or_else(|| page(fields)).or_else(|| listed(fields, reads, language)),
    }
}

/// The number of rows. A `_more` mark, as the last row or beside the rows, has the number of all rows.
fn counted(items: &[Value], beside: Option<&Value>, language: Language) -> String {
    let more = beside.and_then(|mark| mark.get("_more"));
    let number = |name: &str| more.and_then(|more| more.get(name)?.as_u64());
    match (number("shown"), number("total")) {
        (Some(shown), Some(total)) => {
            fill(language.words().results.records_of, &[&total.to_string(), &shown.to_string()])
        }
        _ => count(items.len(), language),
    }
}

fn count(n: usize, language: Language) -> String {
    match n {
        0 => language.words().results.nothing_found.to_owned(),
        n => fill(language.words().results.records, &[&n.to_string()]),
    }
}

fn short(text: &str) -> Option<String> {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        return None;
    }
    let is_whole = line.chars().count() <= MOST && line == text.trim();
    Some(if is_whole { line.to_owned() } else { line.chars().take(MOST).collect::<String>() + "…" })
}

/// The name of a record.
fn named(fields: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| {
        let found = fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        found.1.as_str().filter(|text| !text.trim().is_empty())
    };
    if let (Some(first), Some(last)) = (text("name"), text("last_name")) {
        return short(&format!("{first} {last}"));
    }
    NAMES.iter().find_map(|name| short(text(name)?))
}

/// The address of a page.
fn page(fields: &Map<String, Value>) -> Option<String> {
    let address = fields.get("address")?.as_str()?;
    (address.starts_with("https://") || address.starts_with("http://")).then(|| short(address))?
}

/// An answer that wraps a list or a record: `{"tasks": […]}`, `{"result": …, "total": 3}`. The parts of a record with
/// an id are not counted.
fn listed(fields: &Map<String, Value>, reads: bool, language: Language) -> Option<String> {
    let is_record = fields.keys().any(|name| name.eq_ignore_ascii_case("id"));
    let parts = fields.iter().filter(|(name, _)| *name != "_more").map(|(_, value)| value);
    let mut parts = parts.filter(|value| value.is_array() || value.is_object());
    match (parts.next(), parts.next()) {
        (Some(Value::Array(rows)), None) if reads && !is_record => {
            Some(counted(rows, Some(&Value::Object(fields.clone())), language))
        }
        (Some(only @ Value::Object(_)), None) => result_in_words(only, reads, language),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_result_is_summarised_without_ids_and_structure() {
        let language = Language::English;
        for (value, told) in [
            (json!(null), None),
            (json!(true), None),
            (json!([]), Some("nothing found")),
            (json!([1, 2, 3]), Some("3 found")),
            (json!({"tasks": [{"id": 1}]}), Some("1 found")),
            (json!([{"ID": 1}, {"_more": {"shown": 50, "total": 150}}]), Some("150 found, 50 shown")),
            (json!({"tasks": [{"id": 1}], "_more": {"shown": 50, "total": 70}}), Some("70 found, 50 shown")),
            (json!({"ID": "5", "TITLE": "Windows"}), Some("Windows")),
            (json!({"task": {"id": 5, "title": "Call"}}), Some("Call")),
            (json!({"ID": 1, "NAME": "Anna", "LAST_NAME": "Petrova"}), Some("Anna Petrova")),
            (json!({"address": "https://shop.example.test/a", "sent": [1]}), Some("https://shop.example.test/a")),
            (json!({"address": "5 High Street", "sent": [1]}), Some("1 found")),
            (json!({"a": 1}), None),
            (json!("one\ntwo"), Some("one…")),
        ] {
            assert_eq!(result_in_words(&value, true, language).as_deref(), told, "{value}");
        }
        assert_eq!(result_in_words(&json!(12), true, language).as_deref(), Some("12"));
        assert_eq!(result_in_words(&json!(12), false, language), None);
    }

    #[test]
    fn a_change_and_a_single_record_are_not_counted() {
        let language = Language::English;
        let lines = json!({"id": 7, "paid": 5, "lines": [1, 2, 3]});
        for value in [json!([]), json!({"ok": true, "errors": []}), json!({"id": 7, "items": []}), lines.clone()] {
            assert_eq!(result_in_words(&value, false, language), None, "{value}");
        }
        let order = json!({"number": 12, "customer": {"city": "Riga"}, "lines": [1, 2]});
        for value in [lines, order] {
            assert_eq!(result_in_words(&value, true, language), None, "{value}");
        }
        assert_eq!(result_in_words(&json!({"task": {"title": "Call"}}), false, language).as_deref(), Some("Call"));
    }
}
