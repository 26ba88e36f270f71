//! Canonical JSON: objects are sorted by key, so that equal values have equal text.

use serde_json::{Map, Value};

/// Writes a value with the keys of every object sorted.
pub fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            text.push('{');
            write_sorted(fields, |_| true, text);
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// Writes the fields for which `is_part` is true, sorted by key.
pub fn write_sorted(fields: &Map<String, Value>, is_part: impl Fn(&str) -> bool, text: &mut String) {
    let mut names: Vec<&String> = fields.keys().filter(|name| is_part(name)).collect();
    names.sort();
    for name in names {
        text.push_str(&Value::from(name.as_str()).to_string());
        text.push(':');
        write_canonical(&fields[name], text);
        text.push(',');
    }
}
