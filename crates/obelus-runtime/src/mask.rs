//! DUR-8: what must not stand in a log: secrets, phone numbers and e-mail addresses.
//!
//! Secrets are known by their value: every [`crate::Secret`] is. Phone numbers and addresses are known by their form.
//! Where a number could be something else, such as an amount, a date or an id, its form decides, and the name of the
//! field it stands in.

mod email;
mod phone;

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::secret::without_secrets;

/// What stands where a phone number stood.
const PHONE: &str = "[phone]";

/// What stands where an e-mail address stood.
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

/// The same for everything in a value, names of fields included.
pub(crate) fn masked_value(value: &Value) -> Value {
    serde_json::to_value(Masked::new(value)).unwrap_or_default()
}

/// A value that is written without secrets, phone numbers and e-mail addresses.
pub(crate) struct Masked<'a> {
    value: &'a Value,
    /// Whether the field that it stands in is named for phone numbers.
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
                // A record of a phone number has fields of its own, such as an id.
                let is_phone = phone::names_one(name) || (is_phone && name.eq_ignore_ascii_case("value"));
                (masked(name), Masked { value, is_phone })
            })),
            other => other.serialize(to),
        }
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
