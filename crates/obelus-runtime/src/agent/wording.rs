//! Texts of an agent's file in several languages: `{ru: …, en: …}` in place of a text.
//!
//! A session has one language, so texts are chosen when the file is read. A tool's texts for people (`x-title`,
//! `x-labels`) keep all languages, because readers differ.

use std::fmt;

use obelus_kernel::text::in_language;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Annotations for people, who read them in their own language.
const FOR_READERS: [&str; 2] = ["x-title", "x-labels"];

/// The agent's languages: one, or a list with the default first.
#[derive(Clone, Debug, Default)]
pub(super) struct Languages(Vec<String>);

impl Languages {
    /// The language of a session: the requested one if the agent has it, else the default.
    pub(super) fn choose(&self, wanted: Option<&str>) -> Option<String> {
        let wanted = wanted.and_then(|wanted| self.0.iter().find(|known| *known == wanted));
        wanted.or_else(|| self.0.first()).cloned()
    }

    /// Whether the object has one text for each of several languages.
    fn are_keys_of(&self, texts: &Map<String, Value>) -> bool {
        !texts.is_empty() && texts.iter().all(|(key, text)| self.0.contains(key) && text.is_string())
    }

    /// Replaces texts by language with the one in this language, at every depth.
    pub(super) fn localize(&self, value: &mut Value, language: Option<&str>) {
        match value {
            Value::Object(texts) if self.are_keys_of(texts) => {
                if let Some(text) = in_language(value, language).map(Value::from) {
                    *value = text;
                }
            }
            Value::Object(fields) => {
                let inner = fields.iter_mut().filter(|(name, _)| !FOR_READERS.contains(&name.as_str()));
                inner.for_each(|(_, value)| self.localize(value, language));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.localize(item, language)),
            _ => {}
        }
    }
}

impl<'de> Deserialize<'de> for Languages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LanguagesVisitor)
    }
}

struct LanguagesVisitor;

impl<'de> Visitor<'de> for LanguagesVisitor {
    type Value = Languages;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a language such as en, or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Languages, E> {
        Ok(Languages(vec![text.to_owned()]))
    }

    fn visit_unit<E>(self) -> Result<Languages, E> {
        Ok(Languages::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Languages, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Languages)
    }
}

/// A text, or one for each language.
#[derive(Clone, Debug)]
pub(super) struct Wording(Value);

impl Wording {
    /// The text in a language.
    pub(super) fn text(&self, language: Option<&str>) -> String {
        in_language(&self.0, language).unwrap_or_default().to_owned()
    }
}

impl<'de> Deserialize<'de> for Wording {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordingVisitor)
    }
}

struct WordingVisitor;

impl<'de> Visitor<'de> for WordingVisitor {
    type Value = Wording;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, or one for each language such as {ru: …, en: …}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Wording, E> {
        Ok(Wording(text.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Wording, A::Error> {
        let texts: Map<String, Value> = Map::deserialize(MapAccessDeserializer::new(map))?;
        if !texts.is_empty() && texts.values().all(Value::is_string) {
            Ok(Wording(Value::Object(texts)))
        } else {
            Err(A::Error::custom("it is one text for each language, such as {ru: …, en: …}"))
        }
    }
}
