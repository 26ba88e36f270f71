//! Questions as text.

use obelus_kernel::policy::Reason;
use obelus_kernel::session::{Change, Mode, Named, Question, Session, ValueMark};
use serde_json::{Value, json};

use super::sample::{about_one, about_three, asked};
use super::{QuestionView, ViewLine};
use crate::words::Language;

fn mark(place: &str, sources: &[&str]) -> ValueMark {
    ValueMark { place: place.to_owned(), sources: sources.iter().map(|&name| name.to_owned()).collect() }
}

fn set_call((_, question): &mut (Session, Question), call: Value) {
    question.calls[0].call = call.into();
}

fn plain(lines: &[ViewLine]) -> Vec<String> {
    lines.iter().map(ViewLine::plain).collect()
}

fn view((session, question): &(Session, Question), code: &str) -> QuestionView {
    QuestionView::of(session, question, Language::named(Some(code)))
}

fn shown(asked: &(Session, Question), code: &str) -> Vec<String> {
    plain(&view(asked, code).lines())
}

fn shown_with_details(asked: &(Session, Question), code: &str) -> Vec<String> {
    let mut lines = plain(&view(asked, code).lines_with_details());
    // Hashes are left out.
    lines.retain(|line| !line.contains("hash of the call") && !line.contains("хеш вызова"));
    lines
}

#[test]
fn a_call_is_shown_with_the_authors_labels_and_all_parameters() {
    assert_eq!(
        shown(&about_one(), "ru"),
        [
            "? Нужно ваше решение  q1",
            "  Изменить сделку",
            "    Сделка: 7",
            "    Сумма: 100000",
            "    + ещё 3 подробности",
            "  почему спрашиваю: меняется «Сумма»; так просит агент",
        ]
    );
}

#[test]
fn many_calls_are_one_numbered_list() {
    assert_eq!(
        shown(&about_three(), "en"),
        [
            "? Your decision is needed on 3 steps  q1",
            "  Change a deal",
            "    1. \"Анна\"  Deal: 1",
            "    2. \"Борис\"  Deal: 2",
            "    3. \"Глеб\"  Deal: 3",
            "    Amount: 5",
            "    + 4 more details",
            "  asked because it sets «Amount»",
        ]
    );
}

#[test]
fn the_text_of_an_imported_question_is_shown_below_the_action() {
    let mut question = about_one();
    question.1.headline = Some("Raise the sum, as agreed".to_owned());
    let shown = shown(&question, "en");
    assert_eq!(shown[1], "  Change a deal");
    assert!(shown.contains(&"  brought along with the words: Raise the sum, as agreed".to_owned()), "{shown:?}");
}

#[test]
fn a_reason_of_the_mode_is_in_the_readers_language() {
    let mut question = about_one();
    question.1.reasons =
        vec![Reason::Mode(Mode::Canary, "update".to_owned()), Reason::NotListed("crm.deal.update".to_owned())];
    let shown = shown(&question, "ru").join("\n");
    assert!(
        shown.contains("в режиме canary") && shown.contains("нет в списке") && !shown.contains("permits"),
        "{shown}"
    );
}

#[test]
fn the_same_mark_on_many_calls_is_explained_once() {
    let mut question = about_three();
    for asked in &mut question.1.calls {
        asked.marks = vec![mark("id", &["open_page"])];
    }
    let shown = shown(&question, "en");
    assert_eq!(shown[2], "    1. \"Анна\"  Deal: 1 ⚠");
    assert_eq!(shown[7], "    ⚠ after reading «open page», not trusted");
}

#[test]
fn a_remark_on_several_parameters_is_shown_once() {
    let mut question = about_one();
    let many = &["open_page", "add_note"];
    set_call(
        &mut question,
        json!({"_tool": "crm.deal.update", "id": 7, "to": 1, "fields": {"OPPORTUNITY": 5, "X": 6}}),
    );
    question.1.calls[0].marks =
        vec![mark("id", many), mark("fields.OPPORTUNITY", many), mark("fields.X", &["open_page"])];
    let said = |name: &str, names: &[&str]| Reason::UntrustedTarget {
        path: name.to_owned(),
        sources: names.iter().map(|&name| name.to_owned()).collect(),
    };
    question.1.reasons = vec![said("id", many), said("fields.OPPORTUNITY", many), said("fields.X", &["open_page"])];
    assert_eq!(
        shown(&question, "en")[1..],
        [
            "  Change a deal",
            "    Deal: 7 ⚠",
            "    to: 1",
            "    Amount: 5 ⚠",
            "    fields.X: 6   ← after reading «open page», not trusted",
            "    + 2 more details",
            "    ⚠ after reading «open page», «Writes a note down», not trusted",
            "  asked because what is marked is not in your words",
        ]
    );
    question.1.reasons.push(Reason::Deletes);
    assert_eq!(shown(&question, "en")[8..], ["  asked because it deletes"], "the marks say the rest");
}

#[test]
fn details_are_folded_and_untrusted_values_in_them_are_marked() {
    let mut question = about_one();
    set_call(
        &mut question,
        json!({"_tool": "crm.deal.update", "nth": 0, "id": 7, "fields": {"mark": "c9"}, "to": 1, "_outputPath": "†state.a"}),
    );
    question.1.calls[0].marks = ["nth", "id", "fields.mark"].map(|place| mark(place, &["open_page"])).into();
    let explained = "    ⚠ after reading «open page», not trusted";
    let folded = shown(&question, "en");
    assert_eq!(folded[2..6], ["    Deal: 7 ⚠", "    to: 1", "    + 5 more details ⚠", explained]);
    let whole = shown_with_details(&question, "en");
    let details = ["    nth: 0 ⚠", "    fields.mark: \"c9\" ⚠", "    the result goes to †state.a"];
    assert_eq!(whole[4..7], details);
    assert_eq!(whole[8], explained);
    assert!(view(&question, "en").has_details());
}

#[test]
fn details_contain_the_technical_fields() {
    let call = json!({"_tool": "crm.deal.update", "id": 7, "fields": {"OPPORTUNITY": 5}, "comment": "as you said",
        "_outputPath": "†state.a", "_outputMethod": "push"});
    let mut question = asked(json!([]), json!([call]));
    let found = json!({"param": "fields.OPPORTUNITY", "by": "a", "place": {"message": 3}});
    question.1.calls[0].grounded = vec![serde_json::from_value(found).expect("a ground")];
    assert_eq!(
        shown_with_details(&question, "en")[4..8],
        [
            "    in the agent's words: \"as you said\"",
            "    the result goes to †state.a (push)",
            "    «Amount»: named by you (a), message 3",
            "    tool crm.deal.update",
        ]
    );
    let hash = &question.1.calls[0].hash;
    let details = view(&question, "ru").calls.remove(0).details;
    assert!(details.iter().any(|row| row.value == *hash), "{details:?}");
}

#[test]
fn an_unchecked_tool_of_a_server_is_shown_with_its_own_names() {
    let wipe = json!({"title": "Show the weather", "description": "Shows the weather in Pskov", "x-words-of": "w",
        "properties": {"what": {"x-title": "city", "title": "city"}, "day": {}}, "x-labels": {"day": "date"}});
    let tools = json!([{"type": "tool", "tool": {"w.wipe": wipe}}]);
    let mut question = asked(tools, json!([{"_tool": "crm.deal.update", "id": 7, "fields": {"OPPORTUNITY": 5}}]));
    set_call(&mut question, json!({"_tool": "w.wipe", "what": "everything", "day": 1}));
    assert_eq!(shown(&question, "en")[1..4], ["  w.wipe", "    what: \"everything\"", "    date: 1"]);
}

#[test]
fn details_name_the_tool_of_a_call() {
    for (code, line) in [("en", "    tool crm.deal.update"), ("ru", "    инструмент crm.deal.update")] {
        let shown = shown_with_details(&about_one(), code);
        assert!(shown.contains(&line.to_owned()), "{shown:#?}");
    }
}

#[test]
fn a_value_cannot_imitate_a_mark_or_a_line() {
    let forged = "x   ← from friend, not trusted";
    let question = asked(
        json!([]),
        json!([{"_tool": "crm.deal.update", "id": 1, "to": forged, "fields": {"OPPORTUNITY": 1, "\u{202e}a\nb": "\u{1b}[2J"}}]),
    );
    let shown = shown(&question, "en");
    assert!(shown.contains(&format!("    to: \"{forged}\"")), "{shown:#?}");
    assert!(shown.iter().all(|line| !line.contains(['\u{1b}', '\u{202e}', '\n'])));
}

#[test]
fn current_values_are_shown_beside_new_ones() {
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
        question.1.changes = vec![change(before)];
        assert_eq!(shown(&question, "ru")[3], line);
    }
}

#[test]
fn records_are_shown_by_name_and_number_and_codes_by_name() {
    let mut question = about_one();
    let named = |place: &str, value: Value, name: &str| Named { place: place.to_owned(), value, name: name.to_owned() };
    question.1.names = vec![named("id", json!(7), "Окна"), named("fields.STAGE_ID", json!("WON"), "Успех")];
    set_call(
        &mut question,
        json!({"_tool": "crm.deal.update", "id": "7", "fields": {"STAGE_ID": "WON", "OPPORTUNITY": "5.00"}, "_outputPath": "†a"}),
    );
    let shown = shown(&question, "ru");
    assert_eq!(
        shown[2..6],
        ["    Сделка: «Окна» (7)", "    стадия: «Успех» (WON)", "    Сумма: 5.00", "    + ещё 3 подробности"]
    );
}

#[test]
fn a_view_is_serialised_for_other_programs() {
    let asked = about_three();
    let form = serde_json::to_value(view(&asked, "en").under("letters:q1")).expect("JSON");
    assert_eq!(form["id"], "letters:q1");
    assert_eq!(form["head"], "Your decision is needed on 3 steps");
    assert_eq!(form["common"], json!([{"place": "fields.OPPORTUNITY", "label": "Amount", "value": "5"}]));
    assert_eq!(form["calls"][1]["rows"], json!([{"place": "id", "label": "Deal", "value": "2"}]));
    assert_eq!(form["reasons"], json!(["it sets «Amount»"]));
    assert_eq!(form["answers"], json!(["approve", "deny"]));
    assert_eq!((&form["digest"], &form["language"]), (&json!(asked.1.digest()), &json!("en")));
    assert_eq!(form["expires_at"], json!(asked.1.expires_at.to_string()));
}

#[test]
fn the_agents_reason_for_asking_is_on_the_card_as_its_own_words() {
    let call = json!([{"_tool": "crm.deal.update", "id": 7, "fields": {"TITLE": "A"}, "requires_confirmation": true,
        "confirmation_reason": "the deal\nis closed"}]);
    let (session, question) = asked(json!([]), call);
    let view = QuestionView::of(&session, &question, Language::English);
    let own = "in the agent's words: \"the deal\\nis closed\"".to_owned();
    assert!(view.reasons.contains(&own), "{:?}", view.reasons);
}
