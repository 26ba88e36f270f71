use std::fs;

use super::*;
use crate::store::tests::{Folder, append, records, ticks, wait};
use obelus_kernel::session::Outcome;
use proptest::prelude::*;
use serde_json::json;

pub(super) fn open(folder: &Folder) -> SqliteStore {
    SqliteStore::open(&folder.0).unwrap()
}

pub(super) fn create(store: &SqliteStore, id: &str, records: Vec<Record>) {
    store.create(id, Time(0), &json!({}), records).unwrap();
}

#[test]
fn a_store_that_is_opened_again_has_what_was_written() {
    let folder = Folder::new("again");
    {
        let store = open(&folder);
        create(&store, "s", ticks(0..20));
        append(&store, "s", ticks(20..23)).unwrap();
    }
    assert_eq!(open(&folder).journal("s").unwrap(), ticks(0..23));
}

#[test]
fn a_second_opener_is_told_who_holds_the_store() {
    let folder = Folder::new("lock");
    let first = open(&folder);
    let Err(StoreError::Held { holder, .. }) = SqliteStore::open(&folder.0) else { panic!("it was opened twice") };
    assert!(holder.to_string().contains(&std::process::id().to_string()));
    drop(first);
    assert!(SqliteStore::open(&folder.0).is_ok());
}

#[test]
fn a_store_of_a_later_form_is_refused() {
    let folder = Folder::new("form");
    drop(open(&folder));
    let connection = Connection::open(folder.0.join("obelus.db")).unwrap();
    connection.pragma_update(None, "user_version", FORM + 1).unwrap();
    drop(connection);
    assert!(matches!(SqliteStore::open(&folder.0), Err(StoreError::Newer { found, .. }) if found == FORM + 1));
}

/// Stores that versions of forms 1 to 3 wrote.
#[test]
fn a_store_of_an_older_form_is_brought_to_todays_and_keeps_what_is_in_it() {
    for (form, sessions) in [(1, 2), (2, 2), (3, 3)] {
        let folder = Folder::new("older");
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../obelus/tests/fixtures");
        SqliteStore::create_folder(&folder.0).unwrap();
        fs::copy(fixtures.join(format!("store-form-{form}/obelus.db")), folder.0.join("obelus.db")).unwrap();
        assert!(
            matches!(SqliteStore::open_read_only(&folder.0), Err(StoreError::Older { found, .. }) if found == form)
        );
        let store = open(&folder);
        assert_eq!(store.list().unwrap().len(), sessions);
        for (id, length) in [("trip", 3), ("asks", 2)] {
            let journal = store.journal(id).unwrap();
            assert_eq!(journal.len(), length, "form {form}");
            assert!(journal.iter().all(|record| record.digest.is_none() && record.id.is_none()));
            assert!(store.genesis(id).unwrap().is_some());
            assert_eq!(append(&store, id, ticks(0..1)).unwrap(), length as u64 + 1);
        }
        assert!(matches!(store.create("trip", Time(0), &json!({}), Vec::new()), Err(StoreError::Exists(_))));
        if form == 3 {
            assert_eq!(store.snapshot("long").unwrap().map(|snapshot| snapshot.seq), Some(1047));
        }
        drop(store);
        assert_eq!(SqliteStore::open_read_only(&folder.0).unwrap().journal("trip").unwrap().len(), 4);
    }
}

#[test]
fn the_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("owner");
    let _store = open(&folder);
    let rights = fs::metadata(folder.0.join("obelus.db")).unwrap().permissions().mode();
    assert_eq!(rights & 0o777, 0o600);
}

#[test]
fn sessions_written_at_once_share_commits_and_a_refused_write_spoils_no_other() {
    let folder = Folder::new("group");
    let store = open(&folder);
    let begin = |i: usize| {
        let id = format!("s-{i}");
        if i.is_multiple_of(2) {
            create(&store, &id, Vec::new());
        }
        store.append(&id, 0, ticks(1..3))
    };
    let all: Vec<Durable> = (0..64).map(begin).collect();
    for (i, durable) in all.into_iter().enumerate() {
        assert_eq!(wait(durable).is_ok(), i.is_multiple_of(2), "{i}");
    }
    assert!(store.list().unwrap().iter().all(|row| row.records == 2));
}

#[test]
fn who_only_looks_needs_no_lock_and_writes_nothing() {
    let folder = Folder::new("look");
    assert!(matches!(SqliteStore::open_read_only(&folder.0), Err(StoreError::Folder(..))));
    let store = open(&folder);
    create(&store, "s", Vec::new());
    let beside = SqliteStore::open_read_only(&folder.0).unwrap();
    append(&store, "s", ticks(1..2)).unwrap();
    assert_eq!(beside.journal("s").unwrap().len(), 1);
    assert!(wait(beside.append("s", 1, ticks(2..3))).unwrap_err().to_string().contains("only"));
    assert!(matches!(beside.remove("s"), Err(StoreError::OnlyLooking(_))));
}

#[test]
fn a_name_that_is_given_again_is_another_session() {
    let folder = Folder::new("name");
    let store = open(&folder);
    create(&store, "a", ticks(0..3));
    store.remove("a").unwrap();
    // It gets the number of the removed session.
    create(&store, "b", Vec::new());
    assert!(wait(store.append("a", 0, ticks(3..4))).is_err());
    assert!(store.journal("b").unwrap().is_empty());
    create(&store, "a", Vec::new());
    append(&store, "a", ticks(7..8)).unwrap();
    assert_eq!(store.journal("a").unwrap(), ticks(7..8));
}

#[test]
fn a_write_that_fails_in_the_middle_leaves_nothing_and_spoils_nothing_that_comes_after() {
    let folder = Folder::new("middle");
    let store = open(&folder);
    create(&store, "a", Vec::new());
    let refused = store.write(|file| {
        sessions::insert(&file.connection, "b", Time(0), "{}")?;
        Err(StoreError::Unknown("x".to_owned()))
    });
    assert!(matches!(refused, Err(StoreError::NotWritten(_))));
    let broken = store.write(|file| {
        sessions::insert(&file.connection, "b", Time(0), "{}")?;
        journal::append(file, "a", None, &Encoded::all("a", ticks(0..1))?)?;
        let nothing: Option<()> = None;
        nothing.ok_or_else(|| panic!("a mistake"))
    });
    assert!(matches!(broken, Err(StoreError::NotWritten(_))));
    append(&store, "a", ticks(0..2)).unwrap();
    assert_eq!(store.journal("a").unwrap(), ticks(0..2));
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn whoever_writes_at_once_from_many_threads_is_served_and_every_journal_is_in_order() {
    let folder = Folder::new("threads");
    let store = open(&folder);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for i in 0..4 {
                    let id = format!("s-{thread}-{i}");
                    create(store, &id, Vec::new());
                    for at in 0..12 {
                        append(store, &id, ticks(at..at + 1)).unwrap();
                    }
                }
            });
        }
    });
    let rows = store.list().unwrap();
    assert_eq!(rows.len(), 16);
    for row in rows {
        assert_eq!(store.journal(&row.id).unwrap(), ticks(0..12), "{}", row.id);
    }
}

#[test]
fn a_store_that_is_closed_has_everything_in_its_register() {
    let folder = Folder::new("register");
    let store = open(&folder);
    create(&store, "a", ticks(0..3));
    let places = |table: &str| -> i64 {
        let connection = Connection::open(folder.0.join("obelus.db")).unwrap();
        connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((places("record"), places("register")), (3, 0));
    drop(store);
    assert!(!folder.0.join("obelus.db-wal").exists(), "the log is carried over");
    assert_eq!((places("record"), places("register")), (3, 3));
    assert_eq!(open(&folder).journal("a").unwrap(), ticks(0..3));
}

#[test]
fn checkpoints_that_were_put_off_are_written_when_the_store_is_closed() {
    let folder = Folder::new("put-off");
    let store = open(&folder);
    let ids: Vec<String> = (0..6).map(|i| format!("s-{i}")).collect();
    for id in &ids {
        create(&store, id, ticks(0..1));
        for state in ["old".to_owned(), "x".repeat(700_000)] {
            store.store_checkpoint(id, 1, CheckpointData { checkpoint: Some(state), ..CheckpointData::default() });
        }
    }
    drop(store);
    let store = open(&folder);
    for id in &ids {
        let length = store.snapshot(id).unwrap().map(|snapshot| (snapshot.seq, snapshot.state.len()));
        assert_eq!(length, Some((1, 700_000)));
    }
}

#[test]
fn a_store_that_is_shrunk_gives_room_back_and_keeps_what_is_in_it() {
    let folder = Folder::new("shrink");
    let store = open(&folder);
    let long = |at| Record::new(Time(at), Input::User { text: "x".repeat(10_000), by: None });
    for id in ["a", "b"] {
        create(&store, id, (0..30).map(long).collect());
    }
    append(&store, "b", ticks(30..33)).unwrap();
    store.remove("a").unwrap();
    let before = store.journal("b").unwrap();
    // The first call moves the content of the log into the file.
    store.shrink().unwrap();
    assert_eq!(store.journal("b").unwrap(), before);
    store.remove("b").unwrap();
    assert!(store.shrink().unwrap() > 300_000);
    create(&store, "b", ticks(0..20));
    store.shrink().unwrap();
    append(&store, "b", ticks(20..21)).unwrap();
    drop(store);
    let store = SqliteStore::open_read_only(&folder.0).unwrap();
    assert_eq!(store.journal("b").unwrap(), ticks(0..21));
    assert!(matches!(store.shrink(), Err(StoreError::OnlyLooking(_))));
}

#[test]
fn what_was_nested_as_deep_as_can_be_read_is_read_again() {
    let folder = Folder::new("deep");
    let store = open(&folder);
    let deep = |levels: usize| -> Value {
        serde_json::from_str(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels))).unwrap()
    };
    let ended = |levels| {
        let json = json!({"ended": {"id": "0.0", "outcome": {"value": 0}}});
        let Ok(Input::Ended { id, .. }) = serde_json::from_value(json) else { panic!("it is one") };
        Record::new(Time(1), Input::Ended { id, outcome: Outcome::Value(deep(levels)) })
    };
    create(&store, "s", [64, 124, 127].map(ended).to_vec());
    assert_eq!(store.journal("s").unwrap().last(), Some(&ended(127)));
}

/// An operation on one of three sessions.
#[derive(Clone, Debug)]
enum Act {
    Append(usize, i64),
    Cut(usize, u64),
    Remove(usize),
    Reopen,
    Shrink,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (0..3usize, 1..5i64).prop_map(|(session, records)| Act::Append(session, records)),
        1 => (0..3usize, 1..20u64).prop_map(|(session, from)| Act::Cut(session, from)),
        1 => (0..3usize).prop_map(Act::Remove),
        1 => Just(Act::Reopen),
        1 => Just(Act::Shrink),
    ];
    proptest::collection::vec(act, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// A record is found whether or not it is in the register, and no removed one is found.
    #[test]
    fn a_store_gives_back_what_was_put_in_whatever_is_done_to_it(acts in acts()) {
        let folder = Folder::new("acts");
        let mut store = open(&folder);
        let beside = SqliteStore::open_read_only(&folder.0).unwrap();
        let names = ["a", "b", "c"];
        names.iter().for_each(|id| create(&store, id, Vec::new()));
        let mut journals: [Vec<Record>; 3] = Default::default();
        for (now, act) in (0_i64..).step_by(10).zip(acts) {
            match act {
                Act::Append(of, count) => {
                    append(&store, names[of], ticks(now..now + count)).unwrap();
                    journals[of].extend(ticks(now..now + count));
                }
                Act::Cut(of, from) => {
                    store.cut(names[of], from, Vec::new()).unwrap();
                    journals[of].truncate(usize::try_from(from).unwrap() - 1);
                }
                Act::Remove(of) => {
                    store.remove(names[of]).unwrap();
                    create(&store, names[of], Vec::new());
                    journals[of].clear();
                }
                Act::Shrink => drop(store.shrink().unwrap()),
                Act::Reopen => {
                    drop(store);
                    store = open(&folder);
                }
            }
            for store in [&store, &beside] {
                for (id, expected) in names.iter().zip(&journals) {
                    prop_assert_eq!(&records(store, id), expected);
                    prop_assert_eq!(store.records(id).unwrap(), expected.len() as u64);
                    let middle = store.load(id, 2, Some(12)).unwrap().records;
                    let expected: Vec<_> = expected.iter().skip(2).take(10).cloned().collect();
                    prop_assert_eq!(middle, expected);
                }
                let mut rows = store.list().unwrap();
                rows.sort_by(|a, b| a.id.cmp(&b.id));
                let found: Vec<_> = rows.iter().map(|row| (row.records, row.last_at)).collect();
                let expected = |journal: &Vec<Record>| (journal.len() as u64, journal.last().map(|last| last.at));
                prop_assert_eq!(found, journals.iter().map(expected).collect::<Vec<_>>());
            }
        }
    }
}
