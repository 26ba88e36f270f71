//! Events from the sandbox portal, delivered to the event receiver as a real portal would.

#![cfg(feature = "bitrix24")]

use std::net::SocketAddr;

use obelus_connect::bitrix24::{EventListener, event_words};
use obelus_runtime::{Language, Secret};
use obelus_sandbox::{Portal, SandboxOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends a raw request; returns the status and the body.
async fn send(to: SocketAddr, method: &str, path: &str, kind: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    // A server that refuses a request may not read all of it.
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

async fn call(portal: &Portal, method: &str, params: Value) -> String {
    let path = format!("/{}{method}", portal.base_url().splitn(4, '/').nth(3).unwrap());
    let (status, body) = send(portal.address(), "POST", &path, "application/json", &params.to_string()).await;
    assert_eq!(status, 200, "{method}: {body}");
    body
}

async fn listener(token: &str) -> EventListener {
    EventListener::open(SocketAddr::from(([127, 0, 0, 1], 0)), Secret::new(token)).await.unwrap()
}

#[tokio::test]
async fn events_of_the_portal_reach_the_listener() {
    let portal = Portal::start(SandboxOptions::default()).await.unwrap();
    let mut listener = listener(portal.application_token()).await;
    let handler = format!("http://{}/hook", listener.address());
    for event in ["onCrmDealAdd", "onCrmDealUpdate", "onTaskAdd"] {
        call(&portal, "event.bind", json!({"event": event, "handler": handler})).await;
    }
    call(&portal, "crm.deal.update", json!({"id": 12, "fields": {"TITLE": "Окна"}})).await;
    let received = listener.next().await.unwrap();
    assert_eq!((received.event.name.as_str(), received.path.as_str()), ("ONCRMDEALUPDATE", "/hook"));
    assert_eq!(received.event.data["FIELDS"]["ID"], "12");
    assert_eq!(event_words(&received.event.to_value(), Language::Russian), "сделка 12 изменена");
    let bindings = json!([{"event": "onCrmDealUpdate", "handler": handler}]);
    assert!(received.event.is_wanted(&bindings, &received.path));
    let kept = received.event.to_value().to_string();
    assert!(!kept.contains(portal.application_token()), "{kept}");
    call(&portal, "tasks.task.add", json!({"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 1}})).await;
    let task = listener.next().await.unwrap().event;
    assert!(event_words(&task.to_value(), Language::Russian).starts_with("задача "), "{task:?}");
    assert!(!task.is_wanted(&bindings, "/hook"));
    portal.stop().await;
}

#[tokio::test]
async fn the_listener_accepts_only_forms_with_the_right_token() {
    let mut listener = listener("agreed-token").await;
    let form = |token: &str| {
        format!("event=ONCRMDEALADD&event_handler_id=1&ts=1&data[FIELDS][ID]=7&auth[application_token]={token}")
    };
    let kind = "application/x-www-form-urlencoded";
    let to = listener.address();
    assert_eq!(send(to, "POST", "/", kind, &form("another")).await.0, 403);
    assert_eq!(send(to, "POST", "/", kind, "").await.0, 403);
    assert_eq!(send(to, "GET", "/", kind, "").await.0, 405);
    assert_eq!(send(to, "POST", "/", kind, &form("agreed-token").replace("ONCRMDEALADD", "")).await.0, 400);
    let (status, body) = send(to, "POST", "/", kind, &"a".repeat(100_000)).await;
    assert_eq!(status, 413, "{body}");
    assert!(listener.next_ready().is_none(), "nothing of that came in");
    assert_eq!(send(to, "POST", "/a/b?c=d", kind, &form("agreed-token")).await.0, 200);
    assert_eq!(listener.next().await.unwrap().path, "/a/b");
}
