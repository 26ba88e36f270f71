//! PLAN-8: calls that start while the model is still writing.

use obelus_kernel::session::{Answer, Input, Outcome, TurnEnd};
use serde_json::{Value, json};

use crate::harness::Harness;

fn read(q: &str) -> Value {
    json!({"_tool": "read", "q": q, "_outputPath": "†state.found"})
}

/// A call is complete while the model still writes.
fn came(harness: &mut Harness, index: u32, call: Value) {
    let id = harness.requests[0].clone();
    let call = call.into();
    let may = harness.session.may_start_early(&id, index, &call);
    let before = harness.started.len();
    harness.tell(Input::Partial { id, index, call }).unwrap();
    assert_eq!(harness.started.len() - before, usize::from(may), "what may start does");
}

fn end(harness: &mut Harness, index: usize, value: Value) {
    let id = harness.open.remove(index).id;
    harness.tell(Input::Ended { id, outcome: Outcome::Value(value) }).unwrap();
}

#[test]
fn an_early_read_starts_before_the_solution_is_complete_and_only_once() {
    let mut harness = Harness::at_work(json!({}));
    came(&mut harness, 0, read("a"));
    assert_eq!(harness.started[0].call["q"], "a");
    assert!(harness.session.is_asking(), "the solution is still awaited");

    harness
        .solve(json!([read("a"), {"_tool": "make", "q": "†state.found", "_outputPath": "†state.made"}]), Value::Null);
    assert_eq!(harness.started.len(), 1, "the same call is under way, and what needs it waits");
    end(&mut harness, 0, json!("A"));
    assert_eq!(harness.started.len(), 2);
    assert_eq!(harness.started[1].call["q"], "A", "its result feeds the rest of the solution");
}

#[test]
fn an_early_read_can_end_before_the_solution_is_complete() {
    let mut harness = Harness::at_work(json!({}));
    came(&mut harness, 1, read("a"));
    end(&mut harness, 0, json!("A"));
    assert!(harness.session.is_asking());
    let other = json!({"_tool": "read", "q": "b", "_outputPath": "†state.other"});
    harness.solve(json!([other, read("a")]), json!(1));
    assert_eq!(harness.started.len(), 2, "only the other call is started");
    end(&mut harness, 0, json!("B"));
    assert_eq!(harness.session.state()["found"], "A");
    assert_eq!(harness.rests[0].ends, TurnEnd::Output);
    assert_eq!(harness.rests[0].calls.iter().map(|call| call.status.name()).collect::<Vec<_>>(), ["done", "done"]);
}

#[test]
fn two_equal_early_calls_both_run() {
    let mut harness = Harness::at_work(json!({}));
    came(&mut harness, 0, read("a"));
    harness.solve(json!([read("a"), read("a")]), json!(1));
    assert_eq!(harness.started.len(), 2);
}

#[test]
fn only_a_read_without_references_and_approval_starts_early() {
    let confirm = json!({"policy": [{"match": {"tool": "read"}, "verdict": "confirm"}]});
    let lazy = Harness::on(json!([{"type": "plan", "plan": [], "mode": "lazy"}]), json!({}));
    let at_work = |settings: Value| Harness::at_work(settings);
    for (mut harness, call, why) in [
        (at_work(json!({})), json!({"_tool": "make", "q": 1}), "it acts"),
        (at_work(json!({})), json!({"_tool": "read", "q": "†state.x"}), "it has a reference"),
        (at_work(json!({})), json!({"_tool": "read", "q": ["†state.x || †state.y"]}), "it has one inside"),
        (at_work(json!({})), json!({"_tool": "read", "q": 1, "_scopes": ["text"]}), "it is shown memory"),
        (at_work(json!({})), json!({"_tool": "muse", "q": 1, "_output": 2}), "the model does it"),
        (at_work(json!({})), json!({"_tool": "child", "q": 1}), "a delegate does it"),
        (at_work(json!({})), json!({"_tool": "nothing"}), "there is no such tool"),
        (at_work(json!({})), json!({"_tool": "read", "_outputPath": 5}), "it has a fault"),
        (
            at_work(json!({})),
            json!({"_tool": "read", "q": 1, "requires_confirmation": true}),
            "a person is to be asked",
        ),
        (at_work(json!({})), json!([1]), "it is no call"),
        (at_work(confirm), read("a"), "the policy asks a person"),
        (at_work(json!({"mode": "shadow"})), read("a"), "nothing runs in this mode"),
        (at_work(json!({"max_calls": 0})), read("a"), "there is no call left"),
        (
            {
                let mut lazy = lazy;
                lazy.start();
                lazy
            },
            read("a"),
            "the plan is lazy",
        ),
    ] {
        came(&mut harness, 0, call.clone());
        assert!(harness.started.is_empty(), "{call}: {why}");
    }
}

#[test]
fn early_calls_respect_the_parallel_limit() {
    let mut harness = Harness::at_work(json!({"max_parallel": 2}));
    for index in 0..4 {
        came(&mut harness, index, read(&index.to_string()));
    }
    assert_eq!(harness.started.len(), 2);
    came(&mut harness, 0, read("0"));
    assert_eq!(harness.started.len(), 2, "a place in an answer is one call");
}

#[test]
fn a_failed_solution_discards_its_early_calls() {
    let mut harness = Harness::at_work(json!({}));
    came(&mut harness, 0, read("a"));
    let (id, request) = (harness.open[0].id.clone(), harness.requests.remove(0));
    let answer = Answer::Failed { code: "cut_off".into(), message: "half a stream".into() };
    harness.tell(Input::Answer { id: request.clone(), answer }).unwrap();
    assert_eq!(harness.rests[0].ends, TurnEnd::Degraded);
    harness.tell(Input::Ended { id, outcome: Outcome::Value(json!("A")) }).unwrap();
    assert!(harness.session.state()["found"].is_null());
    assert!(harness.session.checkpoint().is_some(), "nothing is under way");
    harness.tell(Input::Partial { id: request, index: 1, call: read("b").into() }).unwrap();
    assert_eq!(harness.started.len(), 1, "what comes after the answer is no news");

    harness.user("again");
    harness.solve(json!([read("a")]), json!(1));
    assert_eq!(harness.started.len(), 2, "the next turn works, and starts its own");
    end(&mut harness, 1, json!("B"));
    assert_eq!(harness.session.state()["found"], "B");
}

#[test]
fn an_early_call_in_doubt_is_restarted_when_it_is_claimed() {
    let mut harness = Harness::at_work(json!({}));
    came(&mut harness, 0, read("a"));
    let id = harness.open.remove(0).id;
    harness.tell(Input::InDoubt { id }).unwrap();
    harness.solve(json!([read("a")]), json!(1));
    assert_eq!(harness.started.len(), 2);
    end(&mut harness, 0, json!("A"));
    assert_eq!(harness.session.state()["found"], "A");

    let mut harness = Harness::at_work(json!({}));
    came(&mut harness, 0, read("a"));
    harness.solve(json!([read("a")]), json!(1));
    let id = harness.open.remove(0).id;
    harness.tell(Input::InDoubt { id }).unwrap();
    assert_eq!(harness.started.len(), 2);
    end(&mut harness, 0, json!("A"));
    assert_eq!(harness.rests[0].ends, TurnEnd::Output);
}

#[test]
fn early_calls_that_an_answer_does_not_keep_count_towards_the_limit_of_the_turn() {
    let mut harness = Harness::at_work(json!({"max_calls": 3}));
    for index in 0..2 {
        came(&mut harness, index, read(&index.to_string()));
        end(&mut harness, 0, json!(index));
    }
    harness.solve(json!([read("2")]), Value::Null);
    end(&mut harness, 0, json!(2));
    assert_eq!(harness.started.len(), 3);
    harness.solve(json!([read("3")]), Value::Null);
    assert_eq!((harness.started.len(), harness.rested()), (3, TurnEnd::Limit), "two of the three have run early");
}
