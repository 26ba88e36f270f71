//! Trust in parts of a result (`x-trust`, `x-issued`).

use serde_json::Value;

use super::wrong;
use crate::dotted::below;
use crate::fault::Fault;
use crate::schema::properties;
use crate::wording::closest;

/// Parses `trusted`, `untrusted`, or an object of these by dotted path, such as `items.id` or `items[].id`; the empty
/// path is the whole. Upper paths come first.
pub(super) fn read(declared: Option<&Value>) -> Result<Vec<(String, bool)>, Fault> {
    let word = |declared: &Value| match declared.as_str() {
        Some("trusted") => Some(true),
        Some("untrusted") => Some(false),
        _ => None,
    };
    let mut trust = match declared {
        None => Vec::new(),
        Some(Value::Object(paths)) => {
            let part = |(path, declared): (&String, &Value)| {
                let unfit = || wrong(format!("`x-trust` of `{path}` is `trusted` or `untrusted`"));
                Ok((plain(path)?, word(declared).ok_or_else(unfit)?))
            };
            paths.iter().map(part).collect::<Result<Vec<_>, Fault>>()?
        }
        Some(declared) => {
            let unfit = || wrong("`x-trust` is `trusted`, `untrusted`, or an object of these by path of the result");
            vec![(String::new(), word(declared).ok_or_else(unfit)?)]
        }
    };
    trust.sort_by_key(|(path, _)| depth(path));
    Ok(trust)
}

/// A path without the optional `[]`.
fn plain(path: &str) -> Result<String, Fault> {
    let plain = path.replace("[]", "");
    let plain = plain.strip_prefix('.').unwrap_or(&plain);
    if !plain.is_empty() && plain.split('.').any(|step| step.is_empty() || step.contains(['[', ']', '†'])) {
        return Err(wrong(format!("`x-trust` names `{path}`: a path is written like `items.id` or `items[].id`")));
    }
    Ok(plain.to_owned())
}

fn depth(path: &str) -> usize {
    if path.is_empty() { 0 } else { path.split('.').count() }
}

/// Whether a path is equal to or below another.
pub(crate) fn within(path: &str, upper: &str) -> bool {
    upper.is_empty() || path == upper || path.strip_prefix(upper).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether the value at a path is trusted: the longest declared path decides; without one it is not trusted.
pub(super) fn at(trust: &[(String, bool)], path: &str) -> bool {
    trust.iter().rev().find(|(upper, _)| within(path, upper)).is_some_and(|(_, trusted)| *trusted)
}

/// Parts with other origins, upper ones first: path, whether it is trusted, whether it is issued. Issued parts are
/// always trusted.
pub(super) fn parts(trust: &[(String, bool)], issued: &[String]) -> Vec<(String, bool, bool)> {
    let mut paths: Vec<&String> = trust.iter().map(|(path, _)| path).filter(|path| !path.is_empty()).collect();
    paths.extend(issued);
    paths.sort_by_key(|path| depth(path));
    paths.dedup();
    let part = |path: &String| {
        let is_issued = issued.iter().any(|upper| within(path, upper));
        (path.clone(), is_issued || at(trust, path), is_issued)
    };
    paths.into_iter().map(part).collect()
}

/// Whether all scalars and empty containers of a value are at or below issued paths.
pub(super) fn is_all_issued(value: &Value, path: &str, issued: &[String]) -> bool {
    let is_issued = || issued.iter().any(|upper| within(path, upper));
    match value {
        Value::Array(items) if !items.is_empty() => items.iter().all(|item| is_all_issued(item, path, issued)),
        Value::Object(fields) if !fields.is_empty() => fields.iter().all(|(name, inner)| {
            // A path has no such step: the service, or a stranger, chose the name.
            if name.is_empty() || name.contains('.') {
                return issued.iter().any(String::is_empty);
            }
            is_all_issued(inner, &below(path, name), issued)
        }),
        _ => is_issued(),
    }
}

/// Why a schema does not have a path. An object that permits other names has every path, unless a listed name is nearly
/// the same. With `is_closed` the first step must be a listed name.
pub(super) fn stray(schema: &Value, path: &str, is_closed: bool) -> Option<String> {
    stray_by(schema, path, is_closed, |name, step| name.to_lowercase() == step.to_lowercase())
}

/// The same with another comparison of names.
pub(super) fn stray_by(
    schema: &Value,
    path: &str,
    mut is_closed: bool,
    is_same: impl Fn(&str, &str) -> bool,
) -> Option<String> {
    let plain = path.replace("[]", "");
    let mut schema = schema;
    for step in plain.split('.').filter(|step| !step.is_empty()) {
        while let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            schema = items;
        }
        let fields = properties(schema).filter(|fields| !fields.is_empty())?;
        let composed = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties", "if"];
        if composed.iter().any(|word| schema.get(word).is_some()) {
            return None;
        }
        let more = schema.get("additionalProperties");
        is_closed = more == Some(&Value::Bool(false)) || (is_closed && more.is_none());
        let found = fields.iter().find(|(name, _)| is_same(name, step));
        let Some((_, inner)) = found else {
            let known: Vec<&str> = fields.keys().filter(|name| !name.starts_with('_')).map(String::as_str).collect();
            return match closest(step, &known) {
                Some(near) => Some(format!("there is no `{step}`; did you mean `{near}`?")),
                None if is_closed => Some(format!("there is no `{step}`; there are: {}", known.join(", "))),
                None => None,
            };
        };
        (schema, is_closed) = (inner, false);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_longest_path_decides_and_undeclared_fields_are_untrusted() {
        let trust = read(Some(&json!({"items[].id": "trusted", "": "untrusted", "items": "untrusted"}))).unwrap();
        assert!(at(&trust, "items.id") && at(&trust, "items.id.x"));
        assert!(!at(&trust, "items.identity") && !at(&trust, "items") && !at(&trust, ""));
        assert!(!at(&read(None).unwrap(), "x") && !at(&read(Some(&json!({"a": "trusted"}))).unwrap(), ""));
        let found = parts(&trust, &["items".to_owned()]);
        assert_eq!(found, [("items".to_owned(), true, true), ("items.id".to_owned(), true, true)]);
    }

    #[test]
    fn an_invalid_trust_annotation_is_refused_with_its_path() {
        for (declared, words) in [
            (json!("maybe"), "by path"),
            (json!({"a": true}), "`a`"),
            (json!({"a[0].b": "trusted"}), "items[].id"),
            (json!({"a..b": "trusted"}), "a..b"),
        ] {
            let fault = read(Some(&declared)).unwrap_err().to_string();
            assert!(fault.contains(words), "{fault}");
        }
    }

    #[test]
    fn trust_paths_are_checked_against_the_schema() {
        let schema = json!({"properties": {"ID": {}, "items": {"type": "array", "items": {"properties": {"id": {}}}}}});
        assert_eq!(stray(&schema, "items[].id", true), None);
        assert_eq!(stray(&schema, "id.anything", true), None);
        assert!(stray(&schema, "item.id", false).is_some_and(|words| words.contains("did you mean `items`")));
        assert!(stray(&schema, "phone", true).is_some_and(|words| words.contains("there are: ID, items")));
        assert_eq!(stray(&schema, "phone", false), None);
        assert_eq!(stray(&schema, "items.name", true), None);
        let closed = json!({"additionalProperties": false, "properties": {"a": {}}});
        assert!(stray(&closed, "phone", false).is_some());
        assert_eq!(stray(&json!({"additionalProperties": true, "properties": {"a": {}}}), "phone", true), None);
        assert_eq!(stray(&json!({}), "b", true), None);
    }

    #[test]
    fn a_name_with_a_dot_is_no_issued_path() {
        let issued = ["deal.id".to_owned()];
        assert!(is_all_issued(&json!({"deal": {"id": 7}}), "", &issued));
        for result in [
            json!({"deal": {"id": 7}, "deal.id": "eve@example.test"}),
            json!({"deal": {"id": 7}, "": {"deal": {"id": "eve@example.test"}}}),
            json!({"deal": {"id": 7, "id.x": "eve@example.test"}}),
        ] {
            assert!(!is_all_issued(&result, "", &issued), "{result}");
            assert!(is_all_issued(&result, "", &[String::new()]), "{result}");
        }
    }
}
