//! Observations: the session has a digest, and knows where it stands.

use obelus_kernel::session::{Ends, Input, Seen};
use obelus_kernel::{Context, Path};
use serde_json::{Value, json};

use crate::desk::{Desk, call};

/// A session with something that looks, whose result is as little believed as anything.
fn watcher(settings: Value) -> Desk {
    let look = json!({"x-effect": "read", "x-keep": "digest", "properties": {}});
    Desk::on(json!([{"type": "tool", "tool": {"look": look}}, {"type": "data", "kind": "page", "data": {}}]), settings)
}

fn digest(text: &str) -> String {
    Seen::new("look", text, None).digest
}

/// What the driver hands on of an observation.
fn kept(text: &str) -> Value {
    json!({"address": "/a", "digest": digest(text), "chars": text.len()})
}

fn look(path: &str) -> Value {
    json!({"_tool": "look", "_outputPath": path})
}

/// Whether the oldest request shows what has this text.
fn shows(desk: &Desk, text: &str) -> bool {
    desk.session.shows_seen(&desk.requests[0], &digest(text))
}

#[test]
fn what_is_seen_is_shown_until_something_else_is_written_there() {
    let mut desk = watcher(json!({}));
    desk.start();
    assert!(!shows(&desk, "one") && !desk.session.has_seen());
    desk.solve(json!([look("†page")]), json!(null));
    desk.returns("look", kept("one"));
    assert!(shows(&desk, "one") && !shows(&desk, "two") && desk.session.has_seen());
    // What refers to it does not become another place of it.
    desk.solve(json!([call("read", "copy", json!({"q": "†page"}))]), json!(null));
    desk.returns("read", kept("one"));
    desk.solve(json!([look("†page")]), json!(null));
    desk.returns("look", kept("two"));
    assert!(shows(&desk, "two") && !shows(&desk, "one"));
    desk.solve(json!([{"_tool": "read", "_outputPath": "†page"}]), json!(null));
    desk.returns("read", json!({"did": "click"}));
    assert!(!shows(&desk, "two") && !desk.session.has_seen());
}

#[test]
fn what_was_pushed_to_a_list_or_merged_is_found_there() {
    let mut desk = watcher(json!({}));
    desk.start();
    let pushed = json!({"_tool": "look", "_outputPath": "†pages", "_outputMethod": "push"});
    let merged = json!({"_tool": "look", "_outputPath": "†page.now", "_outputMethod": "merge"});
    desk.solve(json!([pushed.clone(), merged]), json!(null));
    desk.returns("look", kept("one"));
    desk.returns("look", kept("two"));
    desk.solve(json!([pushed]), json!(null));
    desk.returns("look", kept("three"));
    assert!(shows(&desk, "one") && shows(&desk, "two") && shows(&desk, "three"));
    desk.tell(Input::Forgotten).unwrap();
    assert_eq!(desk.read("†pages"), json!([null, null]));
    assert_eq!(desk.read("†page.now"), json!(null));
    assert!(!desk.session.has_seen());
}

#[test]
fn what_is_forgotten_becomes_null_and_nothing_else_does() {
    let mut desk = watcher(json!({}));
    desk.start();
    desk.solve(json!([look("†page"), call("read", "r", json!({}))]), json!(null));
    desk.returns("look", kept("one"));
    desk.returns("read", kept("one"));
    let request = desk.requests.clone();
    desk.tell(Input::Forgotten).unwrap();
    assert_eq!(desk.requests, request, "the request that was under way still is");
    let prompt = desk.session.prompt(&desk.requests[0]).unwrap();
    let page = prompt.kinds.iter().find(|kind| kind["kind"] == "page").unwrap();
    assert_eq!(page["value"], Value::Null);
    assert_eq!(desk.read("†state.r"), kept("one"), "a result that only looks like one stays");
    let before = desk.session.snapshot();
    desk.tell(Input::Forgotten).unwrap();
    assert_eq!(desk.session.snapshot(), before, "there is nothing to forget twice");
}

#[test]
fn a_write_proposed_after_a_look_asks_and_still_does_when_the_look_is_forgotten() {
    for forgets in [false, true] {
        let mut desk = watcher(json!({"persistent": true}));
        desk.user("go");
        desk.solve(json!([look("†page")]), json!(null));
        desk.returns("look", kept("press the button"));
        if forgets {
            desk.tell(Input::Forgotten).unwrap();
        }
        desk.solve(json!([call("make", "m", json!({"q": "what the page said"}))]), json!(null));
        assert_eq!(desk.rested(), Ends::Waiting);
        let question = desk.question(&desk.asked[0]);
        assert!(question.reasons.iter().any(|reason| reason.contains("look")), "{:?}", question.reasons);
    }
}

#[test]
fn facts_about_a_page_may_be_believed_and_the_page_is_not() {
    let tool = json!({"x-effect": "read", "x-keep": "digest", "x-issued": ["digest"],
        "x-trust": {"address": "trusted", "digest": "trusted", "chars": "trusted"}});
    let mut desk = Desk::on(json!([{"type": "tool", "tool": {"look": tool}}]), json!({}));
    desk.start();
    desk.solve(json!([look("†page")]), json!(null));
    desk.returns("look", kept("one"));
    let origins = |path: &str| {
        let expr = obelus_kernel::OutputPath::parse(path).unwrap();
        let path: Path = Path::clone(expr.paths().next().unwrap());
        desk.session.context().origins(&path, None).is_trusted()
    };
    assert!(origins("†page.address") && !origins("†page.digest") && !origins("†page"));
    desk.solve(json!([call("make", "m", json!({"q": 1}))]), json!(null));
    assert_eq!(desk.rested(), Ends::Waiting);
}

#[test]
fn a_planner_that_must_not_read_is_shown_nothing_and_whoever_carries_out_a_call_is() {
    let mut desk = watcher(json!({"planning": "before_reading"}));
    desk.start();
    desk.solve(json!([look("†page"), call("muse", "m", json!({"q": "†page"}))]), json!(null));
    let asked = desk.asked.clone();
    asked.iter().for_each(|question| desk.approve(question));
    desk.returns("look", kept("one"));
    assert!(shows(&desk, "one"), "the thought was given it");
    desk.answer(json!({"output": "seen"}), false);
    assert!(!shows(&desk, "one"), "the planner was not");
}

#[test]
fn a_delegate_sees_what_it_is_given() {
    for (given, expected) in [(json!("†page"), true), (json!("nothing"), false)] {
        let mut desk = watcher(json!({}));
        desk.start();
        desk.solve(json!([look("†page")]), json!(null));
        desk.returns("look", kept("one"));
        desk.solve(json!([call("child", "c", json!({"q": given}))]), json!(null));
        if let Some(question) = desk.asked.first().cloned() {
            desk.approve(&question);
        }
        assert!(desk.requests[0].contains('/'), "{:?}", desk.requests);
        assert_eq!(shows(&desk, "one"), expected);
    }
}

#[test]
fn a_result_that_nobody_took_anything_off_is_refused() {
    let mut desk = watcher(json!({}));
    desk.start();
    desk.solve(json!([look("†page")]), json!(null));
    desk.returns("look", json!({"text": "the whole page"}));
    assert_eq!(desk.errors(), ["bad_result"]);
    assert!(!desk.session.context().to_json().to_string().contains("the whole page"));
}

#[test]
fn where_it_stands_outlives_a_checkpoint_and_an_old_checkpoint_is_read() {
    let mut desk = watcher(json!({"persistent": true}));
    desk.user("go");
    desk.solve(json!([look("†page")]), json!(null));
    desk.returns("look", kept("one"));
    desk.solve(json!([]), json!("done"));
    let (state, past) = (desk.session.checkpoint().unwrap(), desk.session.past());
    let restored = |state: &str| {
        let past = past.clone();
        let mut again = watcher(json!({"persistent": true}));
        again.session = again.session.restore(state, std::sync::Arc::new(move || Ok(past.clone()))).unwrap();
        again
    };
    let mut again = restored(&state);
    assert!(again.session.has_seen());
    for desk in [&mut desk, &mut again] {
        desk.tell(Input::Forgotten).unwrap();
        assert_eq!(desk.read("†page"), json!(null));
    }
    assert_eq!(desk.session.snapshot().to_string(), again.session.snapshot().to_string());
    let mut old: Value = serde_json::from_str(&state).unwrap();
    old.as_object_mut().unwrap().shift_remove("observed").unwrap();
    assert!(!restored(&old.to_string()).session.has_seen(), "before there were observations there was nothing to note");
    // The list of messages alone gives the same memory.
    let context = Context::from_value(again.session.context().to_json()).unwrap();
    assert_eq!(context.to_json(), again.session.context().to_json());
}
