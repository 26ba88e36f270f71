//! Pictures that the user shows: a copy beside the journal, a name and a digest in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use obelus_kernel::session::{Answer, Input, Picture, Prompt, Session, Settings, Solution};
use obelus_kernel::{Context, Time};
use obelus_runtime::{
    Activities, AnswerFuture, Driver, ImageError, ImageStore, Model, Remake, SessionJournal, SqliteStore, Store as _,
    restore_driver,
};
use serde_json::json;
use tokio::sync::Notify;

/// Remembers the pictures that it was shown, and answers unless it is to be killed meanwhile.
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

fn remake() -> Remake {
    Arc::new(|| {
        let context = Context::from_value(json!([])).unwrap();
        let settings = Settings { persistent: true, ..Settings::default() };
        Session::new("s", context, None, Arc::new(settings)).map_err(|fault| fault.to_string())
    })
}

struct World(PathBuf);

impl World {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-pictures-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.0.join("store")).unwrap()
    }

    fn drive(&self, session: Session, viewer: &Viewer) -> Driver {
        let driver = Driver::new(session, Arc::default(), Arc::new(viewer.clone()), || Time(1_000));
        driver.with_images(ImageStore::of(&self.0.join("store"), "s").unwrap())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn words() -> Input {
    Input::User { text: "what is this?".to_owned() }
}

const CAT: &[u8] = b"GIF89a-CANARY";

#[tokio::test]
async fn the_journal_has_a_name_and_a_digest_and_after_a_crash_the_picture_is_shown_again() {
    let world = World::new("crash");
    let original = world.file("my private cat.gif", CAT);
    let asked = Arc::new(Notify::new());
    let store = world.store();
    store.create("s", Time(0), &json!({}), Vec::new()).unwrap();
    {
        let viewer = Viewer { asked: Some(Arc::clone(&asked)), ..Viewer::default() };
        let journal = SessionJournal::new(store.clone(), "s");
        let mut driver = world.drive(remake()().unwrap(), &viewer).journaled_by(journal);
        driver.attach(&original).unwrap();
        assert!(store.journal("s").unwrap().is_empty(), "it goes with the words");
        tokio::select! {
            _ = driver.turn(words()) => panic!("the model never answers"),
            () = asked.notified() => {}
        }
    }
    fs::remove_file(original).unwrap();
    let journal: Vec<Input> = store.journal("s").unwrap().into_iter().map(|record| record.input).collect();
    let [Input::Picture(picture), Input::User { .. }] = journal.as_slice() else { panic!("{journal:?}") };
    assert_eq!(*picture, Picture::of(CAT).unwrap());
    let text = serde_json::to_string(&journal).unwrap();
    assert!(!text.contains("CANARY") && !text.contains("private"), "{text}");

    let viewer = Viewer::default();
    let mut driver = restore_driver(&store, "s", &remake(), |session| world.drive(session, &viewer)).unwrap().driver;
    driver.resume().await.unwrap().unwrap();
    let shown = viewer.shown.lock().unwrap().clone();
    let path = shown[0].path.clone().expect("the copy is there");
    assert_eq!(fs::read(&path).unwrap(), CAT);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(path.parent().unwrap(), world.0.join("store/shots/s"));
    drop(driver);
    store.remove("s").unwrap();
    assert!(!path.exists(), "it goes with the session");
}

#[tokio::test]
async fn a_copy_that_was_changed_or_lost_is_not_shown() {
    for change in [Some(&b"GIF89a-another"[..]), None] {
        let world = World::new(&format!("changed-{}", change.is_some()));
        let viewer = Viewer::default();
        let mut driver = world.drive(remake()().unwrap(), &viewer);
        driver.attach(&world.file("cat.gif", CAT)).unwrap();
        let copy = world.0.join("store/shots/s").join(Picture::of(CAT).unwrap().name);
        match change {
            Some(bytes) => fs::write(copy, bytes).unwrap(),
            None => fs::remove_file(copy).unwrap(),
        }
        driver.turn(words()).await.unwrap();
        let shown = viewer.shown.lock().unwrap().clone();
        assert_eq!((shown.len(), shown[0].path.clone()), (1, None));
    }
}

#[tokio::test]
async fn a_session_that_is_not_kept_leaves_nothing_behind() {
    let world = World::new("temporary");
    let viewer = Viewer::default();
    let activities = Arc::new(Activities::new());
    let mut driver = Driver::new(remake()().unwrap(), activities, Arc::new(viewer.clone()), || Time(1));
    driver.attach(&world.file("cat.gif", CAT)).unwrap();
    driver.turn(words()).await.unwrap();
    let path = viewer.shown.lock().unwrap()[0].path.clone().unwrap();
    let folder = path.parent().unwrap().to_owned();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    drop(driver);
    assert!(!folder.exists());
}

#[tokio::test]
async fn what_is_no_picture_is_refused_with_its_name() {
    let world = World::new("refused");
    let mut driver = world.drive(remake()().unwrap(), &Viewer::default());
    let text = world.file("notes.png", b"just words");
    let mut large = CAT.to_vec();
    large.resize(usize::try_from(Picture::MOST_BYTES).unwrap() + 1, 0);
    let large = world.file("large.gif", &large);
    for (path, words) in [
        (text, "notes.png: it is no PNG, JPEG, WebP or GIF"),
        (large, "large.gif: it is larger than 4 MB"),
        (world.0.clone(), "it is no file"),
        (world.0.join("none.gif"), "none.gif: No such file"),
    ] {
        let error = driver.attach(&path).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(ImageStore::would_take(&path).is_err());
    }
    for n in 0..8 {
        driver.attach(&world.file("a.gif", &[CAT, &[n]].concat())).unwrap();
    }
    let ninth = driver.attach(&world.file("b.gif", CAT)).unwrap_err();
    assert!(matches!(ninth, ImageError::TooMany(_)), "{ninth}");
}
