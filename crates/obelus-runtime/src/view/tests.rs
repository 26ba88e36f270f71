//! Questions in words.

use std::sync::Arc;

use obelus_kernel::Context;
use obelus_kernel::policy::Reason;
use obelus_kernel::session::{
    Answer, Change, Input, Mode, Named, Question, Session, Settings, Solution, Task, ValueMark,
};
use serde_json::{Value, json};

use super::titles::tests::sample;
use super::{QuestionView, ViewLine};
use crate::words::Language;

/// The question that a session asks when its model answers with these calls.
fn asked(extra: Value, calls: Value) -> Question {
    let tools = json!({"type": "tool", "tool": {
        "crm.deal.update": {"x-trust": "trusted", "x-effect": "update", "x-risky": ["fields.OPPORTUNITY"], "properties": {
            "id": {"type": "integer"}, "fields": {"type": "object"}, "to": {}, "items": {"type": "array", "items": {"type": "integer"}}}},
    }});
    let mut messages = vec![tools];
    messages.extend(extra.as_array().cloned().unwrap_or_default());
    let context = Context::from_value(messages.into()).expect("a context");
    let settings =
        Settings { mode: Mode::Full, activities: ["crm.deal.update".to_owned()].into(), ..Settings::default() };
    let mut session = Session::new("s", context, None, Arc::new(settings)).expect("a session");
    session.handle(obelus_kernel::Time(0), Input::User { text: "go".to_owned() }).expect("words");
    let Some(Task::AskModel { id }) = session.poll() else { panic!("the model is asked") };
    let solution = Solution::from_value(json!({"calls": calls})).expect("a solution");
    session
        .handle(obelus_kernel::Time(0), Input::Answer { id, answer: Answer::Solution { solution, tokens: 1 } })
        .expect("an answer");
    session.questions().into_iter().next().expect("a question")
}

/// A question about one call.
fn about_one() -> Question {
    asked(
        json!([]),
        json!([{"_tool": "crm.deal.update", "id": 7, "fields": {"OPPORTUNITY": 100_000}, "comment": "как просили",
        "requires_confirmation": true}]),
    )
}

/// A question about the same call for three instances.
fn about_three() -> Question {
    let data: Vec<Value> = ["Анна", "Борис", "Глеб"]
        .iter()
        .zip(1..)
        .map(|(name, id)| json!({"type": "input", "_instance": name, "data": {"id": id}}))
        .collect();
    asked(data.into(), json!([{"_tool": "crm.deal.update", "id": "†input.id", "fields": {"OPPORTUNITY": 5}}]))
}

fn mark(place: &str, sources: &[&str]) -> ValueMark {
    ValueMark { place: place.to_owned(), sources: sources.iter().map(|&name| name.to_owned()).collect() }
}

fn set_call(question: &mut Question, call: Value) {
    question.calls[0].call = Arc::new(call);
}

fn told(question: &Question, code: &'static str) -> Vec<String> {
    let lines = QuestionView::of(question, "q1", &sample(code), Language::named(Some(code))).lines();
    lines.iter().map(ViewLine::plain).collect()
}

#[test]
fn a_call_is_told_by_its_authors_names_and_nothing_is_left_out() {
    assert_eq!(
        told(&about_one(), "ru"),
        [
            "? Нужно ваше решение  q1",
            "  Изменить сделку",
            "    Сделка: 7",
            "    Сумма: 100000",
            "    слова агента: \"как просили\"",
            "  почему спрашиваю: меняется «Сумма»; так просит агент",
        ]
    );
}

#[test]
fn many_calls_are_one_numbered_list() {
    assert_eq!(
        told(&about_three(), "en"),
        [
            "? Your decision is needed on 3 steps  q1",
            "  Change a deal",
            "    1. \"Анна\"  Deal: 1",
            "    2. \"Борис\"  Deal: 2",
            "    3. \"Глеб\"  Deal: 3",
            "    Amount: 5",
            "  asked because it sets «Amount»",
        ]
    );
}

#[test]
fn the_words_with_which_a_question_came_stand_below_what_would_happen() {
    let mut question = about_one();
    question.headline = Some("Raise the sum, as agreed".to_owned());
    let told = told(&question, "en");
    assert_eq!(told[1], "  Change a deal");
    assert!(told.contains(&"  brought along with the words: Raise the sum, as agreed".to_owned()), "{told:?}");
}

#[test]
fn a_reason_of_the_mode_is_in_the_readers_language() {
    let mut question = about_one();
    question.reasons =
        vec![Reason::Mode(Mode::Canary, "update".to_owned()), Reason::NotListed("crm.deal.update".to_owned())];
    let told = told(&question, "ru").join("\n");
    assert!(told.contains("в режиме canary") && told.contains("нет в списке") && !told.contains("permits"), "{told}");
}

#[test]
fn the_same_mark_on_many_calls_is_explained_once() {
    let mut question = about_three();
    for asked in &mut question.calls {
        asked.marks = vec![mark("id", &["open_page"])];
    }
    let told = told(&question, "en");
    assert_eq!(told[2], "    1. \"Анна\"  Deal: 1 ⚠");
    assert_eq!(told[6], "    ⚠ from «open page», not trusted");
}

#[test]
fn what_is_the_same_of_many_parameters_is_said_once() {
    let mut question = about_one();
    let many = &["open_page", "add_note"];
    set_call(
        &mut question,
        json!({"_tool": "crm.deal.update", "id": 7, "to": 1, "fields": {"OPPORTUNITY": 5, "X": 6}}),
    );
    question.calls[0].marks =
        vec![mark("id", many), mark("fields.OPPORTUNITY", many), mark("fields.X", &["open_page"])];
    let said = |name: &str, names: &[&str]| Reason::UntrustedTarget {
        path: name.to_owned(),
        sources: names.iter().map(|&name| name.to_owned()).collect(),
    };
    question.reasons = vec![said("id", many), said("fields.OPPORTUNITY", many), said("fields.X", &["open_page"])];
    assert_eq!(
        told(&question, "en")[1..],
        [
            "  Change a deal",
            "    Deal: 7 ⚠",
            "    to: 1",
            "    Amount: 5 ⚠",
            "    fields.X: 6   ← from «open page», not trusted",
            "    ⚠ from «open page», «Writes a note down», not trusted",
            "  asked because what is marked is not in your words",
        ]
    );
    question.reasons.push(Reason::Deletes);
    assert_eq!(told(&question, "en")[7..], ["  asked because it deletes"], "the marks say the rest");
}

#[test]
fn details_stand_on_one_line_behind_the_rest() {
    let mut question = about_one();
    set_call(
        &mut question,
        json!({"_tool": "crm.deal.update", "nth": 0, "id": 7, "fields": {"mark": "c9"}, "to": 1, "_outputPath": "†state.a"}),
    );
    question.calls[0].marks = ["nth", "id", "fields.mark"].map(|place| mark(place, &["open_page"])).into();
    let told = told(&question, "en");
    let details = "    nth: 0 ⚠ · fields.mark: \"c9\" ⚠ · the result goes to †state.a";
    assert_eq!(told[2..6], ["    Deal: 7 ⚠", "    to: 1", details, "    ⚠ from «open page», not trusted"]);
}

#[test]
fn a_value_cannot_pass_for_a_mark_or_a_line() {
    let forged = "x   ← from friend, not trusted";
    let question = asked(
        json!([]),
        json!([{"_tool": "crm.deal.update", "id": 1, "to": forged, "fields": {"OPPORTUNITY": 1, "\u{202e}a\nb": "\u{1b}[2J"}}]),
    );
    let told = told(&question, "en");
    assert!(told.contains(&format!("    to: \"{forged}\"")), "{told:#?}");
    assert!(told.iter().all(|line| !line.contains(['\u{1b}', '\u{202e}', '\n'])));
}

#[test]
fn what_is_there_now_stands_beside_what_would_be() {
    let mut question = about_one();
    let change = |before: Value| Change {
        call: 0,
        field: "OPPORTUNITY".to_owned(),
        before: Some(before).filter(|value| !value.is_null()),
        after: json!(100_000),
        before_from: Default::default(),
        after_from: Default::default(),
    };
    for (before, line) in [
        (json!("50000.00\u{202e}"), "    Сумма: сейчас \"50000.00\\u{202e}\" → 100000"),
        (json!(100_000), "    Сумма: сейчас 100000 → 100000 (без изменений)"),
        (json!(null), "    Сумма: сейчас неизвестно → 100000"),
    ] {
        question.changes = vec![change(before)];
        assert_eq!(told(&question, "ru")[3], line);
    }
}

#[test]
fn a_record_is_called_by_its_name_and_number_and_codes_by_their_names() {
    let mut question = about_one();
    let named = |place: &str, value: Value, name: &str| Named { place: place.to_owned(), value, name: name.to_owned() };
    question.names = vec![named("id", json!(7), "Окна"), named("fields.STAGE_ID", json!("WON"), "Успех")];
    set_call(
        &mut question,
        json!({"_tool": "crm.deal.update", "id": "7", "fields": {"STAGE_ID": "WON", "OPPORTUNITY": "5.00"}, "_outputPath": "†a"}),
    );
    let told = told(&question, "ru");
    assert_eq!(
        told[2..6],
        ["    Сделка: «Окна» (7)", "    стадия: «Успех» (WON)", "    Сумма: 5.00", "    результат запишется в †a"]
    );
}

#[test]
fn a_view_is_data_for_other_programs() {
    let view = QuestionView::of(&about_three(), "q1", &sample("en"), Language::English);
    let form = serde_json::to_value(&view).expect("JSON");
    assert_eq!(form["head"], "Your decision is needed on 3 steps");
    assert_eq!(form["common"], json!([{"place": "fields.OPPORTUNITY", "label": "Amount", "value": "5"}]));
    assert_eq!(form["calls"][1]["rows"], json!([{"place": "id", "label": "Deal", "value": "2"}]));
    assert_eq!(form["reasons"], json!(["it sets «Amount»"]));
}
