//! HTTP requests as activities, with real servers.
#![cfg(feature = "http")]

mod hands;
#[path = "common/server.rs"]
mod server;

use std::time::{Duration, Instant};

use hands::{error, reading, run, work};
use obelus_kernel::session::Outcome;
use serde_json::{Value, json};
use server::{Reply, Server, answer, json as reply_json, redirect, redirect_by};

fn get(url: &str) -> Value {
    json!({"http": {"url": url}, "timeout": 20})
}

#[tokio::test]
async fn a_call_becomes_a_request_and_an_answer_a_result() {
    let server = Server::start(|_, _| reply_json(r#"{"id": 7, "name": "Ann"}"#)).await;
    let url = format!("{}/users/{{{{ call.id }}}}?full={{{{ call.full }}}}", server.url);
    let binding = json!({"http": {"url": url, "headers": {
        "X-Key": "{{ key }}", "X-Seen": "{{ scope | length }}", "X-Empty": "{{ call.nothing or '' }}"
    }}});
    let mut work = reading(json!({"id": 7, "full": true}));
    work.scope = vec![json!({"a": 1})];
    assert_eq!(run(binding, work).await, Outcome::Value(json!({"id": 7, "name": "Ann"})));
    let asked = &server.asked()[0];
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("GET", "/users/7?full=true"));
    assert_eq!((asked.header("x-key"), asked.header("x-seen")), (Some("key-1"), Some("1")));
    assert_eq!((asked.header("x-empty"), asked.header("idempotency-key")), (None, None));
}

#[tokio::test]
async fn a_body_keeps_the_types_of_json() {
    let server = Server::start(|_, _| reply_json("{}")).await;
    let body = json!({
        "id": "{{ call.id }}", "tags": ["{{ call.tags[0] }}", "x-{{ call.id }}"], "deep": {"all": "{{ call.tags }}"},
        "optional": "{{ call.optional }}", "fixed": [1, null, false], "words": "say \"{{ call.words }}\"",
    });
    let binding = json!({"http": {"url": server.url, "body": body}});
    let call = json!({"id": 7, "tags": [1.5, "b"], "words": "he\"y\n"});
    assert_eq!(run(binding, work(call, "create")).await, Outcome::Value(json!({})));
    let asked = &server.asked()[0];
    assert_eq!(asked.method, "POST");
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("idempotency-key"), Some("key-1"));
    let expected = json!({
        "id": 7, "tags": [1.5, "x-7"], "deep": {"all": [1.5, "b"]}, "fixed": [1, null, false],
        "words": "say \"he\"y\n\"",
    });
    assert_eq!(serde_json::from_str::<Value>(&asked.body).unwrap(), expected);
}

#[tokio::test]
async fn tool_7_a_request_sees_the_schema_of_its_tool() {
    let server = Server::start(|_, _| reply_json("{}")).await;
    let binding =
        json!({"http": {"url": server.url, "body": {"schema": "{{ tool }}", "does": "{{ tool['x-effect'] }}"}}});
    run(binding, work(json!({}), "create")).await;
    let sent: Value = serde_json::from_str(&server.asked()[0].body).unwrap();
    assert_eq!(sent, json!({"schema": {"type": "object", "x-effect": "create"}, "does": "create"}));
}

#[tokio::test]
async fn call_5_an_answer_can_contain_messages() {
    let server = Server::start(|asked, _| match asked.target.as_str() {
        "/late" => reply_json(r#"{"_messages": [{"state": {"late": 7}}]}"#),
        "/wrong" => reply_json(r#"{"_messages": 7}"#),
        _ => reply_json(r#"{"_messages": [], "more": 1}"#),
    })
    .await;
    let at = |path: &str| get(&format!("{}{path}", server.url));
    assert_eq!(run(at("/late"), reading(json!({}))).await, Outcome::Messages(vec![json!({"state": {"late": 7}})]));
    assert_eq!(run(at("/"), reading(json!({}))).await, Outcome::Value(json!({"_messages": [], "more": 1})));
    assert_eq!(error(at("/wrong"), reading(json!({}))).await.code, "bad_output");
}

#[tokio::test]
async fn a_body_of_text_is_sent_as_it_is() {
    let server = Server::start(|_, _| answer("204 No Content", "text/plain", "")).await;
    let binding = json!({"http": {
        "method": "{{ call.how }}", "url": server.url, "body": "a={{ call.a | urlencode }}",
        "headers": {"Content-Type": "application/x-www-form-urlencoded", "Idempotency-Key": "own-{{ key }}"},
    }});
    assert_eq!(run(binding, work(json!({"a": "1&b=2", "how": "put"}), "update")).await, Outcome::Value(Value::Null));
    let asked = &server.asked()[0];
    assert_eq!((asked.method.as_str(), asked.body.as_str()), ("PUT", "a=1%26b%3D2"));
    assert_eq!(asked.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(asked.header("idempotency-key"), Some("own-key-1"));
}

#[tokio::test]
async fn a_value_cannot_change_the_target_of_a_request() {
    let server = Server::start(|_, _| reply_json("1")).await;
    let binding =
        json!({"http": {"url": format!("{}/users/{{{{ call.id }}}}/deals?of={{{{ call.id }}}}", server.url)}});
    run(binding.clone(), reading(json!({"id": "1/../../admin?x=1#"}))).await;
    let encoded = "1%2F..%2F..%2Fadmin%3Fx%3D1%23";
    assert_eq!(server.asked()[0].target, format!("/users/{encoded}/deals?of={encoded}"));
    for id in [json!(".."), json!(""), json!(null), json!(["a"])] {
        let refused = error(binding.clone(), reading(json!({"id": id}))).await;
        assert!(["bad_url", "template"].contains(&refused.code.to_string().as_str()), "{id}: {refused:?}");
    }
    assert_eq!(server.asked().len(), 1, "nothing that was refused was sent");
}

#[tokio::test]
async fn a_line_break_cannot_add_a_header() {
    let server = Server::start(|_, _| reply_json("1")).await;
    let binding = json!({"http": {"url": server.url, "headers": {"X-Name": "{{ call.name }}"}}});
    let refused = error(binding, reading(json!({"name": "a\r\nX-Admin: 1"}))).await;
    assert_eq!(refused.code, "bad_header");
    assert!(!refused.message.contains("Admin") && server.asked().is_empty());
}

#[tokio::test]
async fn an_answer_that_is_not_json_is_text() {
    let server = Server::start(|asked, _| match asked.target.as_str() {
        "/text" => answer("200 OK", "text/plain", "{\"a\": 1}"),
        "/problem" => answer("200 OK", "application/problem+json", "{\"a\": 1}"),
        "/broken" => answer("200 OK", "application/json", "{\"a\": oops"),
        _ => Reply::Raw("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_owned()),
    })
    .await;
    let at = |path: &str| get(&format!("{}{path}", server.url));
    assert_eq!(run(at("/text"), reading(json!({}))).await, Outcome::Value(json!("{\"a\": 1}")));
    assert_eq!(run(at("/problem"), reading(json!({}))).await, Outcome::Value(json!({"a": 1})));
    assert_eq!(run(at("/"), reading(json!({}))).await, Outcome::Value(Value::Null));
    let broken = error(at("/broken"), reading(json!({}))).await;
    assert!(broken.code == "bad_output" && broken.message.contains("near `{\"a\": oops`"), "{}", broken.message);
}

#[tokio::test]
async fn an_error_status_is_reported_with_text_from_the_body() {
    let body = format!("<html>\n no such deal {}", "x".repeat(10_000));
    let server = Server::start(move |_, _| answer("404 Not Found", "text/html", &body)).await;
    let binding = json!({"http": {"url": server.url}, "retry": 3});
    let failed = error(binding, reading(json!({}))).await;
    assert_eq!(failed.code, "http_404");
    assert!(failed.message.contains("404 Not Found: <html> no such deal"), "{}", failed.message);
    assert!(failed.message.len() < 500);
    assert_eq!(server.asked().len(), 1, "asking again would not help");
}

#[tokio::test]
async fn a_read_is_retried_after_a_transient_failure() {
    let start = || {
        Server::start(|_, before| match before {
            0 => answer("500 Internal Server Error", "text/plain", "oops"),
            1 => Reply::Raw(
                "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    .to_owned(),
            ),
            2 => Reply::Raw("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhal".to_owned()),
            _ => reply_json("1"),
        })
    };
    let server = start().await;
    let binding = |server: &Server| json!({"http": {"url": server.url}, "retry": 3});
    let begun = Instant::now();
    assert_eq!(run(binding(&server), reading(json!({}))).await, Outcome::Value(json!(1)));
    assert_eq!(server.asked().len(), 4);
    assert!(begun.elapsed() >= Duration::from_secs(1), "the server asked for a second");

    let server = start().await;
    assert_eq!(error(binding(&server), work(json!({}), "create")).await.code, "http_500");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_redirect_loop_ends() {
    let server = Server::start(|asked, _| redirect(if asked.target == "/a" { "/b" } else { "/a" })).await;
    let failed = error(get(&format!("{}/a", server.url)), reading(json!({}))).await;
    assert_eq!(failed.code, "too_many_redirects");
    assert_eq!(server.asked().len(), 6);

    let server = Server::start(|_, before| if before < 5 { redirect("/next") } else { reply_json("1") }).await;
    assert_eq!(run(get(&server.url), reading(json!({}))).await, Outcome::Value(json!(1)));
}

#[tokio::test]
async fn an_effect_with_an_unreadable_answer_is_known_to_have_happened() {
    for (answer, happened) in [("oops", true), (r#"{"_messages": 1}"#, true)] {
        let server = Server::start(move |_, _| reply_json(answer)).await;
        let binding = json!({"http": {"method": "POST", "url": server.url}});
        let failed = error(binding, work(json!({}), "create")).await;
        assert_eq!((failed.code.to_string().as_str(), failed.happened), ("bad_output", happened), "{answer}");
    }
}

#[tokio::test]
async fn an_acting_request_is_not_redirected_as_a_get() {
    for (method, effect, status) in [
        ("POST", "create", "301 Moved Permanently"),
        ("POST", "create", "302 Found"),
        ("POST", "update", "303 See Other"),
        ("DELETE", "delete", "302 Found"),
        ("GET", "update", "302 Found"),
        ("POST", "read", "302 Found"),
    ] {
        let server = Server::start(move |asked, _| match asked.target.as_str() {
            "/a" => redirect_by(status, "/b"),
            _ => reply_json("1"),
        })
        .await;
        let binding = json!({"http": {"method": method, "url": format!("{}/a", server.url)}});
        let message = match run(binding, work(json!({}), effect)).await {
            Outcome::Error(failed) if effect == "read" && failed.code == "redirected" => failed.message,
            // It may have happened.
            Outcome::Lost { message } if effect != "read" => message,
            other => panic!("{method} {effect} {status}: {other:?}"),
        };
        assert!(message.contains(status), "{message}");
        assert_eq!(server.asked().len(), 1, "{method} {effect} {status}: nothing was sent elsewhere");
    }
}

#[tokio::test]
async fn an_acting_request_keeps_method_and_body_on_the_same_host() {
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let server = Server::start(move |asked, _| match asked.target.as_str() {
            "/a" => redirect_by(status, "/b?c=1"),
            _ => reply_json("1"),
        })
        .await;
        let binding = json!({"http": {"url": format!("{}/a", server.url), "body": {"n": "{{ call.n }}"}}});
        assert_eq!(run(binding, work(json!({"n": 5}), "create")).await, Outcome::Value(json!(1)), "{status}");
        let asked = server.asked();
        assert_eq!((asked[1].method.as_str(), asked[1].target.as_str()), ("POST", "/b?c=1"));
        assert_eq!((asked[1].body.as_str(), asked[1].header("idempotency-key")), ("{\"n\":5}", Some("key-1")));
    }
    let other = Server::start(|_, _| reply_json("1")).await;
    let target = other.url.clone();
    let server = Server::start(move |_, _| redirect_by("307 Temporary Redirect", &target)).await;
    let binding = json!({"http": {"method": "POST", "url": server.url}});
    assert_eq!(error(binding, work(json!({}), "create")).await.code, "redirected_away");
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn a_redirect_without_an_address_is_an_error_and_an_effect_is_in_doubt() {
    let server = Server::start(|_, _| answer("302 Found", "text/plain", "")).await;
    assert_eq!(error(get(&server.url), reading(json!({}))).await.code, "http_302");
    let binding = json!({"http": {"method": "POST", "url": server.url}});
    let outcome = run(binding, work(json!({}), "create")).await;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
}

#[tokio::test]
async fn an_effect_whose_address_has_moved_for_good_has_not_happened() {
    let server = Server::start(|_, _| redirect_by("301 Moved Permanently", "/a/")).await;
    let binding = json!({"http": {"method": "POST", "url": format!("{}/a", server.url)}});
    assert_eq!(error(binding, work(json!({}), "create")).await.code, "moved");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_redirect_to_another_host_is_refused() {
    let other = Server::start(|_, _| reply_json("1")).await;
    let target = format!("{}/steal", other.url);
    let server = Server::start(move |_, _| redirect(&target)).await;
    let failed = error(get(&server.url), reading(json!({}))).await;
    assert_eq!(failed.code, "redirected_away");
    assert!(failed.message.contains(&other.url), "{}", failed.message);
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn a_refused_connection_and_a_broken_one_are_distinguished() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failed = error(get(&format!("http://{free}/x")), reading(json!({}))).await;
    assert_eq!(failed.code, "unreachable");
    assert!(failed.message.contains("refused"), "{}", failed.message);

    let server = Server::start(|_, _| Reply::Raw(String::new())).await;
    assert_eq!(error(get(&server.url.replace("http", "https")), reading(json!({}))).await.code, "unreachable");
    assert_eq!(error(get(&server.url), reading(json!({}))).await.code, "lost_answer");
    let server = Server::start(|_, _| Reply::Raw("garbage\r\n\r\n".to_owned())).await;
    assert_eq!(error(get(&server.url), reading(json!({}))).await.code, "lost_answer");
}

#[tokio::test]
async fn a_body_that_never_arrives_ends_at_the_time_limit() {
    let server =
        Server::start(|_, _| Reply::Stall("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhal".to_owned())).await;
    let binding = json!({"http": {"url": server.url}, "timeout": 0.3});
    assert_eq!(error(binding, reading(json!({}))).await.code, "timeout");
}

#[tokio::test]
async fn a_body_without_end_is_cut_off() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n";
    let server = Server::start(move |_, _| Reply::Flood(head.to_owned())).await;
    assert_eq!(error(get(&server.url), reading(json!({}))).await.code, "output_too_large");
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n";
    let server = Server::start(move |_, _| Reply::Stall(head.to_owned())).await;
    assert_eq!(error(get(&server.url), reading(json!({}))).await.code, "output_too_large");
    let head = "HTTP/1.1 500 No\r\nconnection: close\r\n\r\n";
    let server = Server::start(move |_, _| Reply::Flood(head.to_owned())).await;
    assert_eq!(error(get(&server.url), reading(json!({}))).await.code, "http_500");
}

/// Stands for a secret: Cargo sets this variable, and its value is long enough to be masked.
const SECRET: &str = "CARGO_MANIFEST_DIR";

#[tokio::test]
async fn a_secret_is_sent_only_to_the_server() {
    let server = Server::start(|asked, before| {
        let told = asked.header("authorization").unwrap_or_default();
        match before {
            0 => answer("403 Forbidden", "text/plain", &format!("bad token {told}")),
            1 => reply_json(&json!({"you sent": [told]}).to_string()),
            // The excerpt in the error ends within the secret.
            2 => answer("403 Forbidden", "text/plain", &format!("{}{told}", "x".repeat(285))),
            _ => answer("200 OK", "application/json", told),
        }
    })
    .await;
    let binding = json!({
        "http": {"url": server.url, "headers": {"Authorization": format!("Bearer {{{{ env.{SECRET} }}}}")}},
        "secrets": [SECRET],
    });
    let value = std::env::var(SECRET).unwrap();
    let failed = error(binding.clone(), reading(json!({}))).await;
    assert!(failed.message.ends_with("bad token Bearer ***"), "{}", failed.message);
    let echoed = run(binding.clone(), reading(json!({}))).await;
    assert_eq!(echoed, Outcome::Value(json!({"you sent": ["Bearer ***"]})));
    let cut = error(binding.clone(), reading(json!({}))).await;
    assert!(cut.message.contains("xBearer ***"), "{}", cut.message);
    let broken = error(binding, reading(json!({}))).await;
    assert!(broken.code == "bad_output" && !broken.message.contains(&value), "{}", broken.message);
    assert_eq!(server.asked()[0].header("authorization"), Some(format!("Bearer {value}").as_str()));
}

#[tokio::test]
async fn a_missing_secret_is_named() {
    let server = Server::start(|_, _| reply_json("1")).await;
    let binding = json!({
        "http": {"url": server.url, "headers": {"Authorization": "{{ env.NO_SUCH_SECRET_HERE }}"}},
        "secrets": ["NO_SUCH_SECRET_HERE"],
    });
    let failed = error(binding, reading(json!({}))).await;
    assert_eq!(failed.code, "no_secret");
    assert!(failed.message.contains("NO_SUCH_SECRET_HERE") && server.asked().is_empty());
}
