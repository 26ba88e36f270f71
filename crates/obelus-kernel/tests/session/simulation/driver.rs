//! Plays the events of a world, then answers everything that is open.

use std::collections::BTreeSet;

use obelus_kernel::Time;
use obelus_kernel::session::{
    About, Answer, CallError, CallId, Decision, Input, Outcome, Question, QuestionId, Refused, RequestId, Session,
    Solution, Start, Task,
};
use serde_json::{Value, json};

use super::watch::Watch;
use super::world::{Ending, Move, Verb, World};

/// A session and everything it has emitted.
pub(crate) struct Driver<'a> {
    world: &'a World,
    pub(crate) session: Session,
    pub(crate) watch: Watch<'a>,
    now: Time,
    requests: Vec<RequestId>,
    calls: Vec<Start>,
    ended: Vec<CallId>,
    /// Unanswered elicitations, then all calls that have ever asked.
    asks: BTreeSet<(CallId, String)>,
    asked: BTreeSet<CallId>,
    /// All inputs with their times.
    pub(crate) journal: Vec<(Time, Input)>,
    /// All tasks and answers of the session, as text.
    pub(crate) transcript: Vec<String>,
}

/// The number of inputs within which a session ends when everything is answered.
const PATIENCE: usize = 2_000;

impl<'a> Driver<'a> {
    /// Plays a world to its end.
    pub(crate) fn play(world: &'a World) -> Self {
        let mut driver = Self {
            world,
            session: world.session(),
            watch: Watch::new(world),
            now: Time(1_768_467_600_000),
            requests: Vec::new(),
            calls: Vec::new(),
            ended: Vec::new(),
            asks: BTreeSet::new(),
            asked: BTreeSet::new(),
            journal: Vec::new(),
            transcript: Vec::new(),
        };
        driver.tell(Input::Start);
        for next in &world.moves {
            driver.make(next);
        }
        driver.answer_everything();
        driver
    }

    fn tell(&mut self, input: Input) {
        self.journal.push((self.now, input.clone()));
        self.watch.before(&self.session, &input);
        let answer = self.session.handle(self.now, input.clone());
        self.transcript.push(in_words(&answer));
        let mut tasks = Vec::new();
        while let Some(task) = self.session.poll() {
            self.transcript.push(shown(&task));
            tasks.push(task);
        }
        for task in &tasks {
            match task {
                Task::AskModel { id } => self.requests.push(id.clone()),
                Task::Call(start) => self.calls.push((**start).clone()),
                Task::AnswerElicitation { id, key, .. } => {
                    let was_asked = self.asks.remove(&(id.clone(), key.clone()));
                    assert!(was_asked, "{id} is told something that it has not asked, or no more: {key}");
                }
                Task::Load { .. } | Task::Say(_) | Task::Ask { .. } | Task::AskAgain { .. } | Task::Rest(_) => {}
            }
        }
        if let Input::Ended { id, .. } | Input::InDoubt { id } = &input {
            self.asks.retain(|(call, _)| call != id);
        }
        let asking = self.session.questions().into_iter().filter(|asked| asked.is_open() && asked.asked_by().is_some());
        assert_eq!(asking.count(), self.asks.len(), "what calls at work ask waits, and nothing else does");
        let open = (&self.calls[..], &self.asked);
        self.watch.look_at_changes(&mut self.session);
        self.watch.after(&self.session, &input, answer.is_ok(), &tasks, open, self.requests.is_empty());
    }

    fn make(&mut self, next: &Move) {
        match next {
            Move::Solve { pick, calls, output, sequential } => {
                let Some(id) = take(&mut self.requests, *pick) else { return };
                let calls = self.watch.send(calls, *sequential, self.world.lazy);
                let output = if *output { json!("here you are") } else { Value::Null };
                self.solve(id, json!({"calls": calls, "output": output}), *sequential);
            }
            Move::Babble { pick } => {
                let Some(id) = take(&mut self.requests, *pick) else { return };
                let answer = Answer::OutOfFormat { text: "well".into(), error: "not JSON".into(), tokens: 1 };
                self.tell(Input::Answer { id, answer });
            }
            Move::Fail { pick } => {
                let Some(id) = take(&mut self.requests, *pick) else { return };
                let answer = Answer::Failed { code: "unreachable".into(), message: "nobody there".into() };
                self.tell(Input::Answer { id, answer });
            }
            Move::End { pick, ending } => {
                let Some(start) = take(&mut self.calls, *pick) else { return };
                self.ended.push(start.id.clone());
                let outcome = outcome(&start, *ending);
                let is_outside = matches!(ending, Ending::Outside) && matches!(outcome, Outcome::Messages(_));
                let is_kept = !is_outside && !matches!(outcome, Outcome::Error(_));
                self.watch.ends(&start.call, is_kept);
                self.tell(Input::Ended { id: start.id, outcome });
                if is_outside {
                    self.watch.is_not_kept(&start.call);
                }
            }
            Move::Echo { pick } => {
                let known = (!self.ended.is_empty()).then(|| self.ended[pick % self.ended.len()].clone());
                let nowhere = ["99.0", &format!("{pick}.0/0.0"), "e999.0", "q999:0"];
                for id in known.into_iter().chain(nowhere.map(|id| id.parse().expect("an id"))) {
                    self.tell(Input::Ended { id: id.clone(), outcome: Outcome::Value(json!("echo")) });
                    self.tell(Input::InDoubt { id });
                }
                for id in ["999", &format!("{pick}.0/999")] {
                    let answer = Answer::Solution { solution: Solution::default(), tokens: 0 };
                    self.tell(Input::Answer { id: id.parse().expect("an id"), answer });
                }
            }
            Move::Doubt { pick } => {
                let Some(start) = take(&mut self.calls, *pick) else { return };
                self.tell(Input::InDoubt { id: start.id });
            }
            Move::Ask { pick } => {
                if self.calls.is_empty() {
                    return;
                }
                let id = self.calls[pick % self.calls.len()].id.clone();
                let key = self.journal.len().to_string();
                self.asks.insert((id.clone(), key.clone()));
                self.asked.insert(id.clone());
                let schema = json!({"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]});
                self.tell(Input::Elicit { id, key, words: "how many?".to_owned(), schema });
            }
            Move::Decide { pick, decision } => {
                let questions = self.session.questions();
                // The latest questions are the most likely to be open.
                let Some(question) = questions.iter().rev().nth(*pick).or(questions.last()) else {
                    return self.tell(decided("q99".parse().expect("an id"), Decision::Approve { only: None }));
                };
                let decision = decision_of(question, *decision);
                self.tell(decided(question.id.clone(), decision));
            }
            Move::Claim(text) => {
                self.tell(Input::User { text: (*text).to_owned(), by: None });
                let open = self.session.questions().into_iter().filter(Question::is_open);
                let mut waiting =
                    open.filter(|question| question.about == About::Call && !question.id.to_string().contains('/'));
                let call = waiting.find_map(|question| {
                    question.calls.iter().find(|asked| asked.decided.is_none()).map(|asked| (*asked.call).clone())
                });
                let own = self.requests.iter().position(|id| !id.to_string().contains('/'));
                let (Some(mut call), Some(place)) = (call, own) else { return };
                call["confirmed"] = true.into();
                let tag = self.watch.send_again(call["comment"].as_str().expect("every call has a tag"));
                call["comment"] = tag.into();
                let id = self.requests.remove(place);
                self.solve(id, json!({"calls": [call], "output": null}), false);
            }
            Move::User(text) => self.tell(Input::User { text: (*text).to_owned(), by: None }),
            Move::Wait { hours } => {
                self.now = self.now.plus_seconds(hours * 3600);
                self.tell(Input::Tick);
            }
            Move::Stop => self.tell(Input::Stop),
        }
    }

    fn solve(&mut self, id: RequestId, answer: Value, sequential: bool) {
        let solution = Solution::from_value(answer).expect("a solution");
        let answer = Answer::Solution { solution: Solution { sequential, ..solution }, tokens: 1 };
        self.tell(Input::Answer { id, answer });
    }

    fn answer_everything(&mut self) {
        for turn in 0..PATIENCE {
            let open = self.session.questions().into_iter().find(Question::is_open);
            if let Some(id) = take(&mut self.requests, 0) {
                self.solve(id, json!({"calls": [], "output": "bye"}), false);
            } else if !self.calls.is_empty() {
                self.make(&Move::End { pick: 0, ending: Ending::Number });
            } else if let Some(question) = open {
                let verb = if turn % 2 == 0 { Verb::Approve } else { Verb::Deny };
                // A question about an effect in doubt cannot be approved or denied.
                let decision = match question.about {
                    About::InDoubt => Decision::Happened { result: Value::Null },
                    _ => decision_of(&question, verb),
                };
                self.tell(decided(question.id.clone(), decision));
            } else {
                return self.watch.at_the_end(&self.session);
            }
        }
        panic!("the session does not come to its end");
    }
}

fn take<T>(all: &mut Vec<T>, pick: usize) -> Option<T> {
    (!all.is_empty()).then(|| all.remove(pick % all.len()))
}

fn decided(question: QuestionId, decision: Decision) -> Input {
    Input::Decide { question, decision, by: "ann".to_owned(), digest: None }
}

fn decision_of(question: &Question, verb: Verb) -> Decision {
    let params = |value: Value| value.as_object().cloned().unwrap_or_default();
    match verb {
        Verb::Approve => Decision::Approve { only: None },
        Verb::ApproveFirst => Decision::Approve { only: Some(vec![0]) },
        Verb::Deny => Decision::Deny { reason: "no".to_owned() },
        Verb::Edit => {
            let is_wipe = question.calls.iter().any(|asked| asked.call["_tool"] == "wipe");
            Decision::Edit { params: params(if is_wipe { json!({"id": 7}) } else { json!({"b": 7}) }) }
        }
        Verb::BadEdit => Decision::Edit { params: params(json!({"id": "seven", "_outputPath": "†state.x"})) },
        Verb::Happened => Decision::Happened { result: json!(5) },
        Verb::DidNot => Decision::DidNot,
        Verb::Value => Decision::Value { value: json!(5) },
    }
}

/// The result of a call.
fn outcome(start: &Start, ending: Ending) -> Outcome {
    let first = start.call["_outputPath"].as_str().and_then(|path| path.split([' ', '|', '&']).next());
    let message = |path: &str, value: Value| {
        let mut names = path.trim_start_matches('†').split('.');
        let kind = names.next().unwrap_or_default();
        let data = names.rev().fold(value, |inner, name| json!({name: inner}));
        json!({"type": "data", "kind": kind, "data": data})
    };
    match (ending, first) {
        (Ending::Number, _) | (_, None) => Outcome::Value(json!(start.id.to_string().len())),
        (Ending::Text, _) => Outcome::Value(json!("some words")),
        (Ending::Error, _) => Outcome::Error(CallError::new("broken", "it is broken")),
        (Ending::Inside, Some(path)) => Outcome::Messages(vec![message(path, json!({"a": 1}))]),
        (Ending::Outside, Some(path)) => Outcome::Messages(vec![message(&format!("{path}x"), json!(1))]),
    }
}

pub(crate) fn in_words(answer: &Result<(), Refused>) -> String {
    format!("{answer:?}")
}

/// Everything in a task that a driver uses, as text.
pub(crate) fn shown(task: &Task) -> String {
    match task {
        Task::Call(start) => {
            let Start { id, named: _, call, scope, key, attempt, seconds, tool, consent } = &**start;
            json!([id, start.activity(), call, scope, key, attempt, seconds, tool.name, consent]).to_string()
        }
        Task::Rest(reply) => json!(reply).to_string(),
        Task::AskModel { .. }
        | Task::Load { .. }
        | Task::Say(_)
        | Task::Ask { .. }
        | Task::AskAgain { .. }
        | Task::AnswerElicitation { .. } => format!("{task:?}"),
    }
}
