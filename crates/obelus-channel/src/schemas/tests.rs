//! The API description matches the data of the lower layers.

use std::sync::Arc;

use obelus_kernel::CallJson;
use obelus_kernel::session::{
    CallError, CallReport, CallStatus, Decision, Mode, Outcome, Question, RepeatReason, Reply, Session, TurnEnd, Used,
};
use obelus_kernel::{Context, Time};
use obelus_runtime::files::FileNews;
use obelus_runtime::people::{QuestionView, StepLine, Titles};
use obelus_runtime::sessions::StepView;
use obelus_runtime::{EventBody, EventNumber, Language, SessionEvent};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{CallStatusName, ContextMessage, ModeName, QuestionShape, SessionEventShape, ValueStory};

#[path = "../../../obelus-runtime/src/view/sample.rs"]
mod sample;

/// Parses JSON into a shape, and serialises it again.
#[track_caller]
fn fits<T: Serialize + DeserializeOwned>(written: &Value) {
    let read: T = serde_json::from_value(written.clone()).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(serde_json::to_value(read).unwrap(), *written);
}

#[test]
fn questions_match_their_schema() {
    for (session, question) in [sample::about_one(), sample::about_three()] {
        for language in [Language::English, Language::Russian] {
            let view = QuestionView::of(&session, &question, language);
            let written = serde_json::to_value(&view).unwrap();
            fits::<QuestionShape>(&written);
            assert_eq!(serde_json::from_value::<QuestionView>(written).unwrap(), view, "clients read the same");
        }
    }
}

fn reply() -> Reply {
    let report = CallReport { place: (0, 0), call: CallJson::of_tool("t"), status: CallStatus::Done, error: None };
    let reason = Some(CallError::new("limit", "too many"));
    let (output, said, at) = (Value::Null, vec!["a".to_owned()], Time(0));
    Reply { ends: TurnEnd::Limit, output, said, calls: vec![report], waiting: Vec::new(), reason, end: None, at }
}

/// One event of each kind.
fn all(session: &Session, question: &Question) -> Vec<EventBody> {
    let (by, text) = ("api:anna".to_owned(), "words".to_owned());
    let (call, id) = (CallJson::of_tool("t"), "0.0".parse().unwrap());
    let report =
        CallReport { place: (0, 1), call: call.clone(), status: CallStatus::Failed, error: Some(Box::default()) };
    let headline = session.call_headline(&call);
    let step = StepView { place: (0, 1), report, headline, lacks: Some(text.clone()), consent: Some(1) };
    let asked = || Box::new(question.clone());
    vec![
        EventBody::UserSaid { text: text.clone(), by: None },
        EventBody::UserSaid { text: text.clone(), by: Some("api:anna".to_owned()) },
        EventBody::AgentSaid { text: text.clone() },
        EventBody::Writing { text: text.clone() },
        EventBody::ModelAsked { request: "1".parse().unwrap() },
        EventBody::Used { request: "1".parse().unwrap(), used: Used { input: 1, output: 2, cost: Some(0.5.into()) } },
        EventBody::CallBegan { id, call, attempt: 1, consent: None, edited_by: Some(by.clone()) },
        EventBody::CallEnded { id: "0.0".parse().unwrap(), outcome: Outcome::Value(json!(1)) },
        EventBody::Delegated { id: "0.0".parse().unwrap(), report: step.report.clone(), tools: Vec::new() },
        EventBody::QuestionAsked { question: asked() },
        EventBody::QuestionAskedAgain { question: asked(), because: RepeatReason::ItWillLapse },
        EventBody::QuestionDecided { question: question.id.clone(), decision: Decision::DidNot, by: by.clone() },
        EventBody::ConsentRevoked { consent: 1, by: by.clone() },
        EventBody::QuestionExpired { question: question.id.clone() },
        EventBody::Happened { event: json!({"a": 1}) },
        EventBody::StateEdited { by: by.clone() },
        EventBody::ModeChanged { mode: Mode::Canary },
        EventBody::RulesChanged,
        EventBody::Paused { by: by.clone() },
        EventBody::Resumed { by },
        EventBody::Stopped,
        EventBody::Files { news: FileNews::Taken { file: "state.json".into() } },
        EventBody::Moved { mode: Mode::Full, is_asking: true, steps: vec![step] },
        EventBody::Rested { reply: Box::new(reply()) },
        EventBody::Failed { code: "not_durable", text },
        EventBody::Missed,
    ]
}

#[test]
fn events_match_their_schema() {
    let (session, question) = sample::about_one();
    for body in all(&session, &question) {
        let event = SessionEvent { is_transient: false, number: EventNumber { record: 1, part: 2 }, at: Time(0), body };
        fits::<SessionEventShape>(&serde_json::to_value(event).unwrap());
    }
    let titles = Titles::of(session.context(), "en");
    let line = StepLine::began(&question.calls[0].call, Some(1), &titles, Language::English);
    let line = line.edited_by("anna", Language::English);
    let told =
        json!({"number": "1-1", "at": 0, "event": "call_began", "id": "0.0", "call": {}, "attempt": 1, "line": line});
    fits::<SessionEventShape>(&told);
}

#[test]
fn statuses_and_modes_match_their_schemas() {
    let statuses = [
        CallStatus::Planned,
        CallStatus::Blocked,
        CallStatus::Ready,
        CallStatus::Waiting,
        CallStatus::Running,
        CallStatus::Done,
        CallStatus::Failed,
        CallStatus::Skipped,
        CallStatus::Denied,
        CallStatus::Refused,
    ];
    statuses.iter().for_each(|status| fits::<CallStatusName>(&json!(status)));
    [Mode::Shadow, Mode::Canary, Mode::Full].iter().for_each(|mode| fits::<ModeName>(&json!(mode)));
}

#[test]
fn outcomes_and_decisions_match_their_schemas() {
    let outcomes = [
        Outcome::Value(json!({"a": 1})),
        Outcome::Messages(vec![json!({"type": "state", "data": {}})]),
        Outcome::Error(CallError::new("timeout", "too late")),
        Outcome::Lost { message: "lost".to_owned() },
    ];
    for outcome in outcomes {
        fits::<super::events::OutcomeShape>(&serde_json::to_value(outcome).unwrap());
    }
    let params = json!({"a": 1}).as_object().cloned().unwrap_or_default();
    let decisions = [
        Decision::Approve { only: Some(vec![0]) },
        Decision::Deny { reason: "no".to_owned() },
        Decision::DenySome { only: vec![1], reason: String::new() },
        Decision::Edit { params },
        Decision::Value { value: json!(1) },
        Decision::Happened { result: json!(null) },
        Decision::DidNot,
    ];
    for decision in decisions {
        fits::<super::events::DecisionShape>(&serde_json::to_value(decision).unwrap());
    }
}

#[test]
fn messages_and_value_histories_match_their_schemas() {
    let messages = json!([
        {"type": "text", "role": "user", "text": "words"},
        {"type": "tool", "tool": {"t": {"x-effect": "read"}}},
        {"type": "input", "data": {"n": 1}, "_instance": "a"},
        {"type": "state", "data": {"sum": 2}, "_call": {"_tool": "t", "n": "†input.n"}, "_outputPath": "†state.sum",
            "_date": "2026-01-01T00:00:00Z", "_labels": ["untrusted:t"]},
        {"type": "data", "kind": "memo", "data": {"a": 1}, "description": "what it is"},
        {"type": "error", "data": {"code": "timeout"}},
        {"type": "plan", "mode": "lazy", "plan": [{"_tool": "t"}]},
    ]);
    let context = Context::from_value(messages).unwrap();
    for message in context.to_json().as_array().unwrap() {
        fits::<ContextMessage>(message);
    }
    let (session, _) = sample::about_one();
    let why = session.why("†state", None).unwrap();
    fits::<ValueStory>(&why.to_json());
    let settings = Arc::new(obelus_kernel::session::Settings::default());
    let session = Session::new("s", context, None, settings).unwrap();
    let why = session.why("†state.sum", Some("a")).unwrap().to_json();
    assert_eq!(why["because"][0]["params"][0]["from"][0]["what"], "†input.n", "{why}");
    fits::<ValueStory>(&why);
}

#[test]
fn fuzz_bodies_of_the_api_are_refused_or_read() {
    use crate::types::{AnswerBody, NewSession};

    crate::fuzz::fuzz("api", |input| {
        let _ = (serde_json::from_slice::<AnswerBody>(input), serde_json::from_slice::<NewSession>(input));
        serde_json::from_slice::<Value>(input).is_ok()
    });
}
