//! Extracts a person's changes. What the session has changed since the file was written stays.

use serde_json::{Map, Value};

/// The parts of a state that differ from its base. Confirmations are compared one by one.
pub(super) fn of(found: Value, base: &Value, confirmations: Option<&str>) -> Value {
    let (Value::Object(found), Value::Object(base)) = (&found, base) else { return found };
    let mut changed = differing(found, base);
    if let Some(name) = confirmations
        && let (Some(Value::Object(found)), Some(Value::Object(base))) = (changed.get(name), base.get(name))
    {
        let entries = differing(found, base);
        changed.insert(name.to_owned(), entries.into());
    }
    changed.into()
}

fn differing(found: &Map<String, Value>, base: &Map<String, Value>) -> Map<String, Value> {
    let differs = |(name, value): &(&String, &Value)| base.get(*name) != Some(*value);
    found.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_changed_values_are_reported() {
        let base = json!({"goals": ["a"], "done": [1], "confirmations": {"x": {"status": "requested"}, "y": 1}});
        let mut found = base.clone();
        assert_eq!(of(found.clone(), &base, Some("confirmations")), json!({}));
        found["confirmations"]["x"]["status"] = "denied".into();
        found["goals"] = json!([]);
        let expected = json!({"goals": [], "confirmations": {"x": {"status": "denied"}}});
        assert_eq!(of(found, &base, Some("confirmations")), expected);
    }

    #[test]
    fn without_a_base_every_value_counts_as_changed() {
        assert_eq!(of(json!({"a": 1}), &Value::Null, None), json!({"a": 1}));
        assert_eq!(of(json!([1]), &json!({"a": 1}), None), json!([1]));
    }
}
