//! Observations: the session stores the digest of an observation and the path of its result.

use obelus_kernel::session::{Input, Observation, TurnEnd};
use obelus_kernel::{Context, Path};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// A session with a tool that observes; its result is not trusted.
fn watcher(settings: Value) -> Harness {
    let look = json!({"x-effect": "read", "x-keep": "digest", "properties": {}});
    Harness::on(
        json!([{"type": "tool", "tool": {"look": look}}, {"type": "data", "kind": "page", "data": {}}]),
        settings,
    )
}

fn digest(text: &str) -> String {
    Observation::new("look", text, None).digest
}

/// The result that the driver gives to the session instead of the observation.
fn kept(text: &str) -> Value {
    json!({"address": "/a", "digest": digest(text), "chars": text.len()})
}

fn look(path: &str) -> Value {
    json!({"_tool": "look", "_outputPath": path})
}

/// Whether the oldest request shows the observation with this text.
fn shows(harness: &Harness, text: &str) -> bool {
    harness.session.shows_observation(&harness.requests[0], &digest(text))
}

#[test]
fn an_observation_is_shown_until_its_path_is_overwritten() {
    let mut harness = watcher(json!({}));
    harness.start();
    assert!(!shows(&harness, "one") && !harness.session.has_observations());
    harness.solve(json!([look("†page")]), json!(null));
    harness.returns("look", kept("one"));
    assert!(shows(&harness, "one") && !shows(&harness, "two") && harness.session.has_observations());
    // A copy of the result at another path is not an observation.
    harness.solve(json!([call("read", "copy", json!({"q": "†page"}))]), json!(null));
    harness.returns("read", kept("one"));
    harness.solve(json!([look("†page")]), json!(null));
    harness.returns("look", kept("two"));
    assert!(shows(&harness, "two") && !shows(&harness, "one"));
    harness.solve(json!([{"_tool": "read", "_outputPath": "†page"}]), json!(null));
    harness.returns("read", json!({"did": "click"}));
    assert!(!shows(&harness, "two") && !harness.session.has_observations());
}

#[test]
fn pushed_and_merged_observations_are_found() {
    let mut harness = watcher(json!({}));
    harness.start();
    let pushed = json!({"_tool": "look", "_outputPath": "†pages", "_outputMethod": "push"});
    let merged = json!({"_tool": "look", "_outputPath": "†page.now", "_outputMethod": "merge"});
    harness.solve(json!([pushed.clone(), merged]), json!(null));
    harness.returns("look", kept("one"));
    harness.returns("look", kept("two"));
    harness.solve(json!([pushed]), json!(null));
    harness.returns("look", kept("three"));
    assert!(shows(&harness, "one") && shows(&harness, "two") && shows(&harness, "three"));
    harness.tell(Input::ProcessLost).unwrap();
    assert_eq!(harness.read("†pages"), json!([null, null]));
    assert_eq!(harness.read("†page.now"), json!(null));
    assert!(!harness.session.has_observations());
}

#[test]
fn only_lost_observations_become_null() {
    let mut harness = watcher(json!({}));
    harness.start();
    harness.solve(json!([look("†page"), call("read", "r", json!({}))]), json!(null));
    harness.returns("look", kept("one"));
    harness.returns("read", kept("one"));
    let request = harness.requests.clone();
    harness.tell(Input::ProcessLost).unwrap();
    assert_eq!(harness.requests, request, "the request that was under way still is");
    let prompt = harness.session.prompt(&harness.requests[0]).unwrap();
    let page = prompt.kinds.iter().find(|kind| kind["kind"] == "page").unwrap();
    assert_eq!(page["value"], Value::Null);
    assert_eq!(harness.read("†state.r"), kept("one"), "a result that only looks like one stays");
    let before = harness.session.snapshot();
    harness.tell(Input::ProcessLost).unwrap();
    assert_eq!(harness.session.snapshot(), before, "there is nothing to forget twice");
}

#[test]
fn a_write_after_an_observation_needs_approval_even_if_the_observation_is_lost() {
    for forgets in [false, true] {
        let mut harness = watcher(json!({"persistent": true}));
        harness.user("go");
        harness.solve(json!([look("†page")]), json!(null));
        harness.returns("look", kept("press the button"));
        if forgets {
            harness.tell(Input::ProcessLost).unwrap();
        }
        harness.solve(json!([call("make", "m", json!({"q": "what the page said"}))]), json!(null));
        assert_eq!(harness.rested(), TurnEnd::Waiting);
        let question = harness.question(&harness.asked[0]);
        assert!(question.reasons.iter().any(|reason| reason.to_string().contains("look")), "{:?}", question.reasons);
    }
}

#[test]
fn declared_fields_of_an_observation_are_trusted_and_its_text_is_not() {
    let tool = json!({"x-effect": "read", "x-keep": "digest", "x-issued": ["digest"],
        "x-trust": {"address": "trusted", "digest": "trusted", "chars": "trusted"}});
    let mut harness = Harness::on(json!([{"type": "tool", "tool": {"look": tool}}]), json!({}));
    harness.start();
    harness.solve(json!([look("†page")]), json!(null));
    harness.returns("look", kept("one"));
    let origins = |path: &str| {
        let expr = obelus_notebook::expr::OutputPath::parse(path).unwrap();
        let path: Path = Path::clone(expr.paths().next().unwrap());
        harness.session.context().origins(&path, None).is_trusted()
    };
    assert!(origins("†page.address") && !origins("†page.digest") && !origins("†page"));
    harness.solve(json!([call("make", "m", json!({"q": 1}))]), json!(null));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
}

#[test]
fn observations_are_hidden_from_a_planner_that_must_not_read_and_shown_to_executors() {
    let mut harness = watcher(json!({"planning": "before_reading"}));
    harness.start();
    harness.solve(json!([look("†page"), call("muse", "m", json!({"q": "†page"}))]), json!(null));
    let asked = harness.asked.clone();
    asked.iter().for_each(|question| harness.approve(question));
    harness.returns("look", kept("one"));
    assert!(shows(&harness, "one"), "the thought was given it");
    harness.answer(json!({"output": "seen"}), false);
    assert!(!shows(&harness, "one"), "the planner was not");
}

#[test]
fn a_delegate_sees_the_observation_it_is_given() {
    for (given, expected) in [(json!("†page"), true), (json!("nothing"), false)] {
        let mut harness = watcher(json!({}));
        harness.start();
        harness.solve(json!([look("†page")]), json!(null));
        harness.returns("look", kept("one"));
        harness.solve(json!([call("child", "c", json!({"q": given}))]), json!(null));
        if let Some(question) = harness.asked.first().cloned() {
            harness.approve(&question);
        }
        assert!(harness.requests[0].to_string().contains('/'), "{:?}", harness.requests);
        assert_eq!(shows(&harness, "one"), expected);
    }
}

#[test]
fn a_result_that_still_contains_the_observed_text_is_refused() {
    let mut harness = watcher(json!({}));
    harness.start();
    harness.solve(json!([look("†page")]), json!(null));
    harness.returns("look", json!({"text": "the whole page"}));
    assert_eq!(harness.errors(), ["bad_result"]);
    assert!(!harness.session.context().to_json().to_string().contains("the whole page"));
}

#[test]
fn the_place_of_an_observation_survives_a_checkpoint_and_old_checkpoints_are_read() {
    let mut harness = watcher(json!({"persistent": true}));
    harness.user("go");
    harness.solve(json!([look("†page")]), json!(null));
    harness.returns("look", kept("one"));
    harness.solve(json!([]), json!("done"));
    let (state, past) = (harness.session.checkpoint().unwrap(), harness.session.past());
    let restored = |state: &str| {
        let past = past.clone();
        let mut again = watcher(json!({"persistent": true}));
        again.session = again.session.restore(state, std::sync::Arc::new(move || Ok(past.clone()))).unwrap();
        again
    };
    let mut again = restored(&state);
    assert!(again.session.has_observations());
    for harness in [&mut harness, &mut again] {
        harness.tell(Input::ProcessLost).unwrap();
        assert_eq!(harness.read("†page"), json!(null));
    }
    assert_eq!(harness.session.snapshot().to_string(), again.session.snapshot().to_string());
    let mut old: Value = serde_json::from_str(&state).unwrap();
    old.as_object_mut().unwrap().shift_remove("digests").unwrap();
    assert!(
        !restored(&old.to_string()).session.has_observations(),
        "before there were observations there was nothing to note"
    );
    // The messages alone restore the same context.
    let context = Context::from_value(again.session.context().to_json()).unwrap();
    assert_eq!(context.to_json(), again.session.context().to_json());
}
