//! A schema in the form that strict structured-output modes take: every object closed, every property
//! required, what is optional nullable, and only keywords that such modes know.

use serde_json::{Map, Value, json};

use crate::schema;

/// Keywords that strict modes know and that are carried over as they are.
const KEPT: [&str; 13] = [
    "title",
    "description",
    "enum",
    "const",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];

/// References are written out; deeper than this they go in a circle.
const MOST_LEVELS: usize = 16;

pub(super) struct Strict<'a> {
    /// The document that local references point into.
    root: &'a Value,
    /// Where we are, for the reasons.
    place: Vec<String>,
    loose: &'a mut Vec<String>,
}

impl<'a> Strict<'a> {
    pub(super) fn new(root: &'a Value, place: &str, loose: &'a mut Vec<String>) -> Self {
        Self { root, place: vec![place.to_owned()], loose }
    }

    /// A schema whose values are written out, never by reference into memory.
    pub(super) fn plain(&mut self, schema: &Value) -> Value {
        self.convert(schema, false)
    }

    /// A member of an object, where a reference may stand instead; null if the object can do without it.
    pub(super) fn member(&mut self, object: &Value, name: &str, schema: &Value) -> Value {
        self.named_member(object, name, schema, true)
    }

    fn named_member(&mut self, object: &Value, name: &str, schema: &Value, by_reference: bool) -> Value {
        let required = object.get("required").and_then(Value::as_array);
        let required = required.is_some_and(|names| names.iter().any(|known| known == name));
        self.place.push(name.to_owned());
        let mut member = self.convert(schema, by_reference);
        self.place.pop();
        if by_reference {
            member = or_reference(member);
        }
        if required { member } else { nullable(member) }
    }

    fn convert(&mut self, schema: &Value, by_reference: bool) -> Value {
        let Value::Object(fields) = schema else { return self.anything() };
        if self.place.len() > MOST_LEVELS {
            self.loosen("is nested without end");
            return json!({});
        }
        if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
            let pointer = target.strip_prefix('#').and_then(|pointer| schema::followed(self.root, pointer.to_owned()));
            return match pointer.and_then(|pointer| self.root.pointer(&pointer)) {
                Some(found) => {
                    self.place.push(target.to_owned());
                    let inlined = self.convert(&found.clone(), by_reference);
                    self.place.pop();
                    inlined
                }
                None => self.anything(),
            };
        }
        let mut result: Map<String, Value> =
            KEPT.iter().filter_map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone()))).collect();
        if let Some(members) = fields.get("anyOf").or_else(|| fields.get("oneOf")).and_then(Value::as_array) {
            let members: Vec<Value> = members.iter().map(|member| self.convert(member, by_reference)).collect();
            result.insert("anyOf".to_owned(), members.into());
            return Value::Object(result);
        }
        if fields.contains_key("allOf") {
            self.loosen("uses allOf");
        }
        let type_ = fields.get("type").cloned().or_else(|| guessed_type(fields));
        let Some(type_) = type_ else {
            if result.contains_key("enum") || result.contains_key("const") {
                return Value::Object(result);
            }
            return self.anything();
        };
        let is = |name: &str| type_ == name || type_.as_array().is_some_and(|names| names.iter().any(|n| n == name));
        if is("object") {
            self.close(fields, &mut result, by_reference);
        }
        if is("array") {
            self.place.push("[]".to_owned());
            let items = match fields.get("items") {
                Some(items) => self.convert(items, by_reference),
                None => self.anything(),
            };
            self.place.pop();
            result.insert("items".to_owned(), if by_reference { or_reference(items) } else { items });
        }
        result.insert("type".to_owned(), type_);
        Value::Object(result)
    }

    fn close(&mut self, fields: &Map<String, Value>, result: &mut Map<String, Value>, by_reference: bool) {
        let empty = Map::new();
        let properties = fields.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let open = match fields.get("additionalProperties") {
            Some(Value::Bool(false)) => false,
            Some(_) => true,
            None => properties.is_empty(),
        };
        if open || fields.contains_key("patternProperties") {
            self.loosen("takes properties of any name");
        }
        let object = Value::Object(fields.clone());
        let members: Map<String, Value> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), self.named_member(&object, name, schema, by_reference)))
            .collect();
        result.insert("required".to_owned(), members.keys().map(String::as_str).collect());
        result.insert("properties".to_owned(), Value::Object(members));
        result.insert("additionalProperties".to_owned(), open.into());
    }

    fn anything(&mut self) -> Value {
        self.loosen("says nothing of its type");
        json!({})
    }

    fn loosen(&mut self, why: &str) {
        self.loose.push(format!("{} {why}", self.place.join(".")));
    }
}

fn guessed_type(fields: &Map<String, Value>) -> Option<Value> {
    if fields.contains_key("properties") {
        Some("object".into())
    } else if fields.contains_key("items") {
        Some("array".into())
    } else {
        None
    }
}

/// The schema, or a string that begins with `†`.
fn or_reference(schema: Value) -> Value {
    let takes_any_string = schema.as_object().is_some_and(|fields| {
        let is_string = fields.get("type").is_none_or(|name| name == "string");
        is_string && !["enum", "const", "pattern", "format", "anyOf"].iter().any(|name| fields.contains_key(*name))
    });
    if takes_any_string {
        return schema;
    }
    alternative(schema, json!({"type": "string", "pattern": "^†"}))
}

/// The schema, or null.
pub(super) fn nullable(schema: Value) -> Value {
    if schema.as_object().is_some_and(Map::is_empty) || schema::admits_null(&schema) {
        return schema;
    }
    alternative(schema, json!({"type": "null"}))
}

fn alternative(mut schema: Value, other: Value) -> Value {
    let words = schema.as_object_mut().and_then(|fields| fields.shift_remove("description"));
    let mut result = match schema {
        Value::Object(mut fields) if fields.len() == 1 && fields.contains_key("anyOf") => {
            if let Some(Value::Array(members)) = fields.get_mut("anyOf") {
                members.push(other);
            }
            Value::Object(fields)
        }
        schema => json!({"anyOf": [schema, other]}),
    };
    if let Some(words) = words {
        result["description"] = words;
    }
    result
}

/// The schema with these words, first, as models read from the top.
pub(super) fn described(schema: Value, words: &str) -> Value {
    let mut result = Map::new();
    result.insert("description".to_owned(), words.into());
    if let Value::Object(fields) = schema {
        result.extend(fields.into_iter().filter(|(name, _)| name != "description"));
    }
    Value::Object(result)
}
