//! Running calls: parallel calls, time limits, panics, detached calls, stops, and the calls of a model.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use obelus_kernel::Context;
use obelus_kernel::session::{Answer, CallError, CallStatus, Outcome, Prompt, Solution, TurnEnd};
use obelus_runtime::{
    Activities, Activity, ActivityFuture, AnswerFuture, Connections, EventBody, Host, Model, SessionHandle,
    SessionSpec, Work,
};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::World;
use crate::common::{counting, read, run_plan, say, snapshot, spec, tool};

/// A session with a plan, and its host.
async fn open(world: &dyn World, tools: Value, plan: Value, activities: Activities) -> (Host, SessionHandle) {
    let host = world.host(Connections::new(activities));
    let handle = host.create(&world.id("s"), spec(tools, plan)).await.unwrap();
    (host, handle)
}

fn reader() -> Value {
    json!({"type": "object", "properties": {"n": {}}, "x-effect": "read", "x-trust": "trusted"})
}

pub(crate) async fn independent_calls_run_at_once_up_to_the_limit(world: &dyn World) {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (mut activities, four) = (Activities::new(), Arc::new(Barrier::new(4)));
    let (r, m) = (running.clone(), most.clone());
    activities.register("work", move |work| {
        let (running, most, four) = (r.clone(), m.clone(), four.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // It ends when four of them run.
            four.wait().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(work.call["n"].clone())
        }
    });
    let plan: Value =
        (0..20).map(|i| json!({"_tool": "work", "n": i, "_outputPath": format!("†state.v{i}")})).collect();
    let mut spec = spec(json!({"work": reader()}), plan);
    spec.settings.max_parallel = 4;
    let host = world.host(Connections::new(activities));
    let handle = host.create(&world.id("s"), spec).await.unwrap();
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!(most.load(Ordering::SeqCst), 4);
    for i in 0..20 {
        assert_eq!(read(&handle, &format!("†state.v{i}")).await, Some(json!(i)));
    }
}

/// Never ends; counts when it is dropped.
struct Hangs(Arc<AtomicUsize>);

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Activity for Hangs {
    fn run(&self, _: Work) -> ActivityFuture {
        let guard = Dropped(self.0.clone());
        Box::pin(async move {
            let _guard = guard;
            std::future::pending::<Outcome>().await
        })
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_millis(20))
    }
}

pub(crate) async fn a_hanging_call_is_ended_and_the_others_continue(world: &dyn World) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut activities = Activities::new();
    activities.add("hang", Hangs(dropped.clone()));
    activities.register("work", |_| async { Ok(json!("fine")) });
    let plan = json!([
        {"_tool": "hang", "_outputPath": "†state.a"},
        {"_tool": "work", "n": "†state.a", "_outputPath": "†state.b"},
        {"_tool": "work", "_outputPath": "†state.c"},
    ]);
    let (_host, handle) = open(world, json!({"hang": reader(), "work": reader()}), plan, activities).await;
    let reply = run_plan(&handle).await;
    let statuses: Vec<_> = reply.calls.iter().map(|report| report.status.name()).collect();
    assert_eq!(statuses, ["failed", "skipped", "done"]);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    assert!(read(&handle, "†error").await.unwrap().to_string().contains("timeout"));
}

pub(crate) async fn an_activity_that_panics_is_an_error_of_its_call(world: &dyn World) {
    let mut activities = Activities::new();
    activities.register("burst", |_| async { panic!("on purpose") });
    let plan = json!([{"_tool": "burst", "_outputPath": "†state.a || †state.b"}]);
    let (_host, handle) = open(world, json!({"burst": reader()}), plan, activities).await;
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!(read(&handle, "†state.b.code").await, Some(json!("panic")));
}

pub(crate) async fn rows_with_the_same_id_are_an_error_and_none_is_lost(world: &dyn World) {
    let mut activities = Activities::new();
    activities.register("list", |_| async {
        Ok(json!([{"id": 1, "to": "a"}, {"id": 2, "to": "b"}, {"id": "1", "to": "c"}]))
    });
    activities.register("send", |work| async move { Ok(work.call["n"].clone()) });
    let mut list = reader();
    list["x-instances"] = json!("id");
    let plan = json!([
        {"_tool": "list", "_outputPath": "†inv"},
        {"_tool": "send", "n": "†inv.to", "_outputPath": "†inv.sent"},
    ]);
    let (_host, handle) = open(world, json!({"list": list, "send": reader()}), plan, activities).await;
    let reply = run_plan(&handle).await;
    let error = reply.calls[0].error.as_ref().expect("an error");
    assert!(
        error.code == Some("bad_row".into()) && error.message.contains("two rows have the same `id`, 1"),
        "{error:?}"
    );
    assert!(reply.calls.iter().all(|call| call.status != CallStatus::Done), "nothing is done for the others");
}

pub(crate) async fn a_detached_call_does_not_delay_the_turn_and_ends_later(world: &dyn World) {
    let done = Arc::new(AtomicUsize::new(0));
    let (gate, opened) = tokio::sync::oneshot::channel::<()>();
    let opened = Arc::new(tokio::sync::Mutex::new(Some(opened)));
    let mut activities = Activities::new();
    let counter = done.clone();
    activities.register("notify", move |_| {
        let (done, opened) = (counter.clone(), opened.clone());
        async move {
            if let Some(opened) = opened.lock().await.take() {
                let _ = opened.await;
            }
            done.fetch_add(1, Ordering::SeqCst);
            Err(CallError::new("lost", "nobody hears it"))
        }
    });
    let (_host, handle) = open(world, json!({"notify": reader()}), json!([{"_tool": "notify"}]), activities).await;
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!(done.load(Ordering::SeqCst), 0);
    gate.send(()).unwrap();
    handle.finished().await.unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 1);
    assert_eq!(read(&handle, "†error").await, None);
}

pub(crate) async fn a_stop_ends_the_turn_after_running_calls_have_ended(world: &dyn World) {
    let mut activities = Activities::new();
    activities.register("work", |work| async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(work.call["n"].clone())
    });
    let plan: Value = (0..50)
        .map(|i| json!({"_tool": "work", "n": if i == 0 { json!(0) } else { json!(format!("†state.v{}", i - 1)) }, "_outputPath": format!("†state.v{i}")}))
        .collect();
    let (_host, handle) = open(world, json!({"work": reader()}), plan, activities).await;
    let mut events = handle.subscribe(None);
    handle.run_plan().await.unwrap();
    let mut begun = 0;
    while begun < 3 {
        let event = events.next().await.unwrap();
        begun += u32::from(matches!(event.body, EventBody::CallBegan { .. }));
    }
    handle.stop().await.unwrap();
    let reply = handle.rested().await.unwrap().unwrap();
    assert_eq!(reply.ends, TurnEnd::Stopped);
    assert!(read(&handle, "†state.v49").await.is_none());
}

/// Calls `step` with the number that the message is, then with the result.
struct Clerk;

impl Model for Clerk {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        let number = prompt.texts.last().and_then(|(_, words)| words.parse::<u64>().ok());
        let call = |n: Value, to: &str| json!({"_tool": "step", "n": n, "_outputPath": to}).into();
        let calls = vec![call(json!(number), "†state.a"), call(json!("†state.a"), "†state.b")];
        let solution = Solution { calls, output: json!("done"), ..Solution::default() };
        Box::pin(std::future::ready(Answer::Solution { solution, tokens: 1 }))
    }
}

pub(crate) async fn a_message_is_answered_after_the_calls_of_the_model(world: &dyn World) {
    let calls = Arc::default();
    let host = world.host(Connections::new(counting(&calls)).with_model(Clerk));
    let handle = host.create(&world.id("s"), spec(json!({"step": tool("create")}), json!([]))).await.unwrap();
    for (words, result, count) in [("10", 12, 2), ("70", 72, 4)] {
        let reply = say(&handle, words).await;
        assert_eq!((reply.ends, reply.output), (TurnEnd::Output, json!("done")));
        assert_eq!((read(&handle, "†state.b").await, calls.load(Ordering::SeqCst)), (Some(json!(result)), count));
    }
}

pub(crate) async fn a_further_message_begins_a_one_off_request_anew(world: &dyn World) {
    let host = world.host(Connections::new(counting(&Arc::default())).with_model(Clerk));
    let one_off = SessionSpec {
        context: Context::from_value(json!([{"type": "tool", "tool": {"step": tool("create")}}])).unwrap(),
        ..spec(json!({}), json!([]))
    };
    let id = world.id("s");
    let handle = host.create(&id, one_off).await.unwrap();
    for (words, result) in [("10", 12), ("70", 72)] {
        assert_eq!(say(&handle, words).await.ends, TurnEnd::Output);
        assert_eq!(read(&handle, "†state.b").await, Some(json!(result)));
    }
    let before = snapshot(&handle).await;
    host.passivate(&id).await;
    assert_eq!(snapshot(&host.open(&id).await.unwrap()).await, before);
}
