//! Example questions and titles for tests, and what is edited of a question.

use std::sync::Arc;

use obelus_kernel::Context;
use obelus_kernel::session::{Answer, Input, Mode, Session, Settings, Solution, Task};
use serde_json::json;

use super::*;

/// Example tools.
pub(crate) fn sample(code: &'static str) -> Titles {
    let context = Context::from_value(json!([{"type": "tool", "tool": {
        "crm.deal.update": {
            "x-title": {"ru": "Изменить сделку", "en": "Change a deal"}, "x-effect": "update",
            "x-before": {"tool": "open_page", "params": {"id": "id"}, "fields": "fields"},
            "x-details": ["fields.MARK", "nth"],
            "x-labels": {"fields.STAGE_ID": {"ru": "стадия", "en": "stage"}, "rows.count": "количество"},
            "description": "Changes a deal. Every field that is given is written.",
            "properties": {
                "id": {"type": "integer", "x-title": {"ru": "Сделка", "en": "Deal"}},
                "fields": {"type": "object", "properties": {
                    "OPPORTUNITY": {"type": "number", "x-title": {"ru": "Сумма", "en": "Amount"}},
                    "TITLE": {"type": "string", "title": "Name"}}},
                "rows": {"type": "array", "items": {"type": "object", "properties": {"price": {"x-title": "Цена"}}}},
            }},
        "add_note": {"description": "Writes a note down; keeps the words", "x-effect": "create"},
        "open_page": {"x-effect": "read"},
        "take_stock": {"x-effect": "read", "x-quiet": true},
        "look": {"x-effect": "read", "x-entity": {"name": "link", "id": "name"}},
    }}]));
    Titles::of(&context.expect("a context"), code)
}

/// The question that a session asks when its model answers with these calls.
pub(crate) fn asked(extra: Value, calls: Value) -> Question {
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
pub(crate) fn about_one() -> Question {
    asked(
        json!([]),
        json!([{"_tool": "crm.deal.update", "id": 7, "fields": {"OPPORTUNITY": 100_000}, "comment": "как просили",
        "requires_confirmation": true}]),
    )
}

/// A question about the same call for three instances.
pub(crate) fn about_three() -> Question {
    let data: Vec<Value> = ["Анна", "Борис", "Глеб"]
        .iter()
        .zip(1..)
        .map(|(name, id)| json!({"type": "input", "_instance": name, "data": {"id": id}}))
        .collect();
    asked(data.into(), json!([{"_tool": "crm.deal.update", "id": "†input.id", "fields": {"OPPORTUNITY": 5}}]))
}

#[test]
fn only_parameters_are_edited() {
    assert_eq!(params(&about_one()), Some(json!({"id": 7, "fields": {"OPPORTUNITY": 100_000}})));
    assert_eq!(params(&about_three()), None);
}
