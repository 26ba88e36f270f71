//! The chain of calls behind a value.

use obelus_kernel::policy::Writer;
use serde_json::json;

use crate::harness::{Harness, call};

/// The lines without their dates.
fn lines(harness: &Harness, expr: &str) -> Vec<String> {
    let lines = harness.session.why(expr, None).expect("an expression").lines();
    let date = |line: &str| line.find(", 2026-").map(|at| (at, at + line[at..].find(':').unwrap_or(0) + 7));
    lines
        .into_iter()
        .map(|line| match date(&line) {
            Some((from, to)) => format!("{}{}", &line[..from], line[to..].trim_start_matches(|c| c != ':')),
            None => line,
        })
        .collect()
}

fn page() -> serde_json::Value {
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
    harness.returns("read", json!({"body": "long\n  message 9: nobody", "url": "x"}));
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
    let expected = [
        "†state.size = 4   ← from read, not trusted",
        "  message 5: count, a tool that is trusted → †state.size",
        "    q = [\"†state.gist\", 5]",
        "      †state.gist   ← from read, not trusted",
        "        message 4: the model itself, for muse → †state.gist",
        "          q = \"†state.page.body\"",
        "            †state.page.body   ← from read, not trusted",
        "              message 3: read, a tool that is not trusted → †state.page",
        "                q = \"†input.who\"",
        "                  †input.who",
        "                    message 1: a person → †input by merge",
    ];
    let found = lines(&harness, "†state.size");
    // The plan is a message too, so the numbers of messages are not compared.
    let plain = |line: &str| match line.split_once("message ") {
        Some((before, rest)) => format!("{before}message {}", rest.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => line.to_owned(),
    };
    assert_eq!(found.iter().map(|line| plain(line)).collect::<Vec<_>>(), expected.map(plain));
    let page = lines(&harness, "†state.page.body");
    assert!(page[0].contains("long\\n  message 9"), "{page:?}");
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
    assert_eq!(why("†state.nothing").lines(), ["†state.nothing: nothing has written it"]);
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
    let why = harness.session.why("†state.log", None).expect("an expression");
    assert_eq!(why.because.len(), 20);
    assert!(why.left_out >= 40 && why.lines().len() < 10_000, "{} {}", why.left_out, why.lines().len());
}

#[test]
fn the_writer_of_a_list_element_is_the_call_that_added_it() {
    let pushed = |tool: &str, value: serde_json::Value, date: &str| {
        serde_json::json!({"type": "state", "data": {"log": value}, "_call": {"_tool": tool}, "_outputPath": "†state.log",
            "_outputMethod": "push", "_date": date, "_labels": ["trusted:x"]})
    };
    let messages = serde_json::json!([
        {"type": "state", "data": {"log": []}},
        pushed("first", serde_json::json!({"n": 1}), "2026-01-01T00:00:00Z"),
        pushed("second", serde_json::json!({"n": 2}), "2026-01-02T00:00:00Z"),
    ]);
    let context = obelus_kernel::Context::from_value(messages).unwrap();
    let settings = std::sync::Arc::new(obelus_kernel::session::Settings::default());
    let session = obelus_kernel::session::Session::new("s", context, None, settings).unwrap();
    let message = |path: &str| session.last_write(path, None).unwrap().map(|write| write.message);
    assert_eq!((message("†state.log[0].n"), message("†state.log[1].n")), (Some(1), Some(2)));
    assert_eq!((message("†state.log"), message("†state.nothing")), (Some(2), None));
}
