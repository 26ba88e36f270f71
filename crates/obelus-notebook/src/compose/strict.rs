//! Converts a schema for strict structured-output modes: every object is closed, every property required, optional ones
//! nullable, free names are entries, and only supported keywords remain. Omitting the others is safe, because calls are
//! validated with the tool's own schema.

use serde_json::{Map, Value, json};

use super::closed;
use super::limits::{DEEPEST_DECLARED, FORMATS};
use crate::dialect::entries::{ENTRIES, NAME, VALUE};
use crate::schema;
use crate::tool::{choice, prescribed};

/// Keywords that are copied, in the order in which they are written.
const KEPT: &str =
    "description enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems";

/// References to the definitions of any value, and of any list of entries.
pub(super) const ANY_VALUE: &str = "#/$defs/value";
const ANY_ENTRIES: &str = "#/$defs/entries";

/// Below this depth the schema is "any value".
const DEEPEST_PLACE: usize = 24;

/// Findings while a schema is composed.
#[derive(Default)]
pub(super) struct Notes {
    /// Why it cannot be sent in a strict mode.
    pub(super) loose: Vec<String>,
    /// Whether some part of it accepts any value.
    pub(super) has_anything: bool,
}

pub(super) struct Strict<'a> {
    /// The document for local references.
    root: &'a Value,
    /// The position in the schema, for messages.
    place: Vec<String>,
    /// The number of enclosing objects.
    levels: usize,
    /// The references that are being followed, to detect recursion.
    following: Vec<String>,
    notes: &'a mut Notes,
}

impl<'a> Strict<'a> {
    /// A converter for a part of a schema, which has `levels` enclosing objects in the composed schema.
    pub(super) fn new(root: &'a Value, place: &str, levels: usize, notes: &'a mut Notes) -> Self {
        Self { root, place: vec![place.to_owned()], levels, following: Vec::new(), notes }
    }

    /// Converts a schema without adding references to memory as alternatives.
    pub(super) fn plain(&mut self, schema: &Value) -> Value {
        self.convert(schema, false)
    }

    /// The schema of a call's entries, if the tool accepts parameters of any name.
    pub(super) fn free_params(&mut self, params: &Value) -> Option<Value> {
        let fields = params.as_object()?;
        let values = fields.get("additionalProperties").filter(|values| **values != false)?;
        Some(self.entries(fields, values, true))
    }

    /// The schema of a member of an object: its value, or a reference if permitted, or null if it is optional.
    pub(super) fn member(&mut self, object: &Value, name: &str, schema: &Value, by_reference: bool) -> Value {
        if let Some(only) = schema::resolved(schema, self.root).and_then(prescribed).filter(|_| by_reference) {
            // Calls may omit it, because it is filled in.
            return json!({"type": ["string", "null"], "enum": [only, null]});
        }
        self.place.push(name.to_owned());
        let mut member = self.convert(schema, by_reference);
        self.place.pop();
        if by_reference {
            member = or_reference(member);
        }
        if schema::required(object).any(|known| known == name) { member } else { nullable(member) }
    }

    fn convert(&mut self, schema: &Value, by_reference: bool) -> Value {
        let Value::Object(fields) = schema else { return self.anything(None) };
        if self.place.len() > DEEPEST_PLACE {
            return self.anything(None);
        }
        if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
            return self.referred(target, fields.get("description"), by_reference);
        }
        if let Some(Value::Array(members)) = fields.get("allOf") {
            return match self.joined(fields, members) {
                Some(whole) => self.convert(&whole, by_reference),
                None => self.anything(fields.get("description")),
            };
        }
        let mut result = supported_keywords(fields);
        if let Some(members) = fields.get("anyOf").or_else(|| fields.get("oneOf")).and_then(Value::as_array) {
            let members: Vec<Value> = members.iter().map(|member| self.convert(member, by_reference)).collect();
            result.insert("anyOf".to_owned(), members.into());
            return Value::Object(result);
        }
        let Some(type_) = fields.get("type").cloned().or_else(|| guessed_type(fields)) else {
            return self.anything(fields.get("description"));
        };
        let is = |name: &str| type_ == name || type_.as_array().is_some_and(|names| names.iter().any(|n| n == name));
        if is("object") {
            if self.levels >= DEEPEST_DECLARED {
                return self.anything(fields.get("description"));
            }
            self.close(fields, &mut result, by_reference);
        }
        if is("array") {
            self.place.push("[]".to_owned());
            let items = match fields.get("items") {
                Some(items) => self.convert(items, by_reference),
                None => self.anything(None),
            };
            self.place.pop();
            result.insert("items".to_owned(), if by_reference { or_reference(items) } else { items });
        }
        result.insert("type".to_owned(), type_);
        Value::Object(result)
    }

    /// Inlines the target of a reference. A recursive reference becomes "any value".
    fn referred(&mut self, target: &str, words: Option<&Value>, by_reference: bool) -> Value {
        let root = self.root;
        let pointer = target.strip_prefix('#').and_then(|pointer| schema::followed(root, pointer.to_owned()));
        let Some((pointer, found)) = pointer.and_then(|pointer| root.pointer(&pointer).map(|found| (pointer, found)))
        else {
            return self.anything(words);
        };
        if self.following.contains(&pointer) {
            return self.anything(words);
        }
        self.following.push(pointer);
        let mut inlined = self.convert(found, by_reference);
        self.following.pop();
        // Strict modes permit no description beside a reference.
        if let (Some(words), Some(fields)) = (words, inlined.as_object_mut())
            && !fields.contains_key("$ref")
        {
            fields.insert("description".to_owned(), words.clone());
        }
        inlined
    }

    /// Merges the members of `allOf` into one schema, if they do not overlap.
    fn joined(&self, fields: &Map<String, Value>, members: &[Value]) -> Option<Value> {
        let mut whole = fields.clone();
        whole.shift_remove("allOf");
        for member in members {
            let pointer = member.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
            let member = match pointer {
                Some(pointer) if !self.following.iter().any(|known| known == pointer) => self.root.pointer(pointer)?,
                Some(_) => return None,
                None => member,
            };
            for (name, value) in member.as_object()? {
                if name == "allOf" || name == "$ref" {
                    return None;
                }
                match (whole.get_mut(name), value) {
                    (None, value) => {
                        whole.insert(name.clone(), value.clone());
                    }
                    (Some(Value::Object(known)), Value::Object(more)) if name == "properties" => {
                        if more.keys().any(|key| known.contains_key(key)) {
                            return None;
                        }
                        known.extend(more.clone());
                    }
                    (Some(Value::Array(known)), Value::Array(more)) if name == "required" => known.extend(more.clone()),
                    (Some(known), value) if known == value || name == "description" || name == "title" => {}
                    _ => return None,
                }
            }
        }
        Some(Value::Object(whole))
    }

    fn close(&mut self, fields: &Map<String, Value>, result: &mut Map<String, Value>, by_reference: bool) {
        self.levels += 1;
        let empty = Map::new();
        let properties = fields.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let anything = Value::Bool(true);
        let others = match fields.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(values) => Some(values),
            None => properties.is_empty().then_some(&anything),
        };
        let others = others.or_else(|| fields.contains_key("patternProperties").then_some(&anything));
        let object = Value::Object(fields.clone());
        let mut members: Map<String, Value> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), self.member(&object, name, schema, by_reference)))
            .collect();
        if members.contains_key(ENTRIES) {
            self.notes.loose.push(format!("{} has a property `{ENTRIES}` of its own", self.place.join(".")));
        } else if let Some(values) = others {
            let entries = self.entries(fields, values, by_reference);
            members.insert(ENTRIES.to_owned(), entries);
        }
        self.levels -= 1;
        if let Value::Object(shape) = closed(members) {
            result.extend(shape);
        }
    }

    /// Converts properties of any name to a list of entries.
    fn entries(&mut self, fields: &Map<String, Value>, values: &Value, by_reference: bool) -> Value {
        self.levels += 1;
        self.place.push(ENTRIES.to_owned());
        let mut value = self.convert(values, by_reference);
        self.place.pop();
        self.levels -= 1;
        if by_reference {
            value = or_reference(value);
        }
        let names = fields.get("propertyNames").and_then(Value::as_object).map(supported_keywords).unwrap_or_default();
        let mut counts = Map::new();
        if fields.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty) {
            for (of_object, of_list) in [("minProperties", "minItems"), ("maxProperties", "maxItems")] {
                if let Some(count) = fields.get(of_object) {
                    counts.insert(of_list.to_owned(), count.clone());
                }
            }
        }
        if names.is_empty() && counts.is_empty() && value == any_value() {
            return json!({"$ref": ANY_ENTRIES});
        }
        let Value::Object(mut list) = list_of(names, value) else { unreachable!("it is an object") };
        list.extend(counts);
        Value::Object(list)
    }

    fn anything(&mut self, words: Option<&Value>) -> Value {
        self.notes.has_anything = true;
        match words {
            Some(words) => json!({"description": words, "anyOf": [any_value()]}),
            None => any_value(),
        }
    }
}

/// The definitions of any value and any entries.
pub(super) fn definitions() -> [(&'static str, Value); 2] {
    let mut object = Map::new();
    object.insert(ENTRIES.to_owned(), json!({"$ref": ANY_ENTRIES}));
    let plain = json!({"type": ["string", "number", "boolean", "null"]});
    let list = json!({"type": "array", "items": any_value()});
    [("value", json!({"anyOf": [plain, list, closed(object)]})), ("entries", list_of(Map::new(), any_value()))]
}

fn any_value() -> Value {
    json!({"$ref": ANY_VALUE})
}

fn is_any_value(schema: &Value) -> bool {
    schema["$ref"] == ANY_VALUE || schema["anyOf"].as_array().is_some_and(|members| members.iter().any(is_any_value))
}

/// The schema of a list of entries, with this schema of names.
fn list_of(mut names: Map<String, Value>, value: Value) -> Value {
    names.insert("type".to_owned(), "string".into());
    let entry = Map::from_iter([(NAME.to_owned(), Value::Object(names)), (VALUE.to_owned(), value)]);
    let words = "Properties of the object, by any name: one entry for each";
    json!({"description": words, "type": "array", "items": closed(entry)})
}

/// Copies the supported keywords.
fn supported_keywords(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut result: Map<String, Value> =
        KEPT.split(' ').filter_map(|name| Some((name.to_owned(), fields.get(name)?.clone()))).collect();
    if !result.contains_key("description")
        && let Some(title) = fields.get("title")
    {
        result.insert("description".to_owned(), title.clone());
    }
    let is_known = |format: &&Value| FORMATS.iter().any(|known| *format == known);
    if let Some(format) = fields.get("format").filter(is_known) {
        result.insert("format".to_owned(), format.clone());
    }
    // Servers refuse patterns with lookaround or backreferences.
    let is_plain = |pattern: &&Value| {
        let text = pattern.as_str().unwrap_or("(?");
        let looks_back = text.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && pair[1].is_ascii_digit());
        !text.replace("(?:", "(").contains("(?") && !looks_back
    };
    if let Some(pattern) = fields.get("pattern").filter(is_plain) {
        result.insert("pattern".to_owned(), pattern.clone());
    }
    result
}

fn guessed_type(fields: &Map<String, Value>) -> Option<Value> {
    let says_object = ["properties", "additionalProperties", "patternProperties"];
    if says_object.iter().any(|name| fields.contains_key(*name)) {
        return Some("object".into());
    }
    if fields.contains_key("items") {
        return Some("array".into());
    }
    let one = fields.get("const").map(std::slice::from_ref);
    let values = one.or_else(|| fields.get("enum")?.as_array().map(Vec::as_slice))?;
    let mut types: Vec<&str> = Vec::new();
    for name in values.iter().map(schema::type_of) {
        if !types.contains(&name) {
            types.push(name);
        }
    }
    match types.as_slice() {
        [] => None,
        // Objects and arrays would need a schema of their members.
        types if types.contains(&"object") || types.contains(&"array") => None,
        [one] => Some((*one).into()),
        several => Some(several.iter().copied().collect()),
    }
}

/// The schema, or a string that starts with `†` or contains `{†`. A schema that names its permitted references is
/// unchanged.
fn or_reference(schema: Value) -> Value {
    if prescribed(&schema).is_some() || choice(&schema).is_some() {
        return schema;
    }
    let takes_any_string = schema.as_object().is_some_and(|fields| {
        schema::named_types(&schema).any(|name| name == "string")
            && !["enum", "const", "pattern", "format", "anyOf"].iter().any(|name| fields.contains_key(*name))
    });
    if takes_any_string || is_any_value(&schema) {
        return schema;
    }
    alternative(schema, json!({"type": "string", "pattern": "^†|\\{†"}))
}

/// The schema, or null.
pub(super) fn nullable(schema: Value) -> Value {
    if is_any_value(&schema) || schema::admits_null(&schema) {
        return schema;
    }
    match schema {
        Value::Object(fields) if is_plain(&fields) => Value::Object(plain_or_null(fields)),
        schema => alternative(schema, json!({"type": "null"})),
    }
}

/// Whether a schema has only scalar types and keywords to which null can be added.
fn is_plain(fields: &Map<String, Value>) -> bool {
    let plain = ["string", "number", "integer", "boolean"];
    let is_plain = |name: &Value| plain.iter().any(|known| name == known);
    let known = ["type", "description", "enum"];
    fields.keys().all(|name| known.contains(&name.as_str()))
        && match fields.get("type") {
            Some(Value::Array(names)) => names.iter().all(is_plain),
            Some(name) => is_plain(name),
            None => false,
        }
}

/// Adds null to the types and the enum, which is shorter than an alternative.
fn plain_or_null(mut fields: Map<String, Value>) -> Map<String, Value> {
    if let Some(types) = fields.get_mut("type") {
        let mut names = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
        names.push("null".into());
        *types = names.into();
    }
    if let Some(Value::Array(choices)) = fields.get_mut("enum") {
        choices.push(Value::Null);
    }
    fields
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

/// The schema with this description first, because models read from the top.
pub(super) fn described(schema: Value, words: &str) -> Value {
    let mut result = Map::new();
    result.insert("description".to_owned(), words.into());
    // Strict modes permit no description beside a reference.
    let schema = if schema.get("$ref").is_some() { json!({"anyOf": [schema]}) } else { schema };
    if let Value::Object(fields) = schema {
        result.extend(fields.into_iter().filter(|(name, _)| name != "description"));
    }
    Value::Object(result)
}
