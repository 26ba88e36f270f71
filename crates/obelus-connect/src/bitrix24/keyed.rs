//! Creations with the portal's own idempotency keys: methods of REST 3.0 take an `Idempotency-Key` and carry out a
//! repeated request once.
//!
//! The portal keeps a key for a day, so the key is also written into a field that people do not see, by which the
//! creation is found later. If the portal lacks the method, or the webhook the permission, the older method is used.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::annotation::CreationSearch;
use super::embed_key;
use super::errors::PortalFailure;
use super::wire::folded;

/// A creation by a method of REST 3.0.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyedCreation {
    /// The method.
    pub(super) method: String,
    /// Its parameters, in which `{path.of.a.parameter}`, `{key}` and `{user}`, the webhook's user, are replaced. A
    /// missing one is left out.
    fill: Map<String, Value>,
    /// Fields whose digits are sent as numbers, because the method checks types.
    #[serde(default)]
    numbers: BTreeSet<String>,
    /// What the tool returns, with parts of the method's result inserted.
    pub(super) result: Value,
    /// How to find the creation later, by a method of REST 3.0.
    pub(super) find: CreationSearch,
}

impl KeyedCreation {
    /// The parameters for a call. None if the call has a parameter that they cannot express.
    pub(super) fn params(&self, call: &Map<String, Value>, key: &str, user: &str) -> Option<Map<String, Value>> {
        let mut places = BTreeSet::new();
        self.fill.values().for_each(|value| gather_places(value, &mut places));
        let has_place = |path: &str| places.contains(&folded(path));
        let all_have = call.iter().all(|(name, value)| match value {
            Value::Object(fields) => fields.keys().all(|field| has_place(&format!("{name}.{field}"))),
            _ => has_place(name),
        });
        all_have.then(|| self.filled(&self.fill, call, key, user))
    }

    fn filled(
        &self,
        template: &Map<String, Value>,
        call: &Map<String, Value>,
        key: &str,
        user: &str,
    ) -> Map<String, Value> {
        let mut filled = Map::new();
        for (name, value) in template {
            let value = match value {
                Value::Object(inner) => Some(Value::Object(self.filled(inner, call, key, user))),
                Value::String(text) if text == "{user}" => Some(user.into()),
                other => embed_key::filled(other, key, call),
            };
            let value = if self.numbers.contains(name) { value.map(as_number) } else { value };
            filled.extend(value.map(|value| (name.clone(), value)));
        }
        filled
    }

    /// The tool's result for the method's result.
    pub(super) fn returned(&self, result: &Value) -> Value {
        let fields = result.as_object().cloned().unwrap_or_default();
        embed_key::filled(&self.result, "", &fields).unwrap_or_else(|| result.clone())
    }
}

/// Whether the portal refused because it does not offer the method to this webhook.
pub(super) fn is_not_offered(failure: &PortalFailure) -> bool {
    let PortalFailure::Portal(error) = failure else { return false };
    let code = error.code.to_ascii_uppercase();
    code.contains("METHOD_NOT_FOUND") || code.contains("METHODNOTFOUND") || code.contains("INSUFFICIENT")
}

fn gather_places(value: &Value, places: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            if let Some(path) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
                places.insert(folded(path));
            }
        }
        Value::Object(fields) => fields.values().for_each(|inner| gather_places(inner, places)),
        Value::Array(items) => items.iter().for_each(|inner| gather_places(inner, places)),
        _ => {}
    }
}

fn as_number(value: Value) -> Value {
    match value {
        Value::String(text) => text.trim().parse::<i64>().map_or(Value::String(text), Value::from),
        Value::Array(items) => items.into_iter().map(as_number).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn keyed() -> KeyedCreation {
        let said = json!({
            "method": "tasks.task.add", "numbers": ["responsibleId", "creatorId", "auditors"],
            "fill": {"fields": {"title": "{fields.TITLE}", "responsibleId": "{fields.RESPONSIBLE_ID}", "creatorId": "{user}",
                "auditors": "{fields.AUDITORS}", "xmlId": "{key}"}},
            "result": {"task": {"id": "{item.id}"}}, "find": {"method": "tasks.task.list"},
        });
        serde_json::from_value(said).unwrap()
    }

    fn call(fields: Value) -> Map<String, Value> {
        json!({ "fields": fields }).as_object().cloned().unwrap()
    }

    #[test]
    fn a_call_is_converted_to_the_newer_method() {
        let sent = keyed().params(&call(json!({"TITLE": "Окна", "responsibleId": "3", "AUDITORS": ["1"]})), "k", "7");
        let fields = json!({"title": "Окна", "responsibleId": 3, "creatorId": 7, "auditors": [1], "xmlId": "k"});
        assert_eq!(sent.map(Value::Object), Some(json!({ "fields": fields })));
        assert_eq!(keyed().returned(&json!({"item": {"id": 5}})), json!({"task": {"id": 5}}));
    }

    #[test]
    fn a_call_with_an_unsupported_parameter_uses_the_older_method() {
        assert_eq!(keyed().params(&call(json!({"TITLE": "Окна", "TAGS": ["a"]})), "k", "7"), None);
    }
}
