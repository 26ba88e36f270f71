//! What the model is shown and nobody keeps: in no journal, no log, no state, no event, and gone with the process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use obelus_kernel::session::{Answer, Ends, Input, Prompt, Session, Settings, Solution};
use obelus_kernel::{Context, Time};
use obelus_runtime::{
    Activities, AnswerFuture, Driver, Durable, Event, Journal, Model, Observation, Remake, SessionFiles,
    SessionJournal, Store, restore,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

const CANARY: &str = "CANARY-7f3a";

/// Looks first, then answers with what it is told to; it remembers what it was shown.
#[derive(Clone, Default)]
struct Eye {
    shown: Arc<Mutex<Vec<Option<Arc<Observation>>>>>,
    prompts: Arc<Mutex<Vec<Value>>>,
    /// Never answers when it has something before its eyes: the process is killed meanwhile.
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
        let calls = if has_looked { vec![] } else { vec![json!({"_tool": "look", "_outputPath": "†page"})] };
        let output = if has_looked { json!("I have looked") } else { Value::Null };
        let solution = Solution { calls, output, ..Solution::default() };
        Box::pin(std::future::ready(Answer::Solution { solution, tokens: 1 }))
    }
}

fn remake() -> Remake {
    Arc::new(|| {
        let look = json!({"x-effect": "read", "x-keep": "digest"});
        let context = Context::from_value(json!([{"type": "tool", "tool": {"look": look}}])).unwrap();
        let mut settings: Settings = serde_json::from_value(json!({"mode": "full", "persistent": true})).unwrap();
        settings.activities = ["look".to_owned()].into();
        Session::new("s", context, None, Arc::new(settings)).map_err(|fault| fault.to_string())
    })
}

/// A store, a model, and what whoever watches was told.
struct World {
    folder: PathBuf,
    eye: Eye,
    told: Arc<Mutex<String>>,
    /// Whether a look takes a moment: what ends at once goes another way.
    waits: bool,
}

impl World {
    fn new(name: &str, dies: bool) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-seen-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Self { folder, eye: Eye { dies, ..Eye::default() }, told: Arc::default(), waits: true }
    }

    fn store(&self) -> Store {
        Store::open(&self.folder).unwrap()
    }

    fn drive(&self, session: Session) -> Driver {
        let mut activities = Activities::new();
        let (image, waits) = (self.folder.join("shot.png"), self.waits);
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
        let told = Arc::clone(&self.told);
        Driver::new(session, Arc::new(activities), Arc::new(self.eye.clone()), || Time(1_000)).watched_by(
            move |event| {
                let mut told = told.lock().unwrap();
                if let Event::Moved(session) = event {
                    told.push_str(&format!("{} {:?}\n", session.snapshot(), session.checkpoint()));
                } else {
                    told.push_str(&format!("{event:?}\n"));
                }
            },
        )
    }

    /// Every file of the store, in one text.
    fn on_disk(&self) -> String {
        fn all(folder: &Path, text: &mut String) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => all(&path, text),
                    false => text.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap())),
                }
            }
        }
        let mut text = String::new();
        all(&self.folder, &mut text);
        text
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn go() -> Input {
    Input::User { text: "look".to_owned() }
}

#[tokio::test]
async fn the_model_is_shown_it_and_nobody_else_hears_more_than_a_digest() {
    for waits in [true, false] {
        let mut world = World::new("canary", false);
        world.waits = waits;
        nobody_hears_of(&world).await;
    }
}

async fn nobody_hears_of(world: &World) {
    let store = world.store();
    store.create("s", Time(0), &json!({})).unwrap();
    let files = SessionFiles::open(&world.folder, "s").unwrap();
    let driver = world.drive(remake()().unwrap());
    let mut driver = driver.journaled_by(SessionJournal::new(store.clone(), "s")).with_files(files);
    let reply = driver.turn(go()).await.unwrap();
    assert_eq!((reply.ends, &reply.output), (Ends::Output, &json!("I have looked")));
    let shown = world.eye.shown.lock().unwrap().clone();
    let [None, Some(seen)] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!((seen.tool.as_str(), seen.text.contains(CANARY)), ("look", true));
    assert!(seen.image.as_ref().is_some_and(|path| path.ends_with("shot.png")));
    let kept = driver.session().context().read(&obelus_kernel::Path::root("page"), None).unwrap().into_owned();
    let chars = seen.text.chars().count();
    assert_eq!(kept, json!({"address": "/a", "before": null, "digest": seen.digest, "chars": chars}));
    drop(driver);

    let journal = format!("{:?}", store.journal("s").unwrap());
    let prompts = Value::from(world.eye.prompts.lock().unwrap().clone()).to_string();
    let told = world.told.lock().unwrap().clone();
    let disk = world.on_disk();
    for (name, text) in [("journal", &journal), ("prompts as data", &prompts), ("events", &told), ("files", &disk)] {
        assert!(text.contains(&seen.digest), "{name}: the digest is there");
        assert!(!text.contains(CANARY), "{name}");
        assert!(!text.contains("shot.png"), "{name}");
    }
}

#[tokio::test]
async fn after_a_restart_a_request_under_way_is_asked_anew_without_it() {
    let mut world = World::new("restart", true);
    {
        let store = world.store();
        store.create("s", Time(0), &json!({})).unwrap();
        let journal = SessionJournal::new(store.clone(), "s");
        let mut driver = world.drive(remake()().unwrap()).journaled_by(journal);
        let looks = Arc::clone(&world.eye.looks);
        tokio::select! {
            _ = driver.turn(go()) => panic!("the model never answers"),
            () = looks.notified() => {}
        }
        assert!(driver.session().has_observations());
    }
    world.eye = Eye::default();
    let store = world.store();
    let taken = restore(&store, "s", &remake(), |session| world.drive(session)).unwrap();
    assert_eq!(taken.recovered.requests, 1);
    let mut driver = taken.driver;
    assert_eq!(store.journal("s").unwrap().iter().filter(|(_, input)| *input == Input::ProcessLost).count(), 0);
    let reply = driver.resume().await.unwrap().unwrap();
    assert_eq!(reply.ends, Ends::Output);
    let shown = world.eye.shown.lock().unwrap().clone();
    assert!(matches!(shown.as_slice(), [None, Some(_)]), "first without it, then it looks again: {shown:?}");
    let inputs = store.journal("s").unwrap();
    let forgotten: Vec<usize> =
        inputs.iter().enumerate().filter(|(_, (_, input))| *input == Input::ProcessLost).map(|(at, _)| at).collect();
    assert_eq!(forgotten, [3], "once, and before anything else went on");
    let alike = obelus_runtime::look_at(&store, "s", &remake(), None).unwrap();
    assert_eq!(alike.snapshot().to_string(), driver.session().snapshot().to_string());
}

#[tokio::test]
async fn a_session_at_rest_is_told_with_the_next_words_and_looking_at_it_writes_nothing() {
    let world = World::new("rest", false);
    let store = world.store();
    store.create("s", Time(0), &json!({})).unwrap();
    {
        let mut driver = world.drive(remake()().unwrap()).journaled_by(SessionJournal::new(store.clone(), "s"));
        driver.turn(go()).await.unwrap();
        // In the same process it is still there for the next turn, and the model need not look again.
        driver.turn(go()).await.unwrap();
        assert_eq!(world.eye.shown.lock().unwrap().len(), 3);
    }
    let before = store.journal("s").unwrap().len();
    let mut driver = restore(&store, "s", &remake(), |session| world.drive(session)).unwrap().driver;
    assert!(driver.resume().await.unwrap().is_none());
    assert_eq!(store.journal("s").unwrap().len(), before);
    driver.turn(go()).await.unwrap();
    assert_eq!(store.journal("s").unwrap()[before].1, Input::ProcessLost);
    let shown = world.eye.shown.lock().unwrap()[3..].to_vec();
    assert!(matches!(shown.as_slice(), [None, Some(_)]), "{shown:?}");
}

#[tokio::test]
async fn what_is_no_observation_fails_the_call_and_is_repeated_nowhere() {
    let world = World::new("wrong", false);
    let mut activities = Activities::new();
    activities.register("look", |_| async { Ok(json!({"page": CANARY})) });
    let told = Arc::clone(&world.told);
    let mut driver = Driver::new(remake()().unwrap(), Arc::new(activities), Arc::new(world.eye.clone()), || Time(1))
        .watched_by(move |event| told.lock().unwrap().push_str(&format!("{event:?}")));
    let reply = driver.turn(go()).await.unwrap();
    assert_eq!(reply.ends, Ends::Limit, "the same failure three times");
    assert!(reply.calls.iter().all(|call| call.error.as_ref().is_some_and(|error| error["code"] == "bad_result")));
    assert!(!driver.session().snapshot().to_string().contains(CANARY));
    assert!(!world.told.lock().unwrap().contains(CANARY));
}

/// A journal in memory that fails, as a disk does, when it has taken so many records.
#[derive(Clone)]
struct Paper {
    written: Arc<Mutex<Vec<(Time, Input)>>>,
    room: usize,
}

impl Journal for Paper {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Durable {
        let mut written = self.written.lock().unwrap();
        let fits = written.len() + inputs.len() <= self.room;
        written.extend(inputs.iter().filter(|_| fits).cloned());
        Box::pin(std::future::ready(if fits { Ok(()) } else { Err("no space left".to_owned()) }))
    }
}

#[tokio::test]
async fn wherever_the_journal_ends_nobody_believes_in_something_that_is_not_there() {
    for (first, second) in (0..7).flat_map(|first| (0..7).map(move |second| (first, first + second))) {
        let world = World::new(&format!("ends-{first}-{second}"), false);
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut reply = None;
        // Twice the process dies, and the third goes on to the end.
        for room in [first, second, 100] {
            let journal = written.lock().unwrap().clone();
            let mut driver = world.drive(remake()().unwrap());
            driver.recover(journal);
            let mut driver = driver.journaled_by(Paper { written: Arc::clone(&written), room });
            reply = match driver.resume().await {
                Ok(Some(reply)) => Some(reply),
                Ok(None) if driver.session().reply().is_some() => driver.session().reply(),
                Ok(None) => driver.turn(go()).await.ok(),
                Err(_) => None,
            };
            let journal = written.lock().unwrap().clone();
            let mut alike = remake()().unwrap();
            for (at, input) in journal {
                let _ = alike.handle(at, input);
                while alike.poll().is_some() {}
            }
            if room == 100 {
                assert_eq!(alike.snapshot(), driver.session().snapshot(), "{first} {second}");
            }
        }
        assert_eq!(reply.expect("it comes to its end").output, json!("I have looked"), "{first} {second}");
        // Every request that spoke of something seen showed it.
        for (prompt, seen) in world.eye.prompts.lock().unwrap().iter().zip(world.eye.shown.lock().unwrap().iter()) {
            let speaks = prompt["kinds"].to_string().contains("sha256:");
            assert_eq!(speaks, seen.is_some(), "{first} {second}: {prompt}");
        }
        assert!(!format!("{:?}", written.lock().unwrap()).contains(CANARY));
    }
}
