//! Answers that are acted on while they are still being written.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use obelus_kernel::dialect::stream::Piece;
use obelus_kernel::session::{Answer, Ends, Input, Mode, Money, Prompt, Session, Settings, Solution};
use obelus_kernel::{Context, Time};
use obelus_runtime::{Activities, AnswerFuture, Driver, Durable, Event, Journal, Model, Part, Parts, Used};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Tells its first call, then writes nothing more until the gate opens.
struct Gated {
    gate: Arc<Notify>,
    tells: Value,
}

fn calls() -> Vec<Value> {
    vec![
        json!({"_tool": "look", "q": "a", "_outputPath": "†state.found"}),
        json!({"_tool": "note", "text": "†state.found", "_outputPath": "†state.noted"}),
    ]
}

impl Model for Gated {
    fn ask(&self, _: Prompt) -> AnswerFuture {
        panic!("a driver asks aloud")
    }

    fn ask_aloud(&self, _: Prompt, parts: Parts) -> AnswerFuture {
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

/// What was kept, in order.
#[derive(Clone, Default)]
struct Remembered(Arc<Mutex<Vec<Input>>>);

impl Journal for Remembered {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Durable {
        self.0.lock().unwrap().extend(inputs.iter().map(|(_, input)| input.clone()));
        Box::pin(std::future::ready(Ok(())))
    }
}

fn session(activities: &Activities) -> Session {
    let tool = |effect: &str, name: &str| json!({"x-effect": effect, "x-trust": "trusted", "properties": {name: {}}});
    let context = json!([{"type": "tool", "tool": {"look": tool("read", "q"), "note": tool("create", "text")}}]);
    let settings = Settings { mode: Mode::Full, activities: activities.names(), ..Settings::default() };
    Session::new("s", Context::from_value(context).unwrap(), None, Arc::new(settings)).unwrap()
}

#[tokio::test]
async fn a_call_that_has_come_whole_begins_before_the_rest_of_the_answer_is_there() {
    let gate = Arc::new(Notify::new());
    let looks = Arc::new(AtomicUsize::new(0));
    let mut activities = Activities::new();
    let (opens, counts) = (Arc::clone(&gate), Arc::clone(&looks));
    activities.register("look", move |_| {
        counts.fetch_add(1, Ordering::SeqCst);
        // Nobody else opens it: a driver that waits for the whole answer waits for ever.
        opens.notify_one();
        async { Ok(json!("found")) }
    });
    activities.register("note", |work| async move { Ok(work.call["text"].clone()) });
    let model = Arc::new(Gated { gate, tells: calls().remove(0) });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watcher = Arc::clone(&seen);
    let kept = Remembered::default();
    let mut driver = Driver::new(session(&activities), Arc::new(activities), model, || Time(0))
        .journaled_by(kept.clone())
        .watched_by(move |event| match event {
            Event::Writing(words) => watcher.lock().unwrap().push(format!("writing {words}")),
            Event::Say(words) => watcher.lock().unwrap().push(format!("say {words}")),
            Event::Began(start) => watcher.lock().unwrap().push(format!("began {}", start.tool.name)),
            Event::Used(used) => watcher.lock().unwrap().push(format!("used {} {}", used.input, used.output)),
            _ => {}
        });
    let reply = driver.turn(Input::User { text: "look".to_owned() }).await.unwrap();

    assert_eq!(reply.ends, Ends::Output);
    assert_eq!(driver.session().state()["noted"], "found");
    assert_eq!(looks.load(Ordering::SeqCst), 1, "what was started early is not started again");
    let expected =
        ["writing Смо", "writing трю.", "began look", "used 3 4", "say Смотрю.", "began note"].map(str::to_owned);
    let mut seen = seen.lock().unwrap().clone();
    // Whether the tokens or the call are told first is of no account.
    seen[2..4].sort();
    assert_eq!(seen, expected);

    // Words leave no trace in the journal; a call that began does, and what the request took, and the journal leads to the same session.
    let kept = kept.0.lock().unwrap().clone();
    let partial = |input: &&Input| matches!(input, Input::Partial { .. });
    assert_eq!(kept.iter().filter(partial).count(), 1);
    assert_eq!(driver.session().spent().1.used.cost, Some(Money::from(0.1)));
    let mut activities = Activities::new();
    for name in ["look", "note"] {
        activities.register(name, |_| async { panic!("nothing is done again") });
    }
    let again = session(&activities);
    let mut again = Driver::new(again, Arc::new(activities), Arc::new(obelus_runtime::NoModel), || Time(0));
    let recovered = again.recover(kept.into_iter().map(|input| (Time(0), input)).collect());
    assert_eq!((recovered.in_doubt, recovered.requests), (0, 0));
    assert_eq!(again.session().snapshot(), driver.session().snapshot());
}

#[tokio::test]
async fn a_call_that_acts_waits_for_the_whole_answer() {
    let gate = Arc::new(Notify::new());
    gate.notify_one();
    let mut activities = Activities::new();
    activities.register("look", |_| async { Ok(json!("found")) });
    activities.register("note", |work| async move { Ok(work.call["text"].clone()) });
    let model = Arc::new(Gated { gate, tells: json!({"_tool": "note", "text": "early"}) });
    let kept = Remembered::default();
    let mut driver =
        Driver::new(session(&activities), Arc::new(activities), model, || Time(0)).journaled_by(kept.clone());
    driver.turn(Input::User { text: "look".to_owned() }).await.unwrap();
    assert!(!kept.0.lock().unwrap().iter().any(|input| matches!(input, Input::Partial { .. })));
    assert_eq!(driver.session().state()["noted"], "found");
}
