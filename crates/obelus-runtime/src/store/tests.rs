//! Tests for every engine.

use std::path::PathBuf;

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use serde_json::json;

use super::*;
use crate::status::SessionStatus;

/// A folder that is removed on drop.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-store-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn ticks(times: std::ops::Range<i64>) -> Vec<Record> {
    times.map(|at| Record::new(Time(at), Input::Tick)).collect()
}

pub(super) fn wait(durable: Durable) -> Result<u64, AppendError> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(durable)
}

/// Appends at the end.
pub(super) fn append(store: &dyn Store, id: &str, records: Vec<Record>) -> Result<u64, AppendError> {
    let after = store.load(id, 0, None)?.last();
    wait(store.append(id, after, records))
}

pub(super) fn records(store: &dyn Store, id: &str) -> Vec<Record> {
    store.load(id, 0, None).unwrap().records
}

fn for_every_engine(name: &str, test: impl Fn(&dyn Store)) {
    let folder = Folder::new(name);
    test(&SqliteStore::open(&folder.0).unwrap());
    test(&MemoryStore::new());
}

fn id(text: &str) -> InputId {
    text.parse().unwrap()
}

#[test]
fn a_journal_is_read_as_it_was_written() {
    for_every_engine("journal", |store| {
        let full = Record {
            at: Time(2),
            input: Arc::new(Input::User { text: "да".to_owned(), by: None }),
            id: Some(id("from a client")),
            digest: Some(Digest(u64::MAX - 7)),
        };
        let all = [ticks(1..2), vec![full], ticks(3..4)].concat();
        store.create("s-1", Time(0), &json!({"a": 1}), Vec::new()).unwrap();
        assert_eq!(wait(store.append("s-1", 0, all[..1].to_vec())).unwrap(), 1);
        assert_eq!(wait(store.append("s-1", 1, all[1..].to_vec())).unwrap(), 3);
        assert_eq!(records(store, "s-1"), all);
        let middle = store.load("s-1", 1, Some(2)).unwrap();
        assert_eq!((middle.after, middle.last(), &middle.records[..]), (1, 2, &all[1..2]));
        assert_eq!(store.genesis("s-1").unwrap(), Some(json!({"a": 1})));
        assert_eq!(store.genesis("s-2").unwrap(), None);
        let row = SessionRow { id: "s-1".to_owned(), created: Time(0), records: 3, last_at: Some(Time(3)) };
        assert_eq!(store.list().unwrap(), [row]);
        assert_eq!(store.removed("s-1").unwrap(), 0);
        store.remove("s-1").unwrap();
        assert!(store.list().unwrap().is_empty());
        store.create("s-1", Time(0), &json!({}), Vec::new()).unwrap();
        store.remove("s-1").unwrap();
        assert_eq!((store.removed("s-1").unwrap(), store.removed("s-2").unwrap()), (2, 0));
    });
}

#[test]
fn what_cannot_be_is_refused() {
    for_every_engine("refused", |store| {
        store.create("s", Time(0), &json!({}), Vec::new()).unwrap();
        assert!(matches!(store.create("s", Time(0), &json!({}), Vec::new()), Err(StoreError::Exists(_))));
        assert!(matches!(store.create("../x", Time(0), &json!({}), Vec::new()), Err(StoreError::BadName(_))));
        assert!(matches!(store.load("t", 0, None), Err(StoreError::Unknown(_))));
        let unknown = wait(store.append("t", 0, ticks(0..1))).unwrap_err();
        assert_eq!((unknown.code().name(), unknown.to_string().as_str()), ("not_durable", "there is no session `t`"));
        assert!(matches!("".parse::<InputId>(), Err(StoreError::BadInputId(0))));
        assert!(matches!("x".repeat(201).parse::<InputId>(), Err(StoreError::BadInputId(201))));
    });
}

#[test]
fn a_second_writer_of_a_session_is_refused() {
    for_every_engine("fence", |store| {
        store.create("s", Time(0), &json!({}), ticks(0..2)).unwrap();
        let late = wait(store.append("s", 1, ticks(2..3))).unwrap_err();
        assert!(late.to_string().contains("somebody else writes it"), "{late}");
        assert_eq!(records(store, "s"), ticks(0..2));
        let lock = store.lock("s").unwrap();
        assert!(matches!(store.lock("s"), Err(StoreError::Locked(_))));
        assert!(store.lock("t").is_ok(), "another session");
        drop(lock);
        assert!(store.lock("s").is_ok());
    });
}

#[test]
fn an_input_of_an_id_is_taken_once_in_a_session() {
    for_every_engine("taken", |store| {
        let sent = |text: &str| vec![Record { id: Some(id(text)), ..Record::new(Time(1), Input::Tick) }];
        store.create("s", Time(0), &json!({}), Vec::new()).unwrap();
        store.create("t", Time(0), &json!({}), Vec::new()).unwrap();
        assert_eq!(store.taken("s", &id("a")).unwrap(), None);
        assert_eq!(append(store, "s", [ticks(0..1), sent("a")].concat()).unwrap(), 2);
        assert_eq!(store.taken("s", &id("a")).unwrap(), Some(2));
        let again = append(store, "s", [sent("b"), sent("a")].concat()).unwrap_err();
        assert!(again.to_string().contains("taken with record 2"), "{again}");
        let twice = append(store, "s", [sent("b"), sent("b")].concat()).unwrap_err();
        assert!(twice.to_string().contains("two inputs have the id `b`"), "{twice}");
        assert!(store.create("u", Time(0), &json!({}), [sent("b"), sent("b")].concat()).is_err());
        assert_eq!((records(store, "s").len(), store.genesis("u").unwrap()), (2, None), "nothing of the batch");
        assert_eq!(append(store, "s", sent("b")).unwrap(), 3);
        assert_eq!(append(store, "t", sent("a")).unwrap(), 1, "another session");
        store.cut("s", 2, Vec::new()).unwrap();
        assert_eq!(store.taken("s", &id("a")).unwrap(), None, "it was taken back");
    });
}

#[test]
fn a_journal_that_is_cut_goes_on_before_the_cut() {
    for_every_engine("cut", |store| {
        store.create("s", Time(0), &json!({}), ticks(0..20)).unwrap();
        let rest = || CheckpointData { checkpoint: Some("{}".to_owned()), ..CheckpointData::default() };
        store.store_checkpoint("s", 15, rest());
        store.cut("s", 11, Vec::new()).unwrap();
        assert_eq!(store.snapshot("s").unwrap(), None, "it knew more than the journal does");
        assert_eq!(append(store, "s", ticks(50..51)).unwrap(), 11);
        assert_eq!(records(store, "s"), [ticks(0..10), ticks(50..51)].concat());
    });
}

#[test]
fn the_end_of_a_journal_is_replaced_as_a_whole_or_not_at_all() {
    for_every_engine("replace", |store| {
        let sent = |text: &str| vec![Record { id: Some(id(text)), ..Record::new(Time(1), Input::Tick) }];
        store.create("s", Time(0), &json!({}), Vec::new()).unwrap();
        append(store, "s", [sent("a"), ticks(1..5)].concat()).unwrap();
        let before = records(store, "s");
        assert!(store.cut("s", 3, sent("a")).is_err(), "the first record has this id");
        assert_eq!(records(store, "s"), before, "nothing was cut");
        store.cut("s", 3, ticks(9..10)).unwrap();
        assert_eq!(records(store, "s"), [before[..2].to_vec(), ticks(9..10)].concat());
        assert_eq!(append(store, "s", ticks(10..11)).unwrap(), 4);
    });
}

/// Retries until the values are equal, because rests are written when the store is idle.
fn soon<T: PartialEq + std::fmt::Debug>(expected: &T, found: impl Fn() -> T) {
    for _ in 0..500 {
        if found() == *expected {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(&found(), expected);
}

#[test]
fn what_a_session_is_at_rest_is_kept_and_questions_are_known_until_it_goes_on() {
    for_every_engine("rest", |store| {
        for name in ["asks", "silent", "new"] {
            store.create(name, Time(0), &json!({}), Vec::new()).unwrap();
        }
        for name in ["asks", "silent"] {
            append(store, name, ticks(0..2)).unwrap();
        }
        let row = |name: &str, questions| InboxRow { session: name.to_owned(), questions };
        let inbox = || {
            let mut rows = store.inbox().unwrap();
            rows.sort_by(|a, b| a.session.cmp(&b.session));
            rows
        };
        soon(&vec![row("asks", None), row("silent", None)], inbox);
        store.store_checkpoint(
            "asks",
            1,
            CheckpointData { checkpoint: Some("one".to_owned()), ..CheckpointData::default() },
        );
        store.store_checkpoint(
            "asks",
            2,
            CheckpointData { checkpoint: None, questions: vec![json!({"id": "q1"})], summary: None },
        );
        store.store_checkpoint(
            "silent",
            2,
            CheckpointData { checkpoint: Some("two".to_owned()), ..CheckpointData::default() },
        );
        soon(&vec![row("asks", Some(vec![json!({"id": "q1"})]))], inbox);
        let checkpoint = |seq, state: &str| Some(Snapshot { seq, state: state.to_owned() });
        assert_eq!(store.snapshot("asks").unwrap(), checkpoint(1, "one"), "a later rest without one keeps it");
        assert_eq!(store.snapshot("silent").unwrap(), checkpoint(2, "two"));
        append(store, "asks", ticks(2..3)).unwrap();
        assert_eq!(inbox(), [row("asks", None)], "nobody knows without a look");
    });
}

#[test]
fn a_page_of_the_list_begins_after_a_session_and_a_summary_is_known_until_the_session_goes_on() {
    for_every_engine("page", |store| {
        for (at, name) in [(1, "a"), (2, "b"), (3, "c")] {
            store.create(name, Time(at), &json!({}), ticks(0..1)).unwrap();
        }
        let page =
            |after, limit| -> Vec<String> { store.page(after, limit).unwrap().into_iter().map(|row| row.id).collect() };
        assert_eq!(page(None, 2), ["c", "b"]);
        assert_eq!(page(Some("b"), 2), ["a"]);
        assert!(page(Some("a"), 2).is_empty() && page(Some("unknown"), 2).is_empty());
        let summary = SessionSummary {
            status: SessionStatus::Waiting,
            title: Some("Call Anna".to_owned()),
            questions: 1,
            agent: "notes".to_owned(),
        };
        let rest = |summary| CheckpointData { summary, ..CheckpointData::default() };
        store.store_checkpoint("a", 1, rest(Some(summary.clone())));
        soon(&Some(summary.clone()), || store.summary("a").unwrap());
        store.store_checkpoint("a", 0, rest(None));
        std::thread::sleep(std::time::Duration::from_millis(60));
        assert_eq!(store.summary("a").unwrap(), Some(summary), "an earlier rest does not replace a later one");
        assert_eq!(store.summary("b").unwrap(), None, "it was never stored");
        append(store, "a", ticks(1..2)).unwrap();
        assert_eq!(store.summary("a").unwrap(), None, "it has continued");
    });
}
