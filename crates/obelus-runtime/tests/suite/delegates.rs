//! Sessions whose calls are carried out by delegates.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use obelus_kernel::session::{Decision, TurnEnd};
use obelus_runtime::{Activities, Connections};
use serde_json::json;
use tokio::sync::Barrier;

use super::{World, inbox_of};
use crate::common::delegates::{DelegateModel, delegating};
use crate::common::{counting, open_questions, read, run_plan};

pub(crate) async fn del_3_the_calls_of_delegates_run_at_once(world: &dyn World) {
    let all = Arc::new(Barrier::new(8));
    let mut activities = Activities::new();
    activities.register("step", move |work| {
        let all = Arc::clone(&all);
        async move {
            // It ends when the calls of all delegates have begun.
            all.wait().await;
            Ok(json!(work.call["n"].as_i64().unwrap_or_default() + 1))
        }
    });
    let host = world.host(Connections::new(activities).with_model(DelegateModel(1)));
    let handle = host.create(&world.id("s"), delegating("step", "read", 8)).await.unwrap();
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    for i in 0..8 {
        assert_eq!(read(&handle, &format!("†state.d{i}")).await, Some(json!("done")));
    }
}

pub(crate) async fn del_3_a_question_of_a_delegate_is_in_the_inbox_and_its_answer_reaches_it(world: &dyn World) {
    let calls = Arc::default();
    let host = world.host(Connections::new(counting(&calls)).with_model(DelegateModel(1)));
    let id = world.id("s");
    let handle = host.create(&id, delegating("step", "delete", 2)).await.unwrap();
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Waiting);
    assert_eq!(inbox_of(&host, &id, 2).await.len(), 2);
    let open = open_questions(&handle).await;
    handle.answer(open[1].id.clone(), Decision::Approve { only: None }, "ann").await.unwrap();
    handle.answer(open[0].id.clone(), Decision::Deny { reason: "no".to_owned() }, "ann").await.unwrap();
    handle.rested().await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(read(&handle, "†state.d1").await, Some(json!("done")));
    assert!(inbox_of(&host, &id, 0).await.is_empty());
}
