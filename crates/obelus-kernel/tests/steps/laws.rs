//! Properties of every run of a graph, whatever people, models and tools do.

use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::{
    About, Answer, CallError, CallId, Decision, Input, Outcome, RequestId, Session, Solution, Task, TurnEnd,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::story::session;

const MOST_STEPS: u64 = 9;

/// A graph with every kind of node, a planned call, two start edges, and ends for limit and stop.
fn graph() -> Value {
    json!({
        "start": [{"when": ".user == \"go on\" and .state.step != null", "to": "read"}, {"to": "decide"}],
        "max_steps": MOST_STEPS, "at_limit": "limit", "at_stop": "cancelled",
        "nodes": {
            "read": {"call": {"_tool": "page.read", "_outputPath": "†state.page"}, "next": [{"when": ".counters.failed.read >= 3", "to": "blocked"}, {"to": "decide"}]},
            "decide": {
                "request": {"schema": {"type": "object", "required": ["go"]}, "tools": ["look"], "plans": {"tools": ["page.*"], "to": "†action"}},
                "_outputPath": "†state.step",
                "next": [{"when": ".state.step.go == \"ask\"", "to": "ask"}, {"when": ".action == null", "to": "done"}, {"to": "act"}],
            },
            "act": {
                "call": {"_tool": "†action.tool", "params": "†action.params", "_outputPath": "†state.did"},
                "next": [{"when": ".last.status == \"denied\"", "to": "denied"}, {"to": "read"}],
            },
            "ask": {"ask": {"question": "Which?", "schema": {"type": "string", "minLength": 4}}, "_outputPath": "†state.answer",
                "next": [{"when": ".last.status == \"answered\"", "to": "read"}, {"to": "cancelled"}]},
            "done": {"end": {"name": "done", "reply": "Done."}},
            "denied": {"end": {"name": "denied", "reply": {"jq": ".calls.act.error.message"}}},
            "cancelled": {"end": {"name": "cancelled", "reply": "Stopped."}},
            "blocked": {"end": {"name": "blocked"}},
            "limit": {"end": {"name": "limit", "reply": {"jq": ".reason.message"}}},
        },
    })
}

#[derive(Clone, Debug)]
enum Move {
    /// The input that the session waits for: a decision, a result, an answer, else a message of the user.
    Next(u8),
    Say(&'static str),
    Babble,
    Doubt,
    Stop,
    LetTimePass,
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        30 => any::<u8>().prop_map(Move::Next),
        3 => prop::sample::select(vec!["Do it", "go on", "yes", "no", "да, конечно"]).prop_map(Move::Say),
        1 => Just(Move::Babble),
        2 => Just(Move::Doubt),
        1 => Just(Move::Stop),
        1 => Just(Move::LetTimePass),
    ]
}

/// Answers of the model; most of them continue the run.
fn answer(pick: u8) -> Value {
    let click = json!({"_tool": "page.click", "target": "e1"});
    let wipe = json!({"_tool": "page.wipe", "target": "all"});
    match pick % 12 {
        0 => json!({"output": {"go": "act"}, "calls": [click, click]}),
        1 => json!({"output": {"go": "act"}, "calls": [{"_tool": "page.click"}]}),
        2 => json!({"output": null, "calls": [{"_tool": "look", "_outputPath": "†state.looked"}]}),
        3 => json!({"output": {"go": "ask"}}),
        4 => json!({"output": {"go": "done"}}),
        5 => json!({"output": "nonsense"}),
        6 | 7 => json!({"output": {"go": "act"}, "calls": [wipe]}),
        8 => json!({"output": {"go": "act"}, "calls": [{"_tool": "page.read"}]}),
        _ => json!({"output": {"go": "act"}, "calls": [click]}),
    }
}

/// A session, its journal, and its open request and call.
struct Run {
    session: Session,
    now: Time,
    journal: Vec<(Time, Input)>,
    request: Option<RequestId>,
    call: Option<CallId>,
}

impl Run {
    fn new() -> Self {
        Self { session: session(graph()), now: Time(0), journal: Vec::new(), request: None, call: None }
    }

    fn make(&mut self, next: &Move) {
        let input = match next {
            Move::Next(pick) => self.what_it_waits_for(*pick),
            Move::Say(text) => Some(Input::User { text: (*text).to_owned(), by: None }),
            Move::Babble => self.request.take().map(|id| {
                let answer = Answer::OutOfFormat { text: "well".to_owned(), error: "not JSON".to_owned(), tokens: 1 };
                Input::Answer { id, answer }
            }),
            Move::Doubt => self.call.clone().map(|id| Input::InDoubt { id }),
            Move::Stop => Some(Input::Stop),
            Move::LetTimePass => {
                self.now = self.now.plus_seconds(100_000);
                Some(Input::Tick)
            }
        };
        if let Some(input) = input {
            self.tell(input);
        }
    }

    fn what_it_waits_for(&mut self, pick: u8) -> Option<Input> {
        let open = self.session.questions().into_iter().find(obelus_kernel::session::Question::is_open);
        if let Some(question) = open {
            let decision = match (question.about, pick % 4) {
                (_, 0) => Decision::Deny { reason: "no".to_owned() },
                (About::Input, _) => Decision::Value { value: json!("the blue one") },
                (About::InDoubt, 1) => Decision::Happened { result: json!("light") },
                (About::InDoubt, _) => Decision::DidNot,
                _ => Decision::Approve { only: None },
            };
            return Some(Input::Decide { question: question.id, decision, by: "a person".to_owned(), digest: None });
        }
        if let Some(id) = self.call.take() {
            let error = Outcome::Error(CallError::new("dark", "it is dark"));
            return Some(Input::Ended {
                id,
                outcome: if !pick.is_multiple_of(4) { Outcome::Value(json!("light")) } else { error },
            });
        }
        let Some(id) = self.request.take() else { return Some(Input::User { text: "go on".to_owned(), by: None }) };
        let solution = Solution::from_value(answer(pick)).unwrap();
        Some(Input::Answer { id, answer: Answer::Solution { solution, tokens: 1 } })
    }

    fn tell(&mut self, input: Input) {
        self.journal.push((self.now, input.clone()));
        // A refused input does not change the turn.
        let before = self.session.snapshot();
        if self.session.handle(self.now, input).is_err() {
            assert_eq!(self.session.snapshot()["turn"], before["turn"]);
        }
        while let Some(task) = self.session.poll() {
            match task {
                Task::AskModel { id } => self.request = Some(id),
                Task::Call(start) => self.call = Some(start.id),
                _ => {}
            }
        }
        self.check();
    }

    fn check(&self) {
        let at = &self.session.snapshot()["walk"];
        assert!(at["steps"].as_u64().unwrap() <= MOST_STEPS, "{at}");
        let visits: u64 = at["visits"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(visits, at["steps"].as_u64().unwrap());
        let Some(reply) = self.session.reply() else { return };
        let open: Vec<_> =
            self.session.questions().into_iter().filter(obelus_kernel::session::Question::is_open).collect();
        match reply.ends {
            TurnEnd::Waiting => assert!(!open.is_empty(), "it waits for somebody"),
            TurnEnd::Degraded => {}
            _ => {
                assert!(open.iter().all(|question| question.about == About::InDoubt), "nobody is asked for nothing");
                assert!(reply.end.is_some(), "every end has its name: {:?}", reply.ends);
                assert_eq!(reply.end.as_deref() == Some("limit"), reply.ends == TurnEnd::Limit);
                let action = self.session.context().read(&obelus_kernel::Path::root("action"), None);
                assert!(action.is_none_or(|action| action.is_null()), "what was planned is of its turn");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn journal_and_checkpoint_restore_the_same_session(
        moves in prop::collection::vec(any_move(), 1..40)
    ) {
        let mut run = Run::new();
        run.tell(Input::User { text: "Do it".to_owned(), by: None });
        for next in &moves {
            run.make(next);
            if let Some(kept) = run.session.checkpoint() {
                let past = run.session.past();
                let again = session(graph()).restore(&kept, Arc::new(move || Ok(past.clone()))).unwrap();
                prop_assert_eq!(again.snapshot(), run.session.snapshot());
            }
        }
        let mut again = session(graph());
        for (now, input) in run.journal {
            let _ = again.handle(now, input);
            while again.poll().is_some() {}
        }
        prop_assert_eq!(again.snapshot(), run.session.snapshot());
    }
}
