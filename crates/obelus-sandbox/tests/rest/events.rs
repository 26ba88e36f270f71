//! Events are sent to bound handlers, once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use obelus_sandbox::{Events, SandboxOptions};
use serde_json::json;

use crate::support::TestPortal;

/// Receives one form and answers it.
fn receive_form(listener: &TcpListener) -> String {
    let (stream, _) = listener.accept().expect("a delivery");
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the form");
    reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").expect("it reads");
    String::from_utf8(body).expect("text").replace("%5B", "[").replace("%5D", "]")
}

#[test]
fn a_handler_receives_id_and_token_until_it_is_unbound() {
    let portal = TestPortal::with(SandboxOptions {
        rate: false,
        application_token: "secret7".to_owned(),
        ..SandboxOptions::default()
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let handler = format!("http://{}/event", listener.local_addr().expect("an address"));
    let bind = json!({"event": "onCrmDealUpdate", "handler": handler});
    assert_eq!(portal.call("event.bind", &bind), json!(true));
    assert_eq!(portal.fault("event.bind", &bind).1, "ERROR_CORE", "it is bound already");
    let bound = portal.call("event.get", &json!({}));
    assert_eq!(bound, json!([{"event": "ONCRMDEALUPDATE", "handler": handler, "auth_type": "0", "offline": 0}]));

    portal.call("crm.deal.add", &json!({"fields": {"TITLE": "не о том"}}));
    portal.call("crm.deal.update", &json!({"id": 3, "fields": {"TITLE": "Новое название"}}));
    let form = receive_form(&listener);
    for part in [
        "event=ONCRMDEALUPDATE&",
        "&data[FIELDS][ID]=3&",
        "&auth[application_token]=secret7",
        "&ts=",
        "event_handler_id=1&",
    ] {
        assert!(form.contains(part), "no {part} in {form}");
    }
    assert!(!form.contains("TITLE"), "{form}");

    // Failed calls and unbound events send nothing: the next form is the next event.
    portal.fault("crm.deal.update", &json!({"id": 4, "fields": {"STAGE_ID": "NOPE"}}));
    portal.call("batch", &json!({"cmd": ["crm.deal.update?id=5&fields[TITLE]=x"]}));
    assert!(receive_form(&listener).contains("data[FIELDS][ID]=5&"));
    assert_eq!(portal.call("event.unbind", &bind), json!({"count": 1}));
    assert_eq!(portal.call("event.unbind", &bind), json!({"count": 0}));
    portal.call("event.bind", &json!({"event": "ONTASKADD", "handler": handler}));
    portal.call("crm.deal.update", &json!({"id": 6, "fields": {"TITLE": "x"}}));
    portal.call("tasks.task.add", &json!({"fields": {"TITLE": "x", "RESPONSIBLE_ID": 1}}));
    let form = receive_form(&listener);
    assert!(form.starts_with("event=ONTASKADD&") && form.contains("data[FIELDS_AFTER][ID]=37"), "{form}");
}

#[test]
fn a_strict_portal_refuses_event_methods_to_webhooks() {
    let portal = TestPortal::with(SandboxOptions { rate: false, events: Events::Strict, ..SandboxOptions::default() });
    for method in ["event.bind", "event.get", "event.unbind"] {
        let fault = portal.fault(method, &json!({"event": "onCrmDealAdd", "handler": "http://example.test/"}));
        assert_eq!((fault.0, fault.1.as_str()), (403, "WRONG_AUTH_TYPE"), "{method}");
    }
}
