//! Calls of an answer that start while the model still writes.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Small, host, journal, say, snapshot};
use obelus_kernel::CallJson;
use obelus_kernel::Context;
use obelus_kernel::dialect::Piece;
use obelus_kernel::session::{Answer, Input, Mode, Money, Prompt, Settings, Solution, TurnEnd};
use obelus_runtime::{
    Activities, AnswerFuture, Connections, EventBody, Model, Part, Parts, SessionHandle, SessionSpec, Used,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Writes its first call, then nothing until the gate opens.
struct Gated {
    gate: Arc<Notify>,
    tells: CallJson,
}

fn calls() -> Vec<CallJson> {
    vec![
        json!({"_tool": "look", "q": "a", "_outputPath": "†state.found"}).into(),
        json!({"_tool": "note", "text": "†state.found", "_outputPath": "†state.noted"}).into(),
    ]
}

impl Model for Gated {
    fn ask(&self, _: Prompt) -> AnswerFuture {
        panic!("a session asks aloud")
    }

    fn ask_streaming(&self, _: Prompt, parts: Parts) -> AnswerFuture {
        let (gate, tells) = (Arc::clone(&self.gate), self.tells.clone());
        Box::pin(async move {
            parts.tell(Part::Piece(Piece::Words("Смо".to_owned())));
            parts.tell(Part::Piece(Piece::Words("трю.".to_owned())));
            parts.tell(Part::Piece(Piece::Call { index: 0, call: tells }));
            parts.tell(Part::Used(Used { input: 3, output: 4, cost: Some(Money::from(0.1)) }));
            gate.notified().await;
            let say = Some("Смотрю.".to_owned());
            let solution = Solution { say, calls: calls(), output: json!(1), ..Solution::default() };
            Answer::Solution { solution, tokens: 7 }
        })
    }
}

fn spec() -> SessionSpec {
    let tool = |effect: &str, name: &str| json!({"x-effect": effect, "x-trust": "trusted", "properties": {name: {}}});
    let context = json!([{"type": "tool", "tool": {"look": tool("read", "q"), "note": tool("create", "text")}}]);
    SessionSpec {
        context: Context::from_value(context).unwrap(),
        settings: Settings { mode: Mode::Full, ..Settings::default() },
        ..SessionSpec::default()
    }
}

async fn noted(handle: &SessionHandle) -> Value {
    handle.inspect(|session| session.state()["noted"].clone()).await.unwrap()
}

#[tokio::test]
async fn a_complete_call_starts_before_the_rest_of_the_answer_arrives() {
    let gate = Arc::new(Notify::new());
    let looks = Arc::new(AtomicUsize::new(0));
    let mut activities = Activities::new();
    let (opens, counts) = (Arc::clone(&gate), Arc::clone(&looks));
    activities.register("look", move |_| {
        counts.fetch_add(1, Ordering::SeqCst);
        // Only this opens the gate: a session that waits for the whole answer never continues.
        opens.notify_one();
        async { Ok(json!("found")) }
    });
    activities.register("note", |work| async move { Ok(work.call["text"].clone()) });
    let store = Arc::new(Small::default());
    let model = Gated { gate, tells: calls().remove(0) };
    let host = host(Connections::new(activities).with_model(model), store.clone());
    let handle = host.create("s", spec()).await.unwrap();
    let mut events = handle.subscribe(None);
    let reply = say(&handle, "look").await;

    assert_eq!(reply.ends, TurnEnd::Output);
    assert_eq!(noted(&handle).await, "found");
    assert_eq!(looks.load(Ordering::SeqCst), 1, "what was started early is not started again");
    let shown = std::iter::from_fn(|| events.try_next()).filter_map(|event| match &event.body {
        EventBody::Writing { text } => Some(format!("writing {text}")),
        EventBody::AgentSaid { text } => Some(format!("say {text}")),
        EventBody::CallBegan { call, .. } => Some(format!("began {}", call["_tool"].as_str().unwrap())),
        EventBody::Used { used, .. } => Some(format!("used {} {}", used.input, used.output)),
        _ => None,
    });
    let mut shown: Vec<String> = shown.collect();
    // The order of tokens and call is not fixed.
    shown[2..4].sort();
    assert_eq!(shown, ["writing Смо", "writing трю.", "began look", "used 3 4", "say Смотрю.", "began note"]);

    // The journal has the early call and the used tokens but no partial text, and it replays to the same session.
    let partial = |input: &&Input| matches!(input, Input::Partial { .. });
    assert_eq!(journal(&*store, "s").iter().filter(partial).count(), 1);
    assert_eq!(handle.inspect(|session| session.spent().1.used.cost).await.unwrap(), Some(Money::from(0.1)));
    assert_eq!(host.view("s", None).unwrap().snapshot().to_string(), snapshot(&handle).await);
}

#[tokio::test]
async fn an_acting_call_waits_for_the_complete_answer() {
    let gate = Arc::new(Notify::new());
    gate.notify_one();
    let mut activities = Activities::new();
    activities.register("look", |_| async { Ok(json!("found")) });
    activities.register("note", |work| async move { Ok(work.call["text"].clone()) });
    let store = Arc::new(Small::default());
    let model = Gated { gate, tells: json!({"_tool": "note", "text": "early"}).into() };
    let host = host(Connections::new(activities).with_model(model), store.clone());
    let handle = host.create("s", spec()).await.unwrap();
    say(&handle, "look").await;
    assert!(!journal(&*store, "s").iter().any(|input| matches!(input, Input::Partial { .. })));
    assert_eq!(noted(&handle).await, "found");
}
