//! Lost answers, and bindings that can find out whether a call happened.

#![cfg(all(feature = "exec", feature = "http"))]

mod hands;
#[path = "common/server.rs"]
#[expect(dead_code, reason = "this test asks less of the server than others")]
mod server;

use hands::{activity, error, reading, run, work};
use obelus_kernel::session::Outcome;
use obelus_runtime::{Reconciled, Work};
use serde_json::{Value, json};
use server::{Reply, Server, answer, json as reply_json};

/// The result of a binding's `reconcile`.
async fn look(binding: Value, work: Work) -> Reconciled {
    activity(binding).reconcile(work).expect("it can look").await
}

fn creating(call: Value) -> Work {
    work(call, "create")
}

#[tokio::test]
async fn a_killed_program_leaves_its_effect_in_doubt() {
    let binding = json!({"exec": ["sh", "-c", "kill -9 $$"]});
    assert!(
        matches!(run(binding.clone(), creating(json!({}))).await, Outcome::Lost { message } if message.contains("signal 9"))
    );
    assert_eq!(error(binding, reading(json!({}))).await.code, "signal_9", "a read does no harm");
    assert!(activity(json!({"exec": ["true"]})).reconcile(creating(json!({}))).is_none());
}

#[tokio::test]
async fn the_reconcile_program_receives_the_same_call_and_key() {
    let script = "read -r line; echo \"{\\\"happened\\\": [\\\"$OBELUS_IDEMPOTENCY_KEY\\\", $line]}\"";
    let binding = json!({"exec": ["false"], "reconcile": ["sh", "-c", script]});
    let found = look(binding, creating(json!({"n": 1}))).await;
    let Reconciled::Happened(Outcome::Value(found)) = found else { panic!("{found:?}") };
    assert_eq!((&found[0], &found[1]["n"]), (&json!("key-1"), &json!(1)));
}

#[tokio::test]
async fn answers_of_a_reconcile_program_are_read_or_refused() {
    let said = |text: &str| json!({"exec": ["false"], "reconcile": ["printf", "%s", text]});
    for (text, expected) in [
        ("{\"did_not\": true}", Some(Reconciled::DidNot)),
        ("{\"happened\": null}", Some(Reconciled::Happened(Outcome::Messages(Vec::new())))),
        ("{\"unknown\": \"the log is gone\"}", Some(Reconciled::Unknown("the log is gone".to_owned()))),
        ("{\"did_not\": false}", None),
        ("{\"did_not\": true, \"happened\": 1}", None),
        ("true", None),
        ("", None),
        ("no JSON", None),
    ] {
        let found = look(said(text), creating(json!({}))).await;
        match expected {
            Some(expected) => assert_eq!(found, expected, "{text}"),
            // Any other output means unknown, never that the call did not happen.
            None => assert!(matches!(found, Reconciled::Unknown(_)), "{text}: {found:?}"),
        }
    }
    let failed =
        look(json!({"exec": ["true"], "reconcile": ["sh", "-c", "echo down >&2; exit 3"]}), creating(json!({}))).await;
    assert_eq!(failed, Reconciled::Unknown("the look at it failed: down".to_owned()));
}

#[tokio::test]
async fn a_broken_connection_leaves_an_effect_in_doubt_and_a_server_error_may_have_happened() {
    let server = Server::start(|_, before| match before {
        0 => Reply::Raw(String::new()),
        1 => Reply::Raw("HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\nhal".to_owned()),
        2 => answer("504 Gateway Timeout", "text/plain", ""),
        3 => answer("500 Internal Server Error", "text/plain", "oops"),
        _ => answer("409 Conflict", "text/plain", ""),
    })
    .await;
    let binding = || json!({"http": {"url": server.url, "method": "POST"}});
    for _ in 0..3 {
        assert!(matches!(run(binding(), creating(json!({}))).await, Outcome::Lost { .. }));
    }
    let failed = error(binding(), creating(json!({}))).await;
    assert!(failed.code == "http_500" && failed.may_have_happened, "it may have failed after the effect: {failed:?}");
    let refused = error(binding(), creating(json!({}))).await;
    assert!(refused.code == "http_409" && !refused.may_have_happened, "the server has refused it: {refused:?}");
    assert!(server.asked().iter().all(|asked| asked.header("idempotency-key") == Some("key-1")));
}

#[tokio::test]
async fn an_effect_is_reconciled_by_a_second_request() {
    let server = Server::start(|asked, before| {
        assert_eq!(asked.target, "/found?key=key-1");
        match before {
            0 => reply_json("{\"items\": [{\"id\": 7}]}"),
            1 => reply_json("{\"items\": []}"),
            2 => answer("404 Not Found", "text/plain", ""),
            _ => answer("500 No", "text/plain", "down"),
        }
    })
    .await;
    let url = format!("{}/found?key={{{{ key }}}}", server.url);
    let binding =
        json!({"http": {"url": server.url, "method": "POST"}, "reconcile": {"url": url, "found": "/items/0"}});
    let found = look(binding.clone(), creating(json!({}))).await;
    assert_eq!(found, Reconciled::Happened(Outcome::Value(json!({"id": 7}))));
    assert_eq!(look(binding.clone(), creating(json!({}))).await, Reconciled::DidNot);
    assert_eq!(look(binding.clone(), creating(json!({}))).await, Reconciled::DidNot);
    assert!(matches!(look(binding, creating(json!({}))).await, Reconciled::Unknown(words) if words.contains("500")));
}

#[tokio::test]
async fn dur_8_errors_of_a_reconciliation_contain_no_secrets() {
    let secret = "hush-7c1f90ab";
    let script = "echo \"bad key $LOOK_TOKEN\" >&2; exit 3";
    let binding = json!({
        "exec": ["false"], "reconcile": ["sh", "-c", script], "env": {"LOOK_TOKEN": secret},
    });
    let found = look(binding, creating(json!({}))).await;
    assert_eq!(found, Reconciled::Unknown("the look at it failed: bad key ***".to_owned()));
    let script = "echo \"{\\\"happened\\\": {\\\"by $LOOK_TOKEN\\\": 1}}\"";
    let binding = json!({
        "exec": ["false"], "reconcile": ["sh", "-c", script], "env": {"LOOK_TOKEN": secret},
    });
    assert_eq!(look(binding, creating(json!({}))).await, Reconciled::Happened(Outcome::Value(json!({"by ***": 1}))));

    let variable = "CARGO_MANIFEST_DIR";
    let server = Server::start(|asked, _| {
        answer("403 Forbidden", "text/plain", &format!("no rights for {}", asked.header("x-key").unwrap_or_default()))
    })
    .await;
    let binding = json!({
        "http": {"url": server.url, "method": "POST"}, "secrets": [variable],
        "reconcile": {"url": server.url, "headers": {"X-Key": format!("{{{{ env.{variable} }}}}")}},
    });
    let found = look(binding, creating(json!({}))).await;
    assert!(matches!(&found, Reconciled::Unknown(words) if words.contains("no rights for ***")), "{found:?}");
}
