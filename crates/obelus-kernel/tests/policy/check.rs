//! Names in policies that no tool has.

use obelus_kernel::policy::{Policy, PolicyTools};
use obelus_notebook::tool::Tool;
use serde_json::{Value, json};

fn faults(policy: Value) -> Vec<String> {
    let schema = json!({"type": "object", "properties": {"book": {"type": "string"}, "fields": {"type": "object",
        "properties": {"STAGE_ID": {}}, "additionalProperties": false}}});
    let tools = ["lend_book", "return_book"].map(|name| Tool::parse(name, &schema).unwrap());
    let is_of_server = |name: &str| name.starts_with("web.");
    let policy: Policy = serde_json::from_value(policy).unwrap();
    let tools = PolicyTools { known: tools.iter().collect(), may_exist: &is_of_server };
    policy.faults(&tools).iter().map(ToString::to_string).collect()
}

#[test]
fn pol_3_an_unknown_name_is_an_error_with_the_nearest_known_one() {
    let rule = |matching: Value| json!([{"match": matching, "verdict": "confirm"}]);
    for (policy, says) in [
        (json!({"confirm": ["lend_bok"]}), "`confirm[0]`: there is no tool `lend_bok`; did you mean `lend_book`?"),
        (json!({"refuse": ["pay*"]}), "`refuse[0]`: there is no tool `pay*`; there are: lend_book, return_book"),
        (rule(json!({"tool": "lend_bok"})), "`rules[0].match.tool`: there is no tool `lend_bok`"),
        (
            rule(json!({"effect": "uptade"})),
            "`rules[0].match.effect`: there is no effect `uptade`; did you mean `update`?",
        ),
        (rule(json!({"effect": "delete"})), "no tool that it is about has the effect `delete`"),
        (
            rule(json!({"tool": "lend*", "param": "bok"})),
            "`rules[0].match.param`: there is no `bok`; did you mean `book`?",
        ),
        (rule(json!({"param": "fields.stage"})), "there is no `stage`"),
        (rule(json!({"from": "usr"})), "`rules[0].match.from`: there is no origin `usr`; did you mean `user`?"),
        (rule(json!({"from": "untrusted:lend_bok"})), "there is no origin `lend_bok`; did you mean `lend_book`?"),
    ] {
        let found = faults(policy.clone());
        assert!(found.len() == 1 && found[0].contains(says), "{policy}: {found:?}");
    }
    for policy in [
        json!({"allow": ["lend_*"], "refuse": ["web.open"], "confirm": ["*"]}),
        rule(json!({"tool": "web.*", "effect": "delete", "param": "x"})),
        rule(json!({"param": "fields.stageId", "from": "trusted:lend_book"})),
        rule(json!({"effect": "update", "from": "untrusted"})),
    ] {
        assert_eq!(faults(policy.clone()), Vec::<String>::new(), "{policy}");
    }
}

#[test]
fn an_invalid_keyword_is_reported_with_the_valid_ones() {
    let read = |policy: Value| serde_json::from_value::<Policy>(policy).unwrap_err().to_string();
    for policy in [json!([{"verdict": "ask"}]), json!({"rules": [{"verdict": "ask"}]})] {
        assert_eq!(read(policy), "unknown variant `ask`, expected one of `allow`, `confirm`, `refuse`");
    }
    assert!(read(json!({"alow": []})).starts_with("unknown field `alow`, expected one of `allow`, `confirm`"));
    assert_eq!(read(json!("confirm")), "invalid type: string \"confirm\", expected lists of tools, or a list of rules");
}
