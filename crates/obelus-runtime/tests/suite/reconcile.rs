//! Lost answers: an activity that can find out what happened does so, without asking a person.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use obelus_kernel::session::{About, Input, Outcome, TurnEnd};
use obelus_runtime::engine::Record;
use obelus_runtime::{
    Activities, Activity, ActivityFuture, Connections, Host, ReconcileFuture, Reconciled, SessionSpec, Work,
};
use serde_json::json;

use super::World;
use crate::common::{open_questions, read, run_plan, spec, tool};

/// The behaviour of a peer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Peer {
    /// Acts; its answer is lost.
    ActsAndIsLost,
    /// The first time it does nothing and its answer is lost.
    IsLostOnce,
    /// Acts; never answers.
    ActsAndHangs,
    /// Acts; then panics.
    ActsAndPanics,
}

struct Post {
    peer: Peer,
    can_look: bool,
    /// The keys of the effects that happened.
    happened: Arc<Mutex<Vec<String>>>,
    runs: Arc<AtomicUsize>,
}

impl Activity for Post {
    fn run(&self, work: Work) -> ActivityFuture {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        let (peer, happened) = (self.peer, self.happened.clone());
        Box::pin(async move {
            let lost = Outcome::Lost { message: "the line went dead".to_owned() };
            if peer == Peer::IsLostOnce && run == 0 {
                return lost;
            }
            happened.lock().unwrap().push(work.key);
            match peer {
                Peer::ActsAndIsLost => lost,
                Peer::IsLostOnce => Outcome::Value(json!("answered")),
                Peer::ActsAndHangs => std::future::pending().await,
                Peer::ActsAndPanics => panic!("on purpose"),
            }
        })
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_millis(30))
    }

    fn reconcile(&self, work: Work) -> Option<ReconcileFuture> {
        let happened = self.happened.clone();
        self.can_look.then(|| {
            Box::pin(async move {
                if happened.lock().unwrap().contains(&work.key) {
                    Reconciled::Happened(Outcome::Value(json!("found")))
                } else {
                    Reconciled::DidNot
                }
            }) as ReconcileFuture
        })
    }
}

fn posting() -> SessionSpec {
    spec(json!({"post": tool("create")}), json!([{"_tool": "post", "_outputPath": "†state.v"}]))
}

/// A host whose calls reach that peer.
struct Scene {
    host: Host,
    happened: Arc<Mutex<Vec<String>>>,
    runs: Arc<AtomicUsize>,
}

impl Scene {
    fn new(world: &dyn World, peer: Peer, can_look: bool) -> Self {
        let (happened, runs) = (Arc::default(), Arc::default());
        let mut activities = Activities::new();
        activities.add("post", Post { peer, can_look, happened: Arc::clone(&happened), runs: Arc::clone(&runs) });
        Self { host: world.host(Connections::new(activities)), happened, runs }
    }

    fn counts(&self) -> (usize, usize) {
        (self.runs.load(Ordering::SeqCst), self.happened.lock().unwrap().len())
    }
}

pub(crate) async fn dur_4_an_effect_found_by_reconciliation_is_not_repeated(world: &dyn World) {
    for (i, peer) in [Peer::ActsAndIsLost, Peer::ActsAndHangs, Peer::ActsAndPanics].into_iter().enumerate() {
        let scene = Scene::new(world, peer, true);
        let handle = scene.host.create(&world.id(&format!("s-{i}")), posting()).await.unwrap();
        assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output, "{peer:?}");
        assert_eq!((scene.counts(), read(&handle, "†state.v").await), ((1, 1), Some(json!("found"))), "{peer:?}");
    }
}

pub(crate) async fn dur_4_an_effect_that_did_not_happen_is_repeated(world: &dyn World) {
    let scene = Scene::new(world, Peer::IsLostOnce, true);
    let handle = scene.host.create(&world.id("s"), posting()).await.unwrap();
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!((scene.counts(), read(&handle, "†state.v").await), ((2, 1), Some(json!("answered"))));
}

pub(crate) async fn dur_4_without_reconciliation_a_person_is_asked_with_the_known_facts(world: &dyn World) {
    for (i, (peer, known)) in [
        (Peer::ActsAndIsLost, "the line went dead"),
        (Peer::ActsAndHangs, "no result within 0.03 seconds"),
        (Peer::ActsAndPanics, "a mistake in its code"),
    ]
    .into_iter()
    .enumerate()
    {
        let scene = Scene::new(world, peer, false);
        let handle = scene.host.create(&world.id(&format!("s-{i}")), posting()).await.unwrap();
        assert_eq!(run_plan(&handle).await.ends, TurnEnd::Waiting, "{peer:?}");
        let open = open_questions(&handle).await;
        assert_eq!((open.len(), open[0].about, scene.counts()), (1, About::InDoubt, (1, 1)), "{peer:?}");
        assert!(open[0].reasons[0].to_string().contains(known), "{:?}", open[0].reasons);
    }
}

pub(crate) async fn dur_4_a_call_that_ran_when_its_session_was_moved_is_reconciled(world: &dyn World) {
    for (had_happened, counts, value) in [(true, (0, 1), "found"), (false, (1, 1), "answered")] {
        let scene = Scene::new(world, Peer::IsLostOnce, true);
        let id = world.id(&format!("s-{had_happened}"));
        scene.host.create(&id, posting()).await.unwrap();
        // The journal ends after the intent of the call, as after a crash.
        let mut export = scene.host.export(&id).unwrap();
        export.records.push(Record::new(export.created, Input::RunPlan));
        scene.host.remove(&id).await.unwrap();
        let run_before = usize::from(!had_happened);
        scene.runs.store(run_before, Ordering::SeqCst);
        if had_happened {
            let key = export.genesis["key"].as_str().unwrap();
            scene.happened.lock().unwrap().push(format!("{key}:0.0"));
        }
        scene.host.import(&id, export, false).unwrap();
        let handle = scene.host.open(&id).await.unwrap();
        assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
        let (runs, happened) = scene.counts();
        assert_eq!((runs - run_before, happened), counts);
        assert_eq!(read(&handle, "†state.v").await, Some(json!(value)));
    }
}
