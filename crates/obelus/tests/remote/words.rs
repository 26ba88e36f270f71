//! A conversation over a server and a fork there say what those of a store say.

use crate::Office;

#[test]
fn a_paused_session_notes_a_message_without_waiting() {
    let office = Office::open("noted");
    office.remote(&["chat", "--agent", "desk", "--session", "s"], "good morning\n", 0);
    office.remote(&["sessions", "pause", "s"], "", 0);
    let said = office.remote(&["chat", "--session", "s"], "hello\n", 3);
    assert!(said.contains("it is noted; the session was paused by"), "{said}");
    assert!(said.contains(&format!("`obelus sessions resume s --server {}`", office.url)), "{said}");
    let store = office.path("store");
    let held = office.expect(&["chat", "--session", "s", "--store", &store], "hello again\n", 3);
    assert!(held.contains("it is noted; the session was paused by"), "{held}");
    assert!(!said.contains("You said: hello") && !held.contains("You said: hello"), "{said}{held}");
    office.remote(&["chat", "--session", "s"], "", 3);
    let resumed = office.remote(&["sessions", "resume", "s"], "", 0);
    assert!(resumed.contains("You said: hello again"), "{resumed}");
}
