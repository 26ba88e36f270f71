//! Forms with keys in PHP's notation: `data[FIELDS][ID]=12`.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The largest number of pairs in an event.
const MOST_PAIRS: usize = 500;

/// The deepest nesting of keys in an event.
const DEEPEST: usize = 8;

/// The form as a tree of texts. None if it exceeds the limits.
pub(super) fn tree(form: &str) -> Option<Map<String, Value>> {
    let mut root = Map::new();
    for (count, pair) in form.split('&').filter(|pair| !pair.is_empty()).enumerate() {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = decode(key);
        let path = path(&key);
        if count >= MOST_PAIRS || path.len() > DEEPEST {
            return None;
        }
        put(&mut root, &path, decode(value));
    }
    Some(root)
}

/// Splits `data[FIELDS][ID]` into its parts. A misplaced bracket is an ordinary character.
fn path(key: &str) -> Vec<&str> {
    let Some((first, rest)) = key.split_once('[').filter(|(first, rest)| !first.is_empty() && rest.ends_with(']'))
    else {
        return vec![key];
    };
    std::iter::once(first).chain(rest[..rest.len() - 1].split("][")).collect()
}

fn put(map: &mut Map<String, Value>, path: &[&str], value: String) {
    let [part, rest @ ..] = path else { return };
    // An empty part appends to a list.
    let key = if part.is_empty() { map.len().to_string() } else { (*part).to_owned() };
    if rest.is_empty() {
        map.insert(key, value.into());
        return;
    }
    let inner = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    if let Some(inner) = inner.as_object_mut() {
        put(inner, rest, value);
    }
}

/// Decodes `%5B` and `+`. Invalid UTF-8 is replaced.
fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_keys_make_a_tree() {
        let form = "a=1+2&data%5BFIELDS%5D%5BID%5D=12&data[LIST][]=x&data[LIST][]=y&b&c=%D0%94%D0%B0%zz%4";
        let expected = json!({
            "a": "1 2", "data": {"FIELDS": {"ID": "12"}, "LIST": {"0": "x", "1": "y"}}, "b": "", "c": "Да%zz%4"});
        assert_eq!(Value::Object(tree(form).unwrap()), expected);
    }

    #[test]
    fn odd_keys_are_plain_names_and_oversized_forms_are_refused() {
        let odd = json!({"[a]": "1", "b[c": "2", "d]": "3"});
        assert_eq!(Value::Object(tree("[a]=1&b[c=2&d]=3").unwrap()), odd);
        assert_eq!(tree(&format!("a{}=1", "[b]".repeat(9))), None);
        assert_eq!(tree(&"a=1&".repeat(501)), None);
    }
}
