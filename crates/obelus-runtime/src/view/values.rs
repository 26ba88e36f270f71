//! Values as text, and whether two are the same for a service.

use obelus_kernel::session::quoted_value;
use obelus_notebook::wording::plain_text;
use serde_json::Value;

/// Whether a service treats two values as the same: many write numbers as text, such as `2` and `290000.00`.
pub(super) fn is_alike(one: &Value, other: &Value) -> bool {
    let (one, other) = (plain_text(one), plain_text(other));
    let as_number = |text: &str| text.parse::<f64>().ok().filter(|_| is_number(text));
    one == other || as_number(&one).is_some_and(|number| as_number(&other) == Some(number))
}

/// Whether a text is a plain number.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_plain && digits.starts_with(|c: char| c.is_ascii_digit()) && digits.matches('.').count() <= 1
}

/// A value after its name.
pub(super) fn short(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().all(|c| c.is_ascii_alphanumeric() || "_-:.".contains(c)) => text.clone(),
        other => quoted_value(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_written_as_text_is_the_same_value() {
        for (one, other) in [(json!("2"), json!(2)), (json!("290000.00"), json!(290_000)), (json!("a"), json!("a"))] {
            assert!(is_alike(&one, &other), "{one} {other}");
        }
        for (one, other) in [(json!("2"), json!(3)), (json!("a"), json!("b")), (json!("+7 1"), json!(71))] {
            assert!(!is_alike(&one, &other), "{one} {other}");
        }
    }
}
