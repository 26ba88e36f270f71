//! Removes nulls that mean "absent": strict modes make optional places nullable, and models write null there.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{admits_null, named_types, properties, property, required, resolved, type_of};

/// Deeper values are left unchanged.
const DEEPEST: usize = 64;

/// A value without nulls in the optional places of its schema.
pub fn without_nulls<'a>(value: &'a Value, schema: &Value) -> Cow<'a, Value> {
    if has_null(value) { below(value, schema, schema, 0) } else { Cow::Borrowed(value) }
}

/// The same for a member of an object; none if the member itself is such a null.
pub(crate) fn without_null_members<'a>(value: &'a Value, name: &str, object: &Value) -> Option<Cow<'a, Value>> {
    if has_null(value) { member(value, name, object, object, 0) } else { Some(Cow::Borrowed(value)) }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

fn member<'a>(value: &'a Value, name: &str, object: &Value, root: &Value, depth: usize) -> Option<Cow<'a, Value>> {
    let Some(property) = property(object, name) else {
        // For a free name null is an ordinary value.
        return Some(match object.get("additionalProperties") {
            Some(values) => below(value, values, root, depth + 1),
            None => Cow::Borrowed(value),
        });
    };
    let property = resolved(property, root).unwrap_or(property);
    if value.is_null() && !is_required(object, name) && !admits_null(property) {
        return None;
    }
    Some(below(value, property, root, depth + 1))
}

fn below<'a>(value: &'a Value, schema: &Value, root: &Value, depth: usize) -> Cow<'a, Value> {
    if depth > DEEPEST {
        return Cow::Borrowed(value);
    }
    let Some(schema) = resolved(schema, root) else { return Cow::Borrowed(value) };
    let whole;
    let schema = match schema.get("allOf").and_then(Value::as_array) {
        Some(members) => {
            whole = joined(schema, members, root);
            &whole
        }
        None => schema,
    };
    if let Some(members) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        let meant = members.iter().filter_map(|member| resolved(member, root)).find(|member| may_be(value, member));
        return meant.map_or(Cow::Borrowed(value), |meant| below(value, meant, root, depth + 1));
    }
    match value {
        Value::Object(fields) => {
            let without_nulls = fields.iter().filter_map(|(name, value)| {
                Some((name.clone(), member(value, name, schema, root, depth)?.into_owned()))
            });
            Cow::Owned(Value::Object(without_nulls.collect()))
        }
        Value::Array(items) => match schema.get("items") {
            Some(of) => Cow::Owned(items.iter().map(|item| below(item, of, root, depth + 1).into_owned()).collect()),
            None => Cow::Borrowed(value),
        },
        _ => Cow::Borrowed(value),
    }
}

/// Merges the members of `allOf` into one schema.
fn joined(schema: &Value, members: &[Value], root: &Value) -> Value {
    let mut whole = schema.as_object().cloned().unwrap_or_default();
    whole.shift_remove("allOf");
    for (name, declared) in members.iter().filter_map(|member| resolved(member, root)?.as_object()).flatten() {
        match (whole.get_mut(name), declared) {
            (Some(Value::Object(known)), Value::Object(more)) => {
                known.extend(more.iter().map(|(name, declared)| (name.clone(), declared.clone())));
            }
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more.iter().cloned()),
            (Some(_), _) => {}
            (None, declared) => {
                whole.insert(name.clone(), declared.clone());
            }
        }
    }
    Value::Object(whole)
}

fn is_required(object: &Value, name: &str) -> bool {
    required(object).any(|known| known == name)
}

/// Whether a value may have been written for this alternative, in which null means absent.
fn may_be(value: &Value, schema: &Value) -> bool {
    let is_named = || schema.get("type").is_none() || named_types(schema).any(|name| name == type_of(value));
    match value {
        Value::Object(fields) => is_named() && has_shape(fields, schema),
        Value::Array(_) => is_named(),
        _ => false,
    }
}

fn has_shape(fields: &Map<String, Value>, schema: &Value) -> bool {
    let empty = Map::new();
    let properties = properties(schema).unwrap_or(&empty);
    let takes_others = match schema.get("additionalProperties") {
        Some(Value::Bool(takes)) => *takes,
        Some(_) => true,
        None => properties.is_empty() || schema.get("patternProperties").is_some(),
    };
    let known = fields.iter().all(|(name, value)| match properties.get(name) {
        None => takes_others,
        Some(property) if value.is_null() => {
            !is_required(schema, name) || admits_null(property) || property.get("type").is_none()
        }
        Some(property) => {
            let is_reference = value.as_str().is_some_and(|text| text.starts_with('†'));
            let listed = property.get("enum").and_then(Value::as_array);
            is_reference
                || (property.get("const").is_none_or(|only| only == value)
                    && listed.is_none_or(|values| values.contains(value)))
        }
    });
    known && required(schema).all(|name| fields.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_in_an_optional_field_means_absent_at_every_depth() {
        let line = json!({"type": "object", "properties": {"price": {"type": "number"}, "note": {"type": ["string", "null"]}}});
        let schema = json!({"type": "object", "$defs": {"line": line}, "properties": {
            "rows": {"type": "array", "items": {"$ref": "#/$defs/line"}},
            "by_name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/line"}},
            "free": {"type": "object"},
            "must": {"type": "string"},
        }, "required": ["must"]});
        let value = json!({
            "rows": [{"price": null, "note": null}],
            "by_name": {"a": {"price": null, "note": "x"}, "b": null},
            "free": {"a": null},
            "must": null,
        });
        let expected = json!({
            "rows": [{"note": null}],
            "by_name": {"a": {"note": "x"}, "b": null},
            "free": {"a": null},
            "must": null,
        });
        assert_eq!(*without_nulls(&value, &schema), expected);
        assert_eq!(*without_nulls(&json!({"rows": null, "free": null, "must": "a"}), &schema), json!({"must": "a"}));
    }

    #[test]
    fn nulls_are_dropped_by_the_matching_alternative() {
        let by = |kind: &str, field: &str| json!({"type": "object", "properties": {"kind": {"const": kind}, field: {"type": "string"}}, "required": ["kind"], "additionalProperties": false});
        let schema =
            json!({"anyOf": [by("a", "x"), by("b", "y"), {"type": "array", "items": by("a", "x")}, {"type": "null"}]});
        let dropped = |value: Value| without_nulls(&value, &schema).into_owned();
        assert_eq!(dropped(json!({"kind": "b", "y": null})), json!({"kind": "b"}));
        assert_eq!(dropped(json!([{"kind": "a", "x": null}])), json!([{"kind": "a"}]));
        assert_eq!(dropped(json!({"kind": "c", "z": null})), json!({"kind": "c", "z": null}));
        assert_eq!(dropped(Value::Null), Value::Null);
    }
}
