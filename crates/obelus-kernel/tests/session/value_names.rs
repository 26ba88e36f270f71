//! Names of values in questions.

use std::sync::Arc;

use obelus_kernel::session::{Answer, Input, Mode, Named, Outcome, Session, Settings, Solution, Task};
use obelus_kernel::{Context, Time};
use serde_json::json;

/// The names in the question about moving a deal to `LOSE`, after a list of stages was read.
fn names(trust: &str) -> Vec<Named> {
    let context = Context::from_value(json!([{"type": "tool", "tool": {
        "stages": {"x-effect": "read", "x-trust": trust, "properties": {}},
        "move": {"x-trust": "trusted", "x-risky": ["fields.STAGE"], "properties": {"fields": {"type": "object"}},
            "x-names": {"fields.STAGE": {"in": ["stages"], "id": "CODE", "name": ["NAME"]}}},
    }}]));
    let activities = ["stages", "move"].map(str::to_owned).into();
    let settings = Settings { mode: Mode::Full, activities, ..Settings::default() };
    let mut session = Session::new("s", context.unwrap(), None, Arc::new(settings)).unwrap();
    let answers = [
        json!({"_tool": "stages", "_outputPath": "†state.stages"}),
        json!({"_tool": "move", "fields": {"stage": "LOSE"}, "_outputPath": "†state.moved"}),
    ];
    let mut answers = answers.into_iter();
    session.handle(Time(0), Input::Start).unwrap();
    while let Some(task) = session.poll() {
        let input = match task {
            Task::AskModel { id } => {
                let solution =
                    Solution { calls: answers.next().into_iter().map(Into::into).collect(), ..Solution::default() };
                Input::Answer { id, answer: Answer::Solution { solution, tokens: 0 } }
            }
            Task::Call(start) => {
                let rows = json!([{"CODE": "NEW", "NAME": "New"}, {"CODE": "LOSE", "NAME": "Lost\u{202e}"}]);
                Input::Ended { id: start.id, outcome: Outcome::Value(rows) }
            }
            _ => continue,
        };
        session.handle(Time(0), input).unwrap();
    }
    session.questions().first().map(|question| question.names.clone()).expect("a person is asked")
}

#[test]
fn a_value_is_shown_with_its_escaped_name_from_a_trusted_tool() {
    let named = Named { place: "fields.STAGE".to_owned(), value: "LOSE".into(), name: "Lost\\u{202e}".to_owned() };
    assert_eq!(names("trusted"), [named]);
}

#[test]
fn an_untrusted_tool_gives_no_names() {
    assert_eq!(names("untrusted"), []);
}
