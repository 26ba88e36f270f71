//! The wire format: parameters as PHP reads them, and the portal's answers.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value};

use super::errors::{PortalError, PortalFailure};
use crate::web::encoded;

/// How parameters are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HttpVerb {
    /// In the URL.
    Get,
    /// As a JSON body, which keeps types.
    #[default]
    Post,
}

/// One call of a method.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PortalRequest {
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
    pub(super) verb: HttpVerb,
    /// Whether it is a method of REST 3.0.
    pub(super) is_new: bool,
    /// The idempotency key for methods of REST 3.0.
    pub(super) key: Option<String>,
}

impl PortalRequest {
    pub(super) fn post(method: &str, params: Map<String, Value>) -> Self {
        Self { method: method.to_owned(), params, verb: HttpVerb::Post, is_new: false, key: None }
    }

    /// A method of REST 3.0.
    pub(super) fn new_post(method: &str, params: Map<String, Value>) -> Self {
        Self { is_new: true, ..Self::post(method, params) }
    }

    /// The call as a command of a batch. None if that would lose something: a query has only texts, and a text that
    /// looks like a reference to another result would be taken for one.
    pub(super) fn command(&self) -> Option<String> {
        if mentions_results(&self.params) || self.verb == HttpVerb::Get || self.is_new {
            return None;
        }
        let mut query = String::new();
        for (name, value) in &self.params {
            // An empty list or object has no parameters.
            if !matches!(value, Value::Array(items) if items.is_empty())
                && !matches!(value, Value::Object(fields) if fields.is_empty())
            {
                write_exactly(&encoded(name), value, &mut query)?;
            }
        }
        Some(if query.is_empty() { self.method.clone() } else { format!("{}?{query}", self.method) })
    }

    /// The parameters as a query in PHP's notation.
    pub(super) fn query(&self) -> String {
        let mut query = String::new();
        self.params.iter().for_each(|(name, value)| write_as_php(&encoded(name), value, &mut query));
        query
    }
}

/// Whether a text in the parameters refers to a result of a batch.
pub(super) fn mentions_results(params: &Map<String, Value>) -> bool {
    fn mentions(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains("$result"),
            Value::Array(items) => items.iter().any(mentions),
            Value::Object(fields) => fields.iter().any(|(name, value)| name.contains("$result") || mentions(value)),
            _ => false,
        }
    }
    params.iter().any(|(name, value)| name.contains("$result") || mentions(value))
}

/// A parameter name that the portal would read as another one. In a URL, PHP treats brackets in names as nesting, and
/// replaces blanks and dots; the changed field would not be the one that the policy judged.
pub(super) fn misread_name(params: &Map<String, Value>) -> Option<&str> {
    fn is_odd(name: &str) -> bool {
        name.contains(|c: char| matches!(c, '[' | ']') || c.is_control())
    }
    fn inside(value: &Value) -> Option<&str> {
        match value {
            Value::Array(items) => items.iter().find_map(inside),
            Value::Object(fields) => {
                fields.iter().find_map(|(name, value)| if is_odd(name) { Some(name.as_str()) } else { inside(value) })
            }
            _ => None,
        }
    }
    let is_misread = |name: &str| is_odd(name) || name.contains([' ', '.']);
    params.iter().find_map(|(name, value)| if is_misread(name) { Some(name.as_str()) } else { inside(value) })
}

/// Two names in one object that are the same to the portal. It is unknown which value it would take, so a person
/// cannot be asked about it.
pub(super) fn doubled_name(params: &Map<String, Value>) -> Option<(&str, &str)> {
    fn inside(value: &Value) -> Option<(&str, &str)> {
        match value {
            Value::Array(items) => items.iter().find_map(inside),
            Value::Object(fields) => doubled_name(fields),
            _ => None,
        }
    }
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let same = params.keys().find_map(|name| Some((seen.insert(folded(name), name)?, name.as_str())));
    same.or_else(|| params.values().find_map(inside))
}

/// A name as the portal compares it: case and underscores do not count.
pub(super) fn folded(name: &str) -> String {
    name.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect()
}

fn write_exactly(name: &str, value: &Value, query: &mut String) -> Option<()> {
    match value {
        Value::String(text) => add(name, text, query),
        Value::Number(number) => add(name, &number.to_string(), query),
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                write_exactly(&format!("{name}%5B{index}%5D"), item, query)?;
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            for (field, value) in fields {
                write_exactly(&format!("{name}%5B{}%5D", encoded(field)), value, query)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    }
    Some(())
}

fn write_as_php(name: &str, value: &Value, query: &mut String) {
    match value {
        Value::Null => add(name, "", query),
        Value::Bool(flag) => add(name, if *flag { "1" } else { "0" }, query),
        Value::String(text) => add(name, text, query),
        Value::Number(number) => add(name, &number.to_string(), query),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                write_as_php(&format!("{name}%5B{index}%5D"), item, query);
            }
        }
        Value::Object(fields) => {
            for (field, value) in fields {
                write_as_php(&format!("{name}%5B{}%5D", encoded(field)), value, query);
            }
        }
    }
}

fn add(name: &str, value: &str, query: &mut String) {
    if !query.is_empty() {
        query.push('&');
    }
    let _ = write!(query, "{name}={}", encoded(value));
}

/// The portal's answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PortalAnswer {
    pub(super) result: Value,
    /// The number of rows, if they were counted.
    pub(super) total: Option<u64>,
    /// Where the next page begins, if there is one.
    pub(super) next: Option<u64>,
    /// When the used time of the method expires, in seconds since 1970.
    pub(super) reset_at: Option<u64>,
}

/// Reads an answer.
pub(super) fn read(status: u16, body: &[u8]) -> Result<PortalAnswer, PortalFailure> {
    let unreadable = || match status {
        200..=299 => PortalFailure::Lost("the portal's answer is no JSON".to_owned()),
        500..=599 => PortalFailure::Lost(format!("the portal answered {status}")),
        300..=399 => {
            PortalFailure::Portal(PortalError::new("moved", "the portal sends to another address; update the webhook"))
        }
        _ => PortalFailure::Portal(PortalError::new(format!("http_{status}"), format!("the portal answered {status}"))),
    };
    let Ok(Value::Object(mut fields)) = serde_json::from_slice::<Value>(body) else { return Err(unreadable()) };
    if let Some(error) = fields.get("error") {
        return Err(failure(status, error, &fields));
    }
    let Some(result) = fields.shift_remove("result") else { return Err(unreadable()) };
    let (total, next) = (whole(fields.get("total")), whole(fields.get("next")));
    Ok(PortalAnswer { result, total, next, reset_at: reset_at(fields.get("time")) })
}

fn reset_at(time: Option<&Value>) -> Option<u64> {
    whole(time?.get("operating_reset_at"))
}

/// A whole number, also as text.
pub(super) fn whole(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A field of a row in any spelling: `ID` of a deal, `id` of a task.
pub(super) fn field<'a>(row: &'a Value, name: &str) -> Option<&'a Value> {
    let fields = row.as_object()?;
    fields
        .get(name)
        .or_else(|| fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value))
}

/// The failure that an error means.
pub(super) fn failure(status: u16, error: &Value, fields: &Map<String, Value>) -> PortalFailure {
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    };
    // In REST 3.0 it is an object.
    let (code, description) = match error {
        Value::Object(inner) => {
            let parts = inner.get("validation").and_then(Value::as_array).into_iter().flatten();
            let parts = parts.filter_map(|part| part["message"].as_str().map(str::to_owned));
            let words: Vec<String> = std::iter::once(text(inner.get("message"))).chain(parts).collect();
            (text(inner.get("code")), words.join("; "))
        }
        error => (text(Some(error)), text(fields.get("error_description"))),
    };
    match code.as_str() {
        "QUERY_LIMIT_EXCEEDED" => PortalFailure::Busy,
        "OPERATION_TIME_LIMIT" => {
            let reset_at = reset_at(fields.get("time")).or_else(|| whole(fields.get("operating_reset_at")));
            PortalFailure::OutOfTime { reset_at }
        }
        "OVERLOAD_LIMIT" => PortalFailure::Portal(PortalError { code, description, argument: None }),
        // The portal may have carried it out before it broke.
        _ if status >= 500 || ["INTERNAL_SERVER_ERROR", "ERROR_UNEXPECTED_ANSWER"].contains(&code.as_str()) => {
            PortalFailure::Lost(format!("the portal broke: {}", [code, description].join(" ").trim()))
        }
        _ => {
            let argument = fields.get("argument").map(|argument| text(Some(argument))).filter(|name| !name.is_empty());
            PortalFailure::Portal(PortalError { code, description, argument })
        }
    }
}

/// The parts of a batch by name, each an answer or a failure; parts that the portal left out are absent.
pub(super) fn read_batch(answer: &PortalAnswer, names: &[String]) -> Vec<Option<Result<PortalAnswer, PortalFailure>>> {
    // PHP writes an empty map as a list.
    let part = |map: &str, name: &str| answer.result.get(map)?.get(name);
    let each = |name: &String| {
        if let Some(fields) = part("result_error", name).and_then(Value::as_object) {
            let status = if fields.contains_key("error") { 400 } else { 500 };
            return Some(Err(failure(status, fields.get("error").unwrap_or(&Value::Null), fields)));
        }
        let result = part("result", name)?.clone();
        let (total, next) = (whole(part("result_total", name)), whole(part("result_next", name)));
        Some(Ok(PortalAnswer { result, total, next, reset_at: reset_at(part("result_time", name)) }))
    };
    names.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(params: Value) -> PortalRequest {
        let Value::Object(params) = params else { panic!("parameters") };
        PortalRequest::post("crm.deal.list", params)
    }

    #[test]
    fn b24_9_duplicate_names_in_different_spellings_are_detected() {
        let params = |value: Value| value.as_object().cloned().unwrap_or_default();
        for (given, expected) in [
            (json!({"fields": {"STAGE_ID": "NEW", "stageId": "WON"}}), Some(("STAGE_ID", "stageId"))),
            (json!({"fields": {"a": 1}, "FIELDS": {"b": 2}}), Some(("fields", "FIELDS"))),
            (json!({"rows": [{"ID": 1}, {"Id": 2, "id": 3}]}), Some(("Id", "id"))),
            (json!({"fields": {"STAGE_ID": "NEW", "TITLE": "x"}, "id": 5}), None),
        ] {
            assert_eq!(doubled_name(&params(given.clone())), expected, "{given}");
        }
    }

    #[test]
    fn parameters_are_encoded_for_php() {
        let params = json!({"filter": {"%TITLE": "Окна & двери", ">ID": 5}, "select": ["ID", "TITLE"], "start": -1});
        let command = request(params.clone()).command().unwrap();
        assert_eq!(
            command,
            "crm.deal.list?filter%5B%25TITLE%5D=%D0%9E%D0%BA%D0%BD%D0%B0%20%26%20%D0%B4%D0%B2%D0%B5%D1%80%D0%B8\
             &filter%5B%3EID%5D=5&select%5B0%5D=ID&select%5B1%5D=TITLE&start=-1"
        );
        assert_eq!(format!("crm.deal.list?{}", request(params).query()), command);
        assert_eq!(request(json!({})).command().unwrap(), "crm.deal.list");
        assert_eq!(request(json!({"filter": {}, "select": []})).command().unwrap(), "crm.deal.list");
        assert_eq!(request(json!({"a": true, "b": null, "c": {"d": false}})).query(), "a=1&b=&c%5Bd%5D=0");
    }

    #[test]
    fn a_call_that_a_query_cannot_express_is_not_batched() {
        for params in [
            json!({"filter": {"CLOSED": null}}),
            json!({"filter": {"X": true}}),
            json!({"filter": {"X": []}}),
            json!({"filter": {"X": {}}}),
            json!({"filter": {"TITLE": "$result[r0][0][TITLE]"}}),
            json!({"filter": {"$result[r0]": 1}}),
        ] {
            assert_eq!(request(params.clone()).command(), None, "{params}");
        }
    }

    #[test]
    fn results_errors_and_malformed_answers_are_distinguished() {
        let answer =
            read(200, br#"{"result": [1], "total": 150, "next": 50, "time": {"operating_reset_at": 9}}"#).unwrap();
        assert_eq!(answer, PortalAnswer { result: json!([1]), total: Some(150), next: Some(50), reset_at: Some(9) });
        let failed = |status, body: &str| read(status, body.as_bytes()).unwrap_err();
        assert!(matches!(failed(503, r#"{"error": "QUERY_LIMIT_EXCEEDED"}"#), PortalFailure::Busy));
        assert!(matches!(
            failed(429, r#"{"error": "OPERATION_TIME_LIMIT", "time": {"operating_reset_at": 1700000000}}"#),
            PortalFailure::OutOfTime { reset_at: Some(1_700_000_000) }
        ));
        for (status, body) in [
            (500, r#"{"error": "INTERNAL_SERVER_ERROR", "error_description": "x"}"#),
            (502, "<html>bad gateway</html>"),
            (503, "<html>busy</html>"),
            (200, "<html>login</html>"),
            (200, "{}"),
            (200, ""),
        ] {
            assert!(matches!(failed(status, body), PortalFailure::Lost(_)), "{status} {body}");
        }
        for (status, body, code) in [
            (503, r#"{"error": "OVERLOAD_LIMIT", "error_description": "blocked"}"#, "OVERLOAD_LIMIT"),
            (400, r#"{"error": "", "error_description": "Not found"}"#, ""),
            (400, r#"{"error": 0, "error_description": "x"}"#, "0"),
            (403, r#"{"error": "insufficient_scope"}"#, "insufficient_scope"),
            (401, "<html>", "http_401"),
            (302, "", "moved"),
        ] {
            let PortalFailure::Portal(error) = failed(status, body) else { panic!("{status} {body}") };
            assert_eq!(error.code, code);
        }
    }

    #[test]
    fn each_part_of_a_batch_has_its_own_answer_or_error() {
        let names = ["r0", "r1", "r2"].map(str::to_owned);
        let result = json!({
            "result": {"r0": [1, 2]}, "result_error": {"r1": {"error": "", "error_description": "Not found"}},
            "result_total": {"r0": 2}, "result_next": [], "result_time": {"r0": {"operating_reset_at": 9}},
        });
        let parts = read_batch(&PortalAnswer { result, total: None, next: None, reset_at: None }, &names);
        assert_eq!(
            parts[0].clone().unwrap().unwrap(),
            PortalAnswer { result: json!([1, 2]), total: Some(2), next: None, reset_at: Some(9) }
        );
        assert!(matches!(parts[1], Some(Err(PortalFailure::Portal(_)))));
        assert!(parts[2].is_none());
    }

    #[test]
    fn fuzz_any_answer_of_a_portal_is_refused_or_read() {
        let names = ["r0", "r1"].map(str::to_owned);
        crate::fuzz::fuzz("bitrix24", |input| {
            let _ = read(503, input);
            let Ok(answer) = read(200, input) else { return false };
            let _ = (read_batch(&answer, &names), field(&answer.result, "ID").and_then(|id| whole(Some(id))));
            true
        });
    }
}
