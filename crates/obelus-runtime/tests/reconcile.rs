//! Lost answers: an activity that can find out what happened does so, without asking a person.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Small, clock, host, open_questions, read, run_plan, spec, tool};
use obelus_kernel::session::{About, Input, Outcome, TurnEnd};
use obelus_runtime::engine::Record;
use obelus_runtime::{
    Activities, Activity, ActivityFuture, Connections, Host, ReconcileFuture, Reconciled, SessionHandle, SessionSpec,
    Store, Work,
};
use serde_json::json;

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
                match happened.lock().unwrap().contains(&work.key) {
                    true => Reconciled::Happened(Outcome::Value(json!("found"))),
                    false => Reconciled::DidNot,
                }
            }) as ReconcileFuture
        })
    }
}

/// A session with one call to that peer.
struct Scene {
    host: Host,
    store: Arc<Small>,
    happened: Arc<Mutex<Vec<String>>>,
    runs: Arc<AtomicUsize>,
}

fn posting() -> SessionSpec {
    spec(json!({"post": tool("create")}), json!([{"_tool": "post", "_outputPath": "†state.v"}]))
}

fn scene(peer: Peer, can_look: bool) -> Scene {
    let (happened, runs, store) = (Arc::default(), Arc::default(), Arc::new(Small::default()));
    let mut activities = Activities::new();
    activities.add("post", Post { peer, can_look, happened: Arc::clone(&happened), runs: Arc::clone(&runs) });
    Scene { host: host(Connections::new(activities), store.clone()), store, happened, runs }
}

impl Scene {
    async fn begun(&self) -> SessionHandle {
        self.host.create("s", posting()).await.unwrap()
    }

    fn counts(&self) -> (usize, usize) {
        (self.runs.load(Ordering::SeqCst), self.happened.lock().unwrap().len())
    }
}

#[tokio::test]
async fn an_effect_found_by_reconciliation_is_not_repeated() {
    for peer in [Peer::ActsAndIsLost, Peer::ActsAndHangs, Peer::ActsAndPanics] {
        let scene = scene(peer, true);
        let handle = scene.begun().await;
        assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output, "{peer:?}");
        assert_eq!((scene.counts(), read(&handle, "†state.v").await), ((1, 1), Some(json!("found"))), "{peer:?}");
    }
}

#[tokio::test]
async fn an_effect_that_did_not_happen_is_repeated() {
    let scene = scene(Peer::IsLostOnce, true);
    let handle = scene.begun().await;
    assert_eq!(run_plan(&handle).await.ends, TurnEnd::Output);
    assert_eq!((scene.counts(), read(&handle, "†state.v").await), ((2, 1), Some(json!("answered"))));
}

#[tokio::test]
async fn without_reconciliation_a_person_is_asked_with_the_known_facts() {
    for (peer, known) in [
        (Peer::ActsAndIsLost, "the line went dead"),
        (Peer::ActsAndHangs, "no result within 0.03 seconds"),
        (Peer::ActsAndPanics, "a mistake in its code"),
    ] {
        let scene = scene(peer, false);
        let handle = scene.begun().await;
        assert_eq!(run_plan(&handle).await.ends, TurnEnd::Waiting, "{peer:?}");
        let open = open_questions(&handle).await;
        assert_eq!((open.len(), open[0].about, scene.counts()), (1, About::InDoubt, (1, 1)), "{peer:?}");
        assert!(open[0].reasons[0].to_string().contains(known), "{:?}", open[0].reasons);
    }
}

#[tokio::test]
async fn a_crash_is_treated_as_a_lost_answer() {
    for (had_happened, counts, value) in [(true, (0, 1), "found"), (false, (1, 1), "answered")] {
        let scene = scene(Peer::IsLostOnce, true);
        scene.runs.store(usize::from(!had_happened), Ordering::SeqCst);
        if had_happened {
            scene.happened.lock().unwrap().push("s:0.0".to_owned());
        }
        // The journal ends after the intent of the call.
        let intent = vec![Record::new(clock(), Input::RunPlan)];
        scene.store.create("s", clock(), &posting().genesis().unwrap(), intent).unwrap();
        let handle = scene.host.open("s").await.unwrap();
        assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
        let (runs, happened) = scene.counts();
        assert_eq!((runs - usize::from(!had_happened), happened), counts);
        assert_eq!(read(&handle, "†state.v").await, Some(json!(value)));
    }
}
