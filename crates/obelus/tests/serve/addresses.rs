//! Addresses in requests of the compatible protocols: each field that could be one is refused or ignored, and the
//! server connects to none. The fields of our own API are listed beside its routes.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Server;

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// The request is refused.
    Refused,
    /// The request is carried out without it.
    Ignored,
}

use Fate::{Ignored, Refused};

/// What became of a request with this status.
fn fate(status: u16) -> Fate {
    match status {
        200 => Ignored,
        400..500 => Refused,
        other => panic!("status {other}"),
    }
}

/// `base` with more fields.
fn with(base: &Value, more: &Value) -> Value {
    let mut body = base.clone();
    let fields = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    body
}

/// Fields of a run of LangGraph, each with what becomes of it.
fn run_fields(url: &str) -> Vec<(Value, Fate)> {
    let picture = json!([{"type": "image_url", "image_url": {"url": url}}]);
    let said = |content: Value| json!({"input": {"messages": [{"role": "user", "content": content}]}});
    vec![
        (json!({"webhook": url}), Refused),
        (json!({"interrupt_before": [url]}), Refused),
        (json!({"command": {"goto": url}, "input": null}), Refused),
        (json!({"command": {"update": {"url": url}}, "input": null}), Refused),
        (said(picture), Refused),
        (json!({"assistant_id": url}), Refused),
        (json!({"config": {"configurable": {"webhook": url, "base_url": url, "model": url}, "tags": [url]}}), Ignored),
        (json!({"context": {"base_url": url, "mcp_servers": [{"url": url}]}}), Ignored),
        (json!({"metadata": {"webhook": url, "callback": url}}), Ignored),
        (json!({"langsmith_tracer": {"project_name": url, "endpoint": url}, "callbacks": [url]}), Ignored),
        (json!({"on_completion": url, "on_disconnect": url, "feedback_keys": [url]}), Ignored),
        (said(json!(format!("Milk, see {url}"))), Ignored),
    ]
}

/// Fields of a completion of OpenAI's protocol.
fn completion_fields(url: &str) -> Vec<(Value, Fate)> {
    let said = |part: Value| json!({"messages": [{"role": "user", "content": [part]}]});
    vec![
        (said(json!({"type": "image_url", "image_url": {"url": url}})), Refused),
        (said(json!({"type": "file", "file": {"file_id": url, "file_url": url}})), Refused),
        (said(json!({"type": "input_audio", "input_audio": {"data": url}})), Refused),
        (json!({"tools": [{"type": "mcp", "server_url": url}]}), Refused),
        (json!({"functions": [{"name": "f", "parameters": {"$ref": url}}]}), Refused),
        (json!({"response_format": {"type": "json_schema", "json_schema": {"$ref": url}}}), Refused),
        (json!({"model": url}), Refused),
        (json!({"tool_choice": {"type": "mcp", "server_url": url}, "web_search_options": {"url": url}}), Ignored),
        (json!({"metadata": {"webhook": url}, "user": url, "store": url}), Ignored),
        (json!({"audio": {"voice": url}, "prediction": {"content": url}, "base_url": url}), Ignored),
        (said(json!({"type": "text", "text": format!("Milk, see {url}")})), Ignored),
    ]
}

/// Requests to MCP: the method, its parameters, and whether the answer is an error.
fn mcp_requests(url: &str) -> Vec<(&'static str, Value, bool)> {
    let talk = |arguments: Value| json!({"name": "talk", "arguments": arguments});
    let about = json!({"name": "c", "version": "1", "websiteUrl": url, "icons": [{"src": url}]});
    vec![
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "clientInfo": about, "capabilities": {"roots": {"uri": url}}}),
            false,
        ),
        ("tools/call", talk(json!({"agent": "notes", "message": "Milk", "callback": url})), true),
        ("tools/call", talk(json!({"agent": url, "message": "Milk"})), true),
        ("tools/call", talk(json!({"agent": "notes", "message": format!("Milk, see {url}")})), false),
        ("tools/call", json!({"name": url, "arguments": {}}), true),
        ("tools/list", json!({"cursor": url, "_meta": {"progressToken": url}}), false),
        ("resources/read", json!({"uri": url}), true),
        ("resources/subscribe", json!({"uri": url}), true),
        ("completion/complete", json!({"ref": {"type": "ref/resource", "uri": url}}), true),
    ]
}

#[test]
fn no_field_of_a_compatible_protocol_makes_the_server_connect_to_an_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/called", listener.local_addr().unwrap());
    let server = Server::start("addresses", &[]);

    let run = json!({"assistant_id": "notes", "input": {"messages": [{"role": "user", "content": "Milk"}]}});
    for (fields, expected) in run_fields(&url) {
        let body = with(&run, &fields);
        assert_eq!(fate(server.post("/runs/wait", &body).status), expected, "{fields}");
    }
    let thread = json!({"metadata": {"webhook": url}, "ttl": {"url": url}, "thread_id": "t"});
    assert_eq!(server.post("/threads", &thread).status, 200);
    assert_eq!(server.post("/threads", &json!({"supersteps": [{"url": url}]})).status, 422);
    assert_eq!(server.post("/threads/search", &json!({"metadata": {"webhook": url}, "sort_by": url})).status, 200);
    assert_eq!(server.post("/assistants", &json!({"graph_id": "notes", "config": {"url": url}})).status, 422);

    let completion = json!({"model": "notes", "messages": [{"role": "user", "content": "Milk"}]});
    for (fields, expected) in completion_fields(&url) {
        let body = with(&completion, &fields);
        assert_eq!(fate(server.post("/v1/chat/completions", &body).status), expected, "{fields}");
    }

    for (method, params, is_error) in mcp_requests(&url) {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = server.post("/mcp", &request).json();
        let failed = !answer["error"].is_null() || answer["result"]["isError"] == true;
        assert_eq!(failed, is_error, "{method} {params}: {answer}");
    }

    // Whatever was begun beside an answer has had time to connect.
    std::thread::sleep(Duration::from_millis(500));
    let nobody = listener.accept().map(drop).unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::WouldBlock, "the server connected to an address of a request");
}
