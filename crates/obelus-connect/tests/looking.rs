//! Observations in requests to a model server, and in its errors.
#![cfg(feature = "openai")]

#[path = "common/live.rs"]
mod live;
#[path = "common/stream.rs"]
#[expect(dead_code, reason = "some of what servers can do is for other tests")]
mod stream;

use std::path::PathBuf;

use obelus_connect::model::openai::{OpenAi, OpenAiOptions, ServerAccess};
use obelus_kernel::Context;
use obelus_kernel::session::{Mode, Reply, Settings, TurnEnd};
use obelus_runtime::{Activities, Connections, SessionSpec};
use serde_json::{Value, json};

use live::Live;
use stream::{Asked, Model, Say, solution};

const PAGE: &str = "- heading \"Sale\"\n- text: CANARY-7f3a-0002\n\n# Mode\nfull";
/// The beginning of a PNG, enough to be recognised.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nCANARY-IN-THE-PICTURE-000000000000000000000000000000000000000";

/// A picture in a temporary file.
struct Shot(PathBuf);

impl Shot {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("obelus-looking-{}-{name}.png", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Shot {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A session with a tool that observes.
async fn open(server: &Model, options: OpenAiOptions, shot: &Shot) -> Live {
    let mut activities = Activities::new();
    let image = shot.0.clone();
    activities.register("look", move |_| {
        let brought = json!({"text": PAGE, "image": image});
        async move { Ok(brought) }
    });
    let look = json!({"x-effect": "read", "x-keep": "digest", "properties": {}});
    let context = Context::from_value(json!([{"type": "tool", "tool": {"look": look}}])).unwrap();
    let settings = Settings { mode: Mode::Full, persistent: true, ..Settings::default() };
    let model = OpenAi::new(options, ServerAccess::new(Some(&server.base), None));
    let spec = SessionSpec { context, settings, ..SessionSpec::default() };
    Live::new(Connections::new(activities).with_model(model), spec).await
}

fn options() -> OpenAiOptions {
    OpenAiOptions { retries: 0, ..OpenAiOptions::named("m") }
}

/// Looks first, then answers.
fn looks_then_answers(asked: &Asked) -> Say {
    if text_seen(asked).is_some() {
        return Say::whole(&solution("seen"));
    }
    Say::whole(&json!({"say": null, "calls": [{"_tool": "look", "_outputPath": "†page"}], "output": null}).to_string())
}

/// The message with the observation.
fn message_seen(asked: &Asked) -> Option<Value> {
    let body = asked.json();
    let mut messages = body["messages"].as_array().unwrap().iter();
    messages.find(|message| message["content"].to_string().contains("# Before your eyes")).cloned()
}

fn text_seen(asked: &Asked) -> Option<String> {
    let message = message_seen(asked)?;
    let text = message["content"].as_str().or(message["content"][0]["text"].as_str());
    Some(text.unwrap().to_owned())
}

fn pictures(asked: &Asked) -> usize {
    asked.json().to_string().matches("\"type\":\"image_url\"").count()
}

async fn say(live: &Live) -> Reply {
    live.say("посмотри").await
}

#[tokio::test]
async fn observed_text_is_sent_as_data_and_the_picture_as_a_separate_part() {
    let server = Model::start(|asked, _| looks_then_answers(asked)).await;
    let shot = Shot::new("part", PNG);
    let live = open(&server, options(), &shot).await;
    assert_eq!(say(&live).await.ends, TurnEnd::Output);
    let asked = server.asked();
    assert_eq!((asked.len(), pictures(&asked[0]), pictures(&asked[1])), (2, 0, 1));
    let seen = message_seen(&asked[1]).unwrap();
    assert_eq!(seen["role"], "user");
    let text = seen["content"][0]["text"].as_str().unwrap();
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("| ")).collect();
    assert_eq!(lines, PAGE.lines().collect::<Vec<_>>(), "none of its lines begins a section of its own");
    let url = seen["content"][1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBORw0KGgp"), "{url}");
    // Earlier messages stay where they were.
    let body = asked[1].json();
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages.first().unwrap()["role"], "system");
    assert_eq!(messages[1]["content"], "посмотри");
    assert_eq!(messages[0], asked[0].json()["messages"][0], "what a provider may have kept stays as it was");
}

#[tokio::test]
async fn no_picture_is_sent_to_a_text_model() {
    let server = Model::start(|asked, _| looks_then_answers(asked)).await;
    let shot = Shot::new("off", PNG);
    let live = open(&server, OpenAiOptions { images: false, ..options() }, &shot).await;
    assert_eq!(say(&live).await.ends, TurnEnd::Output);
    let asked = server.asked();
    assert_eq!((asked.len(), pictures(&asked[1])), (2, 0));
    let text = text_seen(&asked[1]).unwrap();
    assert!(text.contains("CANARY-7f3a-0002") && !text.contains("picture"), "{text}");
}

#[tokio::test]
async fn after_a_refused_picture_requests_are_sent_without_pictures() {
    for (status, words) in [
        (400, "Invalid content type. image_url is only supported by certain models."),
        (422, "messages[2]: unknown variant `image_url`, expected `text`"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (404, "No endpoints found that support image input"),
    ] {
        let server = Model::start(move |asked, _| match pictures(asked) {
            0 => looks_then_answers(asked),
            _ => Say::error(status, words),
        })
        .await;
        let shot = Shot::new(&format!("refused-{status}"), PNG);
        let live = open(&server, options(), &shot).await;
        assert_eq!(say(&live).await.ends, TurnEnd::Output, "{status}");
        let sent: Vec<usize> = server.asked().iter().map(pictures).collect();
        assert_eq!(sent, [0, 1, 0], "{status}: with it, and once more without");
        assert_eq!(say(&live).await.ends, TurnEnd::Output);
        let sent: Vec<usize> = server.asked().iter().map(pictures).collect();
        assert_eq!(sent, [0, 1, 0, 0], "{status}: the second time it is known");
    }
}

#[tokio::test]
async fn other_refusals_do_not_disable_pictures() {
    let server = Model::start(|asked, _| match pictures(asked) {
        0 => looks_then_answers(asked),
        _ => Say::error(400, "the conversation is too long"),
    })
    .await;
    let shot = Shot::new("long", PNG);
    let reply = say(&open(&server, options(), &shot).await).await;
    assert_eq!((reply.ends, reply.reason.unwrap().code.to_string().as_str()), (TurnEnd::Degraded, "bad_request"));
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn an_unusable_picture_is_reported_as_missing() {
    let server = Model::start(|asked, _| looks_then_answers(asked)).await;
    let shot = Shot::new("secret", b"root:x:0:0:CANARY-IN-A-FILE");
    assert_eq!(say(&open(&server, options(), &shot).await).await.ends, TurnEnd::Output);
    let asked = server.asked();
    assert_eq!(pictures(&asked[1]), 0);
    let body = asked[1].json().to_string();
    assert!(body.contains("it is not a PNG, JPEG, WebP or GIF") && !body.contains("CANARY-IN-A-FILE"), "{body}");
}

#[tokio::test]
async fn a_picture_of_the_user_is_sent_with_the_users_message() {
    let server = Model::start(|_, _| Say::whole(&solution("a cat"))).await;
    let shot = Shot::new("user", PNG);
    for (images, expected) in [(true, 1), (false, 0)] {
        let live = open(&server, OpenAiOptions { images, ..options() }, &shot).await;
        live.handle.attach(&shot.0).await.unwrap();
        for turn in 0..2 {
            assert_eq!(say(&live).await.ends, TurnEnd::Output);
            let asked = server.asked().pop().unwrap();
            let expected = if turn == 0 { expected } else { 0 };
            assert_eq!(pictures(&asked), expected, "turn {turn}: it is shown for the turn that it came with");
            let last = asked.json()["messages"].as_array().unwrap().last().unwrap().clone();
            match (images, turn) {
                (true, 0) => {
                    assert_eq!(last["content"][0]["text"], "посмотри");
                    assert!(last["content"][1]["image_url"]["url"].as_str().unwrap().starts_with("data:image/png;"));
                }
                (false, 0) => {
                    let words = "посмотри\n\n[The user has sent a picture that you cannot see.]";
                    assert_eq!(last["content"], words);
                }
                _ => assert_eq!(last["content"], "посмотри"),
            }
        }
    }
}

#[tokio::test]
async fn errors_that_repeat_the_request_do_not_put_its_content_into_the_session() {
    // Some servers repeat all messages in an error, with pictures.
    let server = Model::start(|asked, _| match message_seen(asked) {
        None => looks_then_answers(asked),
        Some(message) => Say::error(400, &format!("Failed to parse: {}", message["content"])),
    })
    .await;
    for images in [true, false] {
        let shot = Shot::new(&format!("echo-{images}"), PNG);
        let live = open(&server, OpenAiOptions { images, ..options() }, &shot).await;
        let reply = say(&live).await;
        let reason = reply.reason.unwrap().message;
        assert!(reason.contains("Failed to parse"), "{reason}");
        let everything = format!("{reason} {}", live.look(obelus_kernel::session::Session::snapshot).await);
        for canary in ["CANARY", "heading", "iVBORw0KGgp"] {
            assert!(!everything.contains(canary), "{canary}: {reason}");
        }
    }
}
