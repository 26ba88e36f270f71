//! DUR-8: what must not stand in a log: secrets, phone numbers and e-mail addresses.
//!
//! Secrets are known by their value: every [`crate::Secret`] is. Phone numbers and addresses are known by their form.
//! Where a number could be something else, such as an amount, a date or an id, its form decides, and the name of the
//! field it stands in.

mod email;
mod phone;

use std::borrow::Cow;

use serde_json::Value;

use crate::secret::without_secrets;

/// What stands where a phone number stood.
const PHONE: &str = "[phone]";

/// What stands where an e-mail address stood.
const EMAIL: &str = "[email]";

/// A text without secrets, phone numbers and e-mail addresses.
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut masked = without_secrets(text);
    for mask in [email::masked, phone::masked] {
        if let Some(again) = mask(&masked) {
            masked = Cow::Owned(again);
        }
    }
    masked
}

/// The same for everything in a value, names of fields included.
pub fn masked_value(value: &Value) -> Value {
    in_field(value, false)
}

/// `is_phone`: whether the field that it stands in is named for phone numbers.
fn in_field(value: &Value, is_phone: bool) -> Value {
    match value {
        Value::String(text) if is_phone && phone::could_be(text) => PHONE.into(),
        Value::String(text) => masked(text).into_owned().into(),
        Value::Number(number) if is_phone && phone::could_be(&number.to_string()) => PHONE.into(),
        Value::Number(number) if phone::is_plain(&number.to_string()) => PHONE.into(),
        Value::Array(items) => items.iter().map(|item| in_field(item, is_phone)).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                // A record of a phone number has fields of its own, such as an id.
                let is_phone = phone::names_one(name) || (is_phone && name.eq_ignore_ascii_case("value"));
                (masked(name).into_owned(), in_field(value, is_phone))
            };
            Value::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

/// Replaces the parts of a text that were found, in order.
fn replaced(text: &str, found: &[(usize, usize)], with: &str) -> Option<String> {
    if found.is_empty() {
        return None;
    }
    let mut all = String::with_capacity(text.len());
    let mut end = 0;
    for &(from, to) in found {
        all.push_str(&text[end..from]);
        all.push_str(with);
        end = to;
    }
    all.push_str(&text[end..]);
    Some(all)
}

#[cfg(test)]
mod tests;
