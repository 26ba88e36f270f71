//! Canonical texts: JSON with the keys of objects sorted and numbers in one spelling, so that equal values have equal
//! text; bytes as hexadecimal digits.

use serde_json::{Map, Number, Value};

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
        Value::Number(number) => write_number(number, text),
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// Writes a number: `5.0` and `5e0` as `5`.
fn write_number(number: &Number, text: &mut String) {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            // Adding zero removes the sign of a negative zero.
            text.push_str(&format!("{:.0}", float + 0.0));
        }
        _ => text.push_str(&number.to_string()),
    }
}

/// Up to here every whole number is exact as a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Bytes as hexadecimal digits, without a format for each byte.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(|half| char::from(DIGITS[usize::from(half)])).collect()
}

/// Writes the fields for which `is_part` is true, sorted by key.
pub(crate) fn write_sorted(fields: &Map<String, Value>, is_part: impl Fn(&str) -> bool, text: &mut String) {
    let mut names: Vec<&String> = fields.keys().filter(|name| is_part(name)).collect();
    names.sort();
    for name in names {
        text.push_str(&Value::from(name.as_str()).to_string());
        text.push(':');
        write_canonical(&fields[name], text);
        text.push(',');
    }
}
