//! Processes between crashes, until the work is done.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{About, Decision, Input, Mode, Question, Refused, Reply, Settings, TurnEnd};
use obelus_kernel::{Context, Message, Time};
use obelus_runtime::{Connections, Host, SessionHandle, SessionSpec};
use serde_json::{Value, json};

use crate::disk::DiskStore;
use crate::model::{Agent, TURNS};
use crate::world::{GIVEN, World, hands, result};

/// The outcome of a seed.
pub(crate) struct Ended {
    pub(crate) state: Value,
    /// Sorted, without times.
    pub(crate) messages: Vec<String>,
    pub(crate) effects: BTreeMap<String, u32>,
    pub(crate) crashes: u64,
    pub(crate) looks: u64,
    /// Effects in doubt that a person was asked about.
    pub(crate) doubts: u64,
}

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(1_768_467_600_000) };
}

fn clock() -> Time {
    NOW.with(|now| Time(now.replace(now.get() + 1)))
}

/// Plays a seed to its end, with failures or without.
pub(crate) fn live(seed: u64, storm: bool) -> Ended {
    NOW.with(|now| now.set(1_768_467_600_000));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = World::new(seed, storm);
        let mut doubts = 0;
        for life in 0.. {
            assert!(life < 200, "it never ends");
            let host = host(seed, &world);
            let dies = world.dies.clone();
            let lived = tokio::select! {
                biased;
                () = dies.notified() => None,
                lived = work(&host, &world, &mut doubts) => Some(lived),
            };
            drop(host);
            tokio::task::yield_now().await;
            if let Some(context) = lived {
                let (crashes, looks) = world.counts();
                let (state, messages) = summary(&context);
                return Ended { state, messages, effects: world.effects(), crashes, looks, doubts };
            }
            let kept = world.below(1 << 20);
            world.disk.lock().unwrap().crash(kept);
            if world.draw(30) {
                // The clock jumps while no process runs, forward or back.
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

/// The host of a new process.
fn host(seed: u64, world: &World) -> Host {
    let connections = Connections::new(hands(world)).with_model(Agent { seed, world: world.clone() });
    let store = Arc::new(DiskStore { disk: world.disk.clone(), world: world.clone() });
    Host::builder(connections).store(store).clock(clock).keys(|| "key".to_owned()).build()
}

fn spec() -> SessionSpec {
    let tool = |effect: &str, harmless: bool| {
        json!({"type": "object", "properties": {"n": {}}, "x-effect": effect, "x-idempotent": harmless,
            "x-trust": "trusted", "x-target": []})
    };
    let context = Context::from_value(json!([{"type": "tool", "tool": {
        "read": tool("read", true), "think": tool("read", true), "sure": tool("create", true),
        "make": tool("create", false), "post": tool("create", false),
    }}]));
    SessionSpec {
        context: context.unwrap(),
        settings: Settings { mode: Mode::Full, persistent: true, ..Settings::default() },
        ..SessionSpec::default()
    }
}

/// Continues after the end of the journal, to the end of the last turn.
async fn work(host: &Host, world: &World, doubts: &mut u64) -> Context {
    let handle = match host.spec("sim").unwrap() {
        None => host.create("sim", spec()).await.unwrap(),
        Some(_) => host.open("sim").await.unwrap(),
    };
    until_rest(&handle, world, doubts).await;
    for turn in 0..TURNS {
        // A message without an answer is sent again with the same id.
        let said = handle.with_id(format!("turn-{turn}").parse().unwrap());
        said_until_taken(&said, Input::User { text: format!("turn {turn}"), by: None }).await;
        until_rest(&handle, world, doubts).await;
        if world.draw(20) {
            host.passivate("sim").await;
        }
    }
    handle.inspect(|session| session.context().clone()).await.unwrap()
}

/// Waits until the turn rests; answers all questions.
async fn until_rest(handle: &SessionHandle, world: &World, doubts: &mut u64) {
    loop {
        let reply = rested(handle).await;
        let open = handle.inspect(|session| session.questions().into_iter().find(Question::is_open)).await.unwrap();
        let Some(question) = open else {
            if let Some(reply) = reply {
                assert_eq!(reply.ends, TurnEnd::Output, "{:?}", reply.reason);
            }
            return;
        };
        let decision = match question.asked_by() {
            Some(_) => Decision::Value { value: GIVEN.into() },
            None => {
                assert_eq!(question.about, About::InDoubt, "nothing else needs a person here");
                *doubts += 1;
                looked(&question, world)
            }
        };
        said_until_taken(handle, Input::Decide { question: question.id, decision, by: "ann".into(), digest: None })
            .await;
    }
}

/// The truthful answer about an effect in doubt.
fn looked(question: &Question, world: &World) -> Decision {
    let call = &*question.calls[0].call;
    if world.has_happened(&world.key_of(call)) { Decision::Happened { result: result(call) } } else { Decision::DidNot }
}

/// Repeats an input until it is accepted: a full disk gets room again.
async fn said_until_taken(handle: &SessionHandle, input: Input) {
    for _ in 0..50 {
        match handle.tell(input.clone()).await {
            Ok(()) => return,
            Err(refused) if is_of_disk(&refused) => {}
            // An earlier attempt was accepted, though it returned an error.
            Err(refused) => return assert_eq!(refused.code, RefusalCode::AlreadyDecided, "{}", refused.text),
        }
    }
    panic!("nothing is taken any more");
}

async fn rested(handle: &SessionHandle) -> Option<Reply> {
    for _ in 0..50 {
        match handle.rested().await {
            Ok(reply) => return reply,
            Err(refused) => assert!(is_of_disk(&refused), "{}: {}", refused.code, refused.text),
        }
    }
    panic!("nothing is taken any more");
}

fn is_of_disk(refused: &Refused) -> bool {
    matches!(refused.code, RefusalCode::NotDurable | RefusalCode::OutcomeUnknown)
}
