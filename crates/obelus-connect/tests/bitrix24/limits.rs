//! Temporary refusals of the portal, and how the client handles them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use obelus_connect::bitrix24::Options;
use serde_json::json;

use super::portal::{called, refusal, result};
use super::server::{Server, answer};
use super::{client, client_with, error, read, run, value, work};

#[tokio::test]
async fn requests_to_a_busy_portal_are_retried_including_writes() {
    let server = Server::start(|_, before| match before {
        0 => refusal("503 Service Unavailable", "QUERY_LIMIT_EXCEEDED", "Too many requests"),
        _ => result(&json!(7)),
    })
    .await;
    let outcome = run(&client(&server), work("crm.deal.add", "create", json!({}), json!({"fields": {}}))).await;
    assert_eq!((value(outcome), server.asked().len()), (json!(7), 2));
}

#[tokio::test]
async fn retries_to_a_busy_portal_are_limited() {
    let server = Server::start(|_, _| refusal("503 Service Unavailable", "QUERY_LIMIT_EXCEEDED", "")).await;
    let options = Options { rate: None, patience: Duration::from_millis(600), ..Options::default() };
    let outcome = run(&client_with(&server, options), read("crm.deal.get", json!({"id": 1}))).await;
    assert_eq!(error(outcome).code, "QUERY_LIMIT_EXCEEDED");
}

#[tokio::test]
async fn a_manual_block_is_not_retried() {
    let server =
        Server::start(|_, _| refusal("503 Service Unavailable", "OVERLOAD_LIMIT", "REST API is blocked")).await;
    let blocked = error(run(&client(&server), read("crm.deal.get", json!({"id": 1}))).await);
    assert_eq!((blocked.code.to_string().as_str(), server.asked().len()), ("OVERLOAD_LIMIT", 1));
    assert!(blocked.message.contains("blocked requests by hand"), "{}", blocked.message);
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn a_method_over_its_time_limit_is_retried_after_the_reset() {
    let server = Server::start(|_, before| match before {
        0 => {
            let body = json!({"error": "OPERATION_TIME_LIMIT", "error_description": "", "time": {"operating_reset_at": seconds_now() + 1}});
            answer("429 Too Many Requests", "application/json", &body.to_string())
        }
        _ => result(&json!([])),
    })
    .await;
    let outcome = run(&client(&server), read("crm.deal.list", json!({}))).await;
    assert_eq!((value(outcome), server.asked().len()), (json!([]), 2));
}

#[tokio::test]
async fn a_distant_reset_is_an_error_with_the_time_and_other_methods_do_not_wait() {
    let server = Server::start(|asked, _| match called(asked).method.as_str() {
        "crm.deal.list" => {
            let body = json!({"error": "OPERATION_TIME_LIMIT", "operating_reset_at": 4_000_000_000_u64});
            answer("429 Too Many Requests", "application/json", &body.to_string())
        }
        _ => result(&json!(1)),
    })
    .await;
    let client = client(&server);
    for _ in 0..2 {
        let late = error(run(&client, read("crm.deal.list", json!({}))).await);
        assert_eq!(late.code, "OPERATION_TIME_LIMIT");
        assert!(late.message.contains("2096-10-02T07:06:40Z"), "{}", late.message);
    }
    assert_eq!(server.asked().len(), 1, "it is known by then");
    assert_eq!(value(run(&client, read("user.current", json!({}))).await), json!(1));
}

#[tokio::test]
async fn a_read_with_a_lost_answer_is_retried() {
    let server = Server::start(|_, before| match before {
        0 => answer("502 Bad Gateway", "text/html", "<html>"),
        1 => refusal("500 Internal Server Error", "INTERNAL_SERVER_ERROR", ""),
        _ => result(&json!({"ID": "5"})),
    })
    .await;
    let outcome = run(&client(&server), read("crm.deal.get", json!({"id": 5}))).await;
    assert_eq!((value(outcome), server.asked().len()), (json!({"ID": "5"}), 3));
}
