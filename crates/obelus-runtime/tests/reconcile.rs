//! Answers that get lost: what an activity can find out by itself, nobody is asked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use obelus_kernel::session::{About, Ends, Input, Mode, Outcome, Question, Session, Settings};
use obelus_kernel::{Context, Expr, Time};
use obelus_runtime::{Activities, Activity, ActivityFuture, Driver, NoModel, ReconcileFuture, Reconciled, Work};
use serde_json::{Value, json};

/// How a peer treats a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Peer {
    /// Acts, and its answer is lost.
    ActsAndIsLost,
    /// Does nothing, and its answer is lost the first time.
    IsLostOnce,
    /// Acts, and never answers.
    ActsAndHangs,
    /// Acts, and fails in the middle of telling.
    ActsAndPanics,
}

struct Post {
    peer: Peer,
    can_look: bool,
    /// The keys of what has happened.
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

struct Scene {
    driver: Driver,
    happened: Arc<Mutex<Vec<String>>>,
    runs: Arc<AtomicUsize>,
}

fn scene(peer: Peer, can_look: bool) -> Scene {
    let tool = json!({"type": "object", "x-effect": "create", "x-trust": "trusted", "x-target": []});
    let plan = json!([{"_tool": "post", "_outputPath": "†state.v"}]);
    let context =
        Context::from_value(json!([{"type": "tool", "tool": {"post": tool}}, {"type": "plan", "plan": plan}]));
    let settings = Settings { mode: Mode::Full, activities: ["post".to_owned()].into(), ..Settings::default() };
    let session = Session::new("s", context.unwrap(), None, Arc::new(settings)).unwrap();
    let (happened, runs) = (Arc::default(), Arc::default());
    let mut activities = Activities::new();
    activities.add("post", Post { peer, can_look, happened: Arc::clone(&happened), runs: Arc::clone(&runs) });
    let driver = Driver::new(session, Arc::new(activities), Arc::new(NoModel), || Time(1));
    Scene { driver, happened, runs }
}

impl Scene {
    fn value(&self) -> Option<Value> {
        let path = Expr::parse("†state.v").unwrap();
        self.driver.session().context().resolve(&path, None).map(std::borrow::Cow::into_owned)
    }

    fn counts(&self) -> (usize, usize) {
        (self.runs.load(Ordering::SeqCst), self.happened.lock().unwrap().len())
    }

    fn open(&self) -> Vec<Question> {
        self.driver.session().questions().into_iter().filter(Question::is_open).collect()
    }
}

#[tokio::test]
async fn what_happened_is_found_and_not_repeated() {
    for peer in [Peer::ActsAndIsLost, Peer::ActsAndHangs, Peer::ActsAndPanics] {
        let mut scene = scene(peer, true);
        assert_eq!(scene.driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Output, "{peer:?}");
        assert_eq!((scene.counts(), scene.value()), ((1, 1), Some(json!("found"))), "{peer:?}");
    }
}

#[tokio::test]
async fn what_did_not_happen_is_done_again() {
    let mut scene = scene(Peer::IsLostOnce, true);
    assert_eq!(scene.driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Output);
    assert_eq!((scene.counts(), scene.value()), ((2, 1), Some(json!("answered"))));
}

#[tokio::test]
async fn where_nobody_can_look_a_person_is_asked_with_what_is_known() {
    for (peer, known) in [
        (Peer::ActsAndIsLost, "the line went dead"),
        (Peer::ActsAndHangs, "no result within 0.03 seconds"),
        (Peer::ActsAndPanics, "a mistake in its code"),
    ] {
        let mut scene = scene(peer, false);
        assert_eq!(scene.driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Waiting, "{peer:?}");
        let open = scene.open();
        assert_eq!((open.len(), open[0].about, scene.counts()), (1, About::InDoubt, (1, 1)), "{peer:?}");
        assert!(open[0].reasons[0].contains(known), "{:?}", open[0].reasons);
    }
}

#[tokio::test]
async fn a_crash_is_a_lost_answer_like_any_other() {
    for (had_happened, counts, value) in [(true, (0, 1), "found"), (false, (1, 1), "answered")] {
        let mut scene = scene(Peer::IsLostOnce, true);
        scene.runs.store(usize::from(!had_happened), Ordering::SeqCst);
        if had_happened {
            scene.happened.lock().unwrap().push("s:0.0".to_owned());
        }
        // The journal ends after the intent.
        assert_eq!(scene.driver.recover(vec![(Time(1), Input::RunPlan)]).in_doubt, 1);
        assert_eq!(scene.driver.resume().await.unwrap().unwrap().ends, Ends::Output);
        let (runs, happened) = scene.counts();
        assert_eq!((runs - usize::from(!had_happened), happened), counts);
        assert_eq!(scene.value(), Some(json!(value)));
    }
}
