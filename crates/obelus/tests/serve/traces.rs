//! Traces, received by a collector of the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::client::{Server, wait_for};

/// A collector: the received data and its address.
fn collector() -> (Arc<Mutex<Vec<Value>>>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let spans = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&spans);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut length, mut line) = (0, String::new());
            assert!(reader.read_line(&mut line).is_ok_and(|_| line.starts_with("POST /v1/traces ")), "{line}");
            while line.trim_end() != "" {
                line.clear();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let part = &body["resourceSpans"][0];
            assert_eq!(
                part["resource"]["attributes"][0],
                json!({"key": "service.name", "value": {"stringValue": "obelus"}})
            );
            taken.lock().unwrap().extend(part["scopeSpans"][0]["spans"].as_array().unwrap().iter().cloned());
            let _ = reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}");
        }
    });
    (spans, address)
}

fn attribute<'a>(span: &'a Value, name: &str) -> Option<&'a str> {
    let found = span["attributes"].as_array()?.iter().find(|attribute| attribute["key"] == name)?;
    found["value"]["stringValue"].as_str()
}

/// The spans of one turn, by their names.
fn turn_with(args: &[&str], name: &str) -> Vec<Value> {
    let (spans, address) = collector();
    let server = Server::start(name, &[&["--otlp", &address], args].concat());
    let session = server.session("s");
    server.say(&session, "The customer called");
    wait_for("the turn is traced", || {
        spans.lock().unwrap().iter().any(|span| span["name"].as_str().unwrap().starts_with("invoke_agent"))
    });
    let spans = spans.lock().unwrap();
    spans.clone()
}

#[test]
fn a_turn_is_a_trace_without_its_content() {
    let spans = turn_with(&[], "traces");
    let named =
        |name: &str| spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with(name)).collect::<Vec<_>>();
    let turn = named("invoke_agent notes")[0];
    assert_eq!(attribute(turn, "gen_ai.conversation.id"), Some("s"));
    let (chats, calls) = (named("chat playbook"), named("execute_tool add_note"));
    assert_eq!((chats.len(), calls.len()), (2, 1), "{spans:#?}");
    assert_eq!(attribute(calls[0], "gen_ai.tool.name"), Some("add_note"));
    for span in chats.iter().chain(&calls) {
        assert_eq!((&span["traceId"], &span["parentSpanId"]), (&turn["traceId"], &turn["spanId"]));
    }
    for span in &spans {
        let (trace, id) = (span["traceId"].as_str().unwrap(), span["spanId"].as_str().unwrap());
        assert_eq!((trace.len(), id.len()), (32, 16));
        let number = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(number("startTimeUnixNano") <= number("endTimeUnixNano"));
    }
    assert!(!json!(spans).to_string().contains("customer"), "no content unless it is asked for");
}

#[test]
fn trace_content_is_sent_only_if_enabled() {
    let text = json!(turn_with(&["--otlp-content"], "traces-content")).to_string();
    assert!(text.contains("The customer called") && text.contains("Written down."), "{text}");
}

#[test]
fn an_unreachable_collector_delays_nothing() {
    let server = Server::start("traces-down", &["--otlp", "http://127.0.0.1:9"]);
    let session = server.session("s");
    assert_eq!(server.say(&session, "Milk")["turn"]["text"], "Written down.");
}
