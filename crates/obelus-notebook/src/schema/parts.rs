//! The schema of a part: the constraints that the schema of a whole puts on the value at a path.
//!
//! The rest of the whole is ignored, because it may be incomplete. So keywords that depend on the rest (`if`, `not`,
//! `dependentSchemas`) do not constrain a part; of several alternatives (`anyOf`, `oneOf`) one must permit it.

use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::{compile, escape, named_types};
use crate::path::{Segment, is_digits};

/// The id of the document for the references of a part's schema.
pub(super) const ROOT: &str = "obelus:/root";

/// The most schemas visited for one path, because references may be circular.
const MOST_SCHEMAS: usize = 400;

/// The part of the schema `root` for the value at `path`, for [`super::compile_part`]. `None` if it has no such part.
pub fn part_at(root: &Value, path: &[Segment]) -> Option<Value> {
    Search { root, left: MOST_SCHEMAS }.below(String::new(), path)
}

/// A reference to a JSON pointer in the whole schema.
fn reference(pointer: &str) -> Value {
    const ENCODED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'$');
    json!({"$ref": format!("{ROOT}#{}", utf8_percent_encode(pointer, ENCODED))})
}

/// The JSON pointer of a part, if a single place of the whole schema describes it.
pub(super) fn pointer_of(part: &Value) -> Option<String> {
    let target = part.get("$ref")?.as_str()?.strip_prefix(ROOT)?.strip_prefix('#')?;
    Some(percent_decode_str(target).decode_utf8().ok()?.into_owned())
}

struct Search<'a> {
    root: &'a Value,
    left: usize,
}

impl Search<'_> {
    /// The constraints of the schema at `pointer` on the value at `path` below it.
    fn below(&mut self, pointer: String, path: &[Segment]) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        let Some((segment, rest)) = path.split_first() else { return Some(reference(&pointer)) };
        let fields = match self.root.pointer(&pointer)? {
            // If nothing is permitted here, nothing is permitted below.
            Value::Bool(false) => return Some(Value::Bool(false)),
            schema => schema.as_object()?,
        };
        let mut parts = Vec::new();
        if let Some(target) = fields.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#')) {
            parts.extend(self.below(target.to_owned(), path));
        }
        for child in children(fields, segment) {
            parts.extend(self.below(format!("{pointer}{child}"), rest));
        }
        for index in 0..members(fields, "allOf").len() {
            parts.extend(self.below(format!("{pointer}/allOf/{index}"), path));
        }
        for list in ["anyOf", "oneOf"] {
            parts.extend(self.alternatives(&pointer, list, members(fields, list), path));
        }
        match parts.len() {
            0 | 1 => parts.pop(),
            _ => Some(json!({"allOf": parts})),
        }
    }

    /// One of the alternatives must permit the part. If one of them does not constrain it, none does.
    fn alternatives(&mut self, pointer: &str, list: &str, members: &[Value], path: &[Segment]) -> Option<Value> {
        let possible = members.iter().enumerate().filter(|(_, member)| may_have(member, &path[0]));
        let parts = possible.map(|(index, _)| self.below(format!("{pointer}/{list}/{index}"), path));
        let parts = parts.collect::<Option<Vec<_>>>()?;
        (!parts.is_empty()).then(|| json!({"anyOf": parts}))
    }
}

fn members<'a>(fields: &'a Map<String, Value>, list: &str) -> &'a [Value] {
    fields.get(list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a value of this schema may have a member at the segment, judged by its type.
fn may_have(schema: &Value, segment: &Segment) -> bool {
    let fits = |name: &str| match segment {
        Segment::Index(_) => name == "array",
        Segment::Field(key) if is_digits(key) => name == "array" || name == "object",
        Segment::Field(_) | Segment::Key(_) => name == "object",
    };
    schema != &Value::Bool(false) && (schema.get("type").is_none() || named_types(schema).any(fits))
}

/// Pointers to the subschemas for one segment. A field of digits is an element if the schema is only of an array.
fn children(fields: &Map<String, Value>, segment: &Segment) -> Vec<String> {
    let has = |names: &[&str]| names.iter().any(|name| fields.contains_key(*name));
    let of_list = has(&["items", "prefixItems"]);
    let of_object = has(&["properties", "patternProperties", "additionalProperties"]);
    match segment {
        Segment::Index(_) => element(fields, segment).into_iter().collect(),
        Segment::Field(key) if is_digits(key) && of_list => {
            if of_object {
                Vec::new()
            } else {
                element(fields, segment).into_iter().collect()
            }
        }
        Segment::Field(key) | Segment::Key(key) => members_by_name(fields, key),
    }
}

/// The pointer to the subschema of an element. It is unknown for an index from the end if the first elements have
/// schemas of their own.
fn element(fields: &Map<String, Value>, segment: &Segment) -> Option<String> {
    // In older drafts the schemas of the first elements are in `items`.
    let old = fields.get("items").and_then(Value::as_array).map(|first| ("items", first, "additionalItems"));
    let new = || fields.get("prefixItems").and_then(Value::as_array).map(|first| ("prefixItems", first, "items"));
    let Some((list, first, others)) = old.or_else(new) else {
        return fields.contains_key("items").then(|| "/items".to_owned());
    };
    if segment.is_from_end() {
        return None;
    }
    let index: usize = segment.key().parse().ok()?;
    if index < first.len() {
        Some(format!("/{list}/{index}"))
    } else {
        fields.contains_key(others).then(|| format!("/{others}"))
    }
}

fn members_by_name(fields: &Map<String, Value>, key: &str) -> Vec<String> {
    let of = |list: &str| fields.get(list).and_then(Value::as_object).into_iter().flatten();
    let named = of("properties").filter(|(name, _)| *name == key);
    let named = named.map(|(name, _)| format!("/properties/{}", escape(name)));
    let by_pattern = of("patternProperties").filter(|(pattern, _)| fits(key, pattern));
    let by_pattern = by_pattern.map(|(pattern, _)| format!("/patternProperties/{}", escape(pattern)));
    let mut all: Vec<String> = named.chain(by_pattern).collect();
    if all.is_empty() && fields.contains_key("additionalProperties") {
        all.push("/additionalProperties".to_owned());
    }
    all
}

fn fits(name: &str, pattern: &str) -> bool {
    compile(&json!({"pattern": pattern})).is_ok_and(|validator| validator.is_valid(&name.into()))
}

/// The names of properties anywhere in a schema.
pub fn property_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if let ("properties", Value::Object(properties)) = (name.as_str(), inner) {
                    names.extend(properties.keys().cloned());
                }
                property_names(inner, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| property_names(item, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile_part;
    use super::*;
    use crate::expr::segments_of as segments;

    /// Whether a schema permits this value at a path.
    fn permits(root: &Value, path: &str, value: Value) -> bool {
        let part = part_at(root, &segments(path));
        part.is_none_or(|part| compile_part(root, &part).unwrap().is_valid(&value))
    }

    #[test]
    fn a_key_is_validated_by_name_pattern_or_additional_properties() {
        let root = json!({
            "properties": {"x-known": {"type": "string"}},
            "patternProperties": {"^x-": {"minLength": 2}, "^n": {"type": "integer"}},
            "additionalProperties": false,
        });
        for (path, value, is_permitted) in [
            ("†s.x-known", json!("ab"), true),
            ("†s.x-known", json!("a"), false),
            ("†s.x-other", json!(1), true),
            ("†s.n1", json!(1), true),
            ("†s.n1", json!("one"), false),
            ("†s.other", json!(1), false),
            ("†s.other.below", json!(1), false),
        ] {
            assert_eq!(permits(&root, path, value.clone()), is_permitted, "{path} {value}");
        }
    }

    #[test]
    fn all_of_needs_every_member_and_any_of_needs_one() {
        let shape = |name: &str, type_: &str| json!({"type": "object", "properties": {name: {"type": type_}}, "additionalProperties": false});
        let root = json!({
            "$defs": {"base": {"properties": {"id": {"type": "integer"}}}},
            "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"id": {"minimum": 1}}}],
            "properties": {"by": {"anyOf": [{"type": "string"}, shape("a", "string"), shape("b", "integer")]}},
        });
        for (path, value, is_permitted) in [
            ("†s.id", json!(1), true),
            ("†s.id", json!(0), false),
            ("†s.id", json!("1"), false),
            ("†s.by.a", json!("x"), true),
            ("†s.by.b", json!(1), true),
            ("†s.by.b", json!("x"), false),
            ("†s.by.c", json!(1), false),
            ("†s.by", json!("x"), true),
            ("†s.by[0]", json!("x"), true),
        ] {
            assert_eq!(permits(&root, path, value.clone()), is_permitted, "{path} {value}");
        }
    }

    #[test]
    fn elements_are_validated_by_position() {
        let root = json!({"properties": {"l": {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}}});
        for (path, value, is_permitted) in [
            ("†s.l[0]", json!("x"), true),
            ("†s.l[0]", json!(1), false),
            ("†s.l.1", json!(1), true),
            ("†s.l[1]", json!("x"), false),
            ("†s.l[-1]", json!("x"), true),
        ] {
            assert_eq!(permits(&root, path, value.clone()), is_permitted, "{path} {value}");
        }
    }

    #[test]
    fn names_with_any_characters_and_cyclic_schemas_are_handled() {
        let root = json!({"properties": {"цена за штуку, %": {"type": "number"}, "a/b~c": {"type": "number"}}});
        for path in ["†s[\"цена за штуку, %\"]", "†s[\"a/b~c\"]"] {
            assert!(permits(&root, path, json!(1.5)) && !permits(&root, path, json!("x")), "{path}");
        }
        let circle = json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {"type": "string"}}});
        assert!(permits(&circle, "†s.b", json!(1)));
    }
}
