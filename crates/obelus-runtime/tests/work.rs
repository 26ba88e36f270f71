//! Running calls: parallel calls, time limits, panics, detached calls, and messages meanwhile.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{read, run_plan};
use obelus_kernel::session::{CallError, Outcome, TurnEnd};
use obelus_runtime::{Activities, Activity, ActivityFuture, Connections, EventBody, Host, SessionHandle, Work};
use serde_json::{Value, json};

/// A session with a plan, and its host.
async fn open(tools: Value, plan: Value, activities: Activities, parallel: u32) -> (Host, SessionHandle) {
    let host = Host::new(Connections::new(activities));
    let mut spec = common::spec(tools, plan);
    spec.settings.max_parallel = parallel;
    let handle = host.create_temporary("test", spec).await.unwrap();
    (host, handle)
}

fn reader() -> Value {
    json!({"type": "object", "properties": {"n": {}}, "x-effect": "read", "x-trust": "trusted"})
}

#[tokio::test]
async fn independent_calls_run_at_once_up_to_the_limit() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut activities = Activities::new();
    let (r, m) = (running.clone(), most.clone());
    activities.register("work", move |_| {
        let (running, most) = (r.clone(), m.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(json!(1))
        }
    });
    let plan: Value = (0..20).map(|i| json!({"_tool": "work", "_outputPath": format!("†state.v{i}")})).collect();
    let (_host, handle) = open(json!({"work": reader()}), plan, activities, 4).await;
    let reply = run_plan(&handle).await;
    assert_eq!(reply.ends, TurnEnd::Output);
    assert_eq!(most.load(Ordering::SeqCst), 4);
    for i in 0..20 {
        assert!(read(&handle, &format!("†state.v{i}")).await.is_some(), "{i}");
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

#[tokio::test]
async fn a_hanging_call_is_ended_and_the_others_continue() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut activities = Activities::new();
    activities.add("hang", Hangs(dropped.clone()));
    activities.register("work", |_| async { Ok(json!("fine")) });
    let plan = json!([
        {"_tool": "hang", "_outputPath": "†state.a"},
        {"_tool": "work", "n": "†state.a", "_outputPath": "†state.b"},
        {"_tool": "work", "_outputPath": "†state.c"},
    ]);
    let (_host, handle) = open(json!({"hang": reader(), "work": reader()}), plan, activities, 16).await;
    let reply = run_plan(&handle).await;
    let statuses: Vec<_> = reply.calls.iter().map(|report| report.status.name()).collect();
    assert_eq!(statuses, ["failed", "skipped", "done"]);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    assert!(read(&handle, "†error").await.unwrap().to_string().contains("timeout"));
}

#[tokio::test]
async fn an_activity_that_panics_is_an_error_of_its_call() {
    let mut activities = Activities::new();
    activities.register("burst", |_| async { panic!("on purpose") });
    let plan = json!([{"_tool": "burst", "_outputPath": "†state.a || †state.b"}]);
    let (_host, handle) = open(json!({"burst": reader()}), plan, activities, 16).await;
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!(read(&handle, "†state.b.code").await, Some(json!("panic")));
}

#[tokio::test]
async fn a_detached_call_does_not_delay_the_turn_and_ends_later() {
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
    let (_host, handle) = open(json!({"notify": reader()}), json!([{"_tool": "notify"}]), activities, 16).await;
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!(done.load(Ordering::SeqCst), 0);
    gate.send(()).unwrap();
    handle.finished().await.unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 1);
    assert_eq!(read(&handle, "†error").await, None);
}

#[tokio::test]
async fn a_stop_ends_the_turn_after_running_calls_have_ended() {
    let mut activities = Activities::new();
    activities.register("work", |work| async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(work.call["n"].clone())
    });
    let plan: Value = (0..50)
        .map(|i| json!({"_tool": "work", "n": if i == 0 { json!(0) } else { json!(format!("†state.v{}", i - 1)) }, "_outputPath": format!("†state.v{i}")}))
        .collect();
    let (_host, handle) = open(json!({"work": reader()}), plan, activities, 16).await;
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
