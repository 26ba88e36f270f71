//! A session, driven as the people, models and tools around it would.

use std::sync::Arc;

use obelus_kernel::session::{
    Answer, CallId, Decision, Input, Mode, Outcome, Reply, RequestId, Session, Settings, Solution, Task,
    TranscriptEntry, TranscriptEvent, TurnEnd,
};
use obelus_kernel::steps::Steps;
use obelus_kernel::{Context, Expr, Time};
use serde_json::{Value, json};

/// A session with its open request and call, and its last reply.
pub(crate) struct Story {
    pub(crate) session: Session,
    pub(crate) asked: Option<RequestId>,
    pub(crate) call: Option<CallId>,
    pub(crate) reply: Option<Reply>,
}

impl Story {
    pub(crate) fn new(graph: Value) -> Self {
        Self::made(session(graph))
    }

    pub(crate) fn made(session: Session) -> Self {
        Self { session, asked: None, call: None, reply: None }
    }

    pub(crate) fn tell(&mut self, input: Input) -> &mut Self {
        self.session.handle(Time(0), input).unwrap();
        (self.asked, self.call) = (None, None);
        while let Some(task) = self.session.poll() {
            match task {
                Task::AskModel { id } => self.asked = Some(id),
                Task::Call(start) => self.call = Some(start.id),
                Task::Rest(reply) => self.reply = Some(*reply),
                _ => {}
            }
        }
        self
    }

    pub(crate) fn user_says(&mut self, text: &str) -> &mut Self {
        self.tell(Input::User { text: text.to_owned(), by: None })
    }

    pub(crate) fn model_answers(&mut self, solution: Value) -> &mut Self {
        let id = self.asked.take().expect("the model is asked");
        let solution = Solution::from_value(solution).unwrap();
        self.tell(Input::Answer { id, answer: Answer::Solution { solution, tokens: 0 } })
    }

    /// The states of the ended calls in the prompt.
    pub(crate) fn ended_calls(&self) -> Vec<&'static str> {
        let ended = |entry: &TranscriptEntry| match &entry.what {
            TranscriptEvent::Call(call) => Some(call.status.name()),
            _ => None,
        };
        self.prompt().transcript.iter().filter_map(ended).collect()
    }

    pub(crate) fn prompt(&self) -> obelus_kernel::session::Prompt {
        self.session.prompt(self.asked.as_ref().expect("the model is asked")).unwrap()
    }

    pub(crate) fn call_ends(&mut self, outcome: Outcome) -> &mut Self {
        let id = self.call.take().expect("a call runs");
        self.tell(Input::Ended { id, outcome })
    }

    pub(crate) fn ends(&self) -> (TurnEnd, Option<&str>, &Value) {
        let reply = self.reply.as_ref().expect("the turn is at rest");
        (reply.ends, reply.end.as_deref(), &reply.output)
    }

    pub(crate) fn read(&self, path: &str) -> Option<Value> {
        self.session.context().resolve(&Expr::parse(path).unwrap(), None).map(std::borrow::Cow::into_owned)
    }
}

/// A session with a valid graph.
pub(crate) fn session(graph: Value) -> Session {
    let tools = json!({
        "book": {"properties": {"when": {"type": "string"}, "people": {"type": "integer"}}, "x-effect": "create", "x-trust": "trusted"},
        "look": {"properties": {}, "x-effect": "read", "x-trust": "trusted"},
        "page.read": {"properties": {}, "x-effect": "read"},
        "page.click": {"properties": {"target": {"type": "string"}}, "required": ["target"], "x-effect": "update", "x-target": []},
        "page.wipe": {"properties": {"target": {"type": "string"}}, "x-effect": "delete"},
    });
    let context = Context::from_value(json!([{"type": "tool", "tool": tools}])).unwrap();
    let steps: Steps = serde_json::from_value(graph).unwrap();
    assert_eq!(steps.check(|name| context.tool(name).is_some()), []);
    let settings = Settings {
        mode: Mode::Full,
        activities: ["book", "look", "page.read", "page.click", "page.wipe"].map(str::to_owned).into(),
        ..Settings::default()
    };
    Session::new("story", context, None, Arc::new(settings)).unwrap().with_steps(Arc::new(steps))
}

pub(crate) fn decided(question: &str, value: Value) -> Input {
    Input::Decide {
        question: question.parse().unwrap(),
        decision: Decision::Value { value },
        by: "a person".to_owned(),
        digest: None,
    }
}
