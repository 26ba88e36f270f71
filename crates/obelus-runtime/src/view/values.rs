//! Values as text, and whether two are the same for a service.

use obelus_kernel::session::quoted_value;
use obelus_notebook::wording::plain_text;
use serde_json::Value;

/// Whether a service treats two values as the same: many write numbers as text, such as `2` and `290000.00`. Two texts
/// of digits, and one with zeros before them, are compared as texts: an account or a code is no number.
pub(super) fn is_alike(one: &Value, other: &Value) -> bool {
    let has_number = one.is_number() || other.is_number();
    let (one, other) = (plain_text(one), plain_text(other));
    one == other || (has_number && is_number(&one) && is_number(&other) && shortest(&one) == shortest(&other))
}

/// A plain number without the zeros at its end that do not count.
fn shortest(number: &str) -> &str {
    let digits = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    if digits == "-0" { "0" } else { digits }
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
        for (one, other) in [
            (json!("2"), json!(2)),
            (json!("290000.00"), json!(290_000)),
            (json!("a"), json!("a")),
            (json!(0.5), json!("0.50")),
            (json!(-0.0), json!("0")),
        ] {
            assert!(is_alike(&one, &other), "{one} {other}");
        }
        for (one, other) in [
            (json!("2"), json!(3)),
            (json!("a"), json!("b")),
            (json!("+7 1"), json!(71)),
            (json!(5), json!("-5")),
            (json!("10"), json!(1)),
            (json!("40817810099910004312"), json!("40817810099910004313")),
            (json!(9_007_199_254_740_993_u64), json!("9007199254740992")),
            (json!("007"), json!("7")),
            (json!("007"), json!(7)),
            (json!("1.10"), json!("1.1")),
        ] {
            assert!(!is_alike(&one, &other), "{one} {other}");
        }
    }
}
