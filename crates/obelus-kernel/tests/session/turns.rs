//! LOOP-1, LOOP-4: how a turn begins, takes messages, and comes to rest.

use obelus_kernel::session::{Decision, Input, Mode, Money, Spent, TurnEnd, Used};
use obelus_kernel::{Message, Role};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn words(harness: &Harness) -> Vec<&str> {
    let texts = harness.session.context().messages().iter().filter_map(|message| match message {
        Message::Text(text) if text.role == Role::User => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn messages_during_a_turn_are_processed_after_it_rests() {
    let mut harness = Harness::at_work(json!({}));
    harness.user("one");
    harness.solve(json!([call("read", "r", json!({}))]), json!("first"));
    harness.user("two");
    assert_eq!((words(&harness), harness.rests.len()), (vec![], 0));
    harness.returns("read", json!(1));
    assert_eq!((words(&harness), harness.rests.len()), (vec!["one"], 1));
    harness.solve(json!([]), json!("second"));
    harness.solve(json!([]), json!("third"));
    let outputs: Vec<_> = harness.rests.iter().map(|reply| reply.output.clone()).collect();
    assert_eq!((words(&harness), outputs), (vec!["one", "two"], vec![json!("first"), json!("second"), json!("third")]));
}

#[test]
fn a_stop_lets_running_calls_end_and_starts_nothing() {
    let mut harness = Harness::at_work(json!({}));
    let next = call("make", "m", json!({"q": "†state.r"}));
    harness.solve(json!([call("read", "r", json!({})), next, call("drop", "d", json!({"id": 1}))]), json!(null));
    harness.stop();
    assert_eq!(harness.rests.len(), 0, "the read cannot be taken back");
    harness.returns("read", json!("kept"));
    assert_eq!((harness.rested(), harness.read("†state.r")), (TurnEnd::Stopped, json!("kept")));
    assert_eq!((harness.states("make"), harness.requests.len()), (vec!["skipped"], 0));
    assert_eq!(harness.waiting(), ["q1"], "what waits for a person still waits");
}

#[test]
fn an_answer_of_the_model_after_a_stop_is_discarded() {
    let mut harness = Harness::at_work(json!({}));
    let asked = harness.requests.clone();
    harness.stop();
    assert_eq!(harness.rested(), TurnEnd::Stopped);
    harness.solve(json!([call("read", "r", json!({}))]), json!("too late"));
    assert_eq!((harness.started.len(), harness.rests.len(), asked.len()), (0, 1, 1));
}

#[test]
fn a_repeated_answer_of_the_model_is_used_once() {
    let mut harness = Harness::at_work(json!({}));
    harness.requests.push(harness.requests[0].clone());
    harness.solve(json!([call("read", "r", json!({}))]), json!(null));
    harness.solve(json!([call("make", "m", json!({}))]), json!(null));
    assert_eq!((harness.handed_out("read").len(), harness.handed_out("make").len()), (1, 0));
}

#[test]
fn a_degraded_turn_keeps_its_results_and_can_be_retried() {
    let mut harness = Harness::at_work(json!({}));
    harness.user("hello");
    harness.solve(json!([call("read", "r", json!({}))]), json!(null));
    harness.returns("read", json!("kept"));
    harness.model_fails();
    assert_eq!((harness.rests[0].ends, harness.read("†state.r")), (TurnEnd::Degraded, json!("kept")));
    assert_eq!((words(&harness), harness.requests.len()), (vec!["hello"], 1));
}

#[test]
fn a_message_is_processed_after_a_turn_that_ended_in_a_repair() {
    let mut harness = Harness::at_work(json!({"repairs": 1, "max_requests": 1}));
    harness.user("are you there?");
    harness.answer(json!("out of format"), false);
    assert_eq!((harness.rested(), words(&harness)), (TurnEnd::Limit, vec!["are you there?"]));
    assert_eq!(harness.requests.len(), 1, "and answered");
}

#[test]
fn a_running_turn_is_not_started_again() {
    let mut harness = Harness::on(json!([{"type": "plan", "plan": [call("read", "p", json!({}))]}]), json!({}));
    harness.start();
    harness.solve(json!([call("read", "r", json!({}))]), json!("over"));
    for again in [Input::Start, Input::RunPlan] {
        assert_eq!(harness.tell(again).unwrap_err().code.name(), "at_work");
    }
    harness.returns("read", json!(1));
    assert_eq!((harness.rested(), harness.started.len(), harness.requests.len()), (TurnEnd::Output, 1, 0));
    harness.start();
    assert_eq!(harness.requests.len(), 1, "at rest it may be begun anew");
}

#[test]
fn an_answer_during_a_stop_is_refused_and_the_question_stays_open() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("read", "r", json!({})), call("drop", "d", json!({"id": 1}))]), json!("over"));
    harness.stop();
    let refused = harness.decide("q1", obelus_kernel::session::Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code.name(), harness.waiting().len()), ("ending", 1), "a yes is never lost");
    harness.returns("read", json!(1));
    harness.approve("q1");
    assert_eq!(harness.handed_out("drop").len(), 1);
}

#[test]
fn in_shadow_a_turn_ends_after_one_valid_solution() {
    let mut harness = Harness::at_work(json!({"mode": "shadow"}));
    harness.solve(json!([{"_tool": "unheard_of"}]), json!(null));
    assert_eq!((harness.errors(), harness.rests.len()), (vec!["CALL-3".to_owned()], 0), "this one was not valid");
    harness.solve(json!([call("read", "r", json!({}))]), json!(null));
    assert_eq!((harness.rested(), harness.started.len(), harness.requests.len()), (TurnEnd::Output, 0, 0));
}

#[test]
fn output_that_violates_its_schema_causes_another_request() {
    for mode in ["full", "shadow"] {
        let mut harness = Harness::at_work(json!({"mode": mode, "schema": {"type": "object"}}));
        harness.solve(json!([]), json!("not an object"));
        assert_eq!(
            (harness.errors(), harness.rests.len(), harness.requests.len()),
            (vec!["LOOP-1".to_owned()], 0, 1),
            "{mode}"
        );
        harness.solve(json!([]), json!({"right": true}));
        assert_eq!((harness.rested(), &harness.rests[0].output), (TurnEnd::Output, &json!({"right": true})), "{mode}");
    }
}

#[test]
fn a_lowered_mode_applies_to_calls_that_have_not_started() {
    let mut harness = Harness::at_work(json!({"max_parallel": 1}));
    let calls = json!([
        call("change", "a", json!({"id": 1})),
        call("change", "b", json!({"id": 2})),
        call("drop", "d", json!({"id": 3})),
        call("child", "c", json!({}))
    ]);
    harness.solve(calls, json!("over"));
    harness.tell(Input::Mode { mode: Mode::Shadow }).unwrap();
    harness.returns("change", json!(1));
    assert_eq!(harness.states("change"), ["done", "refused"]);
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!(
        (refused.code.name(), harness.started.len()),
        ("not_in_this_mode", 1),
        "that yes would be for another mode"
    );
}

#[test]
fn a_change_of_mode_is_an_input_like_any_other() {
    let mut harness = Harness::with(json!({"mode": "shadow"}));
    harness.user("look");
    harness.solve(json!([call("read", "a", json!({}))]), json!(null));
    assert_eq!((harness.states("read"), harness.session.is_at_rest()), (vec!["refused"], true));
    harness.tell(Input::Mode { mode: Mode::Canary }).unwrap();
    assert!(harness.session.is_at_rest() && harness.requests.is_empty(), "it starts nothing by itself");
    harness.user("look again");
    harness.solve(json!([call("read", "a", json!({}))]), json!("looked"));
    assert_eq!((harness.states("read"), harness.session.is_at_rest()), (vec!["running"], false));
    let text = serde_json::to_string(&Input::Mode { mode: Mode::Canary }).unwrap();
    assert_eq!(text, r#"{"mode":{"mode":"canary"}}"#, "the form in which journals keep it");
}

#[test]
fn tokens_are_counted_for_the_turn_and_for_the_session() {
    let mut harness = Harness::with(json!({"repairs": 1}));
    harness.user("one");
    harness.answer(json!("nonsense"), false);
    harness.solve(json!([call("child", "c", json!({}))]), json!("over"));
    harness.solve(json!([]), json!("the delegate's answer"));
    let spent = |requests, tokens| Spent { requests, tokens, ..Spent::default() };
    assert_eq!(harness.session.spent(), (spent(3, 30), spent(3, 30)));
    harness.user("two");
    harness.model_fails();
    assert_eq!(harness.session.spent(), (spent(1, 0), spent(4, 30)));
}

#[test]
fn costs_of_all_requests_are_summed_and_stored() {
    let mut harness = Harness::with(json!({"repairs": 1}));
    let used = |cost: f64| Used { input: 100, output: 10, cost: Some(Money::from(cost)) };
    harness.user("one");
    let id = harness.requests[0].clone();
    // The first attempt failed after it was charged.
    harness.tell(Input::Used { id: id.clone(), used: used(0.1) }).unwrap();
    harness.tell(Input::Used { id, used: used(0.2) }).unwrap();
    harness.solve(json!([]), json!("done"));
    harness.user("two");
    let id = harness.requests[0].clone();
    harness.tell(Input::Used { id, used: used(0.4) }).unwrap();
    harness.model_fails();
    let (turn, whole) = harness.session.spent();
    assert_eq!((turn.used.cost, whole.used.cost), (Some(Money::from(0.4)), Some(Money::from(0.7))));
    assert_eq!((turn.all_tokens(), whole.all_tokens(), whole.tokens), (110, 330, 10));
    let kept = harness.session.checkpoint().unwrap();
    let past = harness.session.past();
    let again = Harness::with(json!({"repairs": 1}))
        .session
        .restore(&kept, std::sync::Arc::new(move || Ok(past.clone())))
        .unwrap();
    assert_eq!(again.spent(), harness.session.spent());
    let text = serde_json::to_string(&Input::Used { id: "1".parse().unwrap(), used: used(0.004) }).unwrap();
    assert_eq!(
        text, r#"{"used":{"id":"1","used":{"input":100,"output":10,"cost":0.004}}}"#,
        "the form in which journals keep it"
    );
}

#[test]
fn a_lowered_mode_applies_to_delegates() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("child", "c", json!({}))]), json!("over"));
    harness.tell(Input::Mode { mode: Mode::Shadow }).unwrap();
    harness.solve(json!([call("read", "r", json!({}))]), json!("looked"));
    assert_eq!(harness.started.len(), 0);
}

#[test]
fn a_one_off_request_clears_its_state_and_keeps_denials() {
    let mut harness = Harness::at_work(json!({}));
    let calls = json!([call("read", "r", json!({})), call("drop", "d", json!({"id": 1}))]);
    harness.solve(calls, json!("first"));
    harness.returns("read", json!(1));
    harness.deny("q1");
    harness.user("drop it after all");
    assert_eq!(harness.read("†state.r"), json!("absent"));
    harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!(null));
    assert_eq!(harness.asked.len(), 1, "it was denied");
    harness.solve(json!([call("drop", "d", json!({"id": 1, "requires_confirmation": true}))]), json!(null));
    assert_eq!(harness.asked.len(), 2, "the user has spoken since");
}

/// A turn that ended with an open question.
fn ended_with_a_question(end: fn(&mut Harness)) -> Harness {
    let mut harness = Harness::at_work(json!({"max_calls": 2}));
    harness.solve(json!([call("drop", "d", json!({"id": 1})), call("read", "r", json!({}))]), json!(null));
    end(&mut harness);
    assert_eq!((harness.waiting().len(), harness.requests.len()), (1, 0));
    harness
}

#[test]
fn decisions_do_not_reopen_a_turn_that_is_over() {
    let stopped = |harness: &mut Harness| {
        harness.stop();
        harness.returns("read", json!(1));
    };
    let failed = |harness: &mut Harness| {
        harness.returns("read", json!(1));
        harness.user("hello");
        harness.model_fails();
    };
    let at_a_limit = |harness: &mut Harness| {
        harness.returns("read", json!(1));
        harness.user("go on");
        let reads: Vec<_> = (0..3).map(|n| call("read", &format!("r{n}"), json!({"q": n}))).collect();
        harness.solve(reads.into(), json!(null));
        harness.returns("read", json!(1));
        harness.returns("read", json!(2));
    };
    let ways: [fn(&mut Harness); 3] = [stopped, failed, at_a_limit];
    for (end, expected) in ways.into_iter().zip([TurnEnd::Stopped, TurnEnd::Degraded, TurnEnd::Limit]) {
        let mut lapsed = ended_with_a_question(end);
        lapsed.wait(24);
        assert_eq!((lapsed.rested(), lapsed.requests.len(), lapsed.waiting().len()), (expected, 0, 0));
        let mut approved = ended_with_a_question(end);
        approved.approve("q1");
        approved.returns("drop", json!(true));
        assert_eq!((approved.rested(), approved.requests.len()), (expected, 0), "what was approved runs, and no more");
        approved.user("continue");
        assert_eq!(approved.requests.len(), 1);
    }
}

/// PROMPT-1: the prompt has the schema and description of the state, also where each instance has its own.
#[test]
fn schemas_and_descriptions_of_instances_are_shown() {
    let of = |instance: &str, field: &str, words: &str| {
        json!({"type": "state", "_instance": instance, "data": {}, "description": words,
            "schema": {"type": "object", "properties": {field: {"type": "string"}}}})
    };
    let shown = |messages: Value| {
        let mut harness = Harness::on(messages, json!({}));
        harness.start();
        let prompt = harness.session.prompt(&harness.requests[0]).expect("a request");
        prompt.kinds.iter().find(|kind| kind["kind"] == "state").expect("the state is shown").clone()
    };
    let alike = shown(json!([of("i", "a", "One site"), of("j", "a", "One site")]));
    assert_eq!(
        (&alike["description"], &alike["schema"]["properties"]["a"]),
        (&json!("One site"), &json!({"type": "string"}))
    );
    assert!(alike.get("schemas").is_none(), "{alike}");
    let apart = shown(json!([of("i", "a", "One site"), of("j", "b", "Another")]));
    assert_eq!(apart["descriptions"], json!({"i": "One site", "j": "Another"}));
    assert_eq!(apart["schemas"]["j"]["properties"], json!({"b": {"type": "string"}}));
    let global = json!({"type": "state", "data": {}, "schema": {"type": "object"}});
    let mixed = shown(json!([global, of("i", "a", "One site")]));
    assert_eq!(
        (&mixed["schema"], &mixed["schemas"]["i"]["properties"]["a"]),
        (&json!({"type": "object"}), &json!({"type": "string"}))
    );
}
