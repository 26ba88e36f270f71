//! PROMPT-2: each request begins with the messages of the one before, except for the changing last part.

use std::sync::Arc;

use obelus_connect::model::{ChatMessage, PromptOptions, render};
use obelus_kernel::dialect::Dialect;
use obelus_kernel::session::{
    Answer, CallError, Decision, Input, Mode, Outcome, Question, Session, Settings, Solution, Start, Task,
};
use obelus_kernel::{Context, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

/// One event.
#[derive(Clone, Debug)]
enum Move {
    Say(String),
    /// The model's answer: the number of reads, whether it creates something, whether it asks for approval.
    Answer {
        reads: usize,
        makes: bool,
        asks: bool,
    },
    /// The oldest running call ends.
    End {
        rows: usize,
        fails: bool,
    },
    Decide {
        approves: bool,
    },
    Event,
    Garbage,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let words = prop_oneof!["[a-z ]{1,20}", Just("# Results\n{}".to_owned()), Just("да\u{2028}# Now".to_owned())];
    let one = prop_oneof![
        2 => words.prop_map(Move::Say),
        4 => (0..3_usize, any::<bool>(), any::<bool>())
            .prop_map(|(reads, makes, asks)| Move::Answer { reads, makes, asks }),
        4 => (0..30_usize, prop::bool::weighted(0.2)).prop_map(|(rows, fails)| Move::End { rows, fails }),
        1 => any::<bool>().prop_map(|approves| Move::Decide { approves }),
        1 => Just(Move::Event),
        1 => Just(Move::Garbage),
    ];
    prop::collection::vec(one, 1..60)
}

/// A session with its open request and calls.
struct Stage {
    session: Session,
    now: i64,
    asked: Option<obelus_kernel::session::RequestId>,
    calls: Vec<Start>,
    /// The messages of all requests.
    requests: Vec<Vec<ChatMessage>>,
    numbers: u64,
}

impl Stage {
    fn new(dialect: Dialect, budget: u64) -> Self {
        let tools = json!({
            "read": {"type": "object", "description": "Reads", "x-effect": "read", "properties": {"q": {}}},
            "make": {"type": "object", "description": "Makes", "x-effect": "create", "properties": {"q": {}}},
        });
        let context = json!([
            {"type": "tool", "tool": tools},
            {"type": "state", "data": {"goals": [], "note": null}, "schema": {"type": "object"}},
        ]);
        let settings = json!({
            "mode": Mode::Full, "dialect": dialect, "persistent": true, "repairs": 1, "follow_up": "until_done",
            "transcript_chars": budget, "time_zone": "Europe/Moscow", "kept": {"goals": "goals"},
        });
        let mut settings: Settings = serde_json::from_value(settings).unwrap();
        settings.activities = ["read", "make"].map(str::to_owned).into();
        let session = Session::new("s", Context::from_value(context).unwrap(), None, Arc::new(settings)).unwrap();
        Self { session, now: 0, asked: None, calls: Vec::new(), requests: Vec::new(), numbers: 0 }
    }

    fn tell(&mut self, input: Input) {
        self.now += 60_000;
        // A refused input changes nothing.
        let _ = self.session.handle(Time(self.now), input);
        while let Some(task) = self.session.poll() {
            match task {
                Task::AskModel { id } => {
                    let prompt = self.session.prompt(&id).expect("the request was handed out");
                    self.requests.push(render(&prompt, &PromptOptions::default()).unwrap());
                    self.asked = Some(id);
                }
                Task::Call(start) => self.calls.push(*start),
                _ => {}
            }
        }
    }

    fn play(&mut self, step: &Move) {
        match step {
            Move::Say(text) => self.tell(Input::User { text: text.clone(), by: None }),
            Move::Answer { reads, makes, asks } => self.answer(*reads, *makes, *asks),
            Move::End { rows, fails } => {
                if !self.calls.is_empty() {
                    let id = self.calls.remove(0).id;
                    let outcome = if *fails {
                        Outcome::Error(CallError::new("broken", "it broke\n# Now"))
                    } else {
                        Outcome::Value((0..*rows).map(|n| json!({"id": n, "title": "a title"})).collect())
                    };
                    self.tell(Input::Ended { id, outcome });
                }
            }
            Move::Decide { approves } => {
                let question = self.session.questions().into_iter().find(Question::is_open).map(|question| question.id);
                if let Some(question) = question {
                    let decision = if *approves {
                        Decision::Approve { only: None }
                    } else {
                        Decision::Deny { reason: "no\n# Time".to_owned() }
                    };
                    self.tell(Input::Decide { question, decision, by: "somebody".to_owned(), digest: None });
                }
            }
            Move::Event => {
                self.numbers += 1;
                self.tell(Input::Event { id: self.numbers.to_string(), event: json!({"n": self.numbers}) });
            }
            Move::Garbage => {
                if let Some(id) = self.asked.take() {
                    let (text, error) = ("?".to_owned(), "not in format".to_owned());
                    self.tell(Input::Answer { id, answer: Answer::OutOfFormat { text, error, tokens: 0 } });
                }
            }
        }
    }

    fn answer(&mut self, reads: usize, makes: bool, asks: bool) {
        let Some(id) = self.asked.take() else { return };
        self.numbers += 1;
        let call = |tool: &str, n: u64| json!({"_tool": tool, "q": n, "_outputPath": format!("†state.{tool}{n}")});
        let mut calls: Vec<Value> = (0..reads as u64).map(|n| call("read", self.numbers * 10 + n)).collect();
        if makes {
            let mut call = call("make", self.numbers);
            if asks {
                call["requires_confirmation"] = true.into();
            }
            calls.push(call);
        }
        let output = if calls.is_empty() { "done".into() } else { Value::Null };
        let (sequential, say) = (self.session.settings().dialect == Dialect::Blocks, Some("well".to_owned()));
        let calls = calls.into_iter().map(Into::into).collect();
        let solution = Solution { say, calls, output, sequential, keeps_results: sequential, ..Solution::default() };
        self.tell(Input::Answer { id, answer: Answer::Solution { solution, tokens: 1 } });
    }
}

/// A request without its last part: the current situation, and the error of the last answer.
fn lasting(messages: &[ChatMessage]) -> &[ChatMessage] {
    let is_last_part = |message: &ChatMessage| {
        message.content.starts_with("# Now\n") || message.content.starts_with("Your last answer could not be read.")
    };
    let end = messages.iter().rposition(|message| !is_last_part(message)).map_or(0, |last| last + 1);
    &messages[..end]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_request_begins_with_the_messages_of_the_one_before(moves in moves(), is_blocks: bool) {
        let dialect = if is_blocks { Dialect::Blocks } else { Dialect::Json };
        let mut stage = Stage::new(dialect, 1_000_000);
        moves.iter().for_each(|step| stage.play(step));
        for pair in stage.requests.windows(2) {
            let (before, now) = (lasting(&pair[0]), lasting(&pair[1]));
            prop_assert!(now.starts_with(before), "{before:#?}\n{now:#?}");
        }
    }

    #[test]
    fn a_request_stays_within_its_budget_and_its_prefix_is_rarely_rewritten(moves in moves(), is_blocks: bool) {
        const BUDGET: u64 = 6_000;
        let dialect = if is_blocks { Dialect::Blocks } else { Dialect::Json };
        let mut stage = Stage::new(dialect, BUDGET);
        for step in moves.iter().cycle().take(200) {
            stage.play(step);
        }
        let length = |messages: &[ChatMessage]| messages[1..].iter().map(|message| message.content.len()).sum::<usize>();
        let mut rewritten = 0;
        for pair in stage.requests.windows(2) {
            let (before, now) = (lasting(&pair[0]), lasting(&pair[1]));
            // Results that the model has not seen yet are shown in any length: a few thousand characters each.
            prop_assert!(length(now) < 30_000, "{}", length(now));
            rewritten += usize::from(!now.starts_with(before));
        }
        prop_assert!(rewritten * 2 <= stage.requests.len() + 1, "{rewritten} of {}", stage.requests.len());
    }
}
