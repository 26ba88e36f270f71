//! Sessions that grow old, and are taken up as fast as young ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::session::{Ends, Input, Mode, Session, Settings};
use obelus_kernel::{Context, Time};
use obelus_runtime::{
    Activities, Driver, NoModel, Remake, SessionJournal, SqliteStore, Store as _, look_at, restore_driver,
};
use serde_json::{Value, json};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-snapshots-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Calls of a turn: with what begins it, a turn is one record more.
const CALLS: usize = 31;

/// Some calls, whose results are written over those before.
fn remake() -> Remake {
    Arc::new(|| {
        let call = |i| json!({"_tool": "step", "_outputPath": format!("†state.v{i}")});
        let plan: Value = (0..CALLS).map(call).collect();
        let context = Context::from_value(json!([
            {"type": "tool", "tool": {"step": {"type": "object", "x-effect": "read", "x-trust": "trusted"}}},
            {"type": "plan", "plan": plan},
        ]));
        let settings = Settings { mode: Mode::Full, activities: ["step".to_owned()].into(), ..Settings::default() };
        Session::new("s", context.unwrap(), None, Arc::new(settings)).map_err(|fault| fault.to_string())
    })
}

fn drive(session: Session) -> Driver {
    let mut activities = Activities::new();
    activities.register("step", |work| async move { Ok(json!(work.key)) });
    Driver::new(session, Arc::new(activities), Arc::new(NoModel), || Time(1_000))
}

/// So many turns.
async fn grow(store: &SqliteStore, turns: usize) {
    store.create("s", Time(0), &json!({}), Vec::new()).unwrap();
    let mut driver = drive(remake()().unwrap()).journaled_by(SessionJournal::new(store.clone(), "s"));
    for _ in 0..turns {
        assert_eq!(driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Output);
    }
}

fn spoil(folder: &Path, sql: &str) {
    rusqlite::Connection::open(folder.join("obelus.db")).unwrap().execute(sql, []).unwrap();
}

#[tokio::test]
async fn a_session_is_the_same_from_its_snapshot_and_from_its_journal() {
    let folder = Folder::new("same");
    grow(&SqliteStore::open(&folder.0).unwrap(), 40).await;
    let store = SqliteStore::open(&folder.0).unwrap();
    assert_eq!(store.snapshot("s").unwrap().map(|snapshot| snapshot.seq), Some(40 * (CALLS as u64 + 1)));
    let from_snapshot = look_at(&store.shared(), "s", &remake(), None).unwrap().snapshot().to_string();
    let early = look_at(&store.shared(), "s", &remake(), Some(96)).unwrap();
    assert_eq!(early.context().length(), 2 + 3 * CALLS, "before the snapshot, the journal alone is read");
    for damage in [
        "UPDATE snapshot SET state = substr(state, 1, 200)",
        "UPDATE snapshot SET state = replace(state, '\"now\":1000', '\"now\":2000')",
        "UPDATE snapshot SET form = 99",
        "UPDATE snapshot SET seq = 99999",
        "DELETE FROM snapshot",
    ] {
        spoil(&folder.0, damage);
        assert!(store.snapshot("s").unwrap().is_none(), "{damage}");
        let from_journal = look_at(&store.shared(), "s", &remake(), None).unwrap().snapshot().to_string();
        assert_eq!(from_journal, from_snapshot, "{damage}");
    }
}

#[tokio::test]
async fn a_session_taken_up_goes_on_and_is_kept_anew() {
    let folder = Folder::new("on");
    {
        let store = SqliteStore::open(&folder.0).unwrap();
        grow(&store, 40).await;
    }
    let store = SqliteStore::open(&folder.0).unwrap();
    assert_eq!(store.snapshot("s").unwrap().unwrap().seq, 1280);
    let mut again = restore_driver(&store, "s", &remake(), drive).unwrap();
    assert_eq!(again.recovered.reply.unwrap().ends, Ends::Output);
    for _ in 0..60 {
        again.driver.turn(Input::RunPlan).await.unwrap();
    }
    assert_eq!(store.journal("s").unwrap().len(), 3200);
    let kept = store.snapshot("s").unwrap().unwrap().seq;
    assert!(kept >= 3200 - 1024 - 32, "a busy store puts checkpoints off, but not for long: {kept}");
    drop((again.driver, store));
    let store = SqliteStore::open(&folder.0).unwrap();
    assert_eq!(store.snapshot("s").unwrap().unwrap().seq, 3200);
}

#[tokio::test]
async fn a_snapshot_needs_nothing_of_what_came_before_until_somebody_asks() {
    let folder = Folder::new("past");
    grow(&SqliteStore::open(&folder.0).unwrap(), 40).await;
    let store = SqliteStore::open(&folder.0).unwrap();
    spoil(&folder.0, "UPDATE record SET input = '{' WHERE seq = 10");
    let mut again = restore_driver(&store, "s", &remake(), drive).unwrap();
    assert_eq!(again.driver.turn(Input::RunPlan).await.unwrap().ends, Ends::Output);
    let _ = again.driver.session().context().to_json();
    let refused = again.driver.turn(Input::RunPlan).await.unwrap_err();
    assert_eq!(refused.code, obelus_runtime::DAMAGED);
    assert!(refused.text.contains("record 10"), "{}", refused.text);
}
