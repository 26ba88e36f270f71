//! References that a tool prescribes in its parameters, at any depth.
//!
//! A `const` that begins with `†` is filled in if a call omits it; an `enum` with references is a choice among them.
//! Both are compared with the text of the call, not with the value of the reference.

use serde_json::{Map, Value};

use crate::dotted::below;
use crate::fault::{Fault, Rule};
use crate::schema::{properties, resolved};

/// Deeper members are not filled in, because references may be circular.
const DEEPEST: usize = 16;

fn is_reference(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with('†'))
}

/// The only reference that this schema permits.
pub(crate) fn prescribed(schema: &Value) -> Option<&Value> {
    schema.get("const").filter(|only| is_reference(only))
}

/// The values that a call can choose from, if some of them are references.
pub(crate) fn choice(schema: &Value) -> Option<&[Value]> {
    let values = schema.get("enum")?.as_array()?;
    values.iter().any(is_reference).then_some(values)
}

/// The schema without the parts that are compared with the text of a call. `None` if it has no such parts.
pub(super) fn relaxed(params: &Value) -> Option<Value> {
    let mut schema = params.clone();
    relax(&mut schema).then_some(schema)
}

fn relax(schema: &mut Value) -> bool {
    if prescribed(schema).is_some() || choice(schema).is_some() {
        *schema = Value::Bool(true);
        return true;
    }
    let Value::Object(fields) = schema else { return false };
    let mut found = false;
    for (keyword, inner) in fields {
        found |= match (keyword.as_str(), inner) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
                named.values_mut().fold(false, |found, schema| relax(schema) | found)
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(members)) => {
                members.iter_mut().fold(false, |found, schema| relax(schema) | found)
            }
            ("items" | "additionalProperties" | "then" | "else", schema) => relax(schema),
            _ => false,
        };
    }
    found
}

/// Fills in the references that a call omits. Returns the deviations from what the tool prescribes, each with its
/// position.
pub(crate) fn fill(declared: &Value, params: &mut Map<String, Value>) -> Vec<Fault> {
    let mut filler = Filler { root: declared, faults: Vec::new() };
    filler.object(declared, params, "", 0);
    filler.faults
}

struct Filler<'a> {
    /// The document for local references.
    root: &'a Value,
    faults: Vec<Fault>,
}

impl Filler<'_> {
    fn object(&mut self, schema: &Value, fields: &mut Map<String, Value>, place: &str, depth: usize) {
        let Some(schema) = resolved(schema, self.root).filter(|_| depth < DEEPEST) else { return };
        for member in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.object(member, fields, place, depth + 1);
        }
        for (name, property) in properties(schema).into_iter().flatten() {
            match fields.get_mut(name) {
                None | Some(Value::Null) => {
                    if let Some(value) = self.left_out(property, depth + 1) {
                        fields.insert(name.clone(), value);
                    }
                }
                Some(value) => {
                    self.value(property, value, &below(place, name), depth + 1);
                }
            }
        }
    }

    fn value(&mut self, schema: &Value, value: &mut Value, place: &str, depth: usize) {
        let Some(schema) = resolved(schema, self.root) else { return };
        if let Some(only) = prescribed(schema).filter(|only| value != *only) {
            let text = format!("the tool prescribes {only}: leave it out, or give just that");
            self.faults.push(Fault::new(Rule::Call3, text).at(place));
        }
        if let Some(all) = choice(schema).filter(|all| !all.contains(value)) {
            let all: Vec<_> = all.iter().map(ToString::to_string).collect();
            self.faults.push(Fault::new(Rule::Call3, format!("give one of {}", all.join(", "))).at(place));
        }
        match value {
            Value::Object(fields) => self.object(schema, fields, place, depth),
            Value::Array(items) => {
                let Some(of) = schema.get("items").filter(|_| depth < DEEPEST) else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(of, item, &format!("{place}[{index}]"), depth + 1);
                }
            }
            _ => {}
        }
    }

    /// The value for a member that a call omits: a reference, or an object whose required members are all filled in.
    fn left_out(&self, schema: &Value, depth: usize) -> Option<Value> {
        let schema = resolved(schema, self.root).filter(|_| depth < DEEPEST)?;
        if let Some(only) = prescribed(schema) {
            return Some(only.clone());
        }
        let members = properties(schema)?.iter();
        let made: Map<String, Value> =
            members.filter_map(|(name, schema)| Some((name.clone(), self.left_out(schema, depth + 1)?))).collect();
        let mut required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let is_whole = required.all(|name| name.as_str().is_some_and(|name| made.contains_key(name)));
        (!made.is_empty() && is_whole).then_some(Value::Object(made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(schema: &Value, mut params: Value) -> (Value, Vec<String>) {
        let faults = fill(schema, params.as_object_mut().unwrap());
        (params, faults.into_iter().map(|fault| fault.field).collect())
    }

    #[test]
    fn omitted_constants_are_filled_in_at_every_depth() {
        let row = json!({"properties": {"id": {"const": "†state.id"}, "n": {"type": "integer"}}});
        let schema = json!({"$defs": {"row": row}, "properties": {
            "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
            "filter": {"properties": {"owner": {"const": "†input.me"}}, "required": ["owner"]},
            "more": {"properties": {"owner": {"const": "†input.me"}, "sum": {}}, "required": ["sum"]},
            "all": {"allOf": [{"$ref": "#/$defs/row"}]},
        }});
        let (params, faults) = filled(&schema, json!({"rows": [{"n": 1}, {"id": null}], "all": {}}));
        let expected = json!({
            "rows": [{"n": 1, "id": "†state.id"}, {"id": "†state.id"}],
            "all": {"id": "†state.id"},
            "filter": {"owner": "†input.me"},
        });
        assert_eq!((params, faults), (expected, vec![]), "an object that needs more is the call's to give");
    }

    #[test]
    fn values_outside_const_or_enum_are_faults() {
        let schema = json!({"properties": {"a": {"properties": {
            "only": {"const": "†state.x"}, "one": {"enum": ["†state.x", "†state.y"]},
        }}}});
        let faults = |a: Value| filled(&schema, json!({"a": a})).1;
        assert_eq!(faults(json!({"only": "†state.y", "one": "†state.z"})), ["a.only", "a.one"]);
        assert!(faults(json!({"only": "†state.x", "one": "†state.y"})).is_empty());
    }

    #[test]
    fn values_behind_references_are_not_compared() {
        let schema = json!({"properties": {
            "a": {"properties": {"only": {"type": "string", "const": "†state.x"}, "const": {"type": "integer"}}},
            "list": {"items": {"enum": ["†state.x"]}},
        }});
        let relaxed = relaxed(&schema).unwrap();
        assert_eq!(relaxed["properties"]["a"]["properties"], json!({"only": true, "const": {"type": "integer"}}));
        assert_eq!(relaxed["properties"]["list"]["items"], json!(true));
        assert_eq!(super::relaxed(&json!({"properties": {"a": {"const": 1}}})), None);
    }
}
