//! Keywords of policies.

use obelus_kernel::policy::Policy;
use serde_json::{Value, json};

#[test]
fn an_invalid_keyword_is_reported_with_the_valid_ones() {
    let read = |policy: Value| serde_json::from_value::<Policy>(policy).unwrap_err().to_string();
    for policy in [json!([{"verdict": "ask"}]), json!({"rules": [{"verdict": "ask"}]})] {
        assert_eq!(read(policy), "unknown variant `ask`, expected one of `allow`, `confirm`, `refuse`");
    }
    assert!(read(json!({"alow": []})).starts_with("unknown field `alow`, expected one of `allow`, `confirm`"));
    assert_eq!(read(json!("confirm")), "invalid type: string \"confirm\", expected lists of tools, or a list of rules");
}
