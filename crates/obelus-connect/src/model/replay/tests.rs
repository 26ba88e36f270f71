//! Recordings, line by line. `tests/replay.rs` replays a whole conversation.

use std::path::Path;

use obelus_kernel::session::{Answer, Prompt, Solution};
use serde_json::{Value, json};

use super::{Exchange, Replay, RequestKey, digest};
use crate::model::testing::{asked, bare, model_call};

fn recorded(prompt: &Prompt, words: &str) -> String {
    let solution = Solution { say: Some(words.to_owned()), ..Solution::default() };
    let answer = Answer::Solution { solution, tokens: 7 };
    serde_json::to_string(&Exchange { request: RequestKey::of(prompt), answer }).unwrap()
}

fn replay(lines: &[String]) -> Replay {
    Replay::parse(Path::new("r.jsonl"), &lines.join("\n")).unwrap()
}

fn said(replay: &Replay, prompt: &Prompt) -> String {
    match replay.answer(prompt) {
        Answer::Solution { solution, tokens: 7 } => solution.say.unwrap(),
        Answer::Failed { code, message } if code == "replay" => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_recorded_line_identifies_the_request_without_its_prompt() {
    let mut prompt = asked("привет");
    prompt.instructions = vec!["private".to_owned()];
    let line: Value = serde_json::from_str(&recorded(&prompt, "a")).unwrap();
    let expected = json!({
        "prompt_digest": digest(&prompt),
        "purpose": "solve",
        "user": "привет",
        "answer": {"solution": {"solution": {"say": "a", "calls": [], "output": null}, "tokens": 7}},
    });
    assert_eq!(line, expected);
    let line: Value = serde_json::from_str(&recorded(&model_call(json!({"_tool": "t"})), "a")).unwrap();
    assert_eq!((&line["purpose"], &line["tool"], &line["user"]), (&json!("think"), &json!("t"), &json!(null)));
}

#[test]
fn the_digest_of_a_prompt_does_not_depend_on_times() {
    let question = |time: &str, id: &str| json!({"id": id, "requested_at": time, "expires_at": time});
    let prompt = |time, id| Prompt { questions: vec![question(time, id)], ..bare() };
    assert_eq!(digest(&prompt("1", "q1")), digest(&prompt("2", "q1")));
    assert_ne!(digest(&prompt("1", "q1")), digest(&prompt("1", "q2")));
    // Recordings outlive versions: if the digest changes, existing ones match by the user's messages only.
    assert_eq!(digest(&bare()), "63145622acee07293548e80593686b09f9dd3d01ab8a194e2e2b6a7142a61003");
}

#[test]
fn repeated_requests_get_their_recorded_answers_in_order_and_each_once() {
    let (a, b) = (asked("a"), asked("b"));
    let replay = replay(&[recorded(&a, "1"), recorded(&b, "2"), String::new(), recorded(&a, "3")]);
    assert_eq!(said(&replay, &b), "2");
    assert_eq!(said(&replay, &a), "1");
    assert_eq!(said(&replay, &a), "3");
    let message = said(&replay, &a);
    assert!(message.starts_with("r.jsonl has no recording left for «a» (solve, prompt "), "{message}");
}

#[test]
fn a_changed_request_gets_the_next_answer_to_the_same_message() {
    let replay = replay(&[
        recorded(&asked("a"), "1"),
        recorded(&model_call(json!({"_tool": "t", "n": 1})), "2"),
        recorded(&asked("b"), "3"),
    ]);
    let changed = |prompt: Prompt| Prompt { mode: "shadow", ..prompt };
    assert_eq!(said(&replay, &changed(asked("b"))), "3");
    assert!(said(&replay, &model_call(json!({"_tool": "u"}))).contains("a call of `u` (think"));
    assert_eq!(said(&replay, &model_call(json!({"_tool": "t", "n": 2}))), "2");
    assert!(said(&replay, &changed(bare())).contains("a request without words"));
    assert_eq!(said(&replay, &changed(asked("a"))), "1");
}

#[test]
fn an_invalid_line_of_a_recording_is_named() {
    let text = format!("{}\n\n{{}}\n", recorded(&bare(), "1"));
    let error = Replay::parse(Path::new("r.jsonl"), &text).err().unwrap().to_string();
    assert!(error.starts_with("r.jsonl:3: not an exchange of a recording: missing field"), "{error}");
}

#[test]
fn fuzz_a_recording_is_refused_or_replayed() {
    crate::fuzz::fuzz("recording", |input| {
        let Ok(replay) = Replay::parse(Path::new("r.jsonl"), &crate::fuzz::lossy(input)) else { return false };
        let _ = said(&replay, &asked("a"));
        true
    });
}
