//! Objects with properties of any name, for strict structured-output modes.
//!
//! Strict modes require all properties to be named in the schema. For free names the composed schema has one property
//! `_entries`, a list of `{"name": …, "value": …}`, beside the named properties. Entries of an answer become properties
//! of the object that contains them. Plain objects are accepted unchanged.

use serde_json::{Map, Value};

use crate::wording::type_name;

/// The property with the list of entries.
pub(crate) const ENTRIES: &str = "_entries";
/// The name of an entry's property.
pub(crate) const NAME: &str = "name";
/// The value of an entry's property.
pub(crate) const VALUE: &str = "value";

/// Converts all entries to properties, at every depth. The error is for the model.
pub(crate) fn open(value: &mut Value) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(open),
        Value::Object(fields) => {
            // Comparing the few names is cheaper than hashing.
            let has_entries = fields.keys().any(|name| name == ENTRIES);
            let entries = if has_entries { fields.shift_remove(ENTRIES) } else { None };
            fields.values_mut().try_for_each(open)?;
            match entries {
                None | Some(Value::Null) => Ok(()),
                Some(Value::Array(entries)) => entries.into_iter().try_for_each(|entry| put(fields, entry)),
                Some(other) => Err(format!("`{ENTRIES}` is a list of entries, not {}", type_name(&other))),
            }
        }
        _ => Ok(()),
    }
}

fn put(fields: &mut Map<String, Value>, entry: Value) -> Result<(), String> {
    let (name, mut value) = pair(entry).ok_or_else(|| {
        format!("an entry of `{ENTRIES}` is an object with `{NAME}`, a string, and `{VALUE}`, and nothing else")
    })?;
    // A property may occur twice if the first is null, which means absent.
    if fields.get(&name).is_some_and(|known| !known.is_null()) {
        return Err(format!("`{ENTRIES}`: `{name}` is given twice"));
    }
    open(&mut value)?;
    fields.insert(name, value);
    Ok(())
}

fn pair(entry: Value) -> Option<(String, Value)> {
    let Value::Object(mut entry) = entry else { return None };
    let Some(Value::String(name)) = entry.shift_remove(NAME) else { return None };
    let value = entry.shift_remove(VALUE)?;
    entry.is_empty().then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn opened(mut value: Value) -> Result<Value, String> {
        open(&mut value).map(|()| value)
    }

    #[test]
    fn entries_become_properties_at_every_depth() {
        let deep = json!({"filter": {"_entries": [
            {"name": ">=OPPORTUNITY", "value": 100},
            {"name": "@STAGE_ID", "value": ["NEW", {"_entries": [{"name": "a", "value": null}]}]},
        ]}});
        let plain = json!({"filter": {">=OPPORTUNITY": 100, "@STAGE_ID": ["NEW", {"a": null}]}});
        assert_eq!(opened(deep).unwrap(), plain);
        assert_eq!(opened(plain.clone()).unwrap(), plain);
    }

    #[test]
    fn entries_are_merged_with_named_properties() {
        let value =
            json!({"TITLE": "x", "SUM": null, "_entries": [{"name": "UF_1", "value": 1}, {"name": "SUM", "value": 2}]});
        assert_eq!(opened(value).unwrap(), json!({"TITLE": "x", "SUM": 2, "UF_1": 1}));
        assert_eq!(opened(json!({"a": 1, "_entries": null})).unwrap(), json!({"a": 1}));
        assert_eq!(opened(json!({"_entries": []})).unwrap(), json!({}));
    }

    #[test]
    fn a_property_named_entries_can_be_expressed() {
        let inner = json!([{"name": "a", "value": 1}]);
        let value = json!({"_entries": [{"name": "_entries", "value": inner}]});
        assert_eq!(opened(value).unwrap(), json!({"_entries": inner}));
    }

    #[test]
    fn an_invalid_list_of_entries_is_named() {
        for (value, part) in [
            (json!({"_entries": {"a": 1}}), "a list of entries, not an object"),
            (json!({"_entries": [1]}), "an entry of `_entries`"),
            (json!({"_entries": [{"name": 1, "value": 2}]}), "an entry of `_entries`"),
            (json!({"_entries": [{"name": "a"}]}), "an entry of `_entries`"),
            (json!({"_entries": [{"name": "a", "value": 1, "more": 2}]}), "an entry of `_entries`"),
            (json!({"a": 1, "_entries": [{"name": "a", "value": 2}]}), "`a` is given twice"),
            (json!([{"b": {"_entries": [{"name": "a", "value": 1}, {"name": "a", "value": 1}]}}]), "given twice"),
        ] {
            let error = opened(value.clone()).unwrap_err();
            assert!(error.contains(part), "{value}: {error}");
        }
    }
}
