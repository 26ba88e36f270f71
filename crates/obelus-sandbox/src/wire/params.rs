//! Parameters: queries and forms with PHP's nested keys, JSON, multipart.

use serde_json::{Map, Value};

use super::RestError;
use super::answer::php_map;

/// Keys nested deeper than this are dropped, as PHP does.
const MAX_DEPTH: usize = 32;

/// The parameters of a call: an object, or a list of positional parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RestParams(Value);

impl Default for RestParams {
    fn default() -> Self {
        RestParams(Value::Object(Map::new()))
    }
}

impl RestParams {
    /// Reads the parameters of a request. The body overrides the query, key by key; invalid JSON is ignored.
    pub(crate) fn read(query: &str, content_type: &str, body: &[u8]) -> RestParams {
        let from_query = parse_query(query);
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let from_body = match kind.as_str() {
            "application/json" => match serde_json::from_slice(body) {
                Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
                _ => Value::Object(Map::new()),
            },
            "multipart/form-data" => match boundary(content_type) {
                Some(boundary) => tree(multipart(body, &boundary)),
                None => Value::Object(Map::new()),
            },
            _ => parse_query(&String::from_utf8_lossy(body)),
        };
        match (from_query, from_body) {
            (Value::Object(mut all), Value::Object(body)) => {
                all.extend(body);
                RestParams(Value::Object(all))
            }
            (query, Value::Object(body)) if body.is_empty() => RestParams(query),
            (_, body) => RestParams(body),
        }
    }

    /// The parameters of a command in a batch: `filter[>ID]=1&select[]=ID`.
    pub(crate) fn of_query(query: &str) -> RestParams {
        RestParams(parse_query(query))
    }

    pub(crate) fn value(&self) -> &Value {
        &self.0
    }

    pub(crate) fn value_mut(&mut self) -> &mut Value {
        &mut self.0
    }

    /// A parameter by its exact name.
    pub(crate) fn exact(&self, name: &str) -> Option<&Value> {
        self.0.as_object()?.get(name)
    }

    /// A parameter by its name, ignoring case.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        let all = self.0.as_object()?;
        all.get(name).or_else(|| all.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value))
    }

    /// A parameter by its position in a list of parameters, else by its name; older methods of tasks accept both.
    pub(crate) fn named_or_at(&self, name: &str, place: usize) -> Option<&Value> {
        match &self.0 {
            Value::Array(all) => all.get(place),
            _ => self.get(name),
        }
    }

    /// An object such as `filter`; `None` if it is not given.
    pub(crate) fn object(&self, name: &str) -> Result<Option<Map<String, Value>>, RestError> {
        as_object(self.get(name), name)
    }

    /// A list such as `select`; `None` if it is not given.
    pub(crate) fn list(&self, name: &str) -> Result<Option<Vec<Value>>, RestError> {
        match self.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(Value::Object(items)) => Ok(Some(items.values().cloned().collect())),
            Some(_) => Err(must_be_array(name)),
        }
    }

    /// An integer, given as a number or as text.
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(to_int)
    }
}

/// A value as an object. A list becomes an object with the keys 0, 1, 2, …, because PHP does not distinguish them.
pub(crate) fn as_object(value: Option<&Value>, name: &str) -> Result<Option<Map<String, Value>>, RestError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::Object(members)) => Ok(Some(members.clone())),
        Some(Value::Array(items)) => {
            Ok(Some(items.iter().enumerate().map(|(at, item)| (at.to_string(), item.clone())).collect()))
        }
        Some(_) => Err(must_be_array(name)),
    }
}

pub(crate) fn must_be_array(name: &str) -> RestError {
    RestError::crm(format!("Parameter '{name}' must be array."))
}

/// An integer from a number or from text.
pub(crate) fn to_int(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|float| float as i64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn parse_query(query: &str) -> Value {
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(key), decode(value))
    });
    tree(pairs)
}

/// Decodes `%D0%A1` and `+`. Invalid UTF-8 is replaced.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = match byte {
            b'%' => {
                bytes.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok())
            }
            _ => None,
        };
        out.push(match (byte, escaped) {
            (_, Some(byte)) => byte,
            (b'+', _) => b' ',
            _ => byte,
        });
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Builds a tree from pairs with keys such as `filter[>ID]` and `select[]`.
fn tree(pairs: impl IntoIterator<Item = (String, String)>) -> Value {
    let mut root = Map::new();
    for (key, value) in pairs {
        let path = path(&key);
        if !path.is_empty() && path.len() <= MAX_DEPTH {
            insert_at(&mut root, &path, value);
        }
    }
    let lists: Map<String, Value> = root.into_iter().map(|(key, value)| (key, with_lists(value))).collect();
    Value::Object(lists)
}

/// Splits `fields[PHONE][0][VALUE]` into its parts. An empty part means the next free number.
fn path(key: &str) -> Vec<&str> {
    let Some((first, mut rest)) = key.split_once('[') else { return vec![key] };
    // An unclosed bracket is an ordinary character.
    if first.is_empty() || !rest.contains(']') {
        return vec![key];
    }
    let mut parts = vec![first];
    while let Some((part, after)) = rest.split_once(']') {
        parts.push(part);
        match after.strip_prefix('[') {
            Some(next) => rest = next,
            None => return parts,
        }
    }
    parts
}

fn insert_at(map: &mut Map<String, Value>, path: &[&str], value: String) {
    let [part, rest @ ..] = path else { return };
    let key = if part.is_empty() {
        map.keys().filter_map(|key| key.parse::<u64>().ok()).max().map_or(0, |last| last + 1).to_string()
    } else {
        (*part).to_owned()
    };
    if rest.is_empty() {
        map.insert(key, Value::String(value));
        return;
    }
    let inner = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    if let Some(inner) = inner.as_object_mut() {
        insert_at(inner, rest, value);
    }
}

fn with_lists(value: Value) -> Value {
    match value {
        Value::Object(members) => php_map(members.into_iter().map(|(key, value)| (key, with_lists(value))).collect()),
        other => other,
    }
}

fn boundary(content_type: &str) -> Option<String> {
    let value = content_type.split(';').find_map(|part| part.trim().strip_prefix("boundary="))?;
    Some(value.trim_matches('"').to_owned())
}

/// The fields of a multipart body. Files are read as text, because no method here stores files.
fn multipart(body: &[u8], boundary: &str) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(body);
    let line = format!("--{boundary}");
    let mut fields = Vec::new();
    for part in text.split(line.as_str()).skip(1) {
        let Some((head, content)) = part.split_once("\r\n\r\n") else { continue };
        let name = head.split("name=\"").nth(1).and_then(|rest| rest.split('"').next());
        if let Some(name) = name {
            fields.push((name.to_owned(), content.strip_suffix("\r\n").unwrap_or(content).to_owned()));
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_keys_make_a_tree() {
        let params = RestParams::of_query(
            "filter[%25TITLE]=%D0%BE%D0%BA%D0%BD%D0%B0&filter[>ID]=5&select[]=ID&select[]=TITLE&fields[PHONE][0][VALUE]=+7&start=50&a=b=c&empty",
        );
        let expected = json!({
            "filter": {"%TITLE": "окна", ">ID": "5"}, "select": ["ID", "TITLE"],
            "fields": {"PHONE": [{"VALUE": " 7"}]}, "start": "50", "a": "b=c", "empty": ""
        });
        assert_eq!(params.value(), &expected);
    }

    #[test]
    fn odd_keys_do_not_panic() {
        for query in ["[a]=1", "a[=1", "a]=1", "a[b=1", "a[b]c=1", "a=1&a[b]=2", "%=%zz&%d0=x", "=", "a[][]=1&a[][]=2"]
        {
            assert!(RestParams::of_query(query).value().is_object(), "{query}");
        }
        // The first `=` ends the key, even if it was meant as part of an operator.
        assert_eq!(RestParams::of_query("f[>=ID]=2&f[<ID]=9").value(), &json!({"f[>": "ID]=2", "f": {"<ID": "9"}}));
        assert_eq!(RestParams::of_query("a=1&a[b]=2").value(), &json!({"a": {"b": "2"}}));
        assert_eq!(RestParams::of_query(&format!("a{}=1", "[b]".repeat(40))).value(), &json!({}));
    }

    #[test]
    fn a_json_body_overrides_the_query_and_a_broken_one_is_ignored() {
        let read = |body: &str| RestParams::read("id=1&start=50", "application/json; charset=utf-8", body.as_bytes());
        assert_eq!(read("{\"id\": 2}").value(), &json!({"id": 2, "start": "50"}));
        assert_eq!(read("{broken").value(), &json!({"id": "1", "start": "50"}));
        assert_eq!(read("[8, {\"TITLE\": \"x\"}]").value(), &json!([8, {"TITLE": "x"}]));
        assert_eq!(read("7").value(), &json!({"id": "1", "start": "50"}));
    }

    #[test]
    fn a_multipart_body_is_read() {
        let body = "--x1\r\nContent-Disposition: form-data; name=\"fields[TITLE]\"\r\n\r\nОкна\r\nи двери\r\n--x1\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n5\r\n--x1--\r\n";
        let params = RestParams::read("", "multipart/form-data; boundary=x1", body.as_bytes());
        assert_eq!(params.value(), &json!({"fields": {"TITLE": "Окна\r\nи двери"}, "id": "5"}));
    }

    #[test]
    fn parameter_names_are_case_insensitive() {
        let params = RestParams::of_query("FILTER[ID]=1&taskId=7");
        assert_eq!(params.object("filter").ok().flatten().and_then(|f| f.get("ID").cloned()), Some(json!("1")));
        assert_eq!(params.int("TASKID"), Some(7));
        assert!(RestParams::of_query("filter=5").object("filter").is_err());
    }

    proptest::proptest! {
        /// Any bytes are read without a panic.
        #[test]
        fn no_input_makes_the_parser_panic(
            query in ".{0,60}",
            kind in proptest::sample::select(vec!["application/json", "multipart/form-data; boundary=x", "", "application/x-www-form-urlencoded"]),
            body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80),
        ) {
            let params = RestParams::read(&query, kind, &body);
            proptest::prop_assert!(params.value().is_object() || params.value().is_array());
        }
    }
}
