//! The chain of calls behind a value.

use obelus_kernel::policy::Writer;
use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// The chain as JSON, without the numbers of messages and their dates.
fn chain(harness: &Harness, expr: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| name != "message" && name != "date");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut form = harness.session.why(expr, None).expect("an expression").to_json();
    strip(&mut form);
    form
}

fn page() -> Value {
    json!([
        {"type": "input", "data": {"who": "Olga"}},
        {"type": "tool", "tool": {"read": {"x-effect": "read", "properties": {"q": {}}}}},
    ])
}

#[test]
fn the_chain_goes_back_to_people_and_tools() {
    let mut harness = Harness::on(page(), json!({}));
    harness.start();
    harness.solve(json!([call("read", "page", json!({"q": "†input.who"}))]), json!(null));
    harness.returns("read", json!({"body": "long", "url": "x"}));
    harness.solve(
        json!([
            call("muse", "gist", json!({"q": "†state.page.body", "_output": "short"})),
            call("count", "size", json!({"q": ["†state.gist", 5], "requires_confirmation": false})),
        ]),
        json!("over"),
    );
    let question = harness.asked[0].clone();
    harness.approve(&question);
    harness.returns("count", json!(4));
    let link = |what: &str, by: Value, to: &str, method: &str, origins: Value, params: Value| {
        let write = json!({"by": by, "to": to, "method": method, "origins": origins, "params": params, "shown": []});
        json!({"what": what, "origins": write["origins"], "because": [write]})
    };
    let param = |value: Value, from: Value| json!([{"name": "q", "value": value, "from": [from]}]);
    let who = link("†input.who", json!({"user": true}), "†input", "merge", json!(["user"]), json!([]));
    let body = link(
        "†state.page.body",
        json!({"tool": "read", "trusted": false}),
        "†state.page",
        "set",
        json!(["user", "untrusted:read"]),
        param(json!("†input.who"), who),
    );
    let gist = link(
        "†state.gist",
        json!({"model": "muse"}),
        "†state.gist",
        "set",
        json!(["user", "model", "untrusted:read"]),
        param(json!("†state.page.body"), body),
    );
    let mut size = link(
        "†state.size",
        json!({"tool": "count", "trusted": true}),
        "†state.size",
        "set",
        json!(["user", "model", "trusted:count", "untrusted:read"]),
        param(json!(["†state.gist", 5]), gist),
    );
    size["value"] = 4.into();
    assert_eq!(chain(&harness, "†state.size"), size);
}

#[test]
fn overwritten_values_are_not_part_of_the_chain() {
    let mut harness = Harness::on(page(), json!({}));
    harness.start();
    harness.solve(json!([call("read", "x", json!({"q": 1}))]), json!(null));
    harness.returns("read", json!({"a": 1, "b": 2}));
    harness.solve(json!([call("muse", "x.a", json!({"q": 2, "_output": 7}))]), json!("over"));
    let why = |expr: &str| harness.session.why(expr, None).expect("an expression");
    assert_eq!(why("†state.x.a").because.len(), 1);
    assert_eq!(why("†state.x.a").because[0].by, Writer::Model("muse".to_owned()));
    assert_eq!(why("†state.x.b").because.len(), 1);
    assert_eq!(why("†state.x").because.len(), 2);
    assert_eq!(why("†state.none || †state.x.b").what, "†state.x.b");
    assert!(why("†state.nothing").is_absent());
    assert!(harness.session.why("†state..x", None).is_err());
    let form = why("†state.x.b").to_json();
    assert_eq!((&form["because"][0]["by"]["tool"], &form["value"]), (&json!("read"), &json!(2)));
}

#[test]
fn a_very_long_chain_is_cut() {
    let mut harness = Harness::on(page(), json!({"max_requests": 100}));
    harness.start();
    harness.solve(json!([call("muse", "log", json!({"q": 1, "_outputMethod": "push", "_output": "0"}))]), json!(null));
    for turn in 1..60 {
        let both = json!({"q": ["†state.log", "†state.log"], "_outputMethod": "push", "_output": turn.to_string()});
        harness.solve(json!([call("muse", "log", both)]), json!(null));
    }
    let mut why = harness.session.why("†state.log", None).expect("an expression");
    assert_eq!(why.because.len(), 20);
    let mut writes = 0;
    why.each_write(&mut |_| writes += 1);
    assert!(why.left_out >= 40 && writes < 10_000, "{} {writes}", why.left_out);
}

#[test]
fn the_writer_of_a_list_element_is_the_call_that_added_it() {
    let pushed = |tool: &str, value: Value, date: &str| {
        json!({"type": "state", "data": {"log": value}, "_call": {"_tool": tool}, "_outputPath": "†state.log",
            "_outputMethod": "push", "_date": date, "_labels": ["trusted:x"]})
    };
    let messages = json!([
        {"type": "state", "data": {"log": []}},
        pushed("first", json!({"n": 1}), "2026-01-01T00:00:00Z"),
        pushed("second", json!({"n": 2}), "2026-01-02T00:00:00Z"),
    ]);
    let context = obelus_kernel::Context::from_value(messages).unwrap();
    let settings = std::sync::Arc::new(obelus_kernel::session::Settings::default());
    let session = obelus_kernel::session::Session::new("s", context, None, settings).unwrap();
    let message = |path: &str| session.last_write(path, None).unwrap().map(|write| write.message);
    assert_eq!((message("†state.log[0].n"), message("†state.log[1].n")), (Some(1), Some(2)));
    assert_eq!((message("†state.log"), message("†state.nothing")), (Some(2), None));
}

#[test]
fn a_model_call_of_a_tool_named_user_is_not_shown_as_an_edit_by_the_user() {
    let context = json!([
        {"type": "tool", "tool": {"user": {"_outputPath": "†state.note", "properties": {}}}},
        {"type": "plan", "plan": [], "mode": "lazy"},
    ]);
    let mut harness = Harness::on(context, json!({}));
    harness.start();
    harness.solve(json!([{"_tool": "user"}]), json!("over"));
    harness.approve("q1");
    harness.solve(json!([]), json!("by the model"));
    let why = harness.session.why("†state.note", None).expect("an expression");
    assert_eq!(why.value, Some(json!("by the model")));
    assert_eq!(why.because[0].by, Writer::Model("user".to_owned()));
}
