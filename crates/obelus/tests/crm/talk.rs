//! Reading, creating, and a change that needs an approval, checked against the portal's records.

use serde_json::json;

use crate::office::Office;

const MODEL: &str = r#"
- user: создай сделку
  raw: |-
    THOUGHT:
    Создаём.
    ACTION:
    [{"method": "crm.deal.add", "params": {"fields": {"TITLE": "Поставка окон"}}, "comment": "Создаём сделку"},
     {"method": "tasks.task.add", "params": {"fields": {"TITLE": "Позвонить заказчику", "RESPONSIBLE_ID": 1}}}]
    ASSISTANT:
    Создаю сделку и ставлю задачу.
- user: сумм
  raw: |-
    THOUGHT:
    Сумму подтверждает человек.
    ACTION:
    [{"method": "crm.deal.update", "params": {"id": "†state.objects.current_deal_id", "fields": {"OPPORTUNITY": 100000}}}]
    ASSISTANT:
    Подтвердите, пожалуйста.
- user: сколько
  when: .results == []
  raw: |-
    THOUGHT:
    Посмотрю.
    ACTION:
    ```json
    [{"method": "crm.deal.list", "params": {"filter": {"%TITLE": "Поставка окон"}, "select": ["ID", "TITLE", "OPPORTUNITY"]}},
     {"method": "crm.deal.get", "params": {"id": 999999}}]
    ```
    ASSISTANT:
    Сейчас посмотрю.
- user: сколько
  raw: "THOUGHT:\nЕсть ответ.\nACTION:\n[]\nASSISTANT:\nНашлась одна сделка."
"#;

#[test]
fn a_conversation_makes_exactly_the_approved_changes_in_the_portal() {
    let office = Office::open("talk", 0.0);
    office.model(MODEL);
    office.says("full", "Создай сделку «Поставка окон»\n").exits(0).prints("Создаю сделку и ставлю задачу.");
    let [(id, _)] = &office.deals("Поставка окон")[..] else { panic!("not one deal") };
    let tasks = office.portal_says("tasks.task.list", &json!({"filter": {"TITLE": "Позвонить заказчику"}}));
    assert_eq!(tasks["result"]["tasks"].as_array().map(Vec::len), Some(1), "{tasks}");

    // Nothing changes before the approval, and the question shows the present value.
    let asked = office.says("full", "Поставь сумму 100000\n").exits(3).prints("100000").prints("сумма");
    assert!(!asked.stdout.contains("crm.deal.update"), "{}", asked.stdout);
    let sum = || office.portal_says("crm.deal.get", &json!({"id": id}))["result"]["OPPORTUNITY"].clone();
    assert_ne!(sum(), "100000.00");
    let state = office.state();
    let key = format!("deal_{id}_opportunity");
    assert_eq!(state["confirmations"][&key]["status"], "requested", "{state}");
    office.answers("q1", &["approve"]).exits(0);
    assert_eq!(sum(), "100000.00");
    assert_eq!(office.state()["confirmations"][&key]["status"], "approved");

    // A failed step and a read: the portal's error is passed on, and the count is recorded.
    office.says("full", "Сколько таких сделок?\n").exits(0).prints("Нашлась одна сделка").prints("Not found");
    let state = office.state();
    let done: Vec<&str> =
        state["done"].as_array().expect("a list").iter().filter_map(|d| d["description"].as_str()).collect();
    assert!(done.contains(&"Получено сделок: 1"), "{done:?}");
    assert_eq!(state["objects"]["current_deal_id"].to_string(), *id);
    assert_eq!((&state["next_planned_actions"], &state["in_progress"]), (&json!([]), &json!([])));
}

/// The model's answers to a plain yes or no: the waiting call with the user's decision.
const DECISIONS: &str = r#"
- user: ^да
  raw: "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.deal.update\", \"params\": {\"id\": 1, \"fields\": {\"OPPORTUNITY\": 100000}}, \"confirmed\": true}]\nASSISTANT:\nХорошо."
- user: ^нет
  raw: "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.deal.update\", \"params\": {\"id\": 1, \"fields\": {\"OPPORTUNITY\": 100000}}, \"confirmation_decision\": \"deny\", \"confirmation_reason\": \"нет\"}]\nASSISTANT:\nХорошо."
- user: сумм
  raw: "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.deal.update\", \"params\": {\"id\": 1, \"fields\": {\"OPPORTUNITY\": 100000}}}]\nASSISTANT:\nПодтвердите."
"#;

#[test]
fn a_step_approved_in_conversation_is_shown_once() {
    for (name, word, outcome) in [("yes", "да", "готово"), ("no", "нет", "отклонено")] {
        let office = Office::open(&format!("once-{name}"), 0.0);
        office.model(DECISIONS);
        let told = office.says("full", &format!("Поставь сумму 100000\n{word}\n")).stdout;
        let (_, after) = told.split_once("Хорошо.").expect("it answers");
        assert_eq!(after.matches(outcome).count(), 1, "{told}");
    }
}

#[test]
fn canary_changes_nothing_and_keeps_the_step() {
    let office = Office::open("canary", 0.0);
    office.model(MODEL);
    office.says("canary", "Создай сделку\nПоставь сумму 100000\n").exits(0).prints("canary");
    let [(id, _)] = &office.deals("Поставка окон")[..] else { panic!("not one deal") };
    assert_ne!(office.portal_says("crm.deal.get", &json!({"id": id}))["result"]["OPPORTUNITY"], "100000.00");
    let state = office.state();
    assert_eq!(state["next_planned_actions"][0]["method"], "crm.deal.update", "{state}");
    assert_eq!(state["confirmations"], json!({}));
}
