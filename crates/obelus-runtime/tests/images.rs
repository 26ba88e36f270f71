//! Pictures from the user: a copy is stored beside the journal; the journal has its name and digest.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use common::{Folder, Small, host, journal, kill, say};
use obelus_kernel::session::{Answer, Input, Picture, Prompt, Settings, Solution};
use obelus_runtime::files::{ImageError, ImageStore};
use obelus_runtime::{Activities, AnswerFuture, Connections, Host, Model, SessionSpec, SqliteStore, Store as _};
use serde_json::json;
use tokio::sync::Notify;

/// Records the pictures in its prompts. With `asked` it notifies and never answers.
#[derive(Clone, Default)]
struct Viewer {
    shown: Arc<Mutex<Vec<Picture>>>,
    asked: Option<Arc<Notify>>,
}

impl Model for Viewer {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        *self.shown.lock().unwrap() = prompt.pictures;
        if let Some(asked) = &self.asked {
            asked.notify_one();
            return Box::pin(std::future::pending());
        }
        let solution = Solution { output: json!("a cat"), ..Solution::default() };
        Box::pin(std::future::ready(Answer::Solution { solution, tokens: 1 }))
    }
}

fn spec() -> SessionSpec {
    SessionSpec { settings: Settings { persistent: true, ..Settings::default() }, ..SessionSpec::default() }
}

fn connections(viewer: &Viewer) -> Connections {
    Connections::new(Activities::new()).with_model(viewer.clone())
}

struct World(Folder);

impl World {
    fn new(name: &str) -> Self {
        Self(Folder::new(&format!("pictures-{name}")))
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.0.0.join("store")).unwrap()
    }

    fn host(&self, store: &SqliteStore, viewer: &Viewer) -> Host {
        Host::builder(connections(viewer)).store(store.shared()).files(self.0.0.join("store")).build()
    }
}

const WORDS: &str = "what is this?";

const CAT: &[u8] = b"GIF89a-CANARY";

#[tokio::test]
async fn a_picture_is_journaled_by_name_and_digest_and_shown_again_after_a_crash() {
    let world = World::new("crash");
    let original = world.file("my private cat.gif", CAT);
    let asked = Arc::new(Notify::new());
    let store = world.store();
    {
        let viewer = Viewer { asked: Some(Arc::clone(&asked)), ..Viewer::default() };
        let host = world.host(&store, &viewer);
        let handle = host.create("s", spec()).await.unwrap();
        handle.attach(&original).await.unwrap();
        assert!(journal(&store, "s").is_empty(), "it goes with the words");
        handle.say(WORDS).await.unwrap();
        asked.notified().await;
        kill(host).await;
    }
    fs::remove_file(original).unwrap();
    let journal = journal(&store, "s");
    let [Input::Picture(picture), Input::User { .. }] = journal.as_slice() else { panic!("{journal:?}") };
    assert_eq!(*picture, Picture::of(CAT).unwrap());
    let text = serde_json::to_string(&journal).unwrap();
    assert!(!text.contains("CANARY") && !text.contains("private"), "{text}");

    let viewer = Viewer::default();
    let host = world.host(&store, &viewer);
    host.open("s").await.unwrap().rested().await.unwrap().unwrap();
    let shown = viewer.shown.lock().unwrap().clone();
    let path = shown[0].path.clone().expect("the copy is there");
    assert_eq!(fs::read(&path).unwrap(), CAT);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(path.parent().unwrap(), world.0.0.join("store/shots/s"));
    host.close().await;
    store.remove("s").unwrap();
    assert!(!path.exists(), "it goes with the session");
}

#[tokio::test]
async fn a_picture_goes_once_with_its_message_if_the_actor_dies() {
    for is_durable in [false, true] {
        let world = World::new(&format!("dies-{is_durable}"));
        let store = Arc::new(Small::default());
        let connections = connections(&Viewer::default());
        let host = Host::builder(connections).store(store.clone()).files(world.0.0.join("store")).build();
        let handle = host.create("s", spec()).await.unwrap();
        handle.attach(&world.file("cat.gif", CAT)).await.unwrap();
        let fatal = if is_durable { &store.is_fatal } else { &store.is_fatal_before };
        fatal.store(true, Ordering::SeqCst);
        handle.say(WORDS).await.unwrap();
        handle.rested().await.unwrap();
        handle.say("and now?").await.unwrap();
        handle.rested().await.unwrap();
        let inputs = journal(&*store, "s");
        assert!(matches!(&inputs[..2], [Input::Picture(_), Input::User { .. }]), "{inputs:?}");
        assert_eq!(inputs.iter().filter(|input| matches!(input, Input::Picture(_))).count(), 1, "{inputs:?}");
    }
}

#[tokio::test]
async fn a_changed_or_missing_copy_of_a_picture_is_not_shown() {
    for change in [Some(&b"GIF89a-another"[..]), None] {
        let world = World::new(&format!("changed-{}", change.is_some()));
        let (viewer, store) = (Viewer::default(), world.store());
        let host = world.host(&store, &viewer);
        let handle = host.create("s", spec()).await.unwrap();
        handle.attach(&world.file("cat.gif", CAT)).await.unwrap();
        let copy = world.0.0.join("store/shots/s").join(Picture::of(CAT).unwrap().name);
        match change {
            Some(bytes) => fs::write(copy, bytes).unwrap(),
            None => fs::remove_file(copy).unwrap(),
        }
        say(&handle, WORDS).await;
        let shown = viewer.shown.lock().unwrap().clone();
        assert_eq!((shown.len(), shown[0].path.clone()), (1, None));
    }
}

#[tokio::test]
async fn a_temporary_session_leaves_no_files() {
    let world = World::new("temporary");
    let viewer = Viewer::default();
    let host = Host::new(connections(&viewer));
    let handle = host.create_temporary("s", spec()).await.unwrap();
    handle.attach(&world.file("cat.gif", CAT)).await.unwrap();
    say(&handle, WORDS).await;
    let path = viewer.shown.lock().unwrap()[0].path.clone().unwrap();
    let folder = path.parent().unwrap().to_owned();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    drop(handle);
    host.close().await;
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_file_that_is_not_a_picture_is_refused_with_its_name() {
    let world = World::new("refused");
    let host = host(connections(&Viewer::default()), world.store().shared());
    let handle = host.create("s", spec()).await.unwrap();
    let text = world.file("notes.png", b"just words");
    let mut large = CAT.to_vec();
    large.resize(usize::try_from(Picture::MOST_BYTES).unwrap() + 1, 0);
    let large = world.file("large.gif", &large);
    for (path, words) in [
        (text, "notes.png: it is no PNG, JPEG, WebP or GIF"),
        (large, "large.gif: it is larger than 4 MB"),
        (world.0.0.clone(), "it is no file"),
        (world.0.0.join("none.gif"), "none.gif: there is no such file"),
    ] {
        let error = handle.attach(&path).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(ImageStore::would_take(&path).is_err());
    }
    for n in 0..8 {
        handle.attach(&world.file("a.gif", &[CAT, &[n]].concat())).await.unwrap();
    }
    let ninth = handle.attach(&world.file("b.gif", CAT)).await.unwrap_err();
    assert!(matches!(ninth, ImageError::TooMany(_)), "{ninth}");
}
