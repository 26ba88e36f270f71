//! Observations exist only in memory: in no journal, log, state or event. They end with the process.

mod common;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use common::{Folder, Small, journal, kill, say, snapshot};
use obelus_kernel::session::{Answer, Input, Observation, Prompt, Settings, Solution, TurnEnd};
use obelus_kernel::{Context, Time};
use obelus_runtime::{
    Activities, AnswerFuture, Connections, EventNumber, Host, Model, SessionHandle, SessionSpec, SqliteStore, Store,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

const CANARY: &str = "CANARY-7f3a";

/// Looks first, then answers; records its prompts.
#[derive(Clone, Default)]
struct Eye {
    shown: Arc<Mutex<Vec<Option<Arc<Observation>>>>>,
    prompts: Arc<Mutex<Vec<Value>>>,
    /// Never answers a prompt with an observation, so that the process is killed meanwhile.
    dies: bool,
    looks: Arc<Notify>,
}

impl Model for Eye {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        self.shown.lock().unwrap().push(prompt.observation.clone());
        self.prompts.lock().unwrap().push(serde_json::to_value(&prompt).unwrap());
        let has_looked = prompt.observation.is_some();
        if has_looked && self.dies {
            self.looks.notify_one();
            return Box::pin(std::future::pending());
        }
        let calls = if has_looked { vec![] } else { vec![json!({"_tool": "look", "_outputPath": "†page"}).into()] };
        let output = if has_looked { json!("I have looked") } else { Value::Null };
        let solution = Solution { calls, output, ..Solution::default() };
        Box::pin(std::future::ready(Answer::Solution { solution, tokens: 1 }))
    }
}

fn spec() -> SessionSpec {
    let look = json!({"x-effect": "read", "x-keep": "digest"});
    let context = Context::from_value(json!([{"type": "tool", "tool": {"look": look}}])).unwrap();
    let settings: Settings = serde_json::from_value(json!({"mode": "full", "persistent": true})).unwrap();
    SessionSpec { context, settings, agent: "eye".to_owned(), ..SessionSpec::default() }
}

/// A store and a model.
struct World {
    folder: Folder,
    eye: Eye,
    /// Whether a look yields first. Calls that end at once take another code path.
    waits: bool,
}

impl World {
    fn new(name: &str, dies: bool) -> Self {
        let folder = Folder::new(&format!("seen-{name}"));
        Self { folder, eye: Eye { dies, ..Eye::default() }, waits: true }
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.folder.0).unwrap()
    }

    fn connections(&self) -> Connections {
        let mut activities = Activities::new();
        let (image, waits) = (self.folder.0.join("shot.png"), self.waits);
        activities.register("look", move |work| {
            let before = work.slot.latest().map(|seen| seen.digest.clone());
            let image = image.clone();
            async move {
                if waits {
                    tokio::task::yield_now().await;
                }
                Ok(json!({"about": {"address": "/a", "before": before}, "text": format!("a page with {CANARY}"),
                    "image": image}))
            }
        });
        Connections::new(activities).with_model(self.eye.clone())
    }

    fn host(&self, store: Arc<dyn Store>) -> Host {
        Host::builder(self.connections()).store(store).files(&self.folder.0).clock(|| Time(1_000)).build()
    }

    /// The text of all files of the store.
    fn on_disk(&self) -> String {
        fn all(folder: &Path, text: &mut String) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    all(&path, text);
                } else {
                    text.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
                }
            }
        }
        let mut text = String::new();
        all(&self.folder.0, &mut text);
        text
    }
}

/// All events, and the session itself, as text.
async fn told(handle: &SessionHandle) -> String {
    let mut events = handle.history(EventNumber::START).unwrap();
    let all = std::iter::from_fn(|| events.try_next());
    let mut told: String = all.map(|event| serde_json::to_string(&*event).unwrap() + "\n").collect();
    told.push_str(&snapshot(handle).await);
    let checkpoint = handle.inspect(obelus_kernel::session::Session::checkpoint).await.unwrap();
    told + &checkpoint.unwrap_or_default()
}

#[tokio::test]
async fn only_the_model_sees_an_observation_and_others_see_its_digest() {
    for waits in [true, false] {
        let mut world = World::new("canary", false);
        world.waits = waits;
        nobody_hears_of(&world).await;
    }
}

async fn nobody_hears_of(world: &World) {
    let store = world.store();
    let host = world.host(store.shared());
    let handle = host.create("s", spec()).await.unwrap();
    let _watching = handle.subscribe(None);
    let reply = say(&handle, "look").await;
    assert_eq!((reply.ends, &reply.output), (TurnEnd::Output, &json!("I have looked")));
    let shown = world.eye.shown.lock().unwrap().clone();
    let [None, Some(seen)] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!((seen.tool.as_str(), seen.text.contains(CANARY)), ("look", true));
    assert!(seen.image.as_ref().is_some_and(|path| path.ends_with("shot.png")));
    let chars = seen.text.chars().count();
    let kept = json!({"address": "/a", "before": null, "digest": seen.digest, "chars": chars});
    assert_eq!(common::read(&handle, "†page").await, Some(kept));
    let told = told(&handle).await;
    host.close().await;

    let journal = format!("{:?}", journal(&store, "s"));
    let prompts = Value::from(world.eye.prompts.lock().unwrap().clone()).to_string();
    let disk = world.on_disk();
    for (name, text) in [("journal", &journal), ("prompts as data", &prompts), ("events", &told), ("files", &disk)] {
        assert!(text.contains(&seen.digest), "{name}: the digest is there");
        assert!(!text.contains(CANARY), "{name}");
        assert!(!text.contains("shot.png"), "{name}");
    }
}

#[tokio::test]
async fn after_a_restart_a_pending_request_is_repeated_without_the_observation() {
    let mut world = World::new("restart", true);
    let store = world.store();
    let first = world.host(store.shared());
    let handle = first.create("s", spec()).await.unwrap();
    handle.say("look").await.unwrap();
    world.eye.looks.notified().await;
    assert!(handle.inspect(obelus_kernel::session::Session::has_observations).await.unwrap());
    kill(first).await;

    world.eye = Eye::default();
    let second = world.host(store.shared());
    let handle = second.open("s").await.unwrap();
    assert!(!journal(&store, "s").contains(&Input::ProcessLost));
    assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
    let shown = world.eye.shown.lock().unwrap().clone();
    assert!(matches!(shown.as_slice(), [None, Some(_)]), "first without it, then it looks again: {shown:?}");
    let inputs = journal(&store, "s");
    let forgotten: Vec<usize> =
        inputs.iter().enumerate().filter(|(_, input)| **input == Input::ProcessLost).map(|(at, _)| at).collect();
    assert_eq!(forgotten, [3], "once, and before anything else went on");
    assert_eq!(second.view("s", None).unwrap().snapshot().to_string(), snapshot(&handle).await);
}

#[tokio::test]
async fn a_resting_session_learns_of_a_lost_observation_with_the_next_message() {
    let world = World::new("rest", false);
    let store = world.store();
    let first = world.host(store.shared());
    let handle = first.create("s", spec()).await.unwrap();
    say(&handle, "look").await;
    // Within one process the observation stays for the next turn, and the model does not look again.
    say(&handle, "look").await;
    assert_eq!(world.eye.shown.lock().unwrap().len(), 3);
    kill(first).await;
    let before = journal(&store, "s").len();
    let second = world.host(store.shared());
    let handle = second.open("s").await.unwrap();
    handle.rested().await.unwrap();
    assert_eq!(journal(&store, "s").len(), before);
    say(&handle, "look").await;
    assert_eq!(journal(&store, "s")[before], Input::ProcessLost);
    let shown = world.eye.shown.lock().unwrap()[3..].to_vec();
    assert!(matches!(shown.as_slice(), [None, Some(_)]), "{shown:?}");
}

#[tokio::test]
async fn an_invalid_observation_fails_its_call_and_is_not_stored() {
    let world = World::new("wrong", false);
    let mut activities = Activities::new();
    activities.register("look", |_| async { Ok(json!({"page": CANARY})) });
    let host = Host::new(Connections::new(activities).with_model(world.eye.clone()));
    let handle = host.create_temporary("s", spec()).await.unwrap();
    let _watching = handle.subscribe(None);
    let reply = say(&handle, "look").await;
    assert_eq!(reply.ends, TurnEnd::Limit, "the same failure three times");
    assert!(
        reply.calls.iter().all(|call| call.error.as_ref().is_some_and(|error| error.code == Some("bad_result".into())))
    );
    let told = told(&handle).await;
    assert!(told.contains("bad_result") && !told.contains(CANARY), "{told}");
}

#[tokio::test]
async fn lost_observations_are_null_at_any_end_of_the_journal() {
    for (first, second) in (0..7).flat_map(|first| (0..7).map(move |second| (first, first + second))) {
        let world = World::new(&format!("ends-{first}-{second}"), false);
        let store = Arc::new(Small::default());
        let mut reply = None;
        // Two processes die; the third finishes.
        for room in [Some(first), Some(second), None] {
            store.make_room(room);
            let host = Host::builder(world.connections()).store(store.clone()).clock(|| Time(1_000)).build();
            let handle = match host.spec("s").unwrap() {
                None => host.create("s", spec()).await.unwrap(),
                Some(_) => host.open("s").await.unwrap(),
            };
            reply = match handle.rested().await {
                Ok(None) => match handle.say("look").await {
                    Ok(()) => handle.rested().await.ok().flatten(),
                    Err(_) => None,
                },
                rested => rested.ok().flatten(),
            };
            if room.is_none() {
                let alike = host.view("s", None).unwrap().snapshot().to_string();
                assert_eq!(alike, snapshot(&handle).await, "{first} {second}");
            }
            kill(host).await;
        }
        assert_eq!(reply.expect("it comes to its end").output, json!("I have looked"), "{first} {second}");
        // A prompt mentions an observation exactly if it shows one.
        for (prompt, seen) in world.eye.prompts.lock().unwrap().iter().zip(world.eye.shown.lock().unwrap().iter()) {
            let speaks = prompt["kinds"].to_string().contains("sha256:");
            assert_eq!(speaks, seen.is_some(), "{first} {second}: {prompt}");
        }
        assert!(!format!("{:?}", journal(&*store, "s")).contains(CANARY));
    }
}
