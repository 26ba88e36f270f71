//! Single promises of the API, and its errors for impossible requests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{Server, folder};
use super::guard::token;

const AGENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/agents");

/// A folder with the agent `desk` and one change in its file.
fn changed_desk(name: &str, from: &str, to: &str) -> PathBuf {
    let agents = folder(name);
    fs::create_dir(agents.join("desk")).unwrap();
    for file in ["agent.yaml", "playbook.yaml"] {
        let text = fs::read_to_string(Path::new(AGENTS).join("desk").join(file)).unwrap();
        fs::write(agents.join("desk").join(file), text.replace(from, to)).unwrap();
    }
    agents
}

#[test]
fn a_new_session_has_the_requested_options_or_is_refused() {
    let agents = changed_desk("asked-agents", "language: en", "language: [ru, en]");
    let server = Server::start("asked-for", &["--agents", agents.to_str().unwrap()]);
    let make = |body: Value| server.post("/api/v1/sessions", &body);
    for (body, words) in
        [(json!({}), "`agent` is missing"), (json!({"agent": "desk", "lang": "de"}), "`lang` is `ru` or `en`")]
    {
        let refused = make(body);
        assert!(refused.status == 400 && refused.body.contains(words), "{refused:?}");
    }
    for lang in ["ru", "en"] {
        let made = make(json!({"agent": "desk", "id": lang, "lang": lang})).json();
        let kept = server.get(&format!("/api/v1/sessions/{lang}")).json();
        assert_eq!((&made["lang"], &kept["lang"]), (&json!(lang), &json!(lang)));
    }
    let wrong = server.send("GET", "/api/v1/sessions", &[("authorization", "Bearer nope")], None);
    assert!(wrong.status == 401 && wrong.body.contains("this token is not known"), "{wrong:?}");
    assert!(server.send("GET", "/api/v1/sessions", &[], None).body.contains("a token is needed"));
    let missing = server.get("/api/v1/sessions/ru/provenance");
    assert!(missing.status == 400 && missing.body.contains("`path` is missing in the query"), "{missing:?}");
}

#[test]
fn only_an_admin_can_raise_the_mode_and_a_fork_keeps_it() {
    let agents = changed_desk("modes-agents", "mode: full", "mode: shadow");
    let server = Server::start("modes", &["--agents", agents.to_str().unwrap()]);
    let oleg = format!("Bearer {}", token(&server, "oleg", "operator"));
    let (lowered, raised) =
        (json!({"agent": "desk", "mode": "shadow", "id": "low"}), json!({"agent": "desk", "mode": "full"}));
    let by_oleg =
        |body: &Value| server.send("POST", "/api/v1/sessions", &[("authorization", &oleg)], Some(body)).status;
    assert_eq!((by_oleg(&lowered), by_oleg(&raised)), (201, 403));
    let mode = |id: &str| server.get(&format!("/api/v1/sessions/{id}")).json()["mode"].clone();
    let full = server.post("/api/v1/sessions", &json!({"agent": "desk", "mode": "full", "id": "full"}));
    assert_eq!((full.status, mode("full")), (201, json!("full")));
    let forked = server.post("/api/v1/sessions/full/fork", &json!({"id": "again", "at": 0}));
    assert_eq!((forked.status, mode("again")), (201, json!("full")), "{forked:?}");
    // Both fields of a fork and the body itself are optional.
    assert_eq!(server.call("POST", "/api/v1/sessions/full/fork", None).status, 201);
}

#[test]
fn a_paused_session_is_shown_as_paused_and_events_use_full_question_ids() {
    let server = Server::start("paused-says", &[]);
    server.session("s");
    server.say("s", "ask Anna to call the customer");
    let events = server.get("/api/v1/sessions/s/timeline").json()["events"].clone();
    let asked = events.as_array().unwrap().iter().find(|event| event["event"] == "question_asked").unwrap();
    assert_eq!((&asked["question"]["id"], &asked["question_id"]), (&json!("q1"), &json!("s:q1")));
    let rested = events.as_array().unwrap().iter().rfind(|event| event["event"] == "rested").unwrap();
    assert_eq!(rested["waiting_ids"], json!(["s:q1"]));
    // After the message, before the model's answer.
    assert_eq!(server.post("/api/v1/sessions/s/fork", &json!({"id": "f", "at": 1})).json()["paused"], true);
    let put = server.call("PUT", "/api/v1/sessions/f/state", Some(&json!({"state": {"notes": []}})));
    assert_eq!((put.status, put.code()), (409, "paused".to_owned()), "{put:?}");
    let said = server.post("/api/v1/sessions/f/messages", &json!({"text": "Milk", "wait": true, "timeout": 600}));
    assert!(said.status == 202 && said.json()["paused_by"].is_string(), "{said:?}");
    assert_eq!(server.get("/api/v1/sessions/f/turn?timeout=600").status, 204);
}

#[test]
fn mcp_tools_name_the_wrong_argument() {
    let server = Server::start("arguments", &[]);
    let call = |arguments: Value| {
        let params = json!({"name": "talk", "arguments": arguments});
        let reply = server.post("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        reply.json()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    assert!(call(json!({"agent": "notes", "text": "Milk"})).contains("there is no argument `text`"));
    assert!(call(json!({"agent": "notes"})).contains("`message` is missing"));
    assert!(call(json!({"message": "Milk"})).contains("`agent`, or `session`, is missing"));
}

#[test]
fn threads_are_searched_by_status_and_metadata_with_a_limit() {
    let server = Server::start("search", &[]);
    for id in ["a", "b", "c"] {
        server.session(id);
    }
    server.say("b", "ask Anna to call the customer");
    server.call("PATCH", "/threads/c", Some(&json!({"metadata": {"team": "x"}})));
    let find = |query: Value| -> Vec<String> {
        let found = server.post("/threads/search", &query).json();
        let ids = found.as_array().unwrap().iter().filter_map(|thread| thread["thread_id"].as_str());
        assert_eq!(server.post("/threads/count", &query).status, 200);
        ids.map(str::to_owned).collect()
    };
    assert_eq!(find(json!({"status": "interrupted"})), ["b"]);
    assert_eq!(find(json!({"status": "idle"})), ["c", "a"]);
    assert_eq!(find(json!({"status": "idle", "offset": 1})), ["a"]);
    assert_eq!(find(json!({"limit": 1, "offset": 1})), ["b"]);
    assert_eq!(find(json!({"metadata": {"team": "x", "graph_id": "notes"}})), ["c"]);
    assert!(find(json!({"metadata": {"graph_id": "crm"}})).is_empty());
    assert_eq!(server.post("/threads/count", &json!({"status": "idle"})).json(), 2);
}

#[test]
fn both_spellings_of_did_not_are_read() {
    let server = Server::start("did-not", &[]);
    server.session("s");
    server.say("s", "ask Anna to call the customer");
    let digest = server.get("/api/v1/questions").json()[0]["digest"].clone();
    for decision in ["did_not", "did-not"] {
        let body = json!({"decision": decision, "digest": digest});
        let refused = server.post("/api/v1/questions/s:q1/answer", &body);
        assert_eq!(refused.code(), "unfit_answer", "it is read, and does not answer this question: {refused:?}");
    }
}

#[test]
fn a_broken_agent_is_named_at_the_start_and_the_others_are_served() {
    let agents = changed_desk("broken-agents", "language: en", "langauge: en");
    let log = agents.join("stderr");
    let server = Server::logged(folder("broken"), &["--agents", agents.to_str().unwrap()], &log);
    let said = fs::read_to_string(&log).unwrap();
    assert!(said.contains("warning: the agent `desk` cannot be used: "), "{said}");
    assert!(said.contains("langauge"), "{said}");
    assert_eq!(server.get("/api/v1/agents/notes").status, 200);
}
