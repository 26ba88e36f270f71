//! Whether a written value can fit where it is read. Two schemas clash only if certainly no value fits both.

use serde_json::{Map, Value};

use crate::fold::Method;
use crate::path::Segment;
use crate::schema;

const TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

/// A schema with the root document for its references.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    root: &'a Value,
    at: &'a Value,
}

impl<'a> Shape<'a> {
    pub(super) fn new(root: &'a Value) -> Option<Self> {
        Self { root, at: root }.followed()
    }

    fn followed(self) -> Option<Self> {
        Some(Self { at: schema::resolved(self.at, self.root)?, ..self })
    }

    /// The schema of the value at this path below, if it is known.
    pub(super) fn below(self, path: &[Segment]) -> Option<Self> {
        match schema::pointer_at(self.at, path) {
            Some(pointer) => Self { at: self.at.pointer(&pointer)?, ..self }.followed(),
            None => path.iter().try_fold(self, Shape::step),
        }
    }

    fn step(self, segment: &Segment) -> Option<Self> {
        let pointer = schema::pointer_at(self.at, std::slice::from_ref(segment))?;
        Self { at: self.at.pointer(&pointer)?, ..self }.followed()
    }

    fn child(self, name: &str) -> Option<Self> {
        Self { at: self.at.get(name)?, ..self }.followed()
    }

    fn property(self, name: &str) -> Option<Self> {
        Self { at: schema::property(self.at, name)?, ..self }.followed()
    }

    /// The only possible values, if the schema lists them.
    fn values(self) -> Option<Vec<&'a Value>> {
        match (self.at.get("const"), self.at.get("enum")) {
            (Some(only), _) => Some(vec![only]),
            (None, Some(Value::Array(values))) => Some(values.iter().collect()),
            _ => None,
        }
    }

    fn members(self, list: &str) -> Option<Vec<Self>> {
        let all = self.at.get(list)?.as_array()?;
        all.iter().map(|at| Self { at, ..self }.followed()).collect()
    }

    /// The possible types of a value, as text.
    pub(super) fn type_names(self) -> String {
        names(self.types(8))
    }

    /// The possible types of a value, as a bit set over [`TYPES`].
    fn types(self, depth: usize) -> u8 {
        const ANY: u8 = 0b11_1111;
        if depth == 0 {
            return ANY;
        }
        if self.at == &Value::Bool(false) {
            return 0;
        }
        let mut types = match self.at.get("type") {
            Some(Value::String(name)) => bit(name),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).fold(0, |set, name| set | bit(name)),
            _ => ANY,
        };
        if let Some(value) = self.at.get("const") {
            types &= bit_of(value);
        }
        if let Some(Value::Array(values)) = self.at.get("enum") {
            types &= values.iter().fold(0, |set, value| set | bit_of(value));
        }
        for list in ["anyOf", "oneOf"] {
            if let Some(members) = self.members(list) {
                types &= members.into_iter().fold(0, |set, member| set | member.types(depth - 1));
            }
        }
        for member in self.members("allOf").unwrap_or_default() {
            types &= member.types(depth - 1);
        }
        types
    }
}

fn listed(values: &[&Value]) -> String {
    let words: Vec<String> = values.iter().take(5).map(ToString::to_string).collect();
    format!("{}{}", words.join(" or "), if values.len() > 5 { " or another" } else { "" })
}

fn bit(name: &str) -> u8 {
    let name = if name == "integer" { "number" } else { name };
    TYPES.iter().position(|known| *known == name).map_or(0, |index| 1 << index)
}

fn bit_of(value: &Value) -> u8 {
    bit(schema::type_of(value))
}

fn names(types: u8) -> String {
    let names: Vec<_> = TYPES.iter().enumerate().filter(|(i, _)| types >> i & 1 == 1).map(|(_, name)| *name).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(" or ") }
}

/// The schema of the value that a result leaves at its path: `push` makes it an array.
pub(super) fn written(output: &Value, method: Method) -> Value {
    match method {
        Method::Push => {
            let mut schema = Map::new();
            schema.insert("type".to_owned(), "array".into());
            // References are relative to the root, so the items of a schema with references stay unknown.
            if !output.to_string().contains("\"$ref\"") {
                schema.insert("items".to_owned(), output.clone());
            }
            Value::Object(schema)
        }
        _ => output.clone(),
    }
}

/// Why no value of `written` can be a value of `read`; none if one can.
pub(super) fn clash(written: Shape<'_>, read: Shape<'_>) -> Option<String> {
    clash_at(written, read, 8)
}

fn clash_at(written: Shape<'_>, read: Shape<'_>, depth: usize) -> Option<String> {
    if depth == 0 {
        return None;
    }
    let (gives, takes) = (written.types(8), read.types(8));
    if gives & takes == 0 {
        return Some(format!("{} is written, {} is read", names(gives), names(takes)));
    }
    if let (Some(given), Some(taken)) = (written.values(), read.values())
        && !given.iter().any(|value| taken.contains(value))
    {
        return Some(format!("{} is written, {} is read", listed(&given), listed(&taken)));
    }
    if gives & takes == bit("array") {
        let (from, to) = (written.child("items")?, read.child("items")?);
        return clash_at(from, to, depth - 1).map(|why| format!("in each element, {why}"));
    }
    if gives & takes == bit("object") {
        for name in schema::required(read.at) {
            match (written.property(name), read.property(name)) {
                (Some(from), Some(to)) => {
                    if let Some(why) = clash_at(from, to, depth - 1) {
                        return Some(format!("in `{name}`, {why}"));
                    }
                }
                (None, _) if written.at.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    return Some(format!("`{name}` is needed and never written"));
                }
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn clashes(written: &Value, read: &Value) -> bool {
        clash(Shape::new(written).unwrap(), Shape::new(read).unwrap()).is_some()
    }

    #[test]
    fn only_certainly_incompatible_types_clash() {
        for (written, read, expected) in [
            (json!({"type": "number"}), json!({"type": "string"}), true),
            (json!({"type": "number"}), json!({"type": "integer"}), false),
            (json!({"type": ["number", "null"]}), json!({"type": "number"}), false),
            (json!({"enum": [1, 2]}), json!({"type": "string"}), true),
            (json!({"anyOf": [{"type": "array"}, {"type": "null"}]}), json!({"type": "string"}), true),
            (json!({}), json!({"type": "string"}), false),
            (json!({"enum": ["p", "q"]}), json!({"enum": ["r"]}), true),
            (json!({"enum": ["p", "q"]}), json!({"enum": ["q", "r"]}), false),
            (json!({"const": "p"}), json!({"type": "string"}), false),
            (
                json!({"type": "array", "items": {"type": "number"}}),
                json!({"type": "array", "items": {"type": "string"}}),
                true,
            ),
            (json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}}), json!({"type": "string"}), true),
            (
                json!({"type": "object", "properties": {"id": {"type": "number"}}}),
                json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}),
                true,
            ),
            (
                json!({"type": "object", "properties": {"id": {"type": "number"}}}),
                json!({"type": "object", "properties": {"id": {"type": "string"}}}),
                false,
            ),
            (
                json!({"type": "object", "additionalProperties": false}),
                json!({"type": "object", "required": ["id"]}),
                true,
            ),
            (json!({"$ref": "#"}), json!({"type": "string"}), false),
        ] {
            if Shape::new(&written).is_some() {
                assert_eq!(clashes(&written, &read), expected, "{written} → {read}");
            }
        }
    }
}
