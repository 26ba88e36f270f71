//! A person's changes to the parameters of a call (ASK-3): objects are merged, other values are replaced, and `null`
//! removes a field, unless the tool's schema permits null there. `{}` empties an object, and `{"_exactly": value}` sets
//! a value as it is.

use crate::dotted::below;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::names::alike;
use crate::schema::{admits_null, properties, property, resolved};
use crate::tool::Tool;
use crate::visible::visible;
use crate::wording::closest;

/// The only field of a change that sets a value as it is: objects in it are not merged, and its nulls remove nothing.
const EXACTLY: &str = "_exactly";

/// The number of names that are listed.
const MOST_NAMES: usize = 12;

/// A name that neither the call nor the tool's schema has at that place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownName {
    /// The place, as a dotted path.
    #[serde(rename = "name")]
    pub place: String,
    /// The most similar name.
    pub near: Option<String>,
    /// The possible names, each with its label.
    #[serde(default)]
    pub known: Vec<String>,
}

impl UnknownName {
    /// The error, and what would be right.
    pub fn text(&self) -> String {
        let near = self.near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("`{}` is not a parameter{near} (there are: {})", visible(&self.place), self.known.join(", "))
    }
}

/// A parameter of `params` after a change; none if the change removes it. The language is that of the labels.
pub fn changed_param(
    tool: &Tool,
    params: &Value,
    (name, change): (&str, &Value),
    language: Option<&str>,
) -> Result<Option<Value>, UnknownName> {
    let edit = ParamEdit { tool, language };
    let is_open = properties(tool.params()).is_none_or(Map::is_empty);
    let is_known = is_open || property(tool.params(), name).is_some() || params.get(name).is_some();
    if !Call::is_param(name, tool) || !is_known {
        return Err(edit.unknown("", name, params, tool.params()));
    }
    edit.merged(name, params.get(name), change, property(tool.params(), name))
}

/// Sets a field of an object, or removes it.
pub fn put(object: &mut Value, name: &str, value: Option<Value>) {
    match (value, object) {
        (Some(value), object) => object[name] = value,
        (None, Value::Object(fields)) => drop(fields.shift_remove(name)),
        (None, _) => {}
    }
}

/// The change that makes one value of another, whatever the tool's schema says of null.
pub fn difference(before: Option<&Value>, after: &Value) -> Value {
    let exactly = || json!({EXACTLY: after});
    match (before, after) {
        (Some(Value::Object(old)), Value::Object(new)) if old.keys().all(|name| new.contains_key(name)) => {
            let changed = new.iter().filter(|(name, value)| old.get(*name) != Some(*value));
            changed.map(|(name, value)| (name.clone(), difference(old.get(name), value))).collect()
        }
        (_, Value::Object(_) | Value::Null) => exactly(),
        (_, after) => after.clone(),
    }
}

/// The value of a change that sets it as it is.
fn exact(fields: &Map<String, Value>) -> Option<&Value> {
    fields.get(EXACTLY).filter(|_| fields.len() == 1)
}

/// An item of a list, in which `_exactly` only sets what is set anyway.
fn literal(item: &Value) -> Value {
    match item {
        Value::Object(fields) if let Some(exact) = exact(fields) => exact.clone(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), literal(value))).collect(),
        Value::Array(items) => items.iter().map(literal).collect(),
        other => other.clone(),
    }
}

/// The first name of a change that would change a field of another spelling, although a service may tell the two apart:
/// neither the schema nor a label names the field, or the change has both names.
pub fn other_spelling(
    tool: &Tool,
    params: &Value,
    changes: &Map<String, Value>,
    language: Option<&str>,
) -> Option<UnknownName> {
    let edit = ParamEdit { tool, language };
    let of_param = |(name, change): (&String, &Value)| {
        edit.other_spelling(name, params.get(name)?, change, property(tool.params(), name))
    };
    changes.iter().find_map(of_param)
}

struct ParamEdit<'a> {
    tool: &'a Tool,
    language: Option<&'a str>,
}

impl ParamEdit<'_> {
    /// A value after a change. `place` is its dotted path.
    fn merged(
        &self,
        place: &str,
        present: Option<&Value>,
        change: &Value,
        schema: Option<&Value>,
    ) -> Result<Option<Value>, UnknownName> {
        let fields = match change {
            Value::Object(fields) if let Some(exact) = exact(fields) => {
                // Its names are checked all the same.
                self.merged(place, present, exact, schema)?;
                return Ok(Some(exact.clone()));
            }
            Value::Null => return Ok(schema.is_some_and(admits_null).then_some(Value::Null)),
            Value::Object(fields) if !fields.is_empty() => fields,
            Value::Array(items) => {
                self.check_items(place, present, items, schema)?;
                return Ok(Some(literal(change)));
            }
            other => return Ok(Some(other.clone())),
        };
        let nothing = Value::Object(Map::new());
        let present = present.filter(|present| present.is_object()).unwrap_or(&nothing);
        let mut merged = present.clone();
        for (name, change) in fields {
            let name = spelled(name, present, schema);
            let declared = schema.and_then(|schema| self.property(schema, name));
            if present.get(name).is_none() && declared.is_none() && self.is_unknown(place, name, schema) {
                return Err(self.unknown(place, name, present, schema.unwrap_or(&Value::Null)));
            }
            let value = self.merged(&format!("{place}.{name}"), present.get(name), change, declared)?;
            put(&mut merged, name, value);
        }
        Ok(Some(merged))
    }

    /// Checks the names in the items of a list, which replaces the present one.
    fn check_items(
        &self,
        place: &str,
        present: Option<&Value>,
        items: &[Value],
        schema: Option<&Value>,
    ) -> Result<(), UnknownName> {
        let of_item = schema.and_then(|schema| schema.get("items"));
        let of_item = of_item.map(|found| resolved(found, self.tool.params()).unwrap_or(found));
        for (index, item) in items.iter().enumerate() {
            let former = present.and_then(|former| former.get(index).or(former.get(0)));
            self.merged(&format!("{place}[{index}]"), former, item, of_item)?;
        }
        Ok(())
    }

    /// [`other_spelling`] within a value.
    fn other_spelling(
        &self,
        place: &str,
        present: &Value,
        change: &Value,
        schema: Option<&Value>,
    ) -> Option<UnknownName> {
        let fields = change.as_object().filter(|fields| present.is_object() && exact(fields).is_none())?;
        fields.iter().find_map(|(name, change)| {
            let found = spelled(name, present, schema);
            if found != name && (fields.contains_key(found) || !self.labelled(place).contains(&found)) {
                let unknown = self.unknown(place, name, present, schema.unwrap_or(&Value::Null));
                return Some(UnknownName { near: Some(found.to_owned()), ..unknown });
            }
            let declared = schema.and_then(|schema| self.property(schema, found));
            self.other_spelling(&format!("{place}.{found}"), present.get(found)?, change, declared)
        })
    }

    fn property<'s>(&'s self, schema: &'s Value, name: &str) -> Option<&'s Value> {
        let found = property(schema, name)?;
        Some(resolved(found, self.tool.params()).unwrap_or(found))
    }

    /// Whether a name that is neither in the call nor in the schema is an error: the schema lists the names, or the name
    /// is a misspelt label's.
    fn is_unknown(&self, place: &str, name: &str, schema: Option<&Value>) -> bool {
        let Some(schema) = schema else { return false };
        if schema.get("patternProperties").is_some() {
            return false;
        }
        let listed = properties(schema).is_some_and(|listed| !listed.is_empty());
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => true,
            None if listed => true,
            _ => {
                let labelled = self.labelled(place);
                !labelled.iter().any(|known| alike(known, name)) && closest(name, &labelled).is_some()
            }
        }
    }

    /// The names below a place that have a label.
    fn labelled(&self, place: &str) -> Vec<&str> {
        let labels = self.tool.schema.get("x-labels").and_then(Value::as_object);
        let names = labels.into_iter().flatten().filter_map(|(known, _)| known.strip_prefix(place)?.strip_prefix('.'));
        names.filter(|name| !name.contains('.')).collect()
    }

    fn unknown(&self, place: &str, name: &str, present: &Value, schema: &Value) -> UnknownName {
        let declared = properties(schema);
        let mut names: Vec<&str> =
            [present.as_object(), declared].into_iter().flatten().flat_map(Map::keys).map(String::as_str).collect();
        if !place.is_empty() {
            names.extend(self.labelled(place));
        }
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(*name) && !name.starts_with('_'));
        let known = names.iter().flat_map(|name| self.named(place, name, present)).take(MOST_NAMES).collect();
        UnknownName { place: below(place, name), near: closest(name, &names).map(str::to_owned), known }
    }

    /// A name with its label. An object of the call is named by its fields, with their whole places.
    fn named(&self, place: &str, name: &str, present: &Value) -> Vec<String> {
        let at = below(place, name);
        match present.get(name).and_then(Value::as_object).filter(|fields| !fields.is_empty()) {
            Some(fields) if place.is_empty() => fields
                .keys()
                .map(|field| self.labelled_name(&format!("{at}.{field}"), &format!("{at}.{field}")))
                .collect(),
            _ => vec![self.labelled_name(name, &at)],
        }
    }

    fn labelled_name(&self, name: &str, place: &str) -> String {
        match self.tool.label(place, self.language) {
            Some(label) => format!("`{name}` ({label})"),
            None => format!("`{name}`"),
        }
    }
}

/// The name as the call has it, if it has it in another spelling (B24-9).
fn spelled<'n>(name: &'n str, present: &'n Value, schema: Option<&Value>) -> &'n str {
    let is_declared = schema.is_some_and(|schema| property(schema, name).is_some());
    let mut names = present.as_object().into_iter().flat_map(Map::keys);
    let other = if is_declared || present.get(name).is_some() { None } else { names.find(|known| alike(known, name)) };
    other.map_or(name, String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deal() -> Tool {
        let schema = json!({
            "x-labels": {"id": "deal", "fields.SUM": "amount", "fields.TITLE": "title"},
            "properties": {
                "id": {"type": "integer"},
                "fields": {"type": "object"},
                "who": {"type": "object", "properties": {"name": {}, "age": {"type": ["integer", "null"]}}},
                "rows": {"type": "array", "items": {"type": "object", "properties": {"sku": {}, "count": {}}}},
                "free": {"type": "object", "properties": {"a": {}}, "additionalProperties": {}},
            },
        });
        Tool::parse("t", &schema).unwrap()
    }

    fn changed(name: &str, change: Value) -> Result<Option<Value>, UnknownName> {
        let params = json!({"id": 7, "fields": {"SUM": 1, "TITLE": "x", "UF_1": [1, 2]}, "who": {"name": "Ann"}, "rows": [{"note": 1}]});
        changed_param(&deal(), &params, (name, &change), None)
    }

    #[test]
    fn a_change_keeps_the_other_fields_and_null_removes_one() {
        for (name, change, wanted) in [
            ("fields", json!({"SUM": 5}), Some(json!({"SUM": 5, "TITLE": "x", "UF_1": [1, 2]}))),
            ("fields", json!({"sum": 5}), Some(json!({"SUM": 5, "TITLE": "x", "UF_1": [1, 2]}))),
            ("fields", json!({"TITLE": null, "UF_1": [3]}), Some(json!({"SUM": 1, "UF_1": [3]}))),
            (
                "fields",
                json!({"UF_2": {"a": 1}}),
                Some(json!({"SUM": 1, "TITLE": "x", "UF_1": [1, 2], "UF_2": {"a": 1}})),
            ),
            ("who", json!({"age": null}), Some(json!({"name": "Ann", "age": null}))),
            ("free", json!({"b": 1}), Some(json!({"b": 1}))),
            ("fields", json!({}), Some(json!({}))),
            ("id", json!(8), Some(json!(8))),
            ("who", json!(null), None),
            ("rows", json!([{"sku": "A", "note": null}, 5]), Some(json!([{"sku": "A", "note": null}, 5]))),
            ("rows", json!([{"sku": {"_exactly": null}}, {"_exactly": 5}]), Some(json!([{"sku": null}, 5]))),
        ] {
            assert_eq!(changed(name, change.clone()), Ok(wanted), "{name}: {change}");
        }
    }

    #[test]
    fn a_misspelt_name_is_refused_with_the_names_that_exist() {
        let refused = |name, change| changed(name, change).unwrap_err();
        let unknown = refused("fields", json!({"SUMM": 5}));
        assert_eq!((unknown.place.as_str(), unknown.near.as_deref()), ("fields.SUMM", Some("SUM")));
        assert_eq!(unknown.known, ["`SUM` (amount)", "`TITLE` (title)", "`UF_1`"]);
        let unknown = refused("who", json!({"size": 5}));
        assert_eq!((unknown.near, unknown.known), (None, vec!["`name`".to_owned(), "`age`".to_owned()]));
        let unknown = refused("rows", json!([{"sku": "A"}, {"cuont": 1}]));
        assert_eq!((unknown.place.as_str(), unknown.near.as_deref()), ("rows[1].cuont", Some("count")));
        let unknown = refused("sum", json!(5));
        assert_eq!(unknown.known[..3], ["`id` (deal)", "`fields.SUM` (amount)", "`fields.TITLE` (title)"]);
        assert_eq!(refused("_tool", json!("x")).place, "_tool");
    }

    #[test]
    fn a_change_of_a_field_in_another_spelling_is_found_unless_a_label_names_it() {
        let params = json!({"fields": {"SUM": 1, "UF_1": {"B": 2}}});
        let found = |change: Value| {
            let unknown = other_spelling(&deal(), &params, change.as_object().unwrap(), None)?;
            Some((unknown.place, unknown.near.unwrap()))
        };
        let one = |place: &str, near: &str| Some((place.to_owned(), near.to_owned()));
        for (change, wanted) in [
            (json!({"fields": {"sum": 5, "UF_1": {"B": 3}, "NEW": 1}}), None),
            (json!({"fields": {"uf_1": 5}}), one("fields.uf_1", "UF_1")),
            (json!({"fields": {"sum": 5, "SUM": 6}}), one("fields.sum", "SUM")),
            (json!({"fields": {"UF_1": {"b": 5}}}), one("fields.UF_1.b", "B")),
            (json!({"fields": {"_exactly": {"SUM": 1, "sum": 2}}}), None),
        ] {
            assert_eq!(found(change.clone()), wanted, "{change}");
        }
    }

    #[test]
    fn the_difference_of_two_values_makes_exactly_one_of_the_other() {
        let before = json!({"id": 7, "fields": {"SUM": 1, "TITLE": "x"}, "who": {"name": "Ann", "age": 5}});
        for (name, after) in [
            ("fields", json!({"SUM": 2, "TITLE": "x"})),
            ("fields", json!({"SUM": 1})),
            ("fields", json!({"SUM": null, "TITLE": "x"})),
            ("fields", json!({"SUM": 1, "TITLE": "x", "NEW": {"a": null}})),
            ("fields", json!({})),
            ("who", json!({"name": "Ann"})),
            ("who", json!({"name": "Ann", "age": null})),
            ("free", json!({"b": {"c": null}})),
            ("id", json!(8)),
            ("id", json!(null)),
        ] {
            let change = difference(before.get(name), &after);
            let made = changed_param(&deal(), &before, (name, &change), None);
            assert_eq!(made, Ok(Some(after)), "{name}: {change}");
        }
        assert_eq!(difference(before.get("fields"), &json!({"SUM": 2, "TITLE": "x"})), json!({"SUM": 2}));
        let misspelt = difference(before.get("fields"), &json!({"SUMM": 2}));
        assert_eq!(changed("fields", misspelt).unwrap_err().place, "fields.SUMM");
    }
}
