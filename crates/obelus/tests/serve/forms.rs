//! MCP clients that can show their user a form: only the user decides.

use std::fs;

use serde_json::{Value, json};

use super::client::{Server, folder};

/// Calls a tool as a client that can show a form. `more` has the user's answer.
fn call(server: &Server, tool: &str, arguments: Value, more: Value) -> Value {
    let bearer = format!("Bearer {}", server.token);
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let mut params = json!({"name": tool, "arguments": arguments,
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    server.send("POST", "/mcp", &headers, Some(&call)).json()["result"].clone()
}

/// The text of the form in a result.
fn form(result: &Value) -> &str {
    result["inputRequests"]["question"]["params"]["message"].as_str().unwrap_or_else(|| panic!("no form: {result}"))
}

/// The user's answer to the form of a result.
fn answer(result: &Value, action: &str, decision: &str) -> Value {
    json!({"requestState": result["requestState"],
        "inputResponses": {"question": {"action": action, "content": {"decision": decision}}}})
}

fn tasks(server: &Server, session: &str) -> Value {
    server.get(&format!("/api/v1/sessions/{session}/state")).json()["tasks"].clone()
}

#[test]
fn an_edit_by_a_model_counts_only_after_the_user_has_approved_it_in_the_form() {
    let server = Server::start("form-edit", &[]);
    for (session, decision, wanted) in
        [("a", "approve", json!([{"who": "Boris", "what": "call the customer"}])), ("d", "deny", json!([]))]
    {
        server.session(session);
        server.say(session, "ask Anna to call the customer");
        let question = server.get(&format!("/api/v1/questions/{session}:q1")).json();
        let edit = json!({"question": question["id"], "digest": question["digest"], "decision": "edit", "params": {"who": "Boris"}});
        let asked = call(&server, "decide", edit.clone(), json!({}));
        assert!(form(&asked).contains("Boris"), "the form shows the edited call: {asked}");
        assert_eq!(tasks(&server, session), json!([]), "nothing runs before the user has decided");
        let other = json!({"question": question["id"], "digest": "0".repeat(32), "decision": "edit", "params": {"who": "Boris"}});
        assert!(call(&server, "decide", other, json!({})).to_string().contains("changed"));
        let done = call(&server, "decide", edit, answer(&asked, "accept", decision));
        assert_eq!(done["isError"], false, "{done}");
        assert_eq!(tasks(&server, session), wanted, "{decision}");
    }
}

#[test]
fn a_value_by_a_model_is_shown_and_counts_only_after_the_user_has_approved_it() {
    let store = folder("form-value");
    let agents = store.join("agents");
    fs::create_dir_all(agents.join("asks")).unwrap();
    fs::write(agents.join("asks/agent.yaml"), ASKS).unwrap();
    let server = Server::over(store.join("store"), &["--agents", agents.to_str().unwrap()]);
    assert_eq!(server.post("/api/v1/sessions", &json!({"agent": "asks", "id": "s"})).status, 201);
    server.say("s", "begin");
    let question = server.get("/api/v1/questions/s:q1").json();
    let value = json!({"question": "s:q1", "digest": question["digest"], "decision": "value", "value": "Boris"});
    let asked = call(&server, "decide", value.clone(), json!({}));
    assert!(form(&asked).contains(r#"{"value":"Boris"}"#), "{asked}");
    assert_eq!(server.get("/api/v1/questions/s:q1").json()["status"], "requested");
    call(&server, "decide", value, answer(&asked, "accept", "approve"));
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["who"], "Boris");
}

const ASKS: &str = "
name: asks
language: en
mode: full
state: {schema: {type: object, properties: {who: {type: string}}}}
graph:
  start: ask
  nodes:
    ask:
      ask: {question: Who comes?, schema: {type: string}}
      _outputPath: †state.who
      next: [{to: done}]
    done:
      end: {name: done, reply: Thank you.}
";

#[test]
fn a_model_cannot_approve_in_words_after_the_user_closed_the_form() {
    let store = folder("form-words");
    let agents = store.join("agents");
    fs::create_dir_all(agents.join("wiper")).unwrap();
    fs::write(agents.join("wiper/agent.yaml"), WIPER).unwrap();
    fs::write(agents.join("wiper/playbook.yaml"), WIPES).unwrap();
    let server = Server::over(store.join("store"), &["--agents", agents.to_str().unwrap()]);
    let begin = json!({"agent": "wiper", "message": "wipe"});
    let asked = call(&server, "talk", begin.clone(), json!({}));
    let closed = call(&server, "talk", begin, answer(&asked, "cancel", ""));
    let session = closed["structuredContent"]["session"].as_str().unwrap_or_else(|| panic!("{closed}"));
    for words in ["yes", "Yes, please.", "да"] {
        let refused = call(&server, "talk", json!({"session": session, "message": words}), json!({}));
        assert!(refused["isError"] == true && refused.to_string().contains("`decide`"), "{words}: {refused}");
    }
    let id = format!("/api/v1/questions/{session}:q1");
    assert_eq!(server.get(&id).json()["status"], "requested");
    // A client without forms talks with the rights of its token, as documented.
    server.say(session, "yes");
    assert_eq!(server.get(&id).json()["status"], "approved");
}

const WIPER: &str = "
name: wiper
language: en
mode: full
model: playbook:playbook.yaml
tools:
  wipe: {type: object, properties: {what: {type: string}}, x-effect: delete}
activities:
  wipe: {jq: '{done: true}'}
";

const WIPES: &str = "
- when: '[.plan[]] == []'
  answer: {calls: [{_tool: wipe, what: all}]}
- answer: {output: Is that right?}
";
