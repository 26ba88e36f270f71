//! The identity of a call, which binds decisions to it.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::canonical::{hex, write_sorted};

/// The hash that binds a decision to a call: its tool, parameters and meta-properties, in this session. A decision is
/// independent of the mode (ASK-3).
pub fn hash(session: &str, call: &Value, is_control: impl Fn(&str) -> bool) -> String {
    let text = identity(call, is_control);
    hex(&Sha256::digest(format!("{}\n{text}", Value::from(session))))
}

/// A call as text, without its reasoning and remarks. Equal calls have equal text.
pub fn identity(call: &Value, is_control: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    if let Value::Object(fields) = call {
        write_sorted(fields, |name| name != "_reasoningForCall" && !is_control(name), &mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hash_is_a_sha256_in_hexadecimal() {
        let call = json!({"_tool": "t", "n": 1});
        let digest = Sha256::digest(format!("\"s\"\n{}", identity(&call, |_| false)));
        let expected: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash("s", &call, |_| false), expected);
    }

    #[test]
    fn a_decision_is_bound_to_the_call_and_not_to_its_spelling() {
        let is_control = |name: &str| name == "comment";
        let of = |call: Value| hash("s", &call, is_control);
        let call = of(json!({"_tool": "t", "a": {"x": 1, "y": 2}}));
        assert_eq!(call, of(json!({"a": {"y": 2, "x": 1}, "_tool": "t", "comment": "why", "_reasoningForCall": "z"})));
        assert_ne!(call, of(json!({"_tool": "t", "a": {"x": 1, "y": 3}})));
        assert_ne!(call, hash("other", &json!({"_tool": "t", "a": {"x": 1, "y": 2}}), is_control));
        assert_ne!(of(json!({"a": ["b,c"]})), of(json!({"a": ["b", "c"]})));
        let with = |n: &str| of(serde_json::from_str(&format!(r#"{{"n": {n}}}"#)).unwrap());
        for (one, other) in [("5", "5.0"), ("5", "0.5e1"), ("-3", "-3.0"), ("0", "-0.0")] {
            assert_eq!(with(one), with(other), "{one}");
        }
        for (one, other) in [("5", "5.5"), ("5", "-5"), ("5", "\"5\""), ("1e300", "1e301")] {
            assert_ne!(with(one), with(other), "{one}");
        }
    }
}
