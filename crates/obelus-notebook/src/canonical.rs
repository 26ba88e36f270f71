//! Canonical texts: JSON with the keys of objects sorted, so that equal values have equal text; bytes as hexadecimal
//! digits.

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

/// Bytes as hexadecimal digits, without a format for each byte.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(|half| char::from(DIGITS[usize::from(half)])).collect()
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
