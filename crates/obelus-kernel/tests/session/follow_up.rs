//! LOOP-7: after the results of its calls, the model is asked again until it answers without calls.

use obelus_kernel::session::{TranscriptEvent, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn talk(settings: Value) -> Harness {
    let mut all = json!({"persistent": true, "follow_up": "until_done"});
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let mut harness = Harness::with(all);
    harness.user("go");
    harness
}

fn change(id: i64) -> Value {
    call("change", &format!("c{id}"), json!({"id": id, "sum": 5}))
}

#[test]
fn an_answer_without_calls_ends_the_turn_with_any_output() {
    for output in [json!(null), json!("done")] {
        let mut harness = talk(json!({}));
        harness.solve(json!([call("make", "a", json!({"q": 1}))]), json!("I am making it"));
        harness.returns("make", json!(1));
        assert_eq!(harness.requests.len(), 1, "it is shown what came of it");
        harness.solve(json!([]), output.clone());
        assert_eq!((harness.rested(), harness.requests.len()), (TurnEnd::Output, 0));
        // The last output replaces the words that came with calls, if there is one.
        let said = if output.is_null() { json!("I am making it") } else { output };
        assert_eq!(harness.rests.last().unwrap().output, said);
    }
}

#[test]
fn waiting_or_joined_calls_and_expired_questions_cause_no_request() {
    let mut harness = talk(json!({}));
    harness.solve(json!([change(1)]), json!(null));
    assert_eq!((harness.rested(), harness.requests.len()), (TurnEnd::Waiting, 0));
    harness.user("and now?");
    harness.solve(json!([change(1)]), json!(null));
    assert_eq!(
        (harness.rested(), harness.requests.len(), harness.waiting().len()),
        (TurnEnd::Waiting, 0, 1),
        "it joins"
    );
    harness.wait(25);
    assert_eq!((harness.requests.len(), harness.waiting().len()), (0, 0));
    assert_eq!(harness.rested(), TurnEnd::Output);
}

#[test]
fn a_waiting_call_is_reported_once_and_its_end_later() {
    let mut harness = talk(json!({}));
    harness.solve(json!([change(1), call("read", "r", json!({"q": 1}))]), json!(null));
    harness.returns("read", json!(1));
    let told = |harness: &Harness| -> Vec<String> {
        let entries = harness
            .session
            .prompt(harness.requests.last().expect("a request"))
            .expect("a prompt")
            .transcript
            .into_iter();
        let calls = entries.filter_map(|entry| match entry.what {
            TranscriptEvent::Call(call) => Some(format!("{} {}", call.call["_tool"].as_str()?, call.status.name())),
            _ => None,
        });
        calls.collect()
    };
    assert_eq!(told(&harness), ["change waiting", "read done"]);
    harness.solve(json!([]), json!("one waits"));
    harness.user("and now?");
    assert_eq!(told(&harness), ["change waiting", "read done"], "once");
    harness.solve(json!([]), json!("it still waits"));
    let asked = harness.asked[0].clone();
    harness.approve(&asked);
    harness.returns("change", json!(true));
    assert_eq!(told(&harness), ["change waiting", "read done", "change done"]);
}

#[test]
fn a_decision_starts_a_turn_with_fresh_limits_and_earlier_calls_belong_to_the_past() {
    let mut harness = talk(json!({"max_requests": 2}));
    harness.solve(json!([call("read", "r", json!({"q": 1}))]), json!(null));
    harness.returns("read", json!(1));
    harness.solve(json!([change(1)]), json!(null));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
    let asked = harness.asked[0].clone();
    harness.approve(&asked);
    harness.returns("change", json!(true));
    assert_eq!(harness.requests.len(), 1, "the limit of the turn before does not count");
    harness.solve(json!([]), json!("done"));
    let reply = harness.rests.last().unwrap();
    let tools: Vec<&str> = reply.calls.iter().filter_map(|report| report.call["_tool"].as_str()).collect();
    assert_eq!(tools, ["change"], "the reply tells what came of the decision");
}

#[test]
fn a_call_with_an_elicitation_is_shown_as_not_run_yet() {
    let mut harness = talk(json!({}));
    harness.solve(json!([call("make", "a", json!({"q": 1}))]), json!(null));
    let id = harness.open[0].id.to_string();
    harness.asks(&id, "k", "who?", json!({"type": "object", "properties": {"name": {"type": "string"}}}));
    assert_eq!((harness.rested(), harness.requests.len()), (TurnEnd::Waiting, 0));
    let value = json!({"name": "Ada"});
    let question = harness.asked[0].clone();
    harness.decide(&question, obelus_kernel::session::Decision::Value { value }).expect("it is taken");
    harness.returns("make", json!(1));
    assert_eq!(harness.requests.len(), 1);
}

#[test]
fn a_delegate_ends_with_its_output_and_gets_no_follow_up_request() {
    let mut harness = talk(json!({}));
    harness.solve(json!([call("child", "c", json!({"q": 1}))]), json!(null));
    harness.solve(json!([call("make", "a", json!({"q": 1}))]), json!("made"));
    harness.returns("make", json!(1));
    assert_eq!(harness.read("†state.c"), json!("made"), "a delegate ends with its output");
    assert_eq!(harness.requests.len(), 1, "and its caller is asked again");
}
