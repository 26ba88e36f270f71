//! DUR-12: a store whose records have digests, written by the first version of form 5, opens in this one: its past is
//! what it was, and its sessions continue.
//!
//! `trip` and `talk` are at rest, `asks` waits for a person, and the process of `turn` was killed within a turn, while
//! it looked. Questions stay open for a hundred years. A change that makes this test fail would stop the sessions of
//! users that are within a turn: make the old records replay as before, and leave the fixture alone.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Harness, state, words};

fn fixture(name: &str) -> Harness {
    let harness = Harness::new(name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store-form-5");
    fs::create_dir_all(harness.folder.join("store")).unwrap();
    for (file, place) in [("obelus.db", "store/obelus.db"), ("turn.yaml", "turn.yaml")] {
        fs::copy(folder.join(file), harness.folder.join(place)).unwrap();
    }
    harness
}

fn events(harness: &Harness, session: &str) -> usize {
    let log = harness.does(&["sessions", "log", session]);
    assert_eq!(log.status.code(), Some(0), "{session}: {}", words(&log));
    String::from_utf8(log.stdout).unwrap().lines().count()
}

#[test]
fn the_past_of_a_store_with_digests_is_replayed_as_it_was() {
    let harness = fixture("digests-past");
    // The log replays every record, and compares it with its digest.
    for (session, shown) in [("trip", 4), ("asks", 2), ("talk", 9), ("turn", 1)] {
        assert_eq!(events(&harness, session), shown, "{session}");
    }
    let connection = rusqlite::Connection::open(harness.folder.join("store/obelus.db")).unwrap();
    let count = |what: &str| connection.query_row(what, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(
        (count("SELECT count(*) FROM record WHERE digest IS NULL"), count("SELECT count(*) FROM record")),
        (0, 17)
    );
    // A record that differs is noticed.
    connection
        .execute("UPDATE session SET genesis = replace(genesis, '†state.weather', '†state.whether')", [])
        .unwrap();
    drop(connection);
    assert_eq!(harness.does(&["sessions", "log", "turn"]).status.code(), Some(2));
}

#[test]
fn sessions_of_a_store_with_digests_continue() {
    let harness = fixture("digests");
    let run = harness.does(&["plan", "run", "turn.yaml", "--session", "turn"]);
    assert_eq!(run.status.code(), Some(3), "the read is repeated, and a person is asked: {}", words(&run));
    for question in ["turn:q1", "asks:q1"] {
        let answered = harness.does(&["approve", question]);
        assert_eq!(answered.status.code(), Some(0), "{}", words(&answered));
    }
    let reminder = |text: Value| json!({"reminder": {"at": "noon", "text": text}});
    let weather = json!({"weather": {"sky": "rain", "t": 4}});
    let show = |session: &str| state(&harness.json(&["sessions", "show", session, "--json"]));
    assert_eq!(show("turn"), json!([weather, {"seen": 4}, reminder(json!(4))]));
    assert_eq!(show("asks"), json!([weather, reminder(json!("rain"))]));
    let said = harness.does(&["run", "notes", "--say", "Bread", "--session", "talk"]);
    assert_eq!(said.status.code(), Some(0), "{}", words(&said));
    assert_eq!(events(&harness, "talk"), 13, "with the settings that were added since");
}
