//! A language in JSON: its code.

use serde::{Deserialize, Deserializer, Serializer};

use crate::words::Language;

pub(super) fn serialize<S: Serializer>(language: &Language, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(language.code())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Language, D::Error> {
    Ok(Language::named(Some(&String::deserialize(deserializer)?)))
}
