//! A result as the model sees it: without empty fields, and long values cut, with their length. And its size.

use serde_json::{Map, Value};

pub use crate::wording::clip;

/// The limit of characters of a read's result.
pub const MOST_OF_READ: usize = 4_000;
/// The same for other calls: usually an id, or the current record.
pub const MOST_OF_CHANGE: usize = 400;

/// A value in about `most` characters.
pub fn shorten(value: &Value, most: usize) -> Value {
    let mut room = most;
    match value {
        // In a result itself, an empty list is information.
        Value::Object(fields) => record(fields, &mut room, most, Value::is_null),
        other => part(other, &mut room, most),
    }
}

fn part(value: &Value, room: &mut usize, most: usize) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            *room = room.saturating_sub(6);
            value.clone()
        }
        Value::String(text) => {
            let length = text.chars().count();
            let fits = (*room).max(most / 10);
            *room = room.saturating_sub(length + 2);
            if length > fits { format!("{}‹{length} characters›", clip(text, fits)).into() } else { value.clone() }
        }
        Value::Array(items) => {
            let mut shown = Vec::new();
            for item in items {
                if *room == 0 && !shown.is_empty() {
                    shown.push(format!("‹{} in all, {} shown›", items.len(), shown.len()).into());
                    break;
                }
                shown.push(part(item, room, most));
                *room = room.saturating_sub(1);
            }
            shown.into()
        }
        Value::Object(fields) => record(fields, room, most, is_empty),
    }
}

fn record(fields: &Map<String, Value>, room: &mut usize, most: usize, says_nothing: fn(&Value) -> bool) -> Value {
    let mut shown = Map::new();
    let mut left_out = 0;
    for (name, inner) in fields.iter().filter(|(_, inner)| !says_nothing(inner)) {
        if *room == 0 && !shown.is_empty() {
            left_out += 1;
            continue;
        }
        *room = room.saturating_sub(name.chars().count() + 4);
        shown.insert(name.clone(), part(inner, room, most));
    }
    if left_out > 0 {
        shown.insert("‹more›".to_owned(), format!("{left_out} other fields").into());
    }
    shown.into()
}

/// Whether a field is empty.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Records with only these fields, anywhere in a value. An object with none of them is not a record.
pub fn only_fields(value: &Value, names: &[&str]) -> Value {
    match value {
        Value::Array(rows) => rows.iter().map(|row| only_fields(row, names)).collect(),
        Value::Object(fields) if fields.keys().any(|name| names.contains(&name.as_str())) => {
            let stays = |name: &str| names.contains(&name) || name.starts_with('_');
            let fields = fields.iter().filter(|(name, _)| stays(name));
            fields.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), only_fields(value, names))).collect(),
        other => other.clone(),
    }
}

/// The approximate size of a value as JSON; counting stops beyond `most`.
pub fn size(value: &Value, most: usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => sum(items.iter().map(|item| size(item, most) + 1), most),
        Value::Object(fields) => sum(fields.iter().map(|(name, value)| name.len() + 4 + size(value, most)), most),
    }
}

fn sum(mut sizes: impl Iterator<Item = usize>, most: usize) -> usize {
    let mut sum = 2;
    while sum <= most
        && let Some(size) = sizes.next()
    {
        sum += size;
    }
    sum
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_fields_are_omitted_and_an_empty_result_is_not() {
        let row = json!({"id": 1, "a": null, "b": "", "c": [], "d": {"e": null}, "f": false});
        assert_eq!(shorten(&json!([row]), 100), json!([{"id": 1, "f": false}]));
        assert_eq!(shorten(&json!({"tasks": [], "next": null}), 100), json!({"tasks": []}));
        assert_eq!(
            [json!([]), json!(null), json!("")].map(|value| shorten(&value, 100)),
            [json!([]), json!(null), json!("")]
        );
    }

    #[test]
    fn a_long_list_is_shown_by_its_first_elements_and_its_length() {
        let rows: Value = (0..100).map(|n| json!({"id": n, "title": "x".repeat(20)})).collect();
        let short = shorten(&rows, 200);
        let shown = short.as_array().unwrap();
        assert_eq!(shown[0], rows[0]);
        assert_eq!(shown.last().unwrap(), &json!(format!("‹100 in all, {} shown›", shown.len() - 1)));
        assert!(short.to_string().chars().count() < 350, "{short}");
    }

    #[test]
    fn a_long_text_and_a_wide_record_are_cut() {
        let text = shorten(&json!("я".repeat(1000)), 100);
        assert_eq!(text, json!(format!("{}…‹1000 characters›", "я".repeat(100))));
        let wide: Value = Value::Object((0..50).map(|n| (format!("field{n}"), json!("value"))).collect());
        let short = shorten(&wide, 100);
        assert_eq!((&short["field0"], short["‹more›"].is_string()), (&json!("value"), true));
    }
}
