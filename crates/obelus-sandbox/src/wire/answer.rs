//! Answers: a result with its counts, or a fault with its HTTP status.

use serde_json::{Map, Value, json};

/// The result of a method.
#[derive(Clone, Debug, Default)]
pub(crate) struct MethodAnswer {
    pub(crate) result: Value,
    /// The number of rows of a list, on all pages.
    pub(crate) total: Option<i64>,
    /// Where the next page starts, if there is one.
    pub(crate) next: Option<i64>,
}

impl From<Value> for MethodAnswer {
    fn from(result: Value) -> Self {
        MethodAnswer { result, total: None, next: None }
    }
}

/// An error in the portal's form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{status} {code}: {words}")]
pub(crate) struct RestError {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) words: String,
    /// The parameter at fault, for `ERROR_ARGUMENT`.
    pub(crate) argument: Option<String>,
}

impl RestError {
    pub(crate) fn new(status: u16, code: &str, words: impl Into<String>) -> Self {
        RestError { status, code: code.to_owned(), words: words.into(), argument: None }
    }

    /// An error of the CRM, which has no code.
    pub(crate) fn crm(words: impl Into<String>) -> Self {
        RestError::new(400, "", words)
    }

    pub(crate) fn not_found() -> Self {
        RestError::crm("Not found")
    }

    pub(crate) fn no_id() -> Self {
        RestError::crm("ID is not defined or invalid.")
    }

    pub(crate) fn argument(name: &str, words: impl Into<String>) -> Self {
        RestError { argument: Some(name.to_owned()), ..RestError::new(400, "ERROR_ARGUMENT", words) }
    }

    pub(crate) fn core(words: impl Into<String>) -> Self {
        RestError::new(400, "ERROR_CORE", words)
    }

    pub(crate) fn json(&self) -> Value {
        let mut body = json!({"error": self.code, "error_description": self.words});
        if let (Some(argument), Some(body)) = (&self.argument, body.as_object_mut()) {
            body.insert("argument".to_owned(), json!(argument));
        }
        body
    }
}

impl From<rusqlite::Error> for RestError {
    fn from(error: rusqlite::Error) -> Self {
        RestError::new(500, "INTERNAL_SERVER_ERROR", format!("the sandbox's database: {error}"))
    }
}

/// A map as PHP writes it: with keys 0, 1, 2, …, or without keys, it is a list.
pub(crate) fn php_map(map: Map<String, Value>) -> Value {
    let is_list = map.keys().enumerate().all(|(at, key)| *key == at.to_string());
    if is_list { Value::Array(map.into_iter().map(|(_, value)| value).collect()) } else { Value::Object(map) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_with_consecutive_integer_keys_is_written_as_a_list() {
        let of = |value: Value| php_map(value.as_object().cloned().unwrap_or_default());
        assert_eq!(of(json!({})), json!([]));
        assert_eq!(of(json!({"0": "a", "1": "b"})), json!(["a", "b"]));
        assert_eq!(of(json!({"1": "b"})), json!({"1": "b"}));
        assert_eq!(of(json!({"deal": 1})), json!({"deal": 1}));
    }
}
