//! The tools of an agent's file.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Tools, in the file or in files beside it.
#[derive(Clone, Debug)]
pub(super) enum Tools {
    Inline(Map<String, Value>),
    Files(Vec<String>),
}

impl Default for Tools {
    fn default() -> Self {
        Tools::Inline(Map::new())
    }
}

/// Errors inside are reported with their place.
impl<'de> Deserialize<'de> for Tools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolsVisitor)
    }
}

struct ToolsVisitor;

impl<'de> Visitor<'de> for ToolsVisitor {
    type Value = Tools;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tools by name, or a list of files with tools")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Tools, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Tools::Files)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Tools, A::Error> {
        Map::deserialize(MapAccessDeserializer::new(map)).map(Tools::Inline)
    }

    fn visit_unit<E>(self) -> Result<Tools, E> {
        Ok(Tools::default())
    }
}
