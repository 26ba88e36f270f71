//! The server ends, properly or by a kill, and starts again.

use serde_json::json;

use super::client::{Server, obelus};

#[test]
fn a_client_goes_on_by_the_last_id_after_a_kill_and_misses_nothing() {
    let server = Server::start("kill", &[]);
    let session = server.session("s");
    let mut events = server.stream(&session, "0-0");
    server.say(&session, "ask Anna to call the customer");
    let mut seen: Vec<String> = events.until("question_asked").into_iter().filter_map(|event| event.id).collect();
    let last = seen.last().unwrap().clone();
    let store = server.kill();
    events.until_end();

    let server = Server::over(store, &[]);
    let mut events = server.stream(&session, &last);
    let inbox = server.get("/api/v1/questions").json();
    let path = format!("/api/v1/questions/{}/answer", inbox[0]["id"].as_str().unwrap());
    assert_eq!(server.post(&path, &json!({"decision": "approve"})).status, 200);
    server.get("/api/v1/sessions/s/turn");
    loop {
        let more = events.until("rested");
        seen.extend(more.iter().filter_map(|event| event.id.clone()));
        if more.last().unwrap().data["reply"]["ends"] == "output" {
            break;
        }
    }
    let timeline = server.get("/api/v1/sessions/s/timeline").json();
    let told: Vec<&str> = timeline["events"].as_array().unwrap().iter().filter_map(|e| e["number"].as_str()).collect();
    assert_eq!(seen, told, "each event once, in order");
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn it_ends_in_good_order_when_it_is_told_to() {
    let mut server = Server::start("term", &[]);
    let session = server.session("s");
    server.say(&session, "Milk");
    let mut events = server.stream(&session, "0-0");
    events.until("rested");
    assert!(server.terminate(), "it ends with exit code 0");
    assert!(events.until_end(), "streams are closed");
    let server = Server::over(server.store.clone(), &[]);
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["notes"].as_array().unwrap().len(), 1);
}

#[test]
fn commands_reach_the_sessions_through_the_server() {
    let server = Server::start("held", &[]);
    let session = server.session("s");
    server.say(&session, "ask Anna to call the customer");
    let inbox = server.get("/api/v1/questions").json();
    let mut command = obelus(&["approve", inbox[0]["id"].as_str().unwrap(), "--json", "--store"]);
    let approved = command.arg(&server.store).output().unwrap();
    assert!(approved.status.success(), "{approved:?}");
    let turn = server.get("/api/v1/sessions/s/turn").json();
    assert!(turn["text"].as_str().unwrap().ends_with("Noted for Anna."), "{turn}");
}
