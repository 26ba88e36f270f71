//! Whole questions and steps as people see them, in both languages, against `golden/*.txt`.

use obelus_kernel::session::report_error::{Lack, ReportError};
use obelus_kernel::session::{
    About, Answer, CallError, CallReport, CallStatus, Change, Decision, Input, Mode, Named, Outcome, Question, Session,
    Settings, Solution, Task, ValueMark,
};
use obelus_kernel::{CallJson, Time};
use serde_json::{Value, json};

use super::question::QuestionViewBuilder;
use super::sample::{about_three, asked, solved};
use super::{QuestionView, StepLine, Titles, ViewLine};
use crate::words::Language;

/// The named parts of the text.
struct Golden {
    language: Language,
    text: String,
}

impl Golden {
    fn add(&mut self, name: &str, lines: &[ViewLine]) {
        self.text.push_str(&format!("== {name}\n"));
        for line in lines {
            let line = line.plain();
            // Hashes are left out.
            let is_hash = line.len() > 64 && line.trim().split(' ').next_back().is_some_and(|word| word.len() == 64);
            self.text.push_str(if is_hash { line[..line.len() - 64].trim_end() } else { &line });
            self.text.push('\n');
        }
        self.text.push('\n');
    }

    fn question(&mut self, name: &str, (session, question): &(Session, Question)) {
        let view = QuestionView::of(session, question, self.language);
        self.add(name, &view.lines());
        if view.has_details() {
            self.add(&format!("{name}, with details"), &view.lines_with_details());
        }
    }
}

fn creation() -> (Session, Question) {
    let call = json!({"_tool": "tasks.task.add", "TITLE": "Позвонить Анне", "DEADLINE": "2026-11-20",
        "comment": "как вы просили", "_outputPath": "†state.task"});
    asked(json!([]), json!([call]))
}

fn update() -> (Session, Question) {
    let fields = json!({"OPPORTUNITY": 100_000, "STAGE_ID": "WON", "TITLE": "Окна"});
    let (session, mut question) =
        asked(json!([]), json!([{"_tool": "crm.deal.update", "id": 7, "fields": fields.clone()}]));
    let change = |field: &str, before: Value| Change {
        call: 0,
        field: field.to_owned(),
        before: Some(before).filter(|before| !before.is_null()),
        after: fields[field].clone(),
        before_from: Default::default(),
        after_from: Default::default(),
    };
    question.changes =
        vec![change("OPPORTUNITY", json!("50000.00")), change("STAGE_ID", json!("NEW")), change("TITLE", json!(null))];
    let named = |place: &str, value: Value, name: &str| Named { place: place.to_owned(), value, name: name.to_owned() };
    let stage = "fields.STAGE_ID";
    question.names = vec![
        named("id", json!(7), "Окна для школы"),
        named(stage, json!("WON"), "Успех"),
        named(stage, json!("NEW"), "Новая"),
    ];
    (session, question)
}

fn web_form() -> (Session, Question) {
    let form = json!({"mark": "c9", "fields": {"Имя": "Анна", "Пароль": "пароль магазина"}});
    let (session, mut question) = asked(
        json!([]),
        json!([{"_tool": "submit", "name": "Заказать", "page": "https://shop.example.test/order", "nth": 0,
            "form": form, "requires_confirmation": true}]),
    );
    let mark = |place: &str| ValueMark { place: place.to_owned(), sources: vec!["open_page".to_owned()] };
    question.calls[0].marks = vec![mark("name"), mark("nth"), mark("form.mark")];
    (session, question)
}

fn plan() -> (Session, Question) {
    let settings: Settings = serde_json::from_value(json!({"planning": "before_reading"})).expect("settings");
    let calls = json!([
        {"_tool": "tasks.task.add", "TITLE": "Позвонить", "_outputPath": "†state.task"},
        {"_tool": "crm.deal.update", "id": 7, "fields": {"TITLE": "†state.task"}},
    ]);
    let session = solved(json!([]), &calls, settings);
    let question = session.questions().into_iter().next().expect("a question");
    assert_eq!(question.about, About::Plan);
    (session, question)
}

/// A session with a running note call, and the call.
fn at_work() -> (Session, Box<obelus_kernel::session::Start>) {
    let call = json!([{"_tool": "tasks.task.add", "TITLE": "Позвонить Анне", "_outputPath": "†state.task"}]);
    let mut session = solved(json!([]), &call, Settings::default());
    while let Some(task) = session.poll() {
        if let Task::Call(start) = task {
            return (session, start);
        }
    }
    panic!("the call begins");
}

fn in_doubt() -> (Session, Question) {
    let (mut session, start) = at_work();
    let outcome = Outcome::Lost { message: "the connection was closed".to_owned() };
    session.handle(Time(1_000), Input::Ended { id: start.id, outcome }).expect("an end");
    let question = session.questions().into_iter().next().expect("a question");
    assert_eq!(question.about, About::InDoubt);
    (session, question)
}

/// A question about a call that was approved and done an hour before.
fn repeated() -> (Session, Question) {
    let call = json!({"_tool": "crm.deal.update", "id": 7, "fields": {"OPPORTUNITY": 100_000}});
    let settings = Settings { time_zone: Some("Europe/Moscow".to_owned()), ..Settings::default() };
    let mut session = solved(json!([]), &json!([call]), settings);
    let question = session.questions().remove(0).id;
    let (decision, by) = (Decision::Approve { only: None }, "a person".to_owned());
    session.handle(Time(1_000), Input::Decide { question, decision, by, digest: None }).expect("an approval");
    let mut hours = (1..).map(|hour| Time(hour * 3_600_000));
    while let Some(task) = session.poll() {
        let now = hours.next().expect("an hour");
        match task {
            Task::Call(start) => {
                session
                    .handle(now, Input::Ended { id: start.id, outcome: Outcome::Value(json!(true)) })
                    .expect("an end");
            }
            Task::AskModel { id } => {
                let solution = Solution::from_value(json!({"calls": [call]})).expect("a solution");
                let answer = Answer::Solution { solution, tokens: 1 };
                session.handle(now, Input::Answer { id, answer }).expect("an answer");
            }
            _ => {}
        }
    }
    let question = session.questions().pop().expect("a question");
    (session, question)
}

fn elicitation() -> (Session, Question) {
    let (mut session, start) = at_work();
    let schema = json!({"type": "object", "properties": {"code": {"type": "string"}}});
    let words = "Какой код из SMS?\nОн действует минуту.".to_owned();
    session.handle(Time(1_000), Input::Elicit { id: start.id, key: "1".to_owned(), words, schema }).expect("a wish");
    let question = session.questions().into_iter().next().expect("a question");
    (session, question)
}

fn edit(language: Language) -> Vec<ViewLine> {
    let (session, question) = creation();
    let params = json!({"DEADLINE": "2026-12-01"}).as_object().cloned().expect("parameters");
    QuestionView::edited(&session, &question.id, &params, None, language).expect("it fits").lines()
}

fn steps(language: Language) -> Vec<ViewLine> {
    let (session, _) = creation();
    let titles = Titles::of(session.context(), language.code());
    let call = CallJson::from(json!({"_tool": "tasks.task.add", "TITLE": "Позвонить Анне"}));
    let report = |status, error: Value| {
        let error = serde_json::from_value(error).expect("an error or null");
        StepLine::of_report(&CallReport { place: (9, 0), call: call.clone(), status, error }, &session, language)
    };
    let ended = |outcome| StepLine::ended(&call, &outcome, &titles, language);
    let lacks = Some(Lack::Property { field: String::new(), name: "TITLE".to_owned() });
    let without_title = CallReport {
        place: (9, 0),
        call: call.clone(),
        status: CallStatus::Failed,
        error: Some(Box::new(ReportError { lacks, ..ReportError::default() })),
    };
    let lines = [
        StepLine::began(&call, Some(2), &titles, language),
        ended(Outcome::Value(json!({"title": "Позвонить Анне"}))),
        ended(Outcome::Value(json!(12))),
        ended(Outcome::Error(CallError::new("ACCESS_DENIED", "no rights"))),
        ended(Outcome::Error(CallError::new("timeout", "too late"))),
        ended(Outcome::Lost { message: "the connection was closed".to_owned() }),
        report(CallStatus::Done, json!(null)),
        report(CallStatus::Waiting, json!(null)),
        report(CallStatus::Denied, json!({"message": "не сегодня"})),
        report(CallStatus::Refused, json!({"rule": "POL-1"})),
        report(CallStatus::Refused, json!({"reason": {"not_listed": "tasks.task.add"}})),
        report(CallStatus::Skipped, json!({"code": "not_started"})),
        report(CallStatus::Skipped, json!({"rule": "PLAN-4"})),
        StepLine::of_report(&without_title, &session, language),
    ];
    assert_eq!(session.settings().mode, Mode::Full);
    lines.iter().map(StepLine::line).collect()
}

fn golden(language: Language) -> String {
    let mut golden = Golden { language, text: String::new() };
    golden.question("a creation", &creation());
    golden.question("an update with before and after", &update());
    golden.question("a group over instances", &about_three());
    golden.question("a call that was done before", &repeated());
    golden.question("a plan", &plan());
    golden.question("a web form", &web_form());
    golden.question("an effect in doubt", &in_doubt());
    golden.question("an elicitation", &elicitation());
    golden.add("an edit", &edit(language));
    golden.add("steps", &steps(language));
    golden.text
}

#[test]
fn questions_and_steps_match_the_golden_files_in_both_languages() {
    let files =
        [(Language::Russian, include_str!("golden/ru.txt")), (Language::English, include_str!("golden/en.txt"))];
    let mut others = String::new();
    for (language, expected) in files {
        let shown = golden(language);
        if shown != expected {
            others.push_str(&format!("golden/{}.txt is to be:\n{shown}<end>\n", language.code()));
        }
    }
    assert!(others.is_empty(), "{others}");
}

#[test]
fn values_that_were_read_are_not_shown_for_another_record() {
    let (session, question) = update();
    let titles = Titles::of(session.context(), Language::English.code());
    let pages = titles.pages();
    let read_values = |id: u64| {
        let mut edited = question.clone();
        let mut call = (*edited.calls[0].call).clone();
        call["id"] = id.into();
        edited.calls[0].call = call.into();
        let language = Language::English;
        let proposed = Some(&question);
        let view = QuestionViewBuilder { question: &edited, titles: &titles, pages: &pages, language, proposed }.view();
        view.calls[0].rows.iter().filter_map(|row| row.before.clone()?.value).collect::<Vec<_>>()
    };
    assert_eq!(read_values(7), ["50000.00", "«Новая» (NEW)"]);
    assert_eq!(read_values(8), [""; 0]);
}

#[test]
fn the_calls_of_a_plan_name_the_calls_they_need_and_how_each_was_decided() {
    let (mut session, question) = plan();
    let calls = |session: &Session| {
        let question = session.question(&question.id).expect("the question");
        let calls = QuestionView::of(session, &question, Language::English).calls;
        calls.into_iter().map(|call| (call.needs, call.is_open, call.is_approved)).collect::<Vec<_>>()
    };
    assert_eq!(calls(&session), [(vec![], true, None), (vec![0], true, None)]);
    let decision = Decision::Approve { only: Some(vec![0]) };
    let (question, by) = (question.id.clone(), "a person".to_owned());
    session.handle(Time(1_000), Input::Decide { question, decision, by, digest: None }).expect("an approval");
    assert_eq!(calls(&session), [(vec![], false, Some(true)), (vec![], false, Some(false))]);
}
