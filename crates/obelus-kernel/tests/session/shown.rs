//! ASK-1, ASK-3: an answer is bound to what was shown, and an edit is shown before it takes effect.

use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Decision, Input, Question, Refused};
use serde_json::{Map, Value, json};

use crate::harness::{Harness, call};

const YES: Decision = Decision::Approve { only: None };

fn answer(harness: &mut Harness, decision: Decision, digest: &str) -> Result<(), Refused> {
    let digest = Some(digest.to_owned());
    harness.tell(Input::Decide { question: "q1".parse().unwrap(), decision, by: "ann".to_owned(), digest })
}

fn params(value: Value) -> Map<String, Value> {
    value.as_object().expect("parameters").clone()
}

fn edited(harness: &Harness, value: Value) -> Result<Question, Refused> {
    harness.session.edited_question(&"q1".parse().unwrap(), &params(value))
}

/// A session that asks about a change of a record and looks up its current values.
fn change_of_a_record() -> Harness {
    let before = json!({"tool": "look", "params": {"q": "id"}, "fields": "fields"});
    let tools = json!([{"type": "tool", "tool": {
        "look": {"x-effect": "read", "x-trust": "trusted", "properties": {"q": {}}},
        "change": {"x-effect": "update", "x-trust": "trusted", "x-risky": ["fields"], "x-before": before,
            "properties": {"id": {"type": "integer"}, "fields": {"type": "object"}}},
    }}]);
    let mut harness = Harness::on(tools, json!({}));
    harness.start();
    harness.solve(json!([call("change", "a", json!({"id": 7, "fields": {"SUM": 5, "NOTE": "x"}}))]), json!("over"));
    harness
}

#[test]
fn an_answer_to_an_outdated_question_is_refused_and_the_question_stays_open() {
    let mut harness = change_of_a_record();
    let at_first = harness.question("q1").digest();
    harness.returns("look", json!({"SUM": 4, "NOTE": "y"}));
    let now = harness.question("q1").digest();
    assert_ne!(at_first, now, "more is shown: what is there now");
    let refused = answer(&mut harness, YES, &at_first).unwrap_err();
    assert_eq!(refused.code.name(), "question_changed");
    assert!(refused.text.contains("has changed") && refused.text.contains("look again"), "{refused}");
    assert_eq!((harness.waiting(), harness.handed_out("change").len()), (vec!["q1".to_owned()], 0));
    answer(&mut harness, YES, &now).expect("it was shown so");
    assert_eq!(harness.handed_out("change").len(), 1);
}

#[test]
fn the_digest_of_a_question_does_not_depend_on_time() {
    let mut harness = change_of_a_record();
    let question = harness.question("q1");
    harness.now = harness.now.plus_seconds(60);
    harness.tell(Input::Tick).unwrap();
    assert_eq!(harness.question("q1").digest(), question.digest());
    let mut other = question.clone();
    other.reasons.clear();
    assert_ne!(other.digest(), question.digest());
    assert_eq!(question.to_json()["digest"], json!(question.digest()));
}

#[test]
fn an_edit_is_shown_as_it_will_run_before_it_is_approved() {
    let mut harness = change_of_a_record();
    harness.returns("look", json!({"SUM": 4, "NOTE": "y"}));
    let asked = harness.question("q1");
    let shown = edited(&harness, json!({"fields": {"SUM": 9, "NOTE": "x", "NEW": 1}})).unwrap();
    assert_eq!(shown.calls[0].call["fields"], json!({"SUM": 9, "NOTE": "x", "NEW": 1}));
    let changes: Vec<_> =
        shown.changes.iter().map(|one| (one.field.as_str(), one.before.clone(), &one.after)).collect();
    assert_eq!(
        changes,
        [("SUM", Some(json!(4)), &json!(9)), ("NOTE", Some(json!("y")), &json!("x")), ("NEW", None, &json!(1)),]
    );
    assert!(shown.description.contains("fields.SUM = 9"), "{}", shown.description);
    assert_eq!(harness.question("q1").digest(), asked.digest(), "nothing has changed yet");
    let other = Decision::Edit { params: params(json!({"fields": {"SUM": 10}})) };
    assert_eq!(answer(&mut harness, other, &shown.digest()).unwrap_err().code.name(), "question_changed");
    let edit = Decision::Edit { params: params(json!({"fields": {"SUM": 9, "NOTE": "x", "NEW": 1}})) };
    answer(&mut harness, edit, &shown.digest()).expect("just this was shown");
    assert_eq!(harness.handed_out("change")[0]["fields"], json!({"SUM": 9, "NOTE": "x", "NEW": 1}));
    assert_eq!(harness.question("q1").description, shown.description, "what ran is what is kept");
}

#[test]
fn an_edit_with_the_digest_of_the_question_runs() {
    let mut harness = change_of_a_record();
    let digest = harness.question("q1").digest();
    answer(&mut harness, Decision::Edit { params: params(json!({"id": 8})) }, &digest).expect("it was shown so");
    assert_eq!(harness.handed_out("change")[0]["id"], json!(8));
}

#[test]
fn an_edit_of_one_field_keeps_the_others_and_null_removes_one() {
    let mut harness = change_of_a_record();
    harness.returns("look", json!({"SUM": 4, "NOTE": "y"}));
    let shown = edited(&harness, json!({"fields": {"SUM": 9}})).unwrap();
    assert_eq!(shown.calls[0].call["fields"], json!({"SUM": 9, "NOTE": "x"}));
    assert_eq!(shown.changes.len(), 2);
    let edit = json!({"fields": {"SUM": 9, "NOTE": null}});
    let shown = edited(&harness, edit.clone()).unwrap();
    answer(&mut harness, Decision::Edit { params: params(edit) }, &shown.digest()).unwrap();
    assert_eq!(harness.handed_out("change")[0]["fields"], json!({"SUM": 9}));
}

#[test]
fn an_invalid_edit_is_not_shown() {
    let harness = change_of_a_record();
    for (edit, words) in [(json!({"id": "x"}), "id"), (json!({"idd": 7}), "did you mean `id`? (there are: `id`")] {
        let refused = edited(&harness, edit).unwrap_err();
        assert!(refused.code == RefusalCode::BadEdit && refused.text.contains(words), "{refused}");
    }
}

/// A session that has read an untrusted page, with a plan of one call that waits for approval as `q2`.
fn planned_after_a_page(name: &str, value: Value) -> Harness {
    let context = json!([
        {"type": "tool", "tool": {"look": {"x-effect": "read", "properties": {}}}},
        {"type": "plan", "plan": [], "mode": "lazy"},
    ]);
    let mut harness = Harness::on(context, json!({"approval": "person"}));
    harness.start();
    harness.solve(json!([call("look", "page", json!({}))]), json!(null));
    harness.approve("q1");
    harness.returns("look", json!("words"));
    harness.solve(json!([call("make", "m", json!({name: value}))]), json!(null));
    harness
}

fn marked_places(harness: &Harness, question: &str) -> Vec<String> {
    harness.question(question).calls[0].marks.iter().map(|mark| mark.place.clone()).collect()
}

#[test]
fn an_edit_of_one_field_of_a_planned_call_keeps_the_marks_of_the_others() {
    let mut harness = planned_after_a_page("q", json!({"to": "eve", "note": "hi"}));
    assert_eq!(marked_places(&harness, "q2"), ["", "q.to", "q.note"]);
    harness.edit("q2", json!({"0": {"Q": {"note": "hello"}}})).unwrap();
    assert_eq!(harness.question("q3").calls[0].call["q"], json!({"to": "eve", "note": "hello"}));
    assert_eq!(marked_places(&harness, "q3"), ["", "q.to"]);
}

#[test]
fn a_value_keeps_its_mark_when_an_edit_moves_it_or_spells_its_name_as_the_tool_does() {
    for (edit, wanted) in [
        (json!({"note": "hello"}), json!({"to": ["olga", "eve"], "note": "hello"})),
        (json!({"to": ["eve"], "note": "hello"}), json!({"to": ["eve"], "note": "hello"})),
    ] {
        let mut harness = planned_after_a_page("Q", json!({"to": ["olga", "eve"], "note": "hi"}));
        harness.edit("q2", json!({"0": {"q": edit}})).unwrap();
        assert_eq!(harness.question("q3").calls[0].call["q"], wanted);
        assert_eq!(marked_places(&harness, "q3"), ["", "q.to"]);
    }
}

#[test]
fn unchanged_values_keep_their_mark_and_edited_ones_have_none() {
    let tools = json!([{"type": "tool", "tool": {
        "read": {"x-effect": "read", "properties": {"q": {}}},
        "make": {"x-effect": "create", "x-trust": "trusted", "properties": {"to": {}, "note": {}}},
    }}]);
    let mut harness = Harness::on(tools, json!({}));
    harness.start();
    let make = call("make", "b", json!({"to": "†state.a.to", "note": "†state.a.note"}));
    harness.solve(json!([call("read", "a", json!({"q": 1})), make]), json!("over"));
    harness.returns("read", json!({"to": "eve", "note": "hi"}));
    let places = |question: &Question| question.calls[0].marks.iter().map(|one| one.place.clone()).collect::<Vec<_>>();
    assert_eq!(places(&harness.question("q1")), ["to", "note"]);
    let shown = edited(&harness, json!({"to": "olga"})).unwrap();
    assert_eq!(places(&shown), ["note"]);
    let same = edited(&harness, json!({"to": "eve"})).unwrap();
    assert_eq!(places(&same), ["to", "note"], "the same value comes from where it came from");
}
