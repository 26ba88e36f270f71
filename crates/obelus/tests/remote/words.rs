//! A conversation over a server and a fork there say what those of a store say.

use std::fs;

use serde_json::{Value, json};

use crate::Office;

/// The headers of a request with the token of the server.
fn headers(office: &Office) -> String {
    let token = fs::read_to_string(office.path("store/token")).unwrap();
    format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", token.trim())
}

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
    office.remote(&["chat", "--agent", "desk", "--session", "t"], "set 1\n", 3);
    office.remote(&["sessions", "pause", "t"], "", 0);
    let answered = office.remote(&["approve", "t:q1"], "", 0);
    assert!(answered.contains("it is noted; the session was paused by"), "{answered}");
    let resumed = office.remote(&["sessions", "resume", "s"], "", 0);
    assert!(resumed.contains("You said: hello again"), "{resumed}");
}

#[test]
fn a_fork_says_where_it_begins_and_what_was_done_after_that() {
    let office = Office::open("fork-words");
    office.remote(&["chat", "--agent", "desk", "--session", "s"], "set 1\n", 3);
    office.remote(&["answer", "s:q1", "approve"], "", 0);
    let forked = office.remote(&["sessions", "fork", "s", "t", "--at", "1"], "", 0);
    assert!(forked.contains("`t` begins where `s` was after record 1, and is paused"), "{forked}");
    assert!(forked.contains(&format!("obelus sessions resume t --server {}`", office.url)), "{forked}");
    assert!(forked.contains("also done: change × 1. If `t` goes on from there, this may be done again"), "{forked}");
    let now = office.expect(&["sessions", "fork", "s", "u", "--store", &office.path("store")], "", 0);
    assert!(now.starts_with("`u` begins where `s` was after record ") && !now.contains("also done"), "{now}");
}

#[test]
fn a_message_that_does_not_count_as_an_answer_says_why() {
    let office = Office::open("left-open");
    let said = office.remote(&["chat", "--agent", "desk", "--session", "s"], "set 1\nwell, go ahead\n", 3);
    assert!(said.contains("This message did not answer the question q1: "), "{said}");
    let other = office.remote(&["chat", "--session", "s"], "good morning\n", 3);
    assert!(!other.contains("did not answer"), "it is not meant as an answer: {other}");
    let (_, metrics) = office.http("GET", "/metrics", &headers(&office), "");
    assert!(metrics.contains("/turn") && !metrics.contains("/export"), "the session is not copied: {metrics}");
}

#[test]
fn the_api_says_why_a_message_has_left_a_question_open() {
    let office = Office::open("left-open-api");
    office.remote(&["chat", "--agent", "desk", "--session", "s"], "set 1\n", 3);
    let say = |text: &str| {
        let (_, said) =
            office.http("POST", "/api/v1/sessions/s/messages", &headers(&office), &json!({"text": text}).to_string());
        serde_json::from_str::<Value>(&said).unwrap()["record"].clone()
    };
    let left_open = |record: &Value| {
        let (status, turn) =
            office.http("GET", &format!("/api/v1/sessions/s/turn?message={record}"), &headers(&office), "");
        assert_eq!(status, 200, "{turn}");
        serde_json::from_str::<Value>(&turn).unwrap()["left_open"].clone()
    };
    let (meant, other) = (say("well, go ahead"), say("good morning"));
    let why = left_open(&meant);
    assert!(why.as_str().unwrap().starts_with("This message did not answer the question q1: "), "{why}");
    assert_eq!(left_open(&other), Value::Null, "it is not meant as an answer");
    assert_eq!(left_open(&json!(9999)), Value::Null, "there is no such record");
    office.remote(&["deny", "s:q1"], "", 0);
    assert_eq!(left_open(&meant), Value::Null, "the question was answered since");
}
