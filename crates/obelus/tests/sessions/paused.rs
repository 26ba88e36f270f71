//! Sessions that are paused at work: the command that runs them ends, and they take words and answers meanwhile.

use std::fs;

use crate::{Harness, words};

/// The text of a command that must end with this exit code.
fn said(harness: &Harness, args: &[&str], code: i32) -> String {
    let output = harness.does(&[args, &["--lang", "en"]].concat());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", words(&output));
    words(&output)
}

#[test]
fn a_command_ends_when_its_session_is_paused_and_nothing_runs() {
    let harness = Harness::new("paused-at-work");
    assert_eq!(harness.run().status.code(), Some(3));
    let gate = harness.hold("b");
    let approve = harness.obelus(&["approve", "s:q1", "--lang", "en"]).spawn().unwrap();
    harness.wait_for("began-b");
    let paused = said(&harness, &["sessions", "pause", "s"], 0);
    let store = harness.folder.join("store").display().to_string();
    let now = format!("`s` is paused: nothing starts until `obelus sessions resume s --store {store}`");
    assert!(paused.contains(&now), "{paused}");
    assert!(!paused.contains("goes on"), "{paused}");
    fs::remove_file(gate).unwrap();
    let ended = approve.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", words(&ended));
    let way_on = format!("`s` was paused by a person at the command line: obelus sessions resume s --store {store}");
    assert!(words(&ended).contains(&way_on), "{}", words(&ended));
    assert_eq!(harness.done(), ["a", "b"], "the running call ends, and no other begins");
    said(&harness, &["sessions", "resume", "s"], 0);
    assert_eq!(harness.done(), ["a", "b", "c"]);
}

#[test]
fn an_answer_through_another_process_says_that_the_session_was_paused() {
    let harness = Harness::new("paused-elsewhere");
    assert_eq!(harness.run().status.code(), Some(3));
    let holding = harness.hold("a");
    let holder = harness.obelus(&["plan", "run", "plan.yaml", "--session", "t", "--json"]).spawn().unwrap();
    crate::eventually("the second run holds at its first call", || harness.marks().len() == 3);
    let gate = harness.hold("b");
    let approve = harness.obelus(&["approve", "s:q1", "--lang", "en"]).spawn().unwrap();
    harness.wait_for("began-b");
    said(&harness, &["sessions", "pause", "s"], 0);
    let answered = approve.wait_with_output().unwrap();
    let store = harness.folder.join("store").display().to_string();
    let way_on = format!("`s` was paused by a person at the command line: obelus sessions resume s --store {store}");
    assert!(words(&answered).contains(&way_on), "{}", words(&answered));
    assert_eq!(answered.status.code(), Some(3), "as without the other process");
    fs::remove_file(gate).unwrap();
    fs::remove_file(holding).unwrap();
    holder.wait_with_output().unwrap();
    let mut done = harness.done();
    done.sort();
    assert_eq!(done, ["a", "a", "b"]);
}

#[test]
fn a_paused_session_takes_a_message_and_answers_it_when_it_is_resumed() {
    let harness = Harness::new("paused-words");
    fs::write(harness.folder.join("p.yaml"), "rules: []\notherwise: {answer: {say: I hear.}}\n").unwrap();
    fs::write(harness.folder.join("agent.yaml"), "name: echo\nlanguage: en\nmodel: playbook:p.yaml\n").unwrap();
    let say = |text: &str, code: i32| said(&harness, &["run", "agent.yaml", "--session", "e", "--say", text], code);
    say("hello", 0);
    said(&harness, &["sessions", "pause", "e"], 0);
    let noted = say("hello again", 3);
    assert!(noted.contains("it is noted; the session was paused by a person at the command line"), "{noted}");
    let store = harness.folder.join("store").display().to_string();
    assert!(noted.contains(&format!("obelus sessions resume e --store {store}")), "{noted}");
    let again = said(&harness, &["sessions", "pause", "e"], 0);
    assert!(again.contains(&format!("obelus sessions resume e --store {store}")), "{again}");
    let repeated = say("hello again", 3);
    assert!(repeated.contains("`e` was paused by"), "the same command twice is one message: {repeated}");
    let resumed = said(&harness, &["sessions", "resume", "e"], 0);
    assert_eq!(resumed.matches("I hear.").count(), 1, "{resumed}");
    let log = String::from_utf8(harness.does(&["sessions", "log", "e"]).stdout).unwrap();
    assert_eq!(log.matches("You: hello again").count(), 1, "{log}");
}

#[test]
fn a_resumed_session_with_nothing_to_do_says_so_and_does_not_repeat_its_reply() {
    let harness = Harness::new("resumed-at-rest");
    assert_eq!(
        harness.succeeds(&["run", "notes", "--say", "the customer called", "--session", "s"]).trim(),
        "Written down."
    );
    said(&harness, &["sessions", "pause", "s"], 0);
    let resumed = harness.does(&["sessions", "resume", "s", "--lang", "en"]);
    assert_eq!((resumed.status.code(), resumed.stdout.as_slice()), (Some(0), &b""[..]));
    assert!(words(&resumed).contains("`s` is no longer paused; it has nothing to do"), "{}", words(&resumed));
    // A message that came meanwhile is work.
    said(&harness, &["sessions", "pause", "s"], 0);
    said(&harness, &["run", "notes", "--say", "which notes are there?", "--session", "s"], 3);
    assert_eq!(harness.succeeds(&["sessions", "resume", "s"]).trim(), "1 notes, 0 tasks.");
}
