//! Revoked tokens, repeated requests, removed sessions, and attempts to bypass a person.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::client::{Reply, Server, wait_for, write_head};
use super::guard::token;

/// A request with an idempotency key.
fn keyed(server: &Server, key: &str, path: &str, body: &Value) -> Reply {
    let bearer = format!("Bearer {}", server.token);
    server.send("POST", path, &[("authorization", &bearer), ("idempotency-key", key)], Some(body))
}

fn sessions(server: &Server) -> usize {
    server.get("/api/v1/sessions").json()["sessions"].as_array().unwrap().len()
}

#[test]
fn a_stream_ends_with_its_token() {
    let server = Server::start("stream-token", &[]);
    let session = server.session("s");
    let olga = token(&server, "olga", "viewer");
    let mut stream = server.connect();
    let headers = [("authorization", format!("Bearer {olga}"))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    write_head(&mut stream, server.address, "GET", "/api/v1/sessions/s/events", &headers, None);
    wait_for("the stream is open", || server.get("/metrics").body.contains("obelus_streams 1"));
    let removed = super::client::obelus(&["tokens", "rm", "olga", "--store"]).arg(&server.store).output().unwrap();
    assert!(removed.status.success());
    server.say(&session, "said after the removal");
    let told = Reply::read(stream).body;
    assert!(!told.contains("said after"), "{told}");
}

#[test]
fn a_token_file_that_becomes_readable_grants_no_access() {
    let server = Server::start("chmod", &[]);
    assert_eq!(server.get("/api/v1/sessions").status, 200);
    fs::set_permissions(server.store.join("tokens.json"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(server.get("/api/v1/sessions").status, 401);
}

#[test]
fn a_repeated_request_acts_once_in_every_protocol() {
    let server = Server::start("again", &[]);
    let chat = json!({"model": "notes", "messages": [{"role": "user", "content": "The customer called."}]});
    let run = json!({"assistant_id": "notes", "input": "The customer called."});
    let talk = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "talk", "arguments": {"agent": "notes", "message": "The customer called."}}});
    for (made, (path, body)) in (1..).zip([
        ("/v1/chat/completions", &chat),
        ("/runs/wait", &run),
        ("/mcp", &talk),
        ("/threads", &json!({"metadata": {"graph_id": "notes"}})),
    ]) {
        for _ in 0..2 {
            let reply = keyed(&server, &format!("k{made}"), path, body);
            assert_eq!(reply.status, 200, "{path} {reply:?}");
        }
        assert_eq!(sessions(&server), made, "{path}");
    }
    server.session("s");
    let (of, copies) = (sessions(&server), json!({}));
    for path in ["/api/v1/sessions/s/fork", "/threads/s/copy"] {
        let first = keyed(&server, "f", path, &copies);
        let again = keyed(&server, "f", path, &copies);
        assert!(first.status < 300 && again.status == 409, "{path} {first:?} {again:?}");
    }
    assert_eq!(sessions(&server), of + 2);
}

#[test]
fn a_repeated_answer_with_its_digest_gets_the_first_reply() {
    let server = Server::start("answer-again", &[]);
    let session = server.session("s");
    server.say(&session, "ask Anna to call the customer");
    let question = server.get("/api/v1/questions").json()[0].clone();
    let path = format!("/api/v1/questions/{}/answer", question["id"].as_str().unwrap());
    let answer = json!({"decision": "approve", "digest": question["digest"]});
    let (first, again) = (keyed(&server, "z", &path, &answer), keyed(&server, "z", &path, &answer));
    assert_eq!((first.status, first.body), (200, again.body.clone()), "{again:?}");
    assert_eq!(keyed(&server, "y", &path, &answer).code(), "already_decided");
    let old = json!({"decision": "approve", "digest": "another"});
    assert_eq!(keyed(&server, "x", &path, &old).code(), "already_decided");
}

#[test]
fn idempotency_keys_of_two_callers_are_separate() {
    let server = Server::start("keys", &[]);
    let session = server.session("s");
    let oleg = format!("Bearer {}", token(&server, "oleg", "operator"));
    let path = format!("/api/v1/sessions/{session}/messages");
    let words = json!({"text": "Milk", "wait": true});
    let first = keyed(&server, "1", &path, &words).json();
    let headers = [("authorization", oleg.as_str()), ("idempotency-key", "1")];
    let second = server.send("POST", &path, &headers, Some(&words)).json();
    assert_ne!(first["record"], second["record"]);
    let empty = [("authorization", oleg.as_str()), ("idempotency-key", "")];
    assert_eq!(server.send("POST", &path, &empty, Some(&words)).status, 400);
}

#[test]
fn a_run_of_another_protocol_does_not_end_a_persons_pause() {
    let server = Server::start("paused", &[]);
    let session = server.session("s");
    server.say(&session, "ask Anna to call the customer");
    assert_eq!(server.post("/api/v1/sessions/s/pause", &json!({})).status, 200);
    for run in [
        json!({"assistant_id": "notes", "input": "The customer called."}),
        json!({"assistant_id": "notes", "input": null}),
        json!({"assistant_id": "notes", "command": {"resume": {"decisions": [{"type": "approve"}]}}}),
    ] {
        let reply = server.post("/threads/s/runs/wait", &run);
        assert_eq!((reply.status, &reply.json()["code"]), (409, &json!("paused")), "{run}");
    }
    assert_eq!(server.get("/api/v1/sessions/s").json()["paused_by"], "api:local");
}

#[test]
fn a_removed_session_leaves_no_data() {
    let server = Server::start("forgotten", &[]);
    let made = server.post("/threads", &json!({"thread_id": "t", "metadata": {"graph_id": "notes", "private": "x"}}));
    assert_eq!(made.status, 200, "{made:?}");
    let chat = json!({"model": "notes", "messages": [{"role": "user", "content": "Milk"}]});
    let chat = server.post("/v1/chat/completions", &chat);
    let files = |name: &str| fs::read_dir(server.store.join(name)).unwrap().count();
    assert_eq!((files("threads"), files("chats")), (1, 1));
    let mode = |name: &str| fs::metadata(server.store.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("threads"), mode("threads/t.json"), mode("chats")), (0o700, 0o600, 0o700));
    for id in ["t", chat.header("x-session-id").unwrap()] {
        assert_eq!(server.call("DELETE", &format!("/api/v1/sessions/{id}"), None).status, 204);
    }
    assert_eq!((files("threads"), files("chats")), (0, 0));
    assert_eq!(server.get("/threads/t").status, 404);
}

#[test]
fn metadata_that_is_too_large_is_refused_and_hides_no_thread() {
    let server = Server::start("metadata", &[]);
    for id in ["a", "b"] {
        server.session(id);
    }
    let put = |name: &str| server.call("PATCH", "/threads/a", Some(&json!({"metadata": {name: "x".repeat(700_000)}})));
    assert_eq!((put("one").status, put("two").status), (200, 413));
    assert_eq!(server.post("/threads/count", &json!({})).json(), 2);
    // A file of an older version, or a damaged one.
    fs::write(server.store.join("threads/a.json"), "{").unwrap();
    assert_eq!(server.post("/threads/search", &json!({})).json().as_array().unwrap().len(), 1);
    assert_eq!(server.call("DELETE", "/threads/a", None).status, 204);
    assert_eq!(server.get("/threads/a").status, 404);
}

#[test]
fn an_answer_from_its_checkpoint_acts_once() {
    let server = Server::start("checkpoint", &[]);
    let session = server.session("s");
    server.say(&session, "ask Anna to call the customer");
    let head = server.get("/threads/s/state").json()["checkpoint"]["checkpoint_id"].clone();
    let run = |decision: &str| {
        let command = json!({"resume": {"decisions": [{"type": decision}]}});
        server
            .post("/threads/s/runs/wait", &json!({"assistant_id": "notes", "checkpoint_id": head, "command": command}))
    };
    assert_eq!((run("approve").status, run("approve").status), (200, 409));
    assert_eq!(sessions(&server), 1, "nothing is forked for a second answer");
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["tasks"].as_array().unwrap().len(), 1);
    // Another answer makes a branch, in which nothing has happened yet.
    assert_eq!(run("reject").status, 200);
    assert_eq!(sessions(&server), 2);
}

#[test]
fn a_viewer_cannot_answer_on_the_stream_of_another_caller() {
    let server = Server::start("mcp-viewer", &[]);
    let viewer = format!("Bearer {}", token(&server, "vera", "viewer"));
    let answer =
        json!({"jsonrpc": "2.0", "id": "x", "result": {"action": "accept", "content": {"decision": "approve"}}});
    let refused = server.send("POST", "/mcp", &[("authorization", &viewer)], Some(&answer));
    assert_eq!(refused.status, 400, "{refused:?}");
}
