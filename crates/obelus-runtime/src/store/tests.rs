use std::fs;

use super::*;
use crate::driver::Journal;
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
