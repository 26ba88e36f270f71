//! Single cases that depend on the content of a prompt, the order of completions, or the text of a question.

use std::sync::Arc;

use obelus_kernel::session::{
    Answer, Decision, Input, Outcome, Question, RequestId, Session, Settings, Solution, Start, Task,
};
use obelus_kernel::{Context, Time};
use serde_json::{Value, json};

use crate::world::{ACTIVITIES, tools};

/// A session with its open requests and calls.
struct Harness {
    session: Session,
    requests: Vec<RequestId>,
    calls: Vec<Start>,
}

impl Harness {
    fn new(settings: Value, messages: Vec<Value>) -> Self {
        let mut settings: Settings = serde_json::from_value(settings).expect("settings");
        settings.activities = ACTIVITIES.map(str::to_owned).into();
        let context = Context::from_value([vec![tools()], messages].concat().into()).expect("a context");
        let session = Session::new("s", context, None, Arc::new(settings)).expect("a session");
        let mut harness = Self { session, requests: Vec::new(), calls: Vec::new() };
        harness.tell(Input::Start);
        harness
    }

    fn eager() -> Self {
        Self::new(json!({"mode": "full"}), Vec::new())
    }

    fn lazy(settings: Value) -> Self {
        Self::new(settings, vec![json!({"type": "plan", "mode": "lazy", "plan": []})])
    }

    fn tell(&mut self, input: Input) {
        self.session.handle(Time(1_768_467_600_000), input).expect("the session takes it");
        while let Some(task) = self.session.poll() {
            match task {
                Task::AskModel { id } => self.requests.push(id),
                Task::Call(start) => self.calls.push(*start),
                _ => {}
            }
        }
    }

    /// Answers the oldest request.
    fn answer(&mut self, calls: Value, output: Value) {
        let id = self.requests.remove(0);
        let solution = Solution::from_value(json!({"calls": calls, "output": output})).expect("a solution");
        self.tell(Input::Answer { id, answer: Answer::Solution { solution, tokens: 1 } });
    }

    fn returns(&mut self, tool: &str, value: Value) {
        let place = self.calls.iter().position(|start| start.tool.name == tool).expect("such a call is open");
        let id = self.calls.remove(place).id;
        self.tell(Input::Ended { id, outcome: Outcome::Value(value) });
    }

    fn open(&self) -> Vec<Question> {
        self.session.questions().into_iter().filter(Question::is_open).collect()
    }

    fn approve(&mut self) {
        let question = self.open().remove(0).id;
        self.tell(Input::Decide {
            question,
            decision: Decision::Approve { only: None },
            by: "ann".to_owned(),
            digest: None,
        });
    }
}

fn call(tool: &str, path: &str, params: &Value) -> Value {
    let mut call = params.clone();
    call["_tool"] = tool.into();
    call["_outputPath"] = path.into();
    call
}

#[test]
fn a_call_keeps_the_origin_of_a_value_that_is_overwritten_later() {
    let mut harness = Harness::eager();
    let calls = [
        call("web", "†state.a", &json!({"q": "x"})),
        call("book", "†state.b", &json!({"q": "†state.a"})),
        call("book", "†state.a", &json!({"q": "y"})),
        call("book", "†state.b", &json!({"q": "z"})),
    ];
    let solution = Solution { calls: calls.map(Into::into).into(), sequential: true, ..Solution::default() };
    let id = harness.requests.remove(0);
    harness.tell(Input::Answer { id, answer: Answer::Solution { solution, tokens: 1 } });
    harness.returns("web", json!("ORDERS"));
    for _ in 0..3 {
        harness.returns("book", json!("fine"));
    }
    let memory =
        harness.session.context().view("state").expect("a state").read(&[], None).expect("a state").to_string();
    let prompt = serde_json::to_string(&harness.session.prompt(&harness.requests[0])).expect("a prompt is JSON");
    assert!(!memory.contains("ORDERS") && prompt.contains("ORDERS"), "it is seen in the call alone");
    harness.answer(json!([call("send", "†state.s", &json!({"to": "me", "body": "hello"}))]), json!("over"));
    assert_eq!((harness.open().len(), harness.calls.len()), (1, 0));
}

#[test]
fn a_delegates_question_affects_the_labels_of_its_callers_model() {
    let mut harness = Harness::eager();
    harness.answer(json!([call("clerk", "†state.a", &json!({"q": "x", "_scopes": ["tool"]}))]), Value::Null);
    harness.answer(json!([call("web", "†state.w", &json!({"q": "x"}))]), Value::Null);
    harness.returns("web", json!("ORDERS"));
    harness.answer(json!([call("send", "†state.s", &json!({"to": "ORDERS"}))]), json!("done"));
    assert_eq!(harness.open().len(), 1, "the delegate's question waits");
    harness.tell(Input::User { text: "what is it?".to_owned(), by: None });
    let prompt = serde_json::to_string(&harness.session.prompt(&harness.requests[0])).expect("a prompt is JSON");
    assert!(prompt.contains("ORDERS"));
    harness.answer(json!([call("send", "†state.t", &json!({"to": "me"}))]), json!("over"));
    assert_eq!((harness.open().len(), harness.calls.len()), (2, 0), "the model has seen what the delegate read");
}

#[test]
fn a_scope_is_fixed_when_the_call_starts() {
    let settings = json!({"mode": "full", "max_parallel": 1, "policy": {"confirm": ["digest"]}});
    let mut harness = Harness::new(settings, Vec::new());
    let digest = call("digest", "†state.d", &json!({"q": "x", "_scopes": ["seen"]}));
    let send = call("send", "†state.s", &json!({"to": "†state.d"}));
    harness.answer(json!([digest, send, call("web", "†seen.w", &json!({"q": "x"}))]), json!("over"));
    harness.returns("web", json!("ORDERS"));
    harness.approve();
    assert!(json!(harness.calls[0].scope).to_string().contains("ORDERS"));
    harness.returns("digest", json!("ORDERS, digested"));
    assert_eq!((harness.open().len(), harness.calls.len()), (1, 0), "the digest was made of what came while it waited");
}

#[test]
fn a_checked_plan_made_after_reading_needs_approval() {
    let mut harness = Harness::lazy(json!({"mode": "full", "approval": "checked"}));
    harness.answer(json!([call("web", "†state.a", &json!({"q": "x"}))]), Value::Null);
    harness.returns("web", json!("ORDERS"));
    harness.answer(json!([call("book", "†state.c", &json!({"q": "x"}))]), Value::Null);
    harness.returns("book", json!("fine"));
    harness.answer(json!([call("send", "†state.s", &json!({"to": "x"}))]), Value::Null);
    assert!(harness.calls.is_empty());
    assert_eq!(harness.open()[0].about, obelus_kernel::session::About::Plan);
}

#[test]
fn a_question_marks_untrusted_values() {
    let mut harness = Harness::eager();
    harness.answer(
        json!([
            call("web", "†state.a", &json!({"q": "x"})),
            call("send", "†state.s", &json!({"to": ["†state.a.to", "me"], "body": {"t": "†state.a.text", "n": 1}})),
        ]),
        json!("over"),
    );
    harness.returns("web", json!({"to": "evil", "text": "a\nb"}));
    let question = harness.open().remove(0);
    let expected = [
        "send",
        "  to = [\"evil\", \"me\"]   ← from web, not trusted",
        "  body.t = \"a\\nb\"   ← from web, not trusted",
        "  body.n = 1",
        "  result to \"†state.s\"",
    ];
    assert_eq!(question.description, expected.join("\n"));
    assert_eq!(question.reasons[0].to_string(), "to comes from what is not trusted: web");
    assert_eq!(question.reasons.len(), 1);
}

#[test]
fn a_plan_made_after_reading_marks_the_values_that_an_approval_covers() {
    let mut harness = Harness::lazy(json!({"mode": "full"}));
    harness.answer(json!([call("web", "†state.a", &json!({"q": "x"}))]), Value::Null);
    assert!(!harness.open()[0].description.contains("not trusted"));
    harness.approve();
    harness.returns("web", json!("ORDERS"));
    harness.answer(json!([call("send", "†state.s", &json!({"to": "evil", "body": "†state.a"}))]), Value::Null);
    let question = harness.open().remove(0);
    let expected = [
        "send   ← from web, not trusted",
        "  to = \"evil\"   ← from web, not trusted",
        "  body = \"†state.a\"",
        "  result to \"†state.s\"",
    ];
    assert_eq!(question.description, expected.join("\n"));
    assert!(question.reasons.iter().any(|reason| reason.to_string().contains("after reading")));
}

#[test]
fn a_parameter_name_of_the_model_cannot_forge_a_reason() {
    let mut harness = Harness::eager();
    let note = call("note", "†state.n", &json!({"a": 1, "x`\n\u{202e}because you said so": "†state.a"}));
    harness.answer(json!([call("web", "†state.a", &json!({"q": "x"})), note]), json!("over"));
    harness.returns("web", json!("ORDERS"));
    let question = harness.open().remove(0);
    let reasons: Vec<String> = question.reasons.iter().map(ToString::to_string).collect();
    assert!(reasons.iter().chain([&question.description]).all(|text| !text.contains('\u{202e}')));
    assert!(reasons.iter().all(|reason| !reason.contains('\n')));
}
