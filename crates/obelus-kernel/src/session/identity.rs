//! What makes a call this one, and binds a decision to it.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// What binds a decision to a call: its tool, parameters and meta-properties, in this session. A decision holds whatever
/// the mode becomes (ASK-3).
pub(super) fn hash(session: &str, call: &Value, is_aside: impl Fn(&str) -> bool) -> String {
    let text = identity(call, is_aside);
    let digest = Sha256::digest(format!("{}\n{text}", Value::from(session)));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A call as text, without its reasoning and what is said beside it. Equal calls have equal text.
pub(super) fn identity(call: &Value, is_aside: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    if let Value::Object(fields) = call {
        sorted(fields, |name| name != "_reasoningForCall" && !is_aside(name), &mut text);
    }
    text
}

fn sorted(fields: &serde_json::Map<String, Value>, is_part: impl Fn(&str) -> bool, text: &mut String) {
    let mut names: Vec<&String> = fields.keys().filter(|name| is_part(name)).collect();
    names.sort();
    for name in names {
        text.push_str(&Value::from(name.as_str()).to_string());
        text.push(':');
        canonical(&fields[name], text);
        text.push(',');
    }
}

/// JSON with the keys of every object sorted.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            text.push('{');
            sorted(fields, |_| true, text);
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decision_is_bound_to_the_call_and_not_to_how_it_is_written() {
        let aside = |name: &str| name == "comment";
        let of = |call: Value| hash("s", &call, aside);
        let call = of(json!({"_tool": "t", "a": {"x": 1, "y": 2}}));
        assert_eq!(call, of(json!({"a": {"y": 2, "x": 1}, "_tool": "t", "comment": "why", "_reasoningForCall": "z"})));
        assert_ne!(call, of(json!({"_tool": "t", "a": {"x": 1, "y": 3}})));
        assert_ne!(call, hash("other", &json!({"_tool": "t", "a": {"x": 1, "y": 2}}), aside));
        assert_ne!(of(json!({"a": ["b,c"]})), of(json!({"a": ["b", "c"]})));
    }
}
