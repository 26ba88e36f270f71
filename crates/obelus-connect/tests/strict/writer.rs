//! Writes answers as a model does under an enforced schema: required fields are present, omitted ones are null, and
//! free names are entries. It uses only the plain answer and the schema.

use serde_json::{Map, Value, json};

/// The plain answer in the form of a composed schema; `None` if the schema cannot express it.
pub(crate) fn written(answer: &Value, schema: &Value) -> Option<Value> {
    write(Some(answer), schema, schema)
}

fn write(value: Option<&Value>, schema: &Value, root: &Value) -> Option<Value> {
    let schema = followed(schema, root)?;
    if let Some(members) = schema["anyOf"].as_array() {
        return members.iter().find_map(|member| write(value, member, root));
    }
    let Some(value) = value else { return fits(schema, &Value::Null).then_some(Value::Null) };
    let is =
        |name: &str| schema["type"] == name || schema["type"].as_array().is_some_and(|all| all.contains(&name.into()));
    match value {
        Value::Object(fields) if is("object") => object(fields, schema, root),
        Value::Array(items) if is("array") => {
            items.iter().map(|item| write(Some(item), &schema["items"], root)).collect()
        }
        Value::Object(_) | Value::Array(_) => None,
        plain => fits(schema, plain).then(|| plain.clone()),
    }
}

/// Whether a plain value fits a schema, without its rules for objects and lists.
fn fits(schema: &Value, plain: &Value) -> bool {
    let is_of_plain = |name: &str| !["properties", "required", "items"].contains(&name);
    let fields = schema.as_object().into_iter().flatten().filter(|(name, _)| is_of_plain(name));
    jsonschema::is_valid(&fields.map(|(name, said)| (name.clone(), said.clone())).collect(), plain)
}

fn object(fields: &Map<String, Value>, schema: &Value, root: &Value) -> Option<Value> {
    let named = schema["properties"].as_object()?;
    let is_free = |name: &str| name == "_entries" || !named.contains_key(name);
    let free: Vec<_> = fields.iter().filter(|(name, _)| is_free(name)).collect();
    let mut whole = Map::new();
    for (name, inner) in named.iter().filter(|(name, _)| *name != "_entries") {
        whole.insert(name.clone(), write(fields.get(name), inner, root)?);
    }
    match named.get("_entries") {
        Some(entries) => {
            let values = &followed(entries, root)?["items"]["properties"]["value"];
            let entry = |(name, value): (&String, &Value)| {
                Some(json!({"name": name, "value": write(Some(value), values, root)?}))
            };
            whole.insert("_entries".to_owned(), free.into_iter().map(entry).collect::<Option<Vec<_>>>()?.into());
        }
        None if free.is_empty() => {}
        None => return None,
    }
    Some(Value::Object(whole))
}

fn followed<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    match schema["$ref"].as_str() {
        Some(target) => root.pointer(target.strip_prefix('#')?),
        None => Some(schema),
    }
}
