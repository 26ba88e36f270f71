//! Damage is found, and does not affect other sessions (DUR-14).

use std::fs;

use super::tests::{create, open};
use super::*;
use crate::store::tests::{Folder, append, ticks, wait};
use serde_json::json;

/// Changes the file directly.
fn spoil(folder: &Folder, sql: &str) {
    assert!(Connection::open(folder.0.join("obelus.db")).unwrap().execute(sql, []).unwrap() > 0, "{sql}");
}

#[test]
fn damage_in_the_middle_of_one_journal_refuses_that_session_and_no_other() {
    let folder = Folder::new("damage");
    let store = open(&folder);
    for id in ["a", "b"] {
        create(&store, id, ticks(1..4));
    }
    // A valid text, but not the one that was written.
    spoil(&folder, "UPDATE record SET input = '\"stop\"' WHERE session = 1 AND seq = 2");
    assert!(matches!(store.load("a", 0, None), Err(StoreError::Damaged { seq: 2, .. })));
    spoil(&folder, "DELETE FROM record WHERE session = 1 AND seq = 1");
    assert!(matches!(store.load("a", 0, None), Err(StoreError::Damaged { .. })));
    assert_eq!(store.journal("b").unwrap().len(), 3);
}

#[test]
fn every_field_of_a_record_has_a_part_in_its_sum() {
    let folder = Folder::new("fields");
    let store = open(&folder);
    let record = || Record {
        id: Some("x".parse().unwrap()),
        digest: Some(crate::store::Digest(7)),
        ..Record::new(Time(1), Input::Start)
    };
    for (index, change) in
        ["at = at + 1", "digest = 8", "digest = NULL", "input_id = 'y'", "input_id = NULL", "input = '\"tick\"'"]
            .iter()
            .enumerate()
    {
        let id = format!("s-{index}");
        create(&store, &id, vec![record()]);
        assert_eq!(store.journal(&id).unwrap(), [record()]);
        spoil(&folder, &format!("UPDATE record SET {change} WHERE session = {}", index + 1));
        assert!(matches!(store.journal(&id), Err(StoreError::Damaged { seq: 1, .. })), "{change}");
    }
}

#[test]
fn a_damaged_end_is_left_out_and_reported_and_the_journal_goes_on_before_it() {
    let folder = Folder::new("tail");
    let store = open(&folder);
    create(&store, "a", ticks(1..4));
    spoil(&folder, "UPDATE record SET input = '{' WHERE seq = 2");
    spoil(&folder, "UPDATE record SET input = x'ff' WHERE seq = 3");
    let read = store.load("a", 0, None).unwrap();
    let cut = read.cut.unwrap();
    assert_eq!((read.records.len(), cut.seq, cut.records), (1, 2, 2));
    assert!(store.journal("a").is_err(), "nothing is left out in silence");
    store.cut("a", cut.seq, Vec::new()).unwrap();
    append(&store, "a", ticks(4..5)).unwrap();
    assert_eq!(store.journal("a").unwrap(), [ticks(1..2), ticks(4..5)].concat());
}

#[test]
fn a_session_whose_name_or_beginning_is_damaged_is_stopped_and_none_is_begun_in_its_place() {
    for damage in [
        "UPDATE session SET id = 'x' WHERE id = 'a'",
        "UPDATE session SET genesis = '{\"n\":2}' WHERE id = 'a'",
        "UPDATE session SET created = 7 WHERE id = 'a'",
        "UPDATE session SET genesis = x'ff' WHERE id = 'a'",
    ] {
        let folder = Folder::new("names");
        let store = open(&folder);
        store.create("a", Time(0), &json!({"n": 1}), ticks(0..1)).unwrap();
        create(&store, "b", ticks(0..1));
        drop(store);
        spoil(&folder, damage);
        let store = open(&folder);
        assert!(matches!(store.genesis("a"), Err(StoreError::Damaged { seq: 0, .. })), "{damage}");
        let begun = store.create("a", Time(0), &json!({}), Vec::new());
        assert!(matches!(begun, Err(StoreError::Damaged { seq: 0, .. })), "{damage}");
        assert!(wait(store.append("a", 1, ticks(1..2))).is_err(), "{damage}");
        assert_eq!(store.genesis("b").unwrap(), Some(json!({})), "{damage}");
        assert_eq!(append(&store, "b", ticks(1..2)).unwrap(), 2, "{damage}");
    }
}

#[test]
fn a_damaged_index_is_made_anew_by_whoever_opens_the_store_to_write() {
    let folder = Folder::new("index");
    let store = open(&folder);
    create(&store, "a", ticks(0..30));
    drop(store);
    spoil(&folder, "UPDATE registered SET upto = upto + 1000");
    let looker = SqliteStore::open_read_only(&folder.0).unwrap();
    assert!(matches!(looker.load("a", 0, None), Err(StoreError::DamagedIndex)));
    let store = open(&folder);
    append(&store, "a", ticks(30..31)).unwrap();
    assert_eq!(store.journal("a").unwrap(), ticks(0..31));
    assert_eq!(looker.journal("a").unwrap(), ticks(0..31));
}

/// How a session of 40 records differs after damage; none if it is unchanged or refused.
fn silent_damage(store: &SqliteStore, id: &str) -> Option<String> {
    match store.genesis(id) {
        Err(_) => None,
        Ok(None) => Some("it is not there".to_owned()),
        Ok(Some(genesis)) if genesis != json!({"of": id}) => Some(format!("it began with {genesis}")),
        Ok(Some(_)) => match store.load(id, 0, None) {
            Ok(read) if read.cut.is_none() && read.records != ticks(0..40) => {
                Some(format!("it has {} records", read.records.len()))
            }
            _ => None,
        },
    }
}

/// Any single bit may be wrong: then a session is unchanged, or the damage is reported.
#[test]
fn no_damaged_bit_makes_a_session_shorter_or_another_in_silence() {
    let folder = Folder::new("bits");
    let store = open(&folder);
    let ids = ["alpha", "beta", "gamma"];
    for id in ids {
        store.create(id, Time(0), &json!({"of": id}), ticks(0..40)).unwrap();
    }
    drop(store);
    let path = folder.0.join("obelus.db");
    let whole = fs::read(&path).unwrap();
    // Covers the whole file, in steps that are not aligned with its pages.
    for bit in (0..whole.len() * 8).step_by(whole.len() * 8 / 300 + 1) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        let Ok(store) = SqliteStore::open(&folder.0) else { continue };
        for id in ids {
            assert_eq!(silent_damage(&store, id), None, "{id}, bit {bit}");
        }
    }
}

#[test]
fn a_damaged_entry_of_the_index_is_mended_from_the_records() {
    for damage in [
        "UPDATE register SET place = place + 1 WHERE session = 1 AND seq = 40",
        "UPDATE register SET seq = 99 WHERE session = 1 AND seq = 40",
        "UPDATE register SET session = 9 WHERE session = 1 AND seq > 20",
        "DELETE FROM register WHERE session = 1",
        "UPDATE registered_of SET records = 7 WHERE session = 1",
        "DELETE FROM registered_of WHERE session = 1",
    ] {
        let folder = Folder::new("entries");
        let store = open(&folder);
        create(&store, "a", ticks(0..40));
        drop(store);
        spoil(&folder, damage);
        assert!(SqliteStore::open_read_only(&folder.0).unwrap().load("a", 0, None).is_err(), "{damage}");
        let store = open(&folder);
        assert_eq!(store.load("a", 0, None).unwrap().records, ticks(0..40), "{damage}");
        assert_eq!(append(&store, "a", ticks(40..41)).unwrap(), 41, "{damage}");
    }
}

#[test]
fn records_that_are_missing_at_the_end_stop_the_session() {
    let folder = Folder::new("missing");
    let store = open(&folder);
    create(&store, "a", ticks(0..40));
    create(&store, "b", ticks(0..40));
    drop(store);
    // The trigger deletes them from the register too.
    spoil(&folder, "DELETE FROM record WHERE session = 1 AND seq > 30");
    let store = open(&folder);
    let Err(StoreError::Damaged { session, problem, .. }) = store.load("a", 0, None) else { panic!("it was read") };
    assert_eq!((session.as_str(), problem.as_str()), ("a", "records of it are missing"));
    assert_eq!(store.journal("b").unwrap(), ticks(0..40));
    store.remove("a").unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn no_new_store_takes_the_place_of_an_emptied_one() {
    let folder = Folder::new("emptied");
    open(&folder).create("s", Time(0), &json!({}), ticks(0..3)).unwrap();
    let path = folder.0.join("obelus.db");
    fs::write(&path, "").unwrap();
    for opened in [SqliteStore::open(&folder.0), SqliteStore::open_read_only(&folder.0)] {
        assert!(matches!(opened.err(), Some(StoreError::Emptied(file)) if file == path));
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), 0, "it is as it was");
    fs::remove_file(&path).unwrap();
    // A process was killed while it created the store.
    fs::write(folder.0.join("obelus.db.new"), "half").unwrap();
    assert_eq!(open(&folder).list().unwrap(), []);
    assert!(!folder.0.join("obelus.db.new").exists());
}

#[test]
fn a_store_without_its_file_is_refused_while_its_log_or_a_link_is_there() {
    let folder = Folder::new("file-lost");
    open(&folder).create("s", Time(0), &json!({}), ticks(0..3)).unwrap();
    let (path, log, away) = (folder.0.join("obelus.db"), folder.0.join("obelus.db-wal"), folder.0.join("away"));
    let is_refused = || matches!(SqliteStore::open(&folder.0).err(), Some(StoreError::Emptied(file)) if file == path);
    fs::rename(&path, &away).unwrap();
    fs::write(&log, "changes of the lost file").unwrap();
    assert!(is_refused(), "the log would be written into a new file");
    fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(folder.0.join("not mounted"), &path).unwrap();
    assert!(is_refused(), "the link would be replaced");
    fs::remove_file(&path).unwrap();
    fs::rename(&away, &path).unwrap();
    assert_eq!(open(&folder).journal("s").unwrap(), ticks(0..3));
}
