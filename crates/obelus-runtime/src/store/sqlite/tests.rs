use std::fs;

use super::*;
use crate::driver::Journal;
use obelus_kernel::session::Outcome;
use proptest::prelude::*;
use serde_json::json;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("obelus-store-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_journal_is_read_as_it_was_written() {
    let folder = folder("journal");
    let inputs = vec![(Time(1), Input::Start), (Time(2), Input::User { text: "да".to_owned() })];
    {
        let store = Store::open(&folder).unwrap();
        store.create("s-1", Time(0), &json!({"a": 1})).unwrap();
        store.append("s-1", &inputs[..1]).unwrap();
        store.append("s-1", &inputs[1..]).unwrap();
        assert!(matches!(store.create("s-1", Time(0), &json!({})), Err(StoreError::Exists(_))));
        assert!(matches!(store.append("s-2", &inputs), Err(StoreError::Unknown(_))));
        assert!(matches!(store.create("../x", Time(0), &json!({})), Err(StoreError::BadName(_))));
    }
    let store = Store::open(&folder).unwrap();
    assert_eq!(store.journal("s-1").unwrap(), inputs);
    assert_eq!(store.genesis("s-1").unwrap(), Some(json!({"a": 1})));
    assert_eq!(store.list().unwrap(), [SessionRow { id: "s-1".to_owned(), created: Time(0), records: 2 }]);
    store.remove("s-1").unwrap();
    assert!(store.list().unwrap().is_empty());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_second_opener_is_told_who_holds_the_store() {
    let folder = folder("lock");
    let first = Store::open(&folder).unwrap();
    let Err(StoreError::Held { holder, .. }) = Store::open(&folder) else { panic!("it was opened twice") };
    assert!(holder.contains(&std::process::id().to_string()));
    drop(first);
    assert!(Store::open(&folder).is_ok());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_store_of_a_later_form_is_refused() {
    let folder = folder("form");
    drop(Store::open(&folder).unwrap());
    let connection = Connection::open(folder.join("obelus.db")).unwrap();
    connection.pragma_update(None, "user_version", schema::FORM + 1).unwrap();
    drop(connection);
    assert!(matches!(Store::open(&folder), Err(StoreError::Newer { found: 4, .. })));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_kept_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("owner");
    let store = Store::open(&folder).unwrap();
    let rights = fs::metadata(folder.join("obelus.db")).unwrap().permissions().mode();
    assert_eq!(rights & 0o777, 0o600);
    drop(store);
    fs::remove_dir_all(folder).unwrap();
}

fn spoil(folder: &Path, sql: &str) {
    Connection::open(folder.join("obelus.db")).unwrap().execute(sql, []).unwrap();
}

#[test]
fn damage_in_the_middle_of_one_journal_is_said_and_the_others_are_served() {
    let folder = folder("damage");
    let store = Store::open(&folder).unwrap();
    for id in ["a", "b"] {
        store.create(id, Time(0), &json!({})).unwrap();
        store.append(id, &[(Time(1), Input::Start), (Time(2), Input::Tick), (Time(3), Input::Stop)]).unwrap();
    }
    // Words that can be read, and are not those that were written.
    spoil(&folder, "UPDATE record SET input = '\"stop\"' WHERE session = 1 AND seq = 2");
    assert!(matches!(store.read_journal("a", 0, None), Err(StoreError::Damaged { seq: 2, .. })));
    spoil(&folder, "DELETE FROM record WHERE session = 1 AND seq = 1");
    assert!(matches!(store.read_journal("a", 0, None), Err(StoreError::Damaged { .. })));
    assert_eq!(store.journal("b").unwrap().len(), 3);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_damaged_end_is_left_out_and_said_and_the_journal_goes_on_before_it() {
    let folder = folder("tail");
    let store = Store::open(&folder).unwrap();
    store.create("a", Time(0), &json!({})).unwrap();
    store.append("a", &[(Time(1), Input::Start), (Time(2), Input::Tick), (Time(3), Input::Tick)]).unwrap();
    spoil(&folder, "UPDATE record SET input = '{' WHERE seq = 2");
    spoil(&folder, "UPDATE record SET input = x'ff' WHERE seq = 3");
    let read = store.read_journal("a", 0, None).unwrap();
    let cut = read.cut.unwrap();
    assert_eq!((read.inputs.len(), cut.seq, cut.records), (1, 2, 2));
    assert!(store.journal("a").is_err(), "nothing is left out without saying so");
    store.cut("a", cut.seq).unwrap();
    store.append("a", &[(Time(4), Input::Stop)]).unwrap();
    assert_eq!(store.journal("a").unwrap(), [(Time(1), Input::Start), (Time(4), Input::Stop)]);
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn sessions_written_at_once_share_commits_and_a_refused_order_spoils_no_other() {
    let folder = folder("group");
    let store = Store::open(&folder).unwrap();
    let (mut all, mut journals) = (Vec::new(), Vec::new());
    for i in 0..64 {
        let id = format!("s-{i}");
        if i % 2 == 0 {
            store.create(&id, Time(0), &json!({})).unwrap();
        }
        let mut journal = SessionJournal::new(store.clone(), id);
        all.push(journal.append(&[(Time(1), Input::Start), (Time(2), Input::Tick)]));
        journals.push(journal);
    }
    for (i, kept) in all.into_iter().enumerate() {
        assert_eq!(kept.await.is_ok(), i % 2 == 0, "{i}");
    }
    assert!(store.list().unwrap().iter().all(|row| row.records == 2));
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_second_writer_of_a_session_is_refused() {
    let folder = folder("fence");
    let store = Store::open(&folder).unwrap();
    store.create("s", Time(0), &json!({})).unwrap();
    let mut first = SessionJournal::new(store.clone(), "s");
    first.append(&[(Time(1), Input::Start)]).await.unwrap();
    store.append("s", &[(Time(2), Input::Tick)]).unwrap();
    let refused = first.append(&[(Time(3), Input::Tick)]).await.unwrap_err();
    assert!(refused.contains("somebody else writes it"), "{refused}");
    assert_eq!(store.journal("s").unwrap().len(), 2);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn who_only_looks_needs_no_lock_and_writes_nothing() {
    let folder = folder("look");
    assert!(matches!(Store::look(&folder), Err(StoreError::Folder(..))));
    let store = Store::open(&folder).unwrap();
    store.create("s", Time(0), &json!({})).unwrap();
    let beside = Store::look(&folder).unwrap();
    store.append("s", &[(Time(1), Input::Start)]).unwrap();
    assert_eq!(beside.journal("s").unwrap().len(), 1);
    assert!(matches!(beside.append("s", &[]), Err(StoreError::OnlyLooking(_))));
    fs::remove_dir_all(folder).unwrap();
}

fn ticks(times: std::ops::Range<i64>) -> Vec<(Time, Input)> {
    times.map(|at| (Time(at), Input::Tick)).collect()
}

#[test]
fn a_name_that_is_given_again_is_another_session() {
    let folder = folder("again");
    let store = Store::open(&folder).unwrap();
    store.create("a", Time(0), &json!({})).unwrap();
    store.append("a", &ticks(0..3)).unwrap();
    store.remove("a").unwrap();
    // It gets the number that the other one had.
    store.create("b", Time(0), &json!({})).unwrap();
    assert!(matches!(store.append("a", &ticks(3..4)), Err(StoreError::Unknown(_))));
    assert!(store.journal("b").unwrap().is_empty());
    store.create("a", Time(0), &json!({})).unwrap();
    store.append("a", &ticks(7..8)).unwrap();
    assert_eq!(store.journal("a").unwrap(), ticks(7..8));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_order_that_fails_in_the_middle_leaves_nothing_and_spoils_nothing_that_comes_after() {
    let folder = folder("middle");
    let store = Store::open(&folder).unwrap();
    store.create("a", Time(0), &json!({})).unwrap();
    let refused = store.write_now(|conn| {
        begin(&conn.connection, "b", Time(0), "{}")?;
        Err::<(), _>(StoreError::Unknown("x".to_owned()))
    });
    assert!(matches!(refused, Err(StoreError::NotWritten(_))));
    let broken = store.write_now(|conn| {
        begin(&conn.connection, "b", Time(0), "{}")?;
        journal::append(conn, &Arc::from("a"), None, &records("a", &ticks(0..1))?)?;
        let nothing: Option<()> = None;
        nothing.ok_or_else(|| panic!("a mistake"))
    });
    assert!(matches!(broken, Err(StoreError::NotWritten(_))));
    store.append("a", &ticks(0..2)).unwrap();
    assert_eq!(store.journal("a").unwrap(), ticks(0..2));
    assert_eq!(store.list().unwrap().len(), 1);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn whoever_writes_at_once_from_many_threads_is_served_and_every_journal_is_in_order() {
    let folder = folder("threads");
    let store = Store::open(&folder).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                let ids: Vec<String> = (0..4).map(|i| format!("s-{thread}-{i}")).collect();
                ids.iter().for_each(|id| store.create(id, Time(0), &json!({})).unwrap());
                let write = |id: &String| {
                    let mut journal = SessionJournal::new(store.clone(), id);
                    async move {
                        for at in 0..10 {
                            journal.append(&ticks(at..at + 1)).await.unwrap();
                        }
                    }
                };
                runtime.block_on(futures_util::future::join_all(ids.iter().map(write)));
                ids.iter().for_each(|id| store.append(id, &ticks(10..12)).unwrap());
            });
        }
    });
    let rows = store.list().unwrap();
    assert_eq!(rows.len(), 16);
    for row in rows {
        assert_eq!(store.journal(&row.id).unwrap(), ticks(0..12), "{}", row.id);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_store_that_is_closed_has_everything_in_its_register() {
    let folder = folder("register");
    let store = Store::open(&folder).unwrap();
    store.create("a", Time(0), &json!({})).unwrap();
    store.append("a", &ticks(0..3)).unwrap();
    let places = |table: &str| -> i64 {
        let connection = Connection::open(folder.join("obelus.db")).unwrap();
        connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((places("record"), places("register")), (3, 0));
    drop(store);
    assert_eq!((places("record"), places("register")), (3, 3));
    assert_eq!(Store::open(&folder).unwrap().journal("a").unwrap(), ticks(0..3));
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn what_is_long_is_written_bit_by_bit_and_whoever_comes_after_it_is_served() {
    let folder = folder("long");
    let store = Store::open(&folder).unwrap();
    let ids: Vec<String> = (0..6).map(|i| format!("s-{i}")).collect();
    ids.iter().for_each(|id| store.create(id, Time(0), &json!({})).unwrap());
    let write = |id: &String| {
        let mut journal = SessionJournal::new(store.clone(), id);
        async move {
            journal.append(&ticks(0..1)).await.unwrap();
            journal.keep_snapshot("x".repeat(700_000));
            journal.append(&ticks(1..2)).await.unwrap();
        }
    };
    futures_util::future::join_all(ids.iter().map(write)).await;
    store.append("s-0", &ticks(2..3)).unwrap();
    drop(store);
    let store = Store::open(&folder).unwrap();
    for id in &ids {
        assert_eq!(
            store.snapshot(id).unwrap().map(|snapshot| (snapshot.seq, snapshot.state.len())),
            Some((1, 700_000))
        );
        assert!(store.records(id).unwrap() >= 2);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_store_that_is_shrunk_gives_room_back_and_keeps_what_is_in_it() {
    let folder = folder("shrink");
    let store = Store::open(&folder).unwrap();
    let long = || Input::User { text: "x".repeat(10_000) };
    for id in ["a", "b"] {
        store.create(id, Time(0), &json!({})).unwrap();
        store.append(id, &(0..30).map(|at| (Time(at), long())).collect::<Vec<_>>()).unwrap();
    }
    store.append("b", &ticks(30..33)).unwrap();
    store.remove("a").unwrap();
    let before = store.journal("b").unwrap();
    // What is only in the log so far is in the file after the first time.
    store.shrink().unwrap();
    assert_eq!(store.journal("b").unwrap(), before);
    store.remove("b").unwrap();
    assert!(store.shrink().unwrap() > 300_000);
    store.create("b", Time(0), &json!({})).unwrap();
    store.append("b", &ticks(0..20)).unwrap();
    store.shrink().unwrap();
    store.append("b", &ticks(20..21)).unwrap();
    drop(store);
    let store = Store::look(&folder).unwrap();
    assert_eq!(store.journal("b").unwrap(), ticks(0..21));
    assert!(matches!(store.shrink(), Err(StoreError::OnlyLooking(_))));
    fs::remove_dir_all(folder).unwrap();
}

/// What may be done to a store, to one of three sessions.
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

    /// Whether a record is in the register or not yet, it is found; and nothing is found that was taken away.
    #[test]
    fn a_store_gives_back_what_was_put_in_whatever_is_done_to_it(acts in acts()) {
        let folder = folder("acts");
        let mut store = Store::open(&folder).unwrap();
        let beside = Store::look(&folder).unwrap();
        let names = ["a", "b", "c"];
        names.iter().for_each(|id| store.create(id, Time(0), &json!({})).unwrap());
        let mut journals: [Vec<(Time, Input)>; 3] = Default::default();
        for (now, act) in (0_i64..).step_by(10).zip(acts) {
            match act {
                Act::Append(of, records) => {
                    store.append(names[of], &ticks(now..now + records)).unwrap();
                    journals[of].extend(ticks(now..now + records));
                }
                Act::Cut(of, from) => {
                    store.cut(names[of], from).unwrap();
                    journals[of].truncate(usize::try_from(from).unwrap() - 1);
                }
                Act::Remove(of) => {
                    store.remove(names[of]).unwrap();
                    store.create(names[of], Time(0), &json!({})).unwrap();
                    journals[of].clear();
                }
                Act::Shrink => drop(store.shrink().unwrap()),
                Act::Reopen => {
                    drop(store);
                    store = Store::open(&folder).unwrap();
                }
            }
            for store in [&store, &beside] {
                for (id, expected) in names.iter().zip(&journals) {
                    prop_assert_eq!(&store.journal(id).unwrap(), expected);
                    prop_assert_eq!(store.records(id).unwrap(), expected.len() as u64);
                    prop_assert_eq!(store.last_at(id).unwrap(), expected.last().map(|(at, _)| *at));
                    let middle = store.read_journal(id, 2, Some(12)).unwrap().inputs;
                    let expected: Vec<_> = expected.iter().skip(2).take(10).cloned().collect();
                    prop_assert_eq!(middle, expected);
                }
                let rows = store.list().unwrap();
                prop_assert_eq!(rows.iter().map(|row| row.records).sum::<u64>(), journals.iter().map(Vec::len).sum::<usize>() as u64);
            }
        }
        drop((store, beside));
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn what_was_nested_as_deep_as_can_be_read_is_read_again() {
    let folder = folder("deep");
    let store = Store::open(&folder).unwrap();
    store.create("s", Time(0), &json!({})).unwrap();
    let deep = |levels: usize| -> Value {
        serde_json::from_str(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels))).unwrap()
    };
    let ended = |levels| Input::Ended { id: "0.0".to_owned(), outcome: Outcome::Value(deep(levels)) };
    for levels in [64, 124, 127] {
        store.append("s", &[(Time(1), ended(levels))]).unwrap();
    }
    let journal = store.journal("s").unwrap();
    assert_eq!(journal.last().map(|(_, input)| input.clone()), Some(ended(127)));
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}
