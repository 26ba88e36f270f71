//! DUR-8: masks secrets, phone numbers and e-mail addresses in logs.
//!
//! Secrets are recognised by value, because every [`crate::Secret`] is registered; phone numbers and addresses by
//! form. For a number that could be an amount, a date or an id, its form and the name of its field decide.

mod email;
mod phone;

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::secret::without_secrets;

/// Replaces a phone number.
const PHONE: &str = "[phone]";

/// Replaces an e-mail address.
const EMAIL: &str = "[email]";

/// A text without secrets, phone numbers and e-mail addresses.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    let mut masked = without_secrets(text);
    for mask in [email::masked, phone::masked] {
        if let Some(again) = mask(&masked) {
            masked = Cow::Owned(again);
        }
    }
    masked
}

/// Like [`masked`], for a whole value, including field names.
pub(crate) fn masked_value(value: &Value) -> Value {
    serde_json::to_value(Masked::new(value)).unwrap_or_default()
}

/// A value that is serialised without secrets, phone numbers and e-mail addresses.
pub(crate) struct Masked<'a> {
    value: &'a Value,
    /// Whether the field's name says that it holds phone numbers.
    is_phone: bool,
}

impl<'a> Masked<'a> {
    pub(crate) fn new(value: &'a Value) -> Self {
        Self { value, is_phone: false }
    }
}

impl Serialize for Masked<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let is_phone = self.is_phone;
        match self.value {
            Value::String(text) if is_phone && phone::could_be(text) => to.serialize_str(PHONE),
            Value::String(text) => to.serialize_str(&masked(text)),
            Value::Number(number) if is_phone && phone::could_be(&number.to_string()) => to.serialize_str(PHONE),
            Value::Number(number) if number.as_u64().is_some_and(phone::is_plain) => to.serialize_str(PHONE),
            Value::Array(items) => to.collect_seq(items.iter().map(|value| Masked { value, is_phone })),
            Value::Object(fields) => to.collect_map(fields.iter().map(|(name, value)| {
                // A phone number's record has other fields too, such as an id.
                let is_phone = phone::names_one(name) || (is_phone && name.eq_ignore_ascii_case("value"));
                (masked(name), Masked { value, is_phone })
            })),
            other => other.serialize(to),
        }
    }
}

/// Replaces the found parts of a text, which are in order.
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
