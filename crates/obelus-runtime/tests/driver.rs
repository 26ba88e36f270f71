//! The driver: work in parallel, time-outs, panics, what is forgotten, and what is said meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use obelus_kernel::session::{CallError, Ends, Input, Mode, Outcome, Session, Settings};
use obelus_kernel::{Context, Expr};
use obelus_runtime::{Activities, Activity, ActivityFuture, Driver, Event, NoModel, Work, system_clock};
use serde_json::{Value, json};

fn driver(tools: Value, plan: Value, activities: Activities, parallel: u32) -> Driver {
    let context =
        Context::from_value(json!([{"type": "tool", "tool": tools}, {"type": "plan", "plan": plan}])).unwrap();
    let settings =
        Settings { mode: Mode::Full, max_parallel: parallel, activities: activities.names(), ..Settings::default() };
    let session = Session::new("test", context, None, Arc::new(settings)).unwrap();
    Driver::new(session, Arc::new(activities), Arc::new(NoModel), system_clock)
}

fn reader() -> Value {
    json!({"type": "object", "properties": {"n": {}}, "x-effect": "read", "x-trust": "trusted"})
}

fn read(driver: &Driver, path: &str) -> Option<Value> {
    driver.session().context().resolve(&Expr::parse(path).unwrap(), None).map(std::borrow::Cow::into_owned)
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
    let mut driver = driver(json!({"work": reader()}), plan, activities, 4);
    let reply = driver.turn(Input::RunPlan).await.unwrap();
    assert_eq!(reply.ends, Ends::Output);
    assert_eq!(most.load(Ordering::SeqCst), 4);
    assert!((0..20).all(|i| read(&driver, &format!("†state.v{i}")).is_some()));
}

/// Never ends by itself, and says when it is dropped.
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
async fn a_call_that_hangs_is_ended_and_the_rest_goes_on() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut activities = Activities::new();
    activities.add("hang", Hangs(dropped.clone()));
    activities.register("work", |_| async { Ok(json!("fine")) });
    let plan = json!([
        {"_tool": "hang", "_outputPath": "†state.a"},
        {"_tool": "work", "n": "†state.a", "_outputPath": "†state.b"},
        {"_tool": "work", "_outputPath": "†state.c"},
    ]);
    let mut driver = driver(json!({"hang": reader(), "work": reader()}), plan, activities, 16);
    let reply = driver.turn(Input::RunPlan).await.unwrap();
    let statuses: Vec<_> = reply.calls.iter().map(|report| report.status).collect();
    assert_eq!(statuses, ["failed", "skipped", "done"]);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    assert!(read(&driver, "†error").unwrap().to_string().contains("timeout"));
}

#[tokio::test]
async fn an_activity_that_panics_is_an_error_of_its_call() {
    let mut activities = Activities::new();
    activities.register("burst", |_| async { panic!("on purpose") });
    let plan = json!([{"_tool": "burst", "_outputPath": "†state.a || †state.b"}]);
    let mut driver = driver(json!({"burst": reader()}), plan, activities, 16);
    assert_eq!(driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Output);
    assert_eq!(read(&driver, "†state.b.code"), Some(json!("panic")));
}

#[tokio::test]
async fn what_is_forgotten_does_not_hold_the_turn_and_is_finished_later() {
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
    let mut driver = driver(json!({"notify": reader()}), json!([{"_tool": "notify"}]), activities, 16);
    assert_eq!(driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Output);
    assert_eq!(done.load(Ordering::SeqCst), 0);
    gate.send(()).unwrap();
    driver.finish().await;
    assert_eq!(done.load(Ordering::SeqCst), 1);
    assert_eq!(read(&driver, "†error"), None);
}

#[tokio::test]
async fn a_stop_from_outside_ends_the_turn_when_what_runs_has_ended() {
    let mut activities = Activities::new();
    activities.register("work", |work| async move {
        tokio::task::yield_now().await;
        Ok(work.call["n"].clone())
    });
    let plan: Value = (0..50)
        .map(|i| json!({"_tool": "work", "n": if i == 0 { json!(0) } else { json!(format!("†state.v{}", i - 1)) }, "_outputPath": format!("†state.v{i}")}))
        .collect();
    let mut driver = driver(json!({"work": reader()}), plan, activities, 16);
    let inlet = driver.inlet();
    let mut begun = 0;
    let mut driver = driver.watched_by(move |event| {
        if matches!(event, Event::Began(_)) {
            begun += 1;
            if begun == 3 {
                inlet.send(Input::Stop).unwrap();
            }
        }
    });
    let reply = driver.turn(Input::RunPlan).await.unwrap();
    assert_eq!(reply.ends, Ends::Stopped);
    assert!(read(&driver, "†state.v49").is_none());
}
