//! One session with many delegates, beside as many sessions.

use std::sync::atomic::Ordering;
use std::time::Instant;

use obelus_runtime::Store as _;

use super::common::delegates::delegating;
use super::{Scene, begin, figure, wait_for};

/// The calls of each delegate.
pub(crate) const CALLS: usize = 8;

pub(crate) async fn measure(scene: &Scene) {
    for count in [10, 100] {
        let one = rate(scene, &[format!("parent-{count}")], count).await;
        let apart: Vec<String> = (0..count).map(|i| format!("apart-{count}-{i}")).collect();
        let many = rate(scene, &apart, 1).await;
        figure(&format!("delegates_{count}"), one);
        figure(&format!("sessions_{count}"), many);
        state_of(scene, &format!("parent-{count}"), count).await;
    }
}

/// Steps a second of sessions that have this many delegates each: an answer of the model and its calls.
async fn rate(scene: &Scene, names: &[String], delegates: usize) -> f64 {
    for name in names {
        scene.host.create(name, delegating("step", "read", delegates)).await.expect("a session");
    }
    scene.calls.store(0, Ordering::SeqCst);
    let began = Instant::now();
    begin(&scene.store, names).await;
    wait_for(&scene.calls, names.len() * delegates * CALLS).await;
    (names.len() * delegates * (CALLS + 1)) as f64 / began.elapsed().as_secs_f64()
}

/// The bytes of a session's state when it rests, after its checkpoint.
async fn state_of(scene: &Scene, name: &str, delegates: usize) {
    let handle = scene.host.open(name).await.expect("the session");
    handle.rested().await.expect("it can be read");
    let store = scene.store.clone();
    let session = name.to_owned();
    let (checkpoint, records) = tokio::task::spawn_blocking(move || {
        let checkpoint = loop {
            if let Some(snapshot) = store.snapshot(&session).expect("it can be read") {
                break snapshot.state.len();
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        };
        (checkpoint, store.load(&session, 0, None).expect("it can be read").records.len())
    })
    .await
    .expect("the state");
    figure(&format!("checkpoint_{delegates}"), checkpoint as f64);
    figure(&format!("records_{delegates}"), records as f64);
}
