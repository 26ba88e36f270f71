//! Lives between crashes, until everything is done.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use obelus_kernel::session::{About, Decision, Ends, Input, Mode, Outcome, Question, Reply, Session, Settings, Start};
use obelus_kernel::{Context, Message, Time};
use obelus_runtime::{Driver, Event, NOT_DURABLE};
use serde_json::{Value, json};

use crate::disk::Paper;
use crate::model::{Agent, TURNS};
use crate::world::{GIVEN, World, hands, key_of, result};

/// What came of it all.
pub(crate) struct Ended {
    pub(crate) state: Value,
    /// In no order, without times.
    pub(crate) messages: Vec<String>,
    pub(crate) effects: BTreeMap<String, u32>,
    pub(crate) crashes: u64,
    pub(crate) looks: u64,
    /// Doubts that a person was asked about.
    pub(crate) doubts: u64,
}

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(1_768_467_600_000) };
}

fn clock() -> Time {
    NOW.with(|now| Time(now.replace(now.get() + 1)))
}

/// Plays a seed to its end; in a storm, or undisturbed.
pub(crate) fn live(seed: u64, storm: bool) -> Ended {
    NOW.with(|now| now.set(1_768_467_600_000));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = World::new(seed, storm);
        let mut doubts = 0;
        for life in 0.. {
            assert!(life < 200, "it never ends");
            let mut process = Process::begin(seed, &world);
            let dies = world.dies.clone();
            let lived = tokio::select! {
                biased;
                () = dies.notified() => None,
                lived = process.work(&mut doubts) => Some(lived),
            };
            if let Some(context) = lived {
                let (crashes, looks) = world.counts();
                let (state, messages) = summary(&context);
                return Ended { state, messages, effects: world.effects(), crashes, looks, doubts };
            }
            let kept = world.below(1 << 20);
            world.disk.lock().unwrap().crash(kept);
            if world.draw(30) {
                // The clock is set while nobody looks, forward or back.
                let jump = i64::try_from(world.below(7_200_000)).unwrap_or(0) - 3_600_000;
                NOW.with(|now| now.set(now.get() + jump));
            }
        }
        unreachable!()
    })
}

fn summary(context: &Context) -> (Value, Vec<String>) {
    let state = context.view("state").and_then(|view| view.read(&[], None)).map(std::borrow::Cow::into_owned);
    let timeless = |message: &Message| {
        let mut json = message.to_json();
        if let Value::Object(fields) = &mut json {
            fields.shift_remove("_date");
        }
        json.to_string()
    };
    let mut messages: Vec<String> = context.messages().iter().map(timeless).collect();
    messages.sort();
    (state.unwrap_or_default(), messages)
}

/// A process: a driver on the disk, with the world around it.
struct Process {
    world: World,
    driver: Driver,
    starts: Arc<Mutex<Vec<Start>>>,
    /// The last turn that the journal knows of, if there is one.
    turn: Option<u64>,
    /// A completion that everybody knows already.
    known: Option<Input>,
}

fn session() -> Session {
    let tool = |effect: &str, harmless: bool| {
        json!({"type": "object", "properties": {"n": {}}, "x-effect": effect, "x-idempotent": harmless,
            "x-trust": "trusted", "x-target": []})
    };
    let context = Context::from_value(json!([{"type": "tool", "tool": {
        "read": tool("read", true), "think": tool("read", true), "sure": tool("create", true),
        "make": tool("create", false), "post": tool("create", false),
    }}]));
    let activities = ["read", "think", "sure", "make", "post"].map(str::to_owned).into();
    let settings = Settings { mode: Mode::Full, activities, persistent: true, ..Settings::default() };
    Session::new("sim", context.unwrap(), None, Arc::new(settings)).unwrap()
}

impl Process {
    fn begin(seed: u64, world: &World) -> Self {
        let mut journal = world.disk.lock().unwrap().recover();
        let turn = journal.iter().rev().find_map(|(_, input)| match input {
            Input::User { text } => text.strip_prefix("turn ")?.parse().ok(),
            _ => None,
        });
        // A lost answer is no end: the call may be at work again.
        let is_end =
            |input: &Input| matches!(input, Input::Ended { outcome, .. } if !matches!(outcome, Outcome::Lost { .. }));
        let known = journal.iter().rev().find(|(_, input)| is_end(input)).map(|(_, input)| input.clone());
        let snapshot = world.disk.lock().unwrap().snapshot.clone();
        let mut made = session();
        if let Some((seq, state)) = snapshot {
            let tail = journal.split_off(seq);
            let led_there = std::mem::replace(&mut journal, tail);
            let past = move || {
                let mut session = session();
                for (at, input) in led_there.clone() {
                    let _ = session.handle(at, input);
                    while session.poll().is_some() {}
                }
                Ok(session.past())
            };
            made = made.restore(&state, Arc::new(past)).expect("a snapshot is taken up");
        }
        let starts: Arc<Mutex<Vec<Start>>> = Arc::default();
        let seen = starts.clone();
        let model = Arc::new(Agent { seed, world: world.clone() });
        let mut driver = Driver::new(made, hands(world), model, clock).watched_by(move |event| {
            if let Event::Began(start) = event {
                seen.lock().unwrap().push(start.clone());
            }
        });
        driver.recover(journal);
        let driver = driver.journaled_by(Paper { disk: world.disk.clone(), world: world.clone() });
        Self { world: world.clone(), driver, starts, turn, known }
    }

    /// Goes on where the journal ends, to the end of the last turn.
    async fn work(&mut self, doubts: &mut u64) -> Context {
        self.until_rest(None, doubts).await;
        for turn in self.turn.map_or(0, |turn| turn + 1)..TURNS {
            // What a person says is said again until it is taken.
            self.until_rest(Some(Input::User { text: format!("turn {turn}") }), doubts).await;
        }
        self.driver.session().context().clone()
    }

    async fn until_rest(&mut self, input: Option<Input>, doubts: &mut u64) {
        let mut reply = match input {
            Some(input) => Some(self.say(input).await),
            None => self.resume().await,
        };
        loop {
            if let Some(echo) = self.known.take().filter(|_| self.world.draw(50)) {
                let _ = self.driver.tell(echo).await;
            }
            let open: Vec<Question> = self.driver.session().questions().into_iter().filter(Question::is_open).collect();
            let Some(question) = open.first() else { break };
            let decision = match question.asked_by() {
                Some(_) => Decision::Value { value: GIVEN.into() },
                None => {
                    assert_eq!(question.about, About::InDoubt, "nothing else needs a person here");
                    *doubts += 1;
                    self.looked(question)
                }
            };
            reply = Some(self.say(Input::Decide { question: question.id.clone(), decision, by: "ann".into() }).await);
        }
        if let Some(reply) = reply {
            assert_eq!(reply.ends, Ends::Output, "{:?}", reply.reason);
        }
    }

    /// A person looks whether it happened, and tells the truth.
    fn looked(&self, question: &Question) -> Decision {
        let call = &*question.calls[0].call;
        let key = key_of(&self.starts.lock().unwrap(), call).unwrap_or_else(|| {
            // It began in an earlier life; the output path names it, and keys are numbered as calls are.
            self.driver
                .session()
                .calls()
                .iter()
                .find(|report| *report.call == *call)
                .map_or_else(String::new, |report| format!("sim:{}.{}", report.place.0, report.place.1))
        });
        match self.world.has_happened(&key) {
            true => Decision::Happened { result: result(call) },
            false => Decision::DidNot,
        }
    }

    /// Says something until it is taken: a disk that is full now has room later.
    async fn say(&mut self, input: Input) -> Reply {
        for _ in 0..50 {
            match self.driver.turn(input.clone()).await {
                Ok(reply) => return reply,
                Err(refused) => {
                    assert_eq!(refused.code, NOT_DURABLE, "{}", refused.text);
                    let is_taken = match &input {
                        Input::User { text } => {
                            self.driver.session().context().last_user_text().is_some_and(|last| last.text == *text)
                        }
                        Input::Decide { question, .. } => {
                            self.driver.session().question(question).is_some_and(|question| !question.is_open())
                        }
                        _ => false,
                    };
                    if is_taken {
                        return self.resume().await.or_else(|| self.driver.session().reply()).expect("a rest");
                    }
                }
            }
        }
        panic!("nothing is taken any more");
    }

    async fn resume(&mut self) -> Option<Reply> {
        for _ in 0..50 {
            match self.driver.resume().await {
                Ok(reply) => return reply.or_else(|| self.driver.session().reply()),
                Err(refused) => assert_eq!(refused.code, NOT_DURABLE, "{}", refused.text),
            }
        }
        panic!("nothing is taken any more");
    }
}
