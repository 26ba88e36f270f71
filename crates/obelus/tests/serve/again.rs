//! Requests that are repeated, or that come after a decision: they act once, and only as shown.

use std::io::{BufRead, BufReader, Write as _};

use serde_json::{Value, json};

use super::client::{Reply, Server, obelus, write_head};
use super::guard::token;

/// A request with an idempotency key.
fn keyed(server: &Server, key: &str, path: &str, body: &Value) -> Reply {
    let bearer = format!("Bearer {}", server.token);
    server.send("POST", path, &[("authorization", &bearer), ("idempotency-key", key)], Some(body))
}

fn tasks(server: &Server, session: &str) -> usize {
    let state = server.get(&format!("/api/v1/sessions/{session}/state")).json();
    state["tasks"].as_array().map_or(0, Vec::len)
}

fn sessions(server: &Server) -> usize {
    server.get("/api/v1/sessions").json()["sessions"].as_array().unwrap().len()
}

/// A session with an open question, and its checkpoint.
fn asking(server: &Server, id: &str) -> Value {
    server.session(id);
    server.say(id, "ask Anna to call the customer");
    server.get(&format!("/threads/{id}/state")).json()
}

#[test]
fn an_approval_at_a_checkpoint_acts_once_without_a_fork() {
    let server = Server::start("yes-once", &[]);
    let yes = json!({"decisions": [{"type": "approve"}]});
    for (id, is_keyed, by_interrupt) in [("a", true, false), ("b", false, false), ("c", false, true)] {
        let state = asking(&server, id);
        let resume =
            if by_interrupt { json!({state["interrupts"][0]["id"].as_str().unwrap(): yes}) } else { yes.clone() };
        let checkpoint = &state["checkpoint"]["checkpoint_id"];
        let run = json!({"assistant_id": "notes", "checkpoint_id": checkpoint, "command": {"resume": resume}});
        let before = sessions(&server);
        let path = format!("/threads/{id}/runs/wait");
        let send = || if is_keyed { keyed(&server, "k", &path, &run) } else { server.post(&path, &run) };
        let (first, again) = (send(), send());
        assert_eq!((first.status, again.status), (200, if is_keyed { 200 } else { 409 }), "{id} {again:?}");
        assert_eq!((tasks(&server, id), sessions(&server)), (1, before), "{id}");
        assert_eq!(server.get(&format!("/threads/{id}")).json()["status"], "idle", "{id}");
    }
    // The same without a checkpoint.
    asking(&server, "d");
    let run = json!({"assistant_id": "notes", "command": {"resume": yes}});
    for key in ["k", "k", "other"] {
        let status = keyed(&server, key, "/threads/d/runs/wait", &run).status;
        assert_eq!(status, if key == "k" { 200 } else { 409 }, "{key}");
    }
    assert_eq!(tasks(&server, "d"), 1);
}

#[test]
fn dur_13_a_repeated_message_gets_the_turn_of_the_first_one() {
    let server = Server::start("again-turn", &[]);
    server.session("m");
    let say = |key: &str, text: &str| {
        let reply = keyed(&server, key, "/api/v1/sessions/m/messages", &json!({"text": text, "wait": true}));
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    };
    let first = say("k1", "the customer called");
    assert_eq!(first["turn"]["waiting"], json!([]), "{first}");
    let second = say("k2", "ask Anna to call Bob");
    assert_eq!(second["turn"]["waiting"], json!(["m:q1"]), "{second}");
    assert_eq!(say("k1", "the customer called"), first);
    assert_eq!(say("k2", "ask Anna to call Bob"), second);
}

#[test]
fn a_resume_without_an_id_approves_only_the_question_that_the_client_was_shown() {
    let server = Server::start("yes-shown", &[]);
    asking(&server, "s");
    let yes = json!({"assistant_id": "notes", "command": {"resume": {"decisions": [{"type": "approve"}]}}});
    // Somebody else denies that question, and the agent comes to ask another one.
    let question = server.get("/api/v1/questions/s:q1").json();
    let no = json!({"decision": "deny", "digest": question["digest"]});
    assert_eq!(server.post("/api/v1/questions/s:q1/answer", &no).status, 200);
    server.say("s", "ask Boris to call the customer");
    let refused = server.post("/threads/s/runs/wait", &yes);
    assert_eq!((refused.status, refused.body.contains("last shown")), (400, true), "{refused:?}");
    let bearer = format!("Bearer {}", token(&server, "olga", "operator"));
    let other = server.send("POST", "/threads/s/runs/wait", &[("authorization", &bearer)], Some(&yes));
    assert_eq!((other.status, tasks(&server, "s")), (400, 0), "what one token was shown says nothing about another");
    server.get("/threads/s/state");
    assert_eq!((server.post("/threads/s/runs/wait", &yes).status, tasks(&server, "s")), (200, 1));
}

#[test]
fn a_message_repeated_at_a_checkpoint_with_its_key_is_processed_once() {
    let server = Server::start("words-once", &[]);
    server.session("s");
    server.say("s", "Milk");
    let head = server.get("/threads/s/state").json()["checkpoint"]["checkpoint_id"].clone();
    let run = |words: &str| json!({"assistant_id": "notes", "checkpoint_id": head, "input": words});
    for _ in 0..2 {
        assert_eq!(keyed(&server, "here", "/threads/s/runs/wait", &run("Bread")).status, 200);
    }
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["notes"].as_array().unwrap().len(), 2);
    // Another run from that checkpoint makes one branch only.
    for _ in 0..2 {
        let values = keyed(&server, "branch", "/threads/s/runs/wait", &run("Tea")).body;
        assert!(values.contains(r#""notes":[{"text":"Milk"},{"text":"Tea"}]"#), "{values}");
    }
    assert_eq!(sessions(&server), 2);
}

#[test]
fn a_put_state_replaces_the_former_one() {
    let server = Server::start("put-state", &[]);
    server.session("s");
    server.say("s", "Milk");
    let put = |state: Value| server.call("PUT", "/api/v1/sessions/s/state", Some(&json!({"state": state})));
    assert_eq!(put(json!({"notes": [{"text": "Tea"}], "tasks": [], "more": 1})).status, 200);
    let state = json!({"notes": [{"text": "Bread"}], "tasks": []});
    assert_eq!(put(state.clone()).status, 200);
    assert_eq!(server.get("/api/v1/sessions/s/state").json(), state);
    let values = json!({"values": {"state": {"notes": [], "tasks": [], "other": 2}}});
    assert_eq!(server.post("/threads/s/state", &values).status, 200);
    assert_eq!(server.get("/api/v1/sessions/s/state").json(), values["values"]["state"]);
    server.say("s", "Sugar");
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["notes"].as_array().unwrap().len(), 1);
}

#[test]
fn conversations_with_the_same_beginning_stay_separate() {
    let server = Server::start("alike", &[]);
    let say = |messages: &[(&str, &str)]| {
        let message = |(role, content): &(&str, &str)| json!({"role": role, "content": content});
        let body = json!({"model": "notes", "messages": messages.iter().map(message).collect::<Vec<_>>()});
        let reply = server.post("/v1/chat/completions", &body);
        assert_eq!(reply.status, 200, "{reply:?}");
        let words = reply.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
        (reply.header("x-session-id").unwrap().to_owned(), words)
    };
    let (one, said) = say(&[("user", "hello")]);
    let (other, marked) = say(&[("user", "hello")]);
    assert!(one != other && said != marked && marked.starts_with(&said), "{said} {marked}");
    let goes_on = |said: &str| say(&[("user", "hello"), ("assistant", said), ("user", "The code is 4711")]).0;
    assert_eq!((goes_on(&said), goes_on(&marked)), (one.clone(), other));
    assert_eq!(server.call("DELETE", &format!("/api/v1/sessions/{one}"), None).status, 204);
    assert_eq!(say(&[("user", "hello")]).1, said, "nothing is left to be told apart from");
}

#[test]
fn a_person_with_a_revoked_role_cannot_answer_earlier_questions() {
    let server = Server::start("demoted", &[]);
    asking(&server, "s");
    let question = server.get("/api/v1/questions/s:q1").json();
    let olga = format!("Bearer {}", token(&server, "olga", "operator"));
    let headers = [("authorization", olga.as_str())];
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "x", "version": "1"}}});
    let hello = server.send("POST", "/mcp", &headers, Some(&hello));
    let client = hello.header("mcp-session-id").unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "decide",
        "arguments": {"question": "s:q1", "digest": question["digest"], "decision": "approve"}}});
    let call = call.to_string();
    let mut stream = server.connect();
    let all = [headers[0], ("mcp-session-id", client), ("content-type", "application/json")];
    write_head(&mut stream, server.address, "POST", "/mcp", &all, Some(call.len()));
    stream.write_all(call.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut data = || lines.find_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok()).unwrap();
    let asked = data();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"decision": "approve"}}});
    let as_role = |role: &str| {
        let removed = obelus(&["tokens", "rm", "olga", "--store"]).arg(&server.store).output().unwrap();
        assert!(removed.status.success());
        let olga = format!("Bearer {}", token(&server, "olga", role));
        server.send("POST", "/mcp", &[("authorization", olga.as_str())], Some(&answer)).status
    };
    assert_eq!(as_role("viewer"), 400, "a viewer answers nothing");
    assert_eq!(as_role("operator"), 202);
    assert!(data()["error"].is_object(), "the call was begun with a token that permits nothing any more");
    assert_eq!(server.get("/api/v1/questions/s:q1").json()["status"], "requested");
}

#[test]
fn an_answer_within_a_repeated_tool_call_counts_once() {
    let server = Server::start("mcp-once", &[]);
    server.session("s");
    let bearer = format!("Bearer {}", server.token);
    let headers = |key: &'static str| {
        let modern = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "talk")];
        [("authorization", bearer.as_str()), ("idempotency-key", key)].into_iter().chain(modern).collect::<Vec<_>>()
    };
    let call = |key, more: Value| {
        let mut params = json!({"name": "talk", "arguments": {"session": "s", "message": "ask Anna to call the customer"},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        server.send("POST", "/mcp", &headers(key), Some(&call)).json()
    };
    let asked = call("k", json!({}));
    let state = &asked["result"]["requestState"];
    assert!(state.is_string(), "{asked}");
    let yes = json!({"question": {"action": "accept", "content": {"decision": "approve"}}});
    let answer = |key| call(key, json!({"requestState": state, "inputResponses": yes}));
    // The client repeats its tool call with the answer, under the key of the call.
    let (first, again, other) = (answer("k"), answer("k"), answer("other"));
    assert_eq!((&first["result"]["isError"], &first["result"]), (&json!(false), &again["result"]), "{again}");
    assert!(other.to_string().contains("already_decided"), "{other}");
    assert_eq!(tasks(&server, "s"), 1);
}
