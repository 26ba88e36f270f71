//! The server ends, properly or by a kill, and starts again.

use serde_json::json;

use super::client::{Server, obelus};

#[test]
fn a_client_resumes_by_its_last_id_after_a_kill_without_a_gap() {
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
fn the_server_shuts_down_cleanly_on_a_signal() {
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

/// How many sessions a server has restored.
fn restored(server: &Server) -> u64 {
    let metrics = server.get("/metrics").body;
    let line = metrics.lines().find_map(|line| line.strip_prefix("obelus_sessions_restored_total "));
    line.unwrap().parse().unwrap()
}

#[test]
fn lists_of_idle_sessions_restore_none_of_them() {
    let mut server = Server::start("lists", &[]);
    for number in 0..12 {
        let session = server.session(&format!("s{number}"));
        if number % 3 > 0 {
            server.say(&session, if number % 3 == 1 { "Milk" } else { "ask Anna to call the customer" });
        }
    }
    let list = |server: &Server| server.get("/api/v1/sessions?limit=10").json();
    let before = list(&server);
    assert!(server.terminate());
    let server = Server::over(server.store.clone(), &[]);
    let first = restored(&server);
    let after = list(&server);
    assert_eq!(after, before, "the list is the same");
    let rows = after["sessions"].as_array().unwrap();
    let row = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap();
    let shown = |id: &str| (row(id)["status"].clone(), row(id)["title"].clone(), row(id)["questions"].clone());
    assert_eq!(shown("s11"), (json!("waiting"), json!("ask Anna to call the customer"), json!(1)));
    assert_eq!(shown("s10"), (json!("done"), json!("Milk"), json!(0)));
    assert_eq!(shown("s9"), (json!("new"), json!(null), json!(0)));
    assert_eq!((rows.len(), &after["next"]), (10, &json!("s2")));
    for status in ["idle", "interrupted"] {
        let count = server.post("/threads/count", &json!({"status": status}));
        assert_eq!(count.json(), json!(if status == "idle" { 8 } else { 4 }));
    }
    assert_eq!(restored(&server), first, "nothing was restored");
}
