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

/// A copy of a stored fixture: its database, and the file of its requests.
fn fixture(name: &str, stored: &str, file: &str) -> Harness {
    let harness = Harness::new(name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(stored);
    harness.create_store();
    for (file, place) in [("obelus.db", "store/obelus.db"), (file, file)] {
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
    let harness = fixture("digests-past", "store-form-5", "turn.yaml");
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
    let harness = fixture("digests", "store-form-5", "turn.yaml");
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
    // One of them says that the agent's rules have changed: there are more words that may stand beside a yes.
    assert_eq!(events(&harness, "talk"), 13);
}

/// Its sessions have settings that this version no longer knows, all switched on: `rest` is at rest, `open` waits for a
/// person, and the process of `killed` died while it sent a letter. In each a deletion was denied or is asked about.
#[test]
fn sessions_with_settings_of_an_earlier_version_replay_as_they_were_and_continue() {
    let harness = fixture("former-settings", "store-form-5-settings", "plan.yaml");
    for (session, shown) in [("rest", 7), ("open", 5), ("killed", 3)] {
        assert_eq!(events(&harness, session), shown, "{session}");
    }
    for (question, answer) in [("open:q2", "approve"), ("killed:q1", "deny"), ("killed:q2", "approve")] {
        let answered = harness.does(&[answer, question]);
        assert!([Some(0), Some(3)].contains(&answered.status.code()), "{question}: {}", words(&answered));
    }
    let settled = harness.does(&["answer", "killed:q3", "happened", "--result", "\"sent\""]);
    assert_eq!(settled.status.code(), Some(0), "{}", words(&settled));
    let written = json!([{}, {"seen": {"n": 4}}, {"sent": "sent"}, {"gone": "gone"}]);
    let sorted = |session: &str| {
        let shown = state(&harness.json(&["sessions", "show", session, "--json"]));
        let mut all: Vec<String> = shown.as_array().unwrap().iter().map(ToString::to_string).collect();
        all.sort();
        all
    };
    let mut expected: Vec<String> = written.as_array().unwrap().iter().map(ToString::to_string).collect();
    expected.sort();
    for session in ["rest", "open", "killed"] {
        assert_eq!(sorted(session), expected, "{session}");
    }
}
