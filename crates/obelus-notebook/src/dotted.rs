//! Values at dotted paths, as in annotations of tools and rules of policies.

use serde_json::Value;

use crate::names::alike;

/// All values at a dotted path, each with its actual path. Elements of arrays are included; case and underscores are
/// ignored.
pub fn values_at<'v>(value: &'v Value, path: &str) -> Vec<(String, &'v Value)> {
    let mut found = Vec::new();
    collect_at(value, path, "", &mut found);
    found
}

/// The path of a part: the path of the whole and the part's name.
pub fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn collect_at<'v>(value: &'v Value, path: &str, above: &str, found: &mut Vec<(String, &'v Value)>) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_at(item, path, above, found)),
        Value::Object(fields) => {
            for (name, inner) in fields.iter().filter(|(name, _)| alike(name, first)) {
                let place = below(above, name);
                match rest {
                    Some(rest) => collect_at(inner, rest, &place, found),
                    None => found.push((place, inner)),
                }
            }
        }
        // The value of a reference is not known yet, so it may contain the parameter.
        Value::String(text) if text.starts_with('†') => found.push((above.to_owned(), value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_found_in_any_spelling_and_through_arrays() {
        let params = json!({"rows": [{"stageId": 1}, {"STAGE_ID": 2}, 5], "to": "†state.to"});
        let found = |path| values_at(&params, path);
        let (one, two) = (json!(1), json!(2));
        assert_eq!(found("rows.stage_id"), [("rows.stageId".to_owned(), &one), ("rows.STAGE_ID".to_owned(), &two)]);
        assert_eq!(found("to.email"), [("to".to_owned(), &json!("†state.to"))]);
        assert!(found("cc").is_empty());
    }
}
