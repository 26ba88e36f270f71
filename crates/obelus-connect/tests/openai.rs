//! Models on a server: the requests, and the outcome of each kind of failure.
#![cfg(feature = "openai")]

#[expect(dead_code, reason = "the playbooks of the examples are for other tests")]
mod common;
#[path = "common/stream.rs"]
mod stream;

use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_connect::model::openai::{OpenAi, OpenAiOptions, Price, ServerAccess, Structured, Timeouts};
use obelus_kernel::session::{Money, TurnEnd};
use obelus_runtime::{EventBody, Secret, Used};
use serde_json::{Value, json};

use common::{Live, say};
use stream::{Model, Say, chunk, solution};

/// Short time limits, no retries.
fn hasty() -> OpenAiOptions {
    let timeouts = Timeouts { first_byte: 0.4, idle: 0.4, total: 5.0 };
    OpenAiOptions { timeouts, retries: 0, ..OpenAiOptions::named("gpt-test") }
}

fn model(server: &Model, options: OpenAiOptions) -> Arc<OpenAi> {
    let access = ServerAccess::new(Some(&server.base), Some(Secret::new("sk-s3cr3t")));
    Arc::new(OpenAi::new(options, access))
}

async fn live(server: &Model, options: OpenAiOptions) -> Live {
    common::live(model(server, options), false).await
}

#[tokio::test]
async fn a_request_is_sent_as_configured_and_to_the_configured_address() {
    let server = Model::start(|_, _| Say::stream(&solution("Привет"), 3)).await;
    let options = OpenAiOptions {
        headers: BTreeMap::from([("X-Team".to_owned(), "sales".to_owned())]),
        temperature: Some(0.5),
        max_tokens: Some(100),
        ..hasty()
    };
    let reply = say(&live(&server, options).await, "привет").await;
    assert_eq!((reply.ends, reply.output), (TurnEnd::Output, json!("Привет")));
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].method.as_str(), asked[0].target.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(asked[0].header("authorization"), Some("Bearer sk-s3cr3t"));
    assert_eq!(asked[0].header("x-team"), Some("sales"));
    let body = asked[0].json();
    assert_eq!(
        (&body["model"], &body["temperature"], &body["max_tokens"]),
        (&json!("gpt-test"), &json!(0.5), &json!(100))
    );
    assert_eq!((&body["stream"], &body["response_format"]["type"]), (&json!(true), &json!("json_schema")));
    assert_eq!(body["response_format"]["json_schema"]["strict"], true);
    let words = &body["messages"][1];
    assert_eq!((&words["role"], &words["content"]), (&json!("user"), &json!("привет")));
}

#[tokio::test]
async fn each_request_reports_tokens_and_cost() {
    let server = Model::start(|_, _| Say::stream(&solution("a"), 4)).await;
    let mut options = hasty();
    options.price = Some(Price { input: 1.0, output: 10.0 });
    let mut live = live(&server, options).await;
    for _ in 0..2 {
        say(&live, "a").await;
    }
    let (turn, session) = live.look(obelus_kernel::session::Session::spent).await;
    assert_eq!((turn.tokens, session.tokens, session.requests), (1100, 2200, 2));
    let mut told = Used::default();
    for event in live.events() {
        if let EventBody::Used { used, .. } = event {
            told.add(used);
        }
    }
    assert_eq!((told.input, told.output), (2000, 200));
    assert_eq!(told.cost, Some(Money::from(0.004)));
    assert_eq!((turn.used.cost, session.used), (Some(Money::from(0.002)), told));
}

#[tokio::test]
async fn a_server_without_strict_schemas_is_asked_in_another_form_from_then_on() {
    let server = Model::start(|asked, _| match asked.json()["response_format"]["type"].as_str() {
        Some(kind) => Say::error(400, &format!("response_format.type '{kind}' is not supported")),
        None => Say::whole(&solution("a")),
    })
    .await;
    let live = live(&server, hasty()).await;
    assert_eq!(say(&live, "a").await.ends, TurnEnd::Output);
    assert_eq!(server.asked().len(), 3, "a schema, an object, words");
    let schema_in_words =
        |asked: &stream::Asked| asked.json()["messages"][0]["content"].to_string().contains("additionalProperties");
    assert!(!schema_in_words(&server.asked()[0]) && schema_in_words(&server.asked()[2]));
    assert_eq!(say(&live, "b").await.ends, TurnEnd::Output);
    assert_eq!(server.asked().len(), 4, "the second time it is known");
}

#[tokio::test]
async fn a_server_declared_strict_is_always_asked_with_a_schema() {
    let server = Model::start(|_, _| Say::error(400, "response_format is not supported")).await;
    let options = OpenAiOptions { structured: Structured::Strict, ..hasty() };
    let reply = say(&live(&server, options).await, "a").await;
    assert_eq!(reply.reason.unwrap().code, "bad_request");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn transient_failures_are_retried_when_the_server_says() {
    let server = Model::start(|_, before| match before {
        0 => Say::raw("HTTP/1.1 429 Too Many\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
        1 => Say::error(503, "overloaded"),
        _ => Say::stream(&solution("a"), 9),
    })
    .await;
    let reply = say(&live(&server, OpenAiOptions { retries: 2, ..hasty() }).await, "a").await;
    assert_eq!((reply.ends, server.asked().len()), (TurnEnd::Output, 3));
}

#[tokio::test]
async fn retries_end_with_the_shared_budget() {
    let server = Model::start(|_, _| {
        Say::raw("HTTP/1.1 429 Too Many\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    })
    .await;
    let live = live(&server, OpenAiOptions { retries: 8, ..hasty() }).await;
    for _ in 0..3 {
        assert_eq!(say(&live, "a").await.reason.unwrap().code, "rate_limited");
    }
    assert_eq!(server.asked().len(), 3 + 10);
}

#[tokio::test]
async fn a_retry_after_beyond_the_time_limit_is_not_waited_for() {
    let server = Model::start(|_, _| {
        Say::raw("HTTP/1.1 429 Too Many\r\nretry-after: 3600\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    })
    .await;
    let reason = say(&live(&server, OpenAiOptions { retries: 2, ..hasty() }).await, "a").await.reason.unwrap();
    assert!(reason.code == "rate_limited" && reason.message.contains("3600"), "{reason:?}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn text_is_streamed_as_it_is_written() {
    let server = Model::start(|_, _| Say::stream(&solution("Сейчас посмотрю, что там."), 5)).await;
    let mut live = live(&server, hasty()).await;
    say(&live, "a").await;
    let written = live.written();
    assert!(written.len() > 3, "{written:?}");
    assert_eq!(written.concat(), "Сейчас посмотрю, что там.");
}

#[tokio::test]
async fn a_read_starts_before_the_stream_ends() {
    let gate = Arc::new(tokio::sync::Notify::new());
    let text = json!({"say": null, "calls": [
        {"_tool": "deal_get", "id": 1, "_outputPath": "†state.deal"},
        {"_tool": "send", "to": "a", "text": "†state.deal.title", "_outputPath": "†state.sent"},
    ], "output": "Готово"})
    .to_string();
    let (first, rest) = text.split_at(text.find(",{\"_tool\":\"send").unwrap() + 1);
    let (first, rest) = (first.to_owned(), rest.to_owned());
    let opens = Arc::clone(&gate);
    let server = Model::start(move |_, _| Say::gated(&first, Arc::clone(&opens), &rest)).await;
    // Only the start of the call opens the gate: if calls started after the whole answer, the test would hang.
    let patient = OpenAiOptions { timeouts: Timeouts::default(), ..hasty() };
    let live = live(&server, patient).await;
    let mut events = live.handle.subscribe(None);
    let begun = tokio::spawn(async move {
        let mut begun = Vec::new();
        while let Some(event) = events.next().await {
            match &event.body {
                EventBody::CallBegan { call, .. } => {
                    begun.push(call["_tool"].as_str().unwrap().to_owned());
                    gate.notify_one();
                }
                EventBody::Rested { .. } => break,
                _ => {}
            }
        }
        begun
    });
    let reply = say(&live, "a").await;
    assert_eq!(reply.ends, TurnEnd::Output);
    assert_eq!(begun.await.unwrap(), ["deal_get", "send"]);
    assert_eq!(live.state().await["sent"], "Окна");
}

#[tokio::test]
async fn no_other_address_is_contacted_regardless_of_the_servers_answers() {
    let elsewhere = Model::start(|_, _| Say::stream(&solution("no"), 9)).await;
    let location = format!("{}/chat/completions", elsewhere.base);
    let server = Model::start(move |_, _| {
        Say::raw(&format!(
            "HTTP/1.1 307 Moved\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ))
    })
    .await;
    let reply = say(&live(&server, hasty()).await, "a").await;
    assert_eq!(reply.reason.unwrap().code, "redirected");
    assert_eq!(elsewhere.asked().len(), 0);
}

/// Each failure of a server, with the code it results in.
fn faults() -> Vec<(&'static str, Say)> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let half = || format!("{head}data: {}\n\n", chunk(&json!({"content": "{\"say\": \"поло"}), None));
    let not_utf8 = [head.as_bytes(), b"data: {\"choices\": [{\"delta\": {\"content\": \"\xff\xfe\"}}]}\n\n"].concat();
    let long = json!("x".repeat(60_000));
    vec![
        ("unauthorised", Say::error(401, "Incorrect API key provided: sk-s3cr3t")),
        ("forbidden", Say::error(403, "not for you")),
        ("unknown_model", Say::error(404, "The model `gpt-test` does not exist")),
        ("rate_limited", Say::error(429, "slow down")),
        ("quota", Say::error(429, "You exceeded your current quota")),
        ("server_error", Say::error(500, "oh")),
        ("server_error", Say::error(503, "overloaded")),
        ("bad_request", Say::error(400, "the conversation is too long")),
        ("timeout_first_byte", Say::stall("")),
        ("timeout_first_byte", Say::stall(head)),
        ("timeout_idle", Say::stall(&half())),
        ("cut_off", Say::raw(&half())),
        ("cut_off", Say::raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"cho")),
        ("unreachable", Say::raw("")),
        ("out_of_format", Say::stream("Well, I think …", 5)),
        ("out_of_format", Say::stream("{\"words\": 5}", 5)),
        ("empty", Say::stream(" ", 5)),
        ("empty", Say::raw("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")),
        (
            "bad_answer",
            Say::raw("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html>Login</html>"),
        ),
        ("not_utf8", Say::Bytes(not_utf8)),
        ("too_large", Say::flood(head, &format!("data: {}\n\n", chunk(&json!({"content": long}), None)))),
        ("too_large", Say::flood(head, &"x".repeat(60_000))),
        ("too_large", Say::flood("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n", &" ".repeat(60_000))),
        ("server_error", Say::raw(&format!("{}data: {{\"error\": {{\"message\": \"gone\"}}}}\n\n", half()))),
    ]
}

#[tokio::test]
async fn each_failure_ends_in_the_degraded_answer_and_the_next_turn_works() {
    for (index, (code, fault)) in faults().into_iter().enumerate() {
        let fault = Arc::new(fault);
        let server = Model::start(move |asked, _| {
            let words = asked.json()["messages"].to_string();
            if words.contains("снова") { Say::stream(&solution("Готово"), 7) } else { (*fault).clone() }
        })
        .await;
        let live = live(&server, hasty()).await;
        let before = live.state().await;
        let reply = say(&live, "привет").await;
        let reason = reply.reason.clone().unwrap();
        assert_eq!((reply.ends, reason.code.to_string().as_str()), (TurnEnd::Degraded, code), "{index}: {reason:?}");
        assert!(!reason.message.contains("s3cr3t"), "{}", reason.message);
        let words = obelus_runtime::people::why_it_ended(&reply, None, obelus_runtime::Language::Russian);
        assert!(words.contains("сохранены"), "{words}");
        assert_eq!(live.state().await, before);
        let heard = live.look(|session| session.context().last_user_text().map(|text| text.text.clone())).await;
        assert_eq!(heard.as_deref(), Some("привет"), "the user's words are kept");
        let reply = say(&live, "снова").await;
        assert_eq!((reply.ends, &reply.output), (TurnEnd::Output, &Value::from("Готово")), "{index}: {code}");
    }
}

#[tokio::test]
async fn the_whole_answer_has_a_time_limit() {
    let drop = format!(": still here\n\ndata: {}\n\n", chunk(&json!({"content": " "}), None));
    let server = Model::start(move |_, _| Say::drip(&drop)).await;
    let options = OpenAiOptions { timeouts: Timeouts { first_byte: 5.0, idle: 5.0, total: 0.5 }, ..hasty() };
    let reply = say(&live(&server, options).await, "a").await;
    assert_eq!(reply.reason.unwrap().code, "timeout_total");
}

#[tokio::test]
async fn an_unreachable_server_and_a_missing_key_end_in_the_degraded_answer() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let access = ServerAccess::new(Some(&base), None);
    let live = common::live(Arc::new(OpenAi::new(hasty(), access)), false).await;
    assert_eq!(say(&live, "a").await.reason.unwrap().code, "unreachable");
    let live = common::live(Arc::new(OpenAi::new(hasty(), ServerAccess::new(None, None))), false).await;
    let reason = say(&live, "a").await.reason.unwrap();
    assert!(reason.code == "no_key" && reason.message.contains("OPENAI_API_KEY"));
}

#[tokio::test]
async fn a_stop_ends_the_request() {
    let server = Model::start(|_, _| Say::stall("")).await;
    let options = OpenAiOptions { timeouts: Timeouts::default(), ..hasty() };
    let live = live(&server, options).await;
    live.handle.say("a").await.unwrap();
    while server.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    live.handle.stop().await.unwrap();
    assert_eq!(live.handle.finished().await.unwrap().unwrap().ends, TurnEnd::Stopped);
    server.until_all_have_gone().await;
}
