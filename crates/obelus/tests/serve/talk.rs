//! Conversations: sessions, messages, questions and answers.

use serde_json::json;

use super::client::Server;

#[test]
fn the_server_is_alive_and_lists_its_agents() {
    let server = Server::start("lives", &[]);
    assert_eq!(server.send("GET", "/healthz", &[], None).body.trim_end_matches(char::is_whitespace), "ok");
    assert_eq!(server.send("GET", "/readyz", &[], None).status, 200);
    let agents = server.get("/api/v1/agents").json();
    let names: Vec<&str> = agents.as_array().unwrap().iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert!(names.contains(&"crm") && names.contains(&"notes"), "{names:?}");
    let notes = server.get("/api/v1/agents/notes").json();
    assert!(notes["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "add_task"), "{notes}");
    assert_eq!(server.get("/api/v1/agents/nots").code(), "unknown_agent");
    let api = server.get("/api/openapi.json").json();
    assert!(api["paths"]["/api/v1/sessions/{id}/messages"]["post"].is_object());
    assert!(server.get("/metrics").body.contains("obelus_http_request_seconds_count"));
}

#[test]
fn a_message_is_answered_and_can_be_waited_for() {
    let server = Server::start("words", &[]);
    let session = server.session("monday");
    let said = server.say(&session, "The customer called");
    assert_eq!(said["turn"]["text"], "Written down.", "{said}");
    let path = format!("/api/v1/sessions/{session}");
    let at_once = server.post(&format!("{path}/messages"), &json!({"text": "And again"}));
    assert_eq!((at_once.status, &at_once.json()["turn"]), (202, &json!(null)));
    assert_eq!(server.get(&format!("{path}/turn")).json()["ends"], "output");
    let state = server.get(&format!("{path}/state")).json();
    assert_eq!(state["notes"].as_array().unwrap().len(), 2, "{state}");
    let before = server.get(&format!("{path}/state?at=0")).json();
    assert_eq!(before["notes"], json!([]));
    assert_eq!(server.get(&format!("{path}/state?at=9999")).code(), "no_record");
    let why = server.get(&format!("{path}/provenance?path=state.notes"));
    assert_eq!(why.status, 200, "{why:?}");
    assert_eq!(server.get(&path).json()["status"], "done");
    let listed = server.get("/api/v1/sessions").json();
    assert_eq!((&listed["sessions"][0]["id"], &listed["sessions"][0]["agent"]), (&json!("monday"), &json!("notes")));
    let log = server.get(&format!("{path}/log?limit=1")).json();
    assert_eq!((log["records"].as_array().unwrap().len(), &log["next"]), (1, &json!(1)));
    assert!(!server.get(&format!("{path}/messages")).json().as_array().unwrap().is_empty());
}

#[test]
fn a_risky_call_waits_for_a_person_and_is_approved_once() {
    let server = Server::start("approve", &[]);
    let session = server.session("s");
    let said = server.say(&session, "ask Anna to call the customer");
    assert_eq!(said["turn"]["ends"], "waiting", "{said}");
    let inbox = server.get("/api/v1/questions").json();
    let question = &inbox[0];
    let id = question["id"].as_str().unwrap();
    assert!(question["text"].as_str().unwrap().contains("Anna") && id.starts_with("s:"), "{question}");
    assert_eq!(question["answers"][0], "approve");
    let path = format!("/api/v1/questions/{id}/answer");
    let other = server.post(&path, &json!({"decision": "approve", "digest": "0"}));
    assert_eq!((other.status, other.code().as_str()), (409, "changed"));
    let answer = json!({"decision": "approve", "digest": question["digest"]});
    let first = server.post(&path, &answer);
    assert_eq!(first.status, 200, "{first:?}");
    let second = server.post(&path, &answer);
    assert_eq!((second.status, second.code().as_str()), (409, "already_decided"));
    let turn = server.get("/api/v1/sessions/s/turn").json();
    assert!(turn["text"].as_str().unwrap().ends_with("Noted for Anna."), "{turn}");
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["tasks"].as_array().unwrap().len(), 1);
    let decided = server.get(&format!("/api/v1/questions/{id}")).json();
    assert_eq!((&decided["status"], &decided["by"]), (&json!("approved"), &json!("api:local")));
    assert_eq!(server.get("/api/v1/questions").json(), json!([]));
}

#[test]
fn a_call_can_be_denied_or_edited() {
    let server = Server::start("deny", &[]);
    let ask = |session: &str| {
        server.session(session);
        server.say(session, "ask Anna to call the customer");
        let inbox = server.get(&format!("/api/v1/questions?session={session}")).json();
        format!("/api/v1/questions/{}/answer", inbox[0]["id"].as_str().unwrap())
    };
    let path = ask("denied");
    assert_eq!(server.post(&path, &json!({"decision": "deny", "reason": "not now"})).status, 200);
    let turn = server.get("/api/v1/sessions/denied/turn").json();
    assert!(turn["text"].as_str().unwrap().ends_with("Then nobody is given that."), "{turn}");
    let path = ask("edited");
    let wrong = server.post(&path, &json!({"decision": "edit", "params": {"whom": "Boris"}}));
    assert_eq!((wrong.status, wrong.code().as_str()), (422, "bad_edit"));
    assert_eq!(server.post(&path, &json!({"decision": "edit", "params": {"who": "Boris"}})).status, 200);
    server.get("/api/v1/sessions/edited/turn");
    assert_eq!(server.get("/api/v1/sessions/edited/state").json()["tasks"][0]["who"], "Boris");
}

#[test]
fn a_request_repeated_with_its_key_acts_once() {
    let server = Server::start("once", &[]);
    let bearer = format!("Bearer {}", server.token);
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k-1")];
    let make = || server.send("POST", "/api/v1/sessions", &headers, Some(&json!({"agent": "notes"})));
    let (first, again) = (make(), make());
    assert_eq!((first.status, again.status), (201, 200));
    let id = first.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(again.json()["id"], json!(id));
    let path = format!("/api/v1/sessions/{id}/messages");
    let say = |text: &str| server.send("POST", &path, &headers, Some(&json!({"text": text, "wait": true})));
    let (first, again) = (say("Milk").json(), say("Milk").json());
    assert_eq!(first["record"], again["record"]);
    let other = say("Bread");
    assert_eq!((other.status, other.code().as_str()), (422, "id_reused"));
    assert_eq!(server.get(&format!("/api/v1/sessions/{id}/state")).json()["notes"].as_array().unwrap().len(), 1);
}

#[test]
fn events_are_streamed_with_numbers_and_a_fork_starts_at_a_record() {
    let server = Server::start("stream", &[]);
    let session = server.session("s");
    let mut events = server.stream(&session, "0-0");
    server.say(&session, "ask Anna to call the customer");
    let seen = events.until("rested");
    let names: Vec<&str> = seen.iter().map(|event| event.name.as_str()).collect();
    assert!(names.contains(&"user_said") && names.contains(&"question_asked"), "{names:?}");
    let numbered: Vec<&str> = seen.iter().filter_map(|event| event.id.as_deref()).collect();
    let timeline = server.get("/api/v1/sessions/s/timeline").json();
    let told: Vec<&str> = timeline["events"].as_array().unwrap().iter().filter_map(|e| e["number"].as_str()).collect();
    assert_eq!(numbered, told);
    let at = seen.iter().find(|event| event.name == "user_said").unwrap().data["number"].as_str().unwrap();
    let at: u64 = at.split_once('-').unwrap().0.parse().unwrap();
    let fork = server.post("/api/v1/sessions/s/fork", &json!({"id": "other", "at": at - 1}));
    assert_eq!((fork.status, &fork.json()["paused"]), (201, &json!(false)), "{fork:?}");
    assert_eq!(server.say("other", "Milk")["turn"]["text"], "Written down.");
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["notes"], json!([]));
}

#[test]
fn a_session_is_paused_resumed_stopped_and_removed() {
    let server = Server::start("pause", &[]);
    let session = server.session("s");
    let post = |path: &str| server.post(&format!("/api/v1/sessions/{session}/{path}"), &json!({}));
    assert_eq!(post("pause").status, 200);
    let shown = server.get("/api/v1/sessions/s").json();
    assert_eq!((&shown["status"], &shown["paused_by"]), (&json!("paused"), &json!("api:local")));
    assert_eq!(post("resume").status, 200);
    server.say("s", "ask Anna to call the customer");
    assert_eq!(post("stop").status, 200);
    assert_eq!(server.call("DELETE", "/api/v1/sessions/s", None).status, 204);
    assert_eq!(server.get("/api/v1/sessions/s").code(), "unknown_session");
}

#[test]
fn errors_are_in_the_language_of_the_client() {
    let server = Server::start("lang", &[]);
    let english = server.get("/api/v1/sessions/nobody").json();
    assert_eq!(english["error"]["message"], "there is no session `nobody`");
    let russian = server.get("/api/v1/sessions/nobody?lang=ru").json();
    assert_eq!(russian["error"]["message"], "сессии «nobody» нет");
}
