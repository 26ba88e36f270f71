//! The tools of an agent's file, and errors in them.

use std::fmt;

use obelus_kernel::Expr;
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

/// The field of a tool's error, and its text with the field and its value if the text does not name them.
pub(super) fn tool_problem(field: &str, text: String, schema: &Value) -> (String, String) {
    if let Some(meta) = field.strip_prefix('.').filter(|name| name.starts_with('_')) {
        let fixed = [&schema["properties"][meta]["const"], &schema[meta]["const"], &schema[meta]];
        let Some(value) = fixed.into_iter().find_map(Value::as_str) else {
            return (field.to_owned(), format!("`{meta}`: {text}"));
        };
        let meant = Some(format!("†{value}")).filter(|meant| !value.starts_with('†') && Expr::parse(meant).is_ok());
        let hint = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
        return (field.to_owned(), format!("`{meta}`: `{value}`: {text}{hint}"));
    }
    let named = text.strip_prefix('`').and_then(|rest| rest.split_once('`')).map(|(name, _)| name);
    match named.filter(|name| field.is_empty() && schema.get(*name).is_some()) {
        Some(name) => (format!(".{name}"), text),
        None => (field.to_owned(), text),
    }
}
