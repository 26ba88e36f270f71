//! Running calls that ask a person (elicitations).

use obelus_kernel::session::{Decision, ElicitationAnswer, Input, Outcome, QuestionStatus, Session, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// The schema of an answer: a name and an optional age.
fn about_people() -> Value {
    json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "title": "Name", "description": "As in the passport"},
        "age": {"type": "integer"},
    }})
}

fn one_word() -> Value {
    json!({"type": "object", "required": ["word"], "properties": {"word": {"type": "string", "minLength": 2}}})
}

/// A session with a running call that has asked for a name.
fn asking() -> Harness {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("make", "a", json!({}))]), json!("over"));
    harness.asks("0.0", "k", "Whose is it?", about_people());
    harness
}

fn own(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn value(value: Value) -> Decision {
    Decision::Value { value }
}

#[test]
fn an_elicitation_waits_like_a_question_and_its_answer_goes_only_to_the_call() {
    let mut harness = asking();
    assert_eq!((harness.waiting(), harness.rested()), (vec!["q1".to_owned()], TurnEnd::Waiting));
    assert_eq!(harness.question("q1").asked_by(), Some("make"));
    let given = json!({"name": "Ada", "age": 36});
    harness.decide("q1", value(given.clone())).unwrap();
    assert_eq!(harness.told, [("0.0".to_owned(), "k".to_owned(), ElicitationAnswer::Value(given))]);
    assert_eq!(
        (harness.status_of("q1"), harness.rests.len(), harness.states("make")),
        (QuestionStatus::Answered, 1, vec!["running"])
    );
    harness.returns("make", json!("made"));
    assert_eq!((harness.rested(), harness.read("†state.a")), (TurnEnd::Output, json!("made")));
    let written = harness.session.context().to_json().to_string();
    assert!(!written.contains("Ada"), "nobody else is told: {written}");
}

#[test]
fn an_answered_elicitation_is_shown_the_same_after_a_checkpoint() {
    let mut harness = asking();
    harness.decide("q1", value(json!({"name": "Ada"}))).unwrap();
    harness.returns("make", json!("made"));
    let form = |session: &Session| session.questions()[0].elicitation_form().cloned();
    let before = form(&harness.session).expect("its parts");
    assert_eq!(before.fields.len(), 2);
    let kept = harness.session.checkpoint().expect("it is at rest");
    let fresh = Harness::at_work(json!({})).session;
    let restored = fresh.restore(&kept, std::sync::Arc::new(|| Ok(Vec::new()))).expect("the same session");
    assert_eq!(form(&restored), Some(before));
}

#[test]
fn an_answer_that_violates_the_schema_is_refused_and_the_question_stays_open() {
    let mut harness = asking();
    for wrong in [json!({"age": 3}), json!({"name": 5}), json!("Ada"), json!(null)] {
        let refused = harness.decide("q1", value(wrong)).unwrap_err();
        assert_eq!((refused.code.name(), harness.told.len(), harness.waiting().len()), ("bad_answer", 0, 1));
    }
    let refused = harness.decide("q1", value(json!({"name": 5}))).unwrap_err();
    assert!(refused.text.starts_with("`name`: "), "{refused}");
    assert_eq!(harness.decide("q1", Decision::Approve { only: None }).unwrap_err().code.name(), "unfit_answer");
    assert_eq!(harness.decide("q1", Decision::DidNot).unwrap_err().code.name(), "unfit_answer");
}

#[test]
fn a_single_value_need_not_be_wrapped_and_an_empty_form_is_answered_by_a_yes() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("make", "a", json!({}))]), json!("over"));
    harness.asks("0.0", "1", "Say a word", one_word());
    assert_eq!(harness.decide("q1", value(json!("x"))).unwrap_err().code.name(), "bad_answer");
    harness.decide("q1", value(json!(1234))).unwrap();
    harness.asks("0.0", "2", "Shall I?", json!({"type": "object", "properties": {}}));
    harness.approve("q2");
    let told: Vec<&ElicitationAnswer> = harness.told.iter().map(|(.., told)| told).collect();
    assert_eq!(told, [&ElicitationAnswer::Value(json!({"word": "1234"})), &ElicitationAnswer::Value(json!({}))]);
}

#[test]
fn a_denied_elicitation_is_passed_to_the_call_with_its_reason() {
    let mut harness = asking();
    harness.deny("q1");
    assert_eq!(harness.told[0].2, ElicitationAnswer::Declined { reason: "not now".to_owned() });
    assert_eq!((harness.status_of("q1"), harness.states("make")), (QuestionStatus::Denied, vec!["running"]));
    harness.returns("make", json!("made without"));
    assert_eq!(harness.rested(), TurnEnd::Output);
}

#[test]
fn an_unanswered_elicitation_expires() {
    let mut harness = asking();
    harness.wait(24);
    assert_eq!(
        (harness.told[0].2.clone(), harness.status_of("q1")),
        (ElicitationAnswer::Gone, QuestionStatus::Expired)
    );
    harness.fails("make");
    assert_eq!(harness.errors(), ["broken"]);
}

#[test]
fn elicitations_of_an_ended_call_are_closed() {
    let mut harness = asking();
    harness.returns("make", json!("made"));
    assert_eq!((harness.waiting().len(), harness.rested(), harness.told.len()), (0, TurnEnd::Output, 0));
    let refused = harness.decide("q1", value(json!({"name": "Ada"}))).unwrap_err();
    assert_eq!(refused.code.name(), "already_decided");
    assert!(refused.text.contains("the call that asked it is not at work any more"), "{refused}");
}

#[test]
fn a_detached_call_can_ask() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([{"_tool": "make", "q": 1}]), json!("over"));
    assert_eq!(harness.rested(), TurnEnd::Output);
    harness.asks("0.0", "k", "Whose is it?", about_people());
    assert_eq!(harness.waiting(), ["q1"]);
    harness.decide("q1", value(json!({"name": "Ada"}))).unwrap();
    harness.returns("make", json!(1));
    assert_eq!((harness.states("make"), harness.rested()), (vec!["done"], TurnEnd::Output));
}

#[test]
fn after_a_crash_the_elicitation_is_closed_and_the_call_is_in_doubt() {
    let mut harness = asking();
    harness.tell(Input::InDoubt { id: "0.0".parse().unwrap() }).unwrap();
    assert_eq!((harness.status_of("q1"), harness.waiting()), (QuestionStatus::Expired, vec!["q2".to_owned()]));
    harness.asks("0.0", "late", "Still there?", about_people());
    assert_eq!(harness.told, [("0.0".to_owned(), "late".to_owned(), ElicitationAnswer::Gone)]);
    harness.decide("q2", Decision::DidNot).unwrap();
    assert_eq!(harness.started.len(), 2);
    harness.asks("0.0", "k", "Whose is it?", about_people());
    harness.decide("q3", value(json!({"name": "Ada"}))).unwrap();
    assert_eq!(harness.told.len(), 2, "what is asked anew is answered anew");
}

#[test]
fn elicitations_of_an_ended_process_are_closed_before_the_call_is_resolved() {
    let mut harness = asking();
    harness.tell(Input::ProcessLost).unwrap();
    assert_eq!((harness.status_of("q1"), harness.states("make")), (QuestionStatus::Expired, vec!["running"]));
    assert!(!harness.session.is_at_rest(), "the call is still to be settled");
    harness.returns("make", json!("made"));
    assert_eq!(harness.rested(), TurnEnd::Output);

    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("child", "a", json!({"q": 1}))]), json!("over"));
    harness.solve(json!([call("make", "x", json!({}))]), json!("made"));
    harness.asks("0.0/0.0", "k", "Whose is it?", about_people());
    harness.tell(Input::ProcessLost).unwrap();
    assert_eq!((harness.waiting().len(), harness.session.is_at_rest()), (0, false));
    harness.returns("make", json!(1));
    assert_eq!((harness.rested(), harness.read("†state.a")), (TurnEnd::Output, json!("made")));
}

#[test]
fn an_idempotent_call_is_repeated_and_asks_again() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("read", "a", json!({}))]), json!("over"));
    harness.asks("0.0", "k", "Whose is it?", about_people());
    harness.tell(Input::InDoubt { id: "0.0".parse().unwrap() }).unwrap();
    assert_eq!((harness.started.len(), harness.waiting().len()), (2, 0));
    harness.asks("0.0", "k", "Whose is it?", about_people());
    assert_eq!(harness.waiting(), ["q2"]);
    harness.returns("read", json!(1));
    assert_eq!(harness.rested(), TurnEnd::Output);
}

#[test]
fn an_elicitation_blocks_only_later_calls_of_its_sequence() {
    let mut harness = Harness::at_work(json!({"max_parallel": 1}));
    harness.solve(json!([call("make", "a", json!({})), call("read", "b", json!({}))]), json!("over"));
    harness.asks("0.0", "k", "Whose is it?", about_people());
    assert_eq!(harness.handed_out("read").len(), 1);
    let mut harness = Harness::at_work(json!({}));
    harness.solve_in_order(json!([call("make", "a", json!({})), call("read", "b", json!({}))]), json!("over"));
    harness.asks("0.0", "k", "Whose is it?", about_people());
    assert_eq!((harness.handed_out("read").len(), harness.rested()), (0, TurnEnd::Waiting));
    harness.returns("make", json!(1));
    assert_eq!(harness.handed_out("read").len(), 1);
}

#[test]
fn a_stop_during_an_elicitation_ends_the_turn() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("make", "a", json!({}))]), json!(null));
    harness.asks("0.0", "k", "Whose is it?", about_people());
    harness.stop();
    assert_eq!(harness.rested(), TurnEnd::Stopped);
    harness.fails("make");
    assert_eq!((harness.waiting().len(), harness.requests.len(), harness.rested()), (0, 0, TurnEnd::Stopped));

    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("child", "a", json!({"q": 1}))]), json!(null));
    harness.solve(json!([call("make", "x", json!({}))]), json!(null));
    harness.asks("0.0/0.0", "k", "Whose is it?", about_people());
    harness.stop();
    assert_eq!((harness.waiting().len(), harness.requests.len(), harness.rested()), (0, 0, TurnEnd::Stopped));
    assert_eq!(
        harness.told,
        [("0.0/0.0".to_owned(), "k".to_owned(), ElicitationAnswer::Gone)],
        "the call is at work still"
    );
}

#[test]
fn checkpoints_without_elicitations_are_read() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("drop", "a", json!({"id": 1}))]), json!("over"));
    harness.deny("q1");
    let mut kept: Value = serde_json::from_str(&harness.session.checkpoint().expect("it rests")).unwrap();
    let question = kept["inbox"]["all"]["1"].as_object_mut().expect("a question");
    assert!(question.shift_remove("elicitation").is_some());
    let fresh = Harness::with(json!({})).session;
    let past = harness.session.past();
    let again = fresh.restore(&kept.to_string(), std::sync::Arc::new(move || Ok(past.clone()))).expect("it is read");
    assert_eq!(again.snapshot().to_string(), harness.session.snapshot().to_string());
}

#[test]
fn an_elicitation_of_a_delegate_has_an_id_with_the_path_of_its_parents() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("child", "a", json!({"q": 1}))]), json!("over"));
    harness.solve(json!([call("make", "x", json!({}))]), json!("made"));
    harness.asks("0.0/0.0", "k", "Whose is it?", about_people());
    assert_eq!((harness.asked.clone(), harness.rested()), (vec!["0.0/q1".to_owned()], TurnEnd::Waiting));
    harness.decide("0.0/q1", value(json!({"name": "Ada"}))).unwrap();
    assert_eq!(harness.told[0].0, "0.0/0.0");
    harness.returns("make", json!(1));
    assert_eq!((harness.rested(), harness.read("†state.a")), (TurnEnd::Output, json!("made")));
    harness.asks("0.0/0.0", "k", "Whose is it?", about_people());
    assert_eq!(harness.told[1].2, ElicitationAnswer::Gone, "nobody is there to ask any more");
}

#[test]
fn an_early_call_asks_after_a_job_has_claimed_it() {
    let mut harness = Harness::at_work(json!({}));
    let read = call("read", "a", json!({"q": 1}));
    let request = harness.requests[0].clone();
    harness.tell(Input::Partial { id: request.clone(), index: 0, call: read.clone().into() }).unwrap();
    let other = call("read", "b", json!({"q": 2})).into();
    harness.tell(Input::Partial { id: request, index: 1, call: other }).unwrap();
    let (first, second) = (harness.started[0].id.clone(), harness.started[1].id.clone());
    harness.asks(&first.to_string(), "k", "Whose is it?", about_people());
    harness.asks(&second.to_string(), "l", "Whose is it?", about_people());
    assert_eq!(harness.asked.len(), 0);
    harness.solve(json!([read]), json!("over"));
    assert_eq!(harness.waiting(), ["q1"]);
    harness.decide("q1", value(json!({"name": "Ada"}))).unwrap();
    assert_eq!(harness.told.last().unwrap().0, first.to_string());
    harness.tell(Input::Ended { id: first, outcome: Outcome::Value(json!(1)) }).unwrap();
    assert_eq!(harness.rested(), TurnEnd::Output);
    assert!(
        harness.told.contains(&(second.to_string(), "l".to_owned(), ElicitationAnswer::Gone)),
        "{:?}",
        harness.told
    );
}

#[test]
fn an_elicitation_that_cannot_be_answered_is_declined_at_once() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("make", "a", json!({}))]), json!("over"));
    let many: serde_json::Map<String, Value> = (0..51).map(|n| (format!("f{n}"), json!({}))).collect();
    for wrong in
        [json!("text"), json!({"type": 5}), json!({"properties": many}), json!({"$ref": "https://example.test/x"})]
    {
        harness.asks("0.0", "k", "?", wrong);
    }
    assert_eq!((harness.told.len(), harness.asked.len()), (4, 0));
    assert!(
        harness.told.iter().all(|(.., told)| matches!(told, ElicitationAnswer::Declined { .. })),
        "{:?}",
        harness.told
    );
    for number in 0..21 {
        harness.asks("0.0", &number.to_string(), "again?", one_word());
    }
    assert_eq!((harness.asked.len(), harness.told.len()), (20, 5), "nobody is asked for ever");
    harness.asks("9.9", "k", "?", one_word());
    assert_eq!(harness.told[5].2, ElicitationAnswer::Gone);
}

#[test]
fn the_parts_of_an_elicitation_say_that_its_tool_is_trusted_and_that_its_text_is_cut() {
    let tool = json!([{"type": "tool", "tool": {"make": {"x-effect": "create", "x-trust": "trusted"}}}]);
    let mut harness = Harness::on(tool, json!({}));
    harness.start();
    harness.solve(json!([call("make", "a", json!({}))]), json!("over"));
    harness.asks("0.0", "k", &format!("Which one?\n\n{}, not trusted", "x".repeat(4_000)), about_people());
    let question = harness.question("q1");
    let form = question.elicitation_form().expect("a call asks");
    assert_eq!((form.is_trusted, form.shown, form.own_lines.len()), (true, Some(4_000), 3));
    let names: Vec<(&str, bool)> = form.fields.iter().map(|field| (field.name.as_str(), field.is_optional)).collect();
    assert_eq!(names, [("name", false), ("age", true)]);
}

#[test]
fn the_text_of_an_elicitation_is_attributed_to_the_call_and_escaped() {
    let tool = json!([{"type": "tool", "tool": {"make": {"x-effect": "create"}}}]);
    let mut harness = Harness::on(tool, json!({}));
    harness.start();
    harness.solve(json!([call("make", "a", json!({}))]), json!("over"));
    let words = "Who?\nq2 is approved\u{202e}\n\u{1b}[2J";
    let schema = json!({"properties": {"a\nb": {"type": "string", "title": "T\nyes", "enum": ["x", "y"]}}});
    harness.asks("0.0", "k", words, schema);
    let question = harness.question("q1");
    let lines: Vec<&str> = question.description.lines().collect();
    assert_eq!(lines[0], "make asks, in its own words:   ← from make, not trusted");
    assert_eq!(&lines[1..4], ["  │ Who?", "  │ q2 is approved\\u{202e}", "  │ \\u{1b}[2J"]);
    assert_eq!(lines[4..], ["  \"a\\nb\": one of \"x\", \"y\", may be left out │ T\\nyes"]);
    let form = question.elicitation_form().expect("a call asks");
    assert_eq!((form.is_trusted, form.shown, form.own_lines.as_slice()), (false, None, &own(&lines[1..4])[..]));
    assert_eq!(form.fields.iter().map(ToString::to_string).collect::<Vec<_>>(), lines[4..]);
    harness.user("what now?");
    let prompt = harness.session.prompt(&harness.requests[0]).expect("the model is asked");
    let shown = serde_json::to_string(&prompt.questions).unwrap();
    assert!(!shown.contains("Who?") && shown.contains("asks a person something"), "{shown}");
}

#[test]
fn a_journal_with_elicitations_replays_to_the_same_session() {
    let story = |harness: &mut Harness| {
        harness.start();
        harness.solve(json!([call("make", "a", json!({}))]), json!("over"));
        harness.asks("0.0", "k", "Whose is it?", about_people());
        harness.decide("q1", value(json!({"name": "Ada"}))).unwrap();
        harness.asks("0.0", "l", "And whose else?", about_people());
    };
    let (mut one, mut other) = (Harness::with(json!({})), Harness::with(json!({})));
    story(&mut one);
    story(&mut other);
    let same = |session: &Session| session.snapshot().to_string();
    assert_eq!(same(&one.session), same(&other.session));
    let input =
        Input::Elicit { id: "0.0".parse().unwrap(), key: "k".into(), words: "?".into(), schema: about_people() };
    let written = serde_json::to_string(&input).unwrap();
    assert_eq!(serde_json::from_str::<Input>(&written).unwrap(), input);
}
