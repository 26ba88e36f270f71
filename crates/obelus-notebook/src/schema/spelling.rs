//! Corrects names to the spelling that a schema declares. Services that accept `STAGE_ID` also accept `stage_id`
//! (B24-9), but JSON Schema does not: a value with another spelling would escape validation.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{properties, resolved};
use crate::names::alike;

/// Deeper values are left unchanged.
const DEEPEST: usize = 64;
/// The most schemas that a schema may be composed of; further ones are ignored.
const MOST_COMPOSED: usize = 64;

/// Two names in one object that the service treats as the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameClash {
    /// Keys and indexes to the object.
    pub place: Vec<String>,
    /// The name that the schema declares.
    pub declared: String,
}

/// The fields of an object with declared spelling: each undeclared name that is equivalent to a declared one is
/// replaced by it. At the top level names that begin with an underscore are unchanged. None if nothing changes.
pub(crate) fn as_declared(
    fields: &Map<String, Value>,
    schema: &Value,
) -> Result<Option<Map<String, Value>>, NameClash> {
    let known = resolved(schema, schema).and_then(properties);
    let is_declared = |name: &str| known.is_some_and(|known| known.contains_key(name));
    // Most calls have only declared names and scalar values.
    if fields.iter().all(|(name, value)| name.starts_with('_') || (is_declared(name) && !is_nested(value))) {
        return Ok(None);
    }
    let mut walk = SpellingWalk { root: schema, place: Vec::new() };
    walk.fields(fields, &walk.parts_of(&[schema]), |name| name.starts_with('_'))
}

struct SpellingWalk<'s> {
    root: &'s Value,
    place: Vec<String>,
}

impl<'s> SpellingWalk<'s> {
    fn value(&mut self, value: &Value, schemas: &[&'s Value]) -> Result<Option<Value>, NameClash> {
        if schemas.is_empty() || self.place.len() > DEEPEST {
            return Ok(None);
        }
        match value {
            Value::Object(fields) => {
                let parts = self.parts_of(schemas);
                Ok(self.fields(fields, &parts, |_| false)?.map(Value::Object))
            }
            Value::Array(items) => {
                let parts = self.parts_of(schemas);
                let of: Vec<&Value> = parts.iter().filter_map(|part| part.get("items")).collect();
                let mut changed: Option<Vec<Value>> = None;
                for (index, item) in items.iter().enumerate() {
                    self.place.push(index.to_string());
                    if let Some(item) = self.value(item, &of)? {
                        changed.get_or_insert_with(|| items.clone())[index] = item;
                    }
                    self.place.pop();
                }
                Ok(changed.map(Value::Array))
            }
            _ => Ok(None),
        }
    }

    fn fields(
        &mut self,
        fields: &Map<String, Value>,
        parts: &[&'s Value],
        is_left: impl Fn(&str) -> bool,
    ) -> Result<Option<Map<String, Value>>, NameClash> {
        let mut spelled: Vec<(Cow<'_, str>, Cow<'_, Value>)> = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let mut name = Cow::Borrowed(name.as_str());
            if !is_left(&name) {
                if let Some(declared) = declared_for(&name, parts) {
                    name = Cow::Owned(declared.to_owned());
                }
                if is_nested(value) {
                    self.place.push(name.to_string());
                    let inner = self.value(value, &below(&name, parts))?;
                    self.place.pop();
                    spelled.push((name, inner.map_or(Cow::Borrowed(value), Cow::Owned)));
                    continue;
                }
            }
            spelled.push((name, Cow::Borrowed(value)));
        }
        let is_changed = |(name, value): &(Cow<'_, str>, Cow<'_, Value>)| {
            matches!(name, Cow::Owned(_)) || matches!(value, Cow::Owned(_))
        };
        if !spelled.iter().any(is_changed) {
            return Ok(None);
        }
        let mut meant = Map::with_capacity(spelled.len());
        for (name, value) in spelled {
            if meant.contains_key(name.as_ref()) {
                return Err(NameClash { place: self.place.clone(), declared: name.into_owned() });
            }
            meant.insert(name.into_owned(), value.into_owned());
        }
        Ok(Some(meant))
    }

    /// The schemas, and those that they are composed of.
    fn parts_of(&self, schemas: &[&'s Value]) -> Vec<&'s Value> {
        let mut parts: Vec<&'s Value> = schemas.iter().filter_map(|schema| resolved(schema, self.root)).collect();
        let mut next = 0;
        while next < parts.len() && parts.len() < MOST_COMPOSED {
            let part = parts[next];
            let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|word| part.get(word)?.as_array()).flatten();
            let branches = ["if", "then", "else"].into_iter().filter_map(|word| part.get(word));
            parts.extend(lists.chain(branches).filter_map(|inner| resolved(inner, self.root)));
            next += 1;
        }
        parts
    }
}

fn is_nested(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}

/// The declared name that is equivalent to an undeclared one. None if the schemas permit no undeclared names, because
/// validation then refuses it.
fn declared_for<'s>(name: &str, parts: &[&'s Value]) -> Option<&'s str> {
    let is_declared = parts.iter().filter_map(|part| properties(part)).any(|known| known.contains_key(name));
    let mut declaring = parts.iter().filter(|part| properties(part).is_some());
    if is_declared || declaring.all(|part| part.get("additionalProperties") == Some(&Value::Bool(false))) {
        return None;
    }
    let known = parts.iter().filter_map(|part| properties(part)).flat_map(Map::keys);
    known.map(String::as_str).find(|known| alike(known, name))
}

/// The schemas of a member.
fn below<'s>(name: &str, parts: &[&'s Value]) -> Vec<&'s Value> {
    let property_of = |part: &&'s Value| match properties(part).and_then(|known| known.get(name)) {
        Some(property) => Some(property),
        None => part.get("additionalProperties").filter(|schema| schema.is_object()),
    };
    parts.iter().filter_map(property_of).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spelled(fields: Value, schema: &Value) -> Result<Value, NameClash> {
        let fields = fields.as_object().unwrap();
        Ok(Value::Object(as_declared(fields, schema)?.unwrap_or_else(|| fields.clone())))
    }

    #[test]
    fn b24_9_similar_names_get_the_declared_spelling() {
        let schema = json!({
            "properties": {"id": {}, "fields": {"$ref": "#/$defs/fields"}, "rows": {"items": {"$ref": "#/$defs/fields"}}},
            "$defs": {"fields": {"allOf": [{"properties": {"STAGE_ID": {}, "COMPLETED": {"enum": ["N"]}}}]}},
        });
        for (given, meant) in [
            (json!({"ID": 1, "x": 2}), json!({"id": 1, "x": 2})),
            (json!({"fields": {"completed": "Y"}}), json!({"fields": {"COMPLETED": "Y"}})),
            (json!({"Fields": {"stageId": 1, "Other": 2}}), json!({"fields": {"STAGE_ID": 1, "Other": 2}})),
            (json!({"rows": [{}, {"Completed": 1}]}), json!({"rows": [{}, {"COMPLETED": 1}]})),
            (json!({"_id": 1, "fields": "†x"}), json!({"_id": 1, "fields": "†x"})),
        ] {
            assert_eq!(spelled(given, &schema).unwrap(), meant);
        }
        let clash = spelled(json!({"fields": {"COMPLETED": "N", "completed": "Y"}}), &schema).unwrap_err();
        assert_eq!(clash, NameClash { place: vec!["fields".to_owned()], declared: "COMPLETED".to_owned() });
        assert!(spelled(json!({"ID": 1, "Id": 2}), &schema).is_err());
    }

    #[test]
    fn declared_and_refused_names_are_unchanged() {
        let both = json!({"properties": {"id": {}, "ID": {}}});
        assert_eq!(spelled(json!({"id": 1, "ID": 2}), &both).unwrap(), json!({"id": 1, "ID": 2}));
        let closed = json!({"properties": {"id": {}}, "additionalProperties": false});
        assert_eq!(spelled(json!({"ID": 1}), &closed).unwrap(), json!({"ID": 1}));
        assert_eq!(spelled(json!({"ID": 1}), &json!({"type": "object"})).unwrap(), json!({"ID": 1}));
    }
}
