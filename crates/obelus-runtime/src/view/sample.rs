//! Example tools and questions for tests of this crate and of the binary, which includes this file.

use std::sync::Arc;

use obelus_kernel::session::{Answer, Input, Mode, Question, Session, Settings, Solution, Task};
use obelus_kernel::{Context, Time};
use serde_json::{Value, json};

/// A context with the example tools, and these messages.
pub(crate) fn context(messages: Value) -> Context {
    let update = json!({
        "x-title": {"ru": "Изменить сделку", "en": "Change a deal"}, "x-effect": "update", "x-trust": "trusted",
        "x-risky": ["fields.OPPORTUNITY"],
        "x-before": {"tool": "open_page", "params": {"id": "id"}, "fields": "fields"},
        "x-details": ["fields.MARK", "nth"],
        "x-labels": {"fields.STAGE_ID": {"ru": "стадия", "en": "stage"}, "rows.count": "количество"},
        "description": "Changes a deal. Every field that is given is written.",
        "properties": {
            "id": {"type": "integer", "x-title": {"ru": "Сделка", "en": "Deal"}}, "to": {}, "nth": {},
            "fields": {"type": "object", "properties": {
                "OPPORTUNITY": {"type": "number", "x-title": {"ru": "Сумма", "en": "Amount"}},
                "KIND": {"enum": ["SALE", "SERVICE"]},
                "TITLE": {"type": "string", "title": "Name"}}},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"price": {"x-title": "Цена"}}}},
        }
    });
    let add = json!({
        "x-title": {"ru": "Создать задачу", "en": "Create a task"}, "x-effect": "create", "x-trust": "trusted",
        "x-risky": ["DEADLINE"],
        "x-labels": {"TITLE": {"ru": "название", "en": "title"}, "DEADLINE": {"ru": "срок", "en": "deadline"}},
        "properties": {"TITLE": {"type": "string"}, "DEADLINE": {"type": "string", "format": "date"}},
    });
    let submit = json!({
        "x-title": {"ru": "Отправить форму", "en": "Submit the form"}, "x-effect": "create",
        "x-entity": {"name": "button", "id": "name"}, "x-details": ["nth", "form.mark"],
        "x-labels": {
            "name": {"ru": "кнопка", "en": "button"}, "page": {"ru": "страница", "en": "page"},
            "form.fields.*": {"ru": "будет отправлено", "en": "will be sent"},
        },
        "properties": {"name": {}, "page": {}, "nth": {}, "form": {"type": "object"}},
    });
    let tools = json!({"type": "tool", "tool": {
        "crm.deal.update": update,
        "tasks.task.add": add,
        "submit": submit,
        "add_note": {"description": "Writes a note down; keeps the words", "x-effect": "create"},
        "open_page": {"x-effect": "read"},
        "take_stock": {"x-effect": "read", "x-quiet": true},
        "look": {"x-effect": "read", "x-entity": {"name": "link", "id": "name"}},
    }});
    let mut all = vec![tools];
    all.extend(messages.as_array().cloned().unwrap_or_default());
    Context::from_value(all.into()).expect("a context")
}

/// A session whose model has answered with these calls. Pages can be opened only if something must be read first.
pub(crate) fn solved(messages: Value, calls: &Value, more: Settings) -> Session {
    let activities = ["crm.deal.update", "tasks.task.add", "submit", "add_note"].map(str::to_owned);
    let time_zone = more.time_zone.clone().or_else(|| Some("UTC".to_owned()));
    let settings = Settings { mode: Mode::Full, activities: activities.into(), time_zone, ..more };
    let mut session = Session::new("s", context(messages), None, Arc::new(settings)).expect("a session");
    session.handle(Time(0), Input::User { text: "go".to_owned(), by: None }).expect("words");
    let Some(Task::AskModel { id }) = session.poll() else { panic!("the model is asked") };
    let solution = Solution::from_value(json!({"calls": calls})).expect("a solution");
    let answer = Answer::Solution { solution, tokens: 1 };
    session.handle(Time(0), Input::Answer { id, answer }).expect("an answer");
    session
}

/// The question that a session asks when its model answers with these calls.
pub(crate) fn asked(messages: Value, calls: Value) -> (Session, Question) {
    let session = solved(messages, &calls, Settings::default());
    let question = session.questions().into_iter().next().expect("a question");
    (session, question)
}

/// A question about one call.
pub(crate) fn about_one() -> (Session, Question) {
    let call = json!({"_tool": "crm.deal.update", "id": 7, "fields": {"OPPORTUNITY": 100_000},
        "comment": "как просили", "requires_confirmation": true});
    asked(json!([]), json!([call]))
}

/// A question about the same call for three instances.
pub(crate) fn about_three() -> (Session, Question) {
    let named = ["Анна", "Борис", "Глеб"].iter().zip(1..);
    let data: Vec<Value> =
        named.map(|(name, id)| json!({"type": "input", "_instance": name, "data": {"id": id}})).collect();
    asked(data.into(), json!([{"_tool": "crm.deal.update", "id": "†input.id", "fields": {"OPPORTUNITY": 5}}]))
}
