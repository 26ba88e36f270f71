//! A driver under the control of a test: the test says what completes, when, and who answers.

use std::sync::Arc;

use obelus_kernel::session::{
    Answer, CallError, Decision, ElicitationAnswer, Input, Outcome, Question, QuestionStatus, Refused, RepeatReason,
    Reply, RequestId, Session, Settings, Solution, Start, Task, TurnEnd,
};
use obelus_kernel::{Context, Message, Time};
use serde_json::{Value, json};

/// A session and everything it has emitted.
pub(crate) struct Harness {
    pub(crate) session: Session,
    pub(crate) now: Time,
    /// Unanswered requests to the model.
    pub(crate) requests: Vec<RequestId>,
    /// Calls that have not ended.
    pub(crate) open: Vec<Start>,
    /// Every call that was started.
    pub(crate) started: Vec<Start>,
    /// Questions in the order in which they were asked.
    pub(crate) asked: Vec<String>,
    /// Questions that were asked again, with the reason.
    pub(crate) asked_again: Vec<(String, RepeatReason)>,
    pub(crate) said: Vec<String>,
    pub(crate) rests: Vec<Reply>,
    /// Answers to elicitations: the call, the key, and the answer.
    pub(crate) told: Vec<(String, String, ElicitationAnswer)>,
    /// Paths of saved requests that the session asked to load.
    pub(crate) loads: Vec<String>,
}

/// One tool for each kind of effect.
fn tools() -> Value {
    json!({"type": "tool", "tool": {
        "read": {"x-trust": "trusted", "x-effect": "read", "properties": {"q": {}}},
        "make": {"x-trust": "trusted", "x-effect": "create", "properties": {"q": {}}},
        "change": {"x-trust": "trusted", "x-effect": "update", "x-risky": ["sum"], "properties": {"id": {"type": "integer"}, "sum": {}}},
        "drop": {"x-trust": "trusted", "x-effect": "delete", "required": ["id"], "properties": {"id": {"type": "integer"}}},
        "count": {"x-trust": "trusted", "x-effect": "update", "_output": {"type": "integer"}, "properties": {"q": {}}},
        "muse": {"properties": {"q": {}}, "_output": {}},
        "child": {"x-trust": "trusted", "_delegate": "anonymous", "x-effect": "create", "_scopes": ["tool"], "properties": {"q": {}}},
    }})
}

impl Harness {
    /// A session in the mode `full` with these settings, before its start.
    pub(crate) fn with(settings: Value) -> Self {
        Self::on(json!([]), settings)
    }

    /// A session whose context has the tools and these messages.
    pub(crate) fn on(messages: Value, mut settings: Value) -> Self {
        let schema = settings.as_object_mut().and_then(|fields| fields.shift_remove("schema"));
        if settings.get("mode").is_none() {
            settings["mode"] = "full".into();
        }
        let mut settings: Settings = serde_json::from_value(settings).expect("settings");
        settings.activities = ["read", "make", "change", "drop", "count", "look"].map(str::to_owned).into();
        let mut context = vec![tools()];
        context.extend(messages.as_array().expect("messages").iter().cloned());
        let context = Context::from_value(context.into()).expect("a context");
        Self {
            session: Session::new("s", context, schema, Arc::new(settings)).expect("a session"),
            now: Time(1_768_467_600_000),
            requests: Vec::new(),
            open: Vec::new(),
            started: Vec::new(),
            asked: Vec::new(),
            asked_again: Vec::new(),
            said: Vec::new(),
            rests: Vec::new(),
            told: Vec::new(),
            loads: Vec::new(),
        }
    }

    /// A session with an open first request.
    pub(crate) fn at_work(settings: Value) -> Self {
        let mut harness = Self::with(settings);
        harness.start();
        harness
    }

    pub(crate) fn tell(&mut self, input: Input) -> Result<(), Refused> {
        let answer = self.session.handle(self.now, input);
        while let Some(task) = self.session.poll() {
            match task {
                Task::AskModel { id } => self.requests.push(id),
                Task::Call(start) => {
                    self.open.push((*start).clone());
                    self.started.push(*start);
                }
                Task::Ask { id } => self.asked.push(id.to_string()),
                Task::Say(words) => self.said.push(words),
                Task::AskAgain { id, because } => self.asked_again.push((id.to_string(), because)),
                Task::Rest(reply) => self.rests.push(*reply),
                Task::AnswerElicitation { id, key, answer } => self.told.push((id.to_string(), key, answer)),
                Task::Load { path, .. } => self.loads.push(path),
            }
        }
        answer
    }

    fn must_tell(&mut self, input: Input) {
        self.tell(input).expect("the session takes it");
    }

    pub(crate) fn start(&mut self) {
        self.must_tell(Input::Start);
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.must_tell(Input::User { text: text.to_owned(), by: None });
    }

    pub(crate) fn stop(&mut self) {
        self.must_tell(Input::Stop);
    }

    /// Advances the clock.
    pub(crate) fn wait(&mut self, hours: u64) {
        self.now = self.now.plus_seconds(hours * 3600);
        self.must_tell(Input::Tick);
    }

    /// Answers the oldest request.
    pub(crate) fn solve(&mut self, calls: Value, output: Value) {
        self.answer(json!({"calls": calls, "output": output}), false);
    }

    /// As [`Self::solve`]; the calls run in the order of writing.
    pub(crate) fn solve_in_order(&mut self, calls: Value, output: Value) {
        self.answer(json!({"calls": calls, "output": output}), true);
    }

    /// Answers the oldest request with any solution.
    pub(crate) fn solve_as(&mut self, solution: Solution) {
        let id = self.requests.remove(0);
        self.must_tell(Input::Answer { id, answer: Answer::Solution { solution, tokens: 10 } });
    }

    pub(crate) fn answer(&mut self, answer: Value, sequential: bool) {
        let id = self.requests.remove(0);
        let answer = match Solution::from_value(answer.clone()) {
            Ok(solution) => Answer::Solution { solution: Solution { sequential, ..solution }, tokens: 10 },
            Err(error) => Answer::OutOfFormat { text: answer.to_string(), error, tokens: 10 },
        };
        self.must_tell(Input::Answer { id, answer });
    }

    /// Fails the oldest request.
    pub(crate) fn model_fails(&mut self) {
        let id = self.requests.remove(0);
        let answer = Answer::Failed { code: "unreachable".into(), message: "nobody there".into() };
        self.must_tell(Input::Answer { id, answer });
    }

    /// Ends the oldest open call of a tool.
    pub(crate) fn ends(&mut self, tool: &str, outcome: Outcome) {
        let place = self.open.iter().position(|start| start.tool.name == tool);
        let start = self.open.remove(place.unwrap_or_else(|| panic!("no call of `{tool}` is open")));
        self.must_tell(Input::Ended { id: start.id, outcome });
    }

    pub(crate) fn returns(&mut self, tool: &str, value: Value) {
        self.ends(tool, Outcome::Value(value));
    }

    pub(crate) fn fails(&mut self, tool: &str) {
        self.ends(tool, Outcome::Error(CallError::new("broken", "it is broken")));
    }

    /// A running call asks a person.
    pub(crate) fn asks(&mut self, id: &str, key: &str, words: &str, schema: Value) {
        self.must_tell(Input::Elicit {
            id: id.parse().expect("an id"),
            key: key.to_owned(),
            words: words.to_owned(),
            schema,
        });
    }

    pub(crate) fn decide(&mut self, question: &str, decision: Decision) -> Result<(), Refused> {
        let question = question.parse().expect("an id");
        self.tell(Input::Decide { question, decision, by: "ann".to_owned(), digest: None })
    }

    pub(crate) fn approve(&mut self, question: &str) {
        self.decide(question, Decision::Approve { only: None }).expect("the approval is taken");
    }

    pub(crate) fn deny(&mut self, question: &str) {
        self.decide(question, Decision::Deny { reason: "not now".to_owned() }).expect("the denial is taken");
    }

    pub(crate) fn edit(&mut self, question: &str, params: Value) -> Result<(), Refused> {
        self.decide(question, Decision::Edit { params: params.as_object().expect("parameters").clone() })
    }

    pub(crate) fn question(&self, id: &str) -> Question {
        let found = self.session.question(&id.parse().expect("an id"));
        found.unwrap_or_else(|| panic!("there is no question `{id}`"))
    }

    pub(crate) fn status_of(&self, question: &str) -> QuestionStatus {
        self.question(question).status
    }

    /// Ids of the open questions.
    pub(crate) fn waiting(&self) -> Vec<String> {
        self.session.questions().into_iter().filter(Question::is_open).map(|question| question.id.to_string()).collect()
    }

    /// The states of all calls of a tool; those of ended steps come first.
    pub(crate) fn states(&self, tool: &str) -> Vec<&'static str> {
        let calls = self.session.calls();
        calls.iter().filter(|report| report.call["_tool"] == tool).map(|report| report.status.name()).collect()
    }

    /// The started calls of a tool.
    pub(crate) fn handed_out(&self, tool: &str) -> Vec<Value> {
        self.started.iter().filter(|start| start.tool.name == tool).map(|start| (*start.call).clone()).collect()
    }

    /// How the session last came to rest.
    pub(crate) fn rested(&self) -> TurnEnd {
        self.rests.last().expect("it has come to rest").ends
    }

    /// The value at a path of the context.
    pub(crate) fn read(&self, path: &str) -> Value {
        let expr = obelus_kernel::Expr::parse(path).expect("an expression");
        self.session.context().resolve(&expr, None).map_or(json!("absent"), std::borrow::Cow::into_owned)
    }

    /// The errors in the context: rule or code of each.
    pub(crate) fn errors(&self) -> Vec<String> {
        let name = |error: &Value| error["rule"].as_str().or(error["code"].as_str()).unwrap_or_default().to_owned();
        let messages = self.session.context().messages().iter();
        let errors = messages.filter_map(|message| match message {
            Message::Data(data) if data.kind == "error" => Some(name(&data.data()["error"])),
            _ => None,
        });
        errors.collect()
    }
}

/// A call of a tool that writes to `†state.NAME`.
pub(crate) fn call(tool: &str, name: &str, params: Value) -> Value {
    let mut call = json!({"_tool": tool, "_outputPath": format!("†state.{name}")});
    call.as_object_mut().expect("an object").extend(params.as_object().expect("parameters").clone());
    call
}
