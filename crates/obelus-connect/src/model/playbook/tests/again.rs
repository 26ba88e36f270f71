//! Calls that a rule makes again: in the same turn, and after a later message.

use obelus_kernel::Time;
use obelus_kernel::session::{CallEntry, CallReport, CallStatus, Prompt, TranscriptEvent};
use serde_json::json;

use super::solution;
use crate::model::testing::{asked, ended, happened, report};

#[test]
fn a_rule_does_not_repeat_ended_calls_while_another_waits() {
    let text = "[{answer: {say: I lend it., calls: [{_tool: find}, {_tool: lend}]}}]";
    let call = |tool: &str| json!({"_tool": tool});
    let tell = |prompt: &mut Prompt, place: (u32, u32), tool: &str, status: CallStatus| {
        let entry = CallEntry { place, ..ended(call(tool), status) };
        prompt.transcript.push(happened(1, TranscriptEvent::Call(Box::new(entry))));
        prompt.plan.push(CallReport { place, ..report(call(tool), status) });
    };
    let mut prompt = asked("lend");
    prompt.questions = vec![json!({"id": "q1"})];
    tell(&mut prompt, (0, 0), "find", CallStatus::Done);
    tell(&mut prompt, (0, 1), "lend", CallStatus::Waiting);
    let again = solution(text, &prompt);
    assert_eq!((again.say.as_deref(), again.calls), (Some("I lend it."), vec![call("lend").into()]));
    prompt.texts.push(("assistant".to_owned(), "I lend it.".to_owned()));
    let again = solution(text, &prompt);
    assert_eq!((again.say, again.calls), (None, vec![call("lend").into()]), "its text is said once");
    // The user's next message begins another turn, in which the call may be made again.
    prompt.texts.push(("user".to_owned(), "lend".to_owned()));
    prompt.transcript.push(happened(2, TranscriptEvent::User { text: "lend".to_owned(), time: Time(0) }));
    assert_eq!(solution(text, &prompt).calls, [call("find"), call("lend")]);
    tell(&mut prompt, (1, 0), "other", CallStatus::Done);
    assert_eq!(solution(text, &prompt).calls, [call("find"), call("lend")], "`find` ended in the turn before");
    tell(&mut prompt, (2, 0), "find", CallStatus::Done);
    assert_eq!(solution(text, &prompt).calls, [call("lend")]);
}

#[test]
fn results_of_an_earlier_turn_are_not_shown_while_a_call_of_its_plan_waits() {
    let text = r#"[{when: 'any(.results[]; .tool == "find")', output: old}, {when: '.plan == [] or any(.plan[]; .tool == "find")', output: bad}, {output: new}]"#;
    let mut prompt = asked("remind");
    let mut tell = |place: (u32, u32), tool: &str, status: CallStatus| {
        let entry = CallEntry { place, ..ended(json!({"_tool": tool}), status) };
        prompt.transcript.push(happened(1, TranscriptEvent::Call(Box::new(entry))));
        prompt.plan.push(CallReport { place, ..report(json!({"_tool": tool}), status) });
    };
    tell((0, 0), "find", CallStatus::Done);
    tell((0, 1), "send", CallStatus::Waiting);
    prompt.questions = vec![json!({"id": "q1"})];
    assert_eq!(solution(text, &prompt).output, "old");
    prompt.texts.push(("user".to_owned(), "show".to_owned()));
    prompt.transcript.push(happened(2, TranscriptEvent::User { text: "show".to_owned(), time: Time(0) }));
    assert_eq!(solution(text, &prompt).output, "new", "`send` still waits, `find` has ended before");
}

#[test]
fn a_call_that_was_denied_before_the_last_message_asks_for_a_decision() {
    let text = "[{user: '(\\d+)', answer: {calls: [{_tool: pay, sum: '{{ m[1]|int }}'}]}}]";
    let mut prompt = asked("pay 5");
    let mut tell = |text: &str, status: CallStatus| {
        let call = ended(json!({"_tool": "pay", "sum": 5, "_outputPath": "†state.paid"}), status);
        prompt.transcript.push(happened(1, TranscriptEvent::Call(Box::new(call))));
        prompt.transcript.push(happened(2, TranscriptEvent::User { text: text.to_owned(), time: Time(0) }));
        prompt.texts.push(("user".to_owned(), text.to_owned()));
        prompt.clone()
    };
    let again = tell("pay 5, please", CallStatus::Denied);
    assert_eq!(solution(text, &again).calls, [json!({"_tool": "pay", "sum": 5, "requires_confirmation": true})]);
    let other = Prompt { texts: vec![("user".to_owned(), "pay 6".to_owned())], ..again.clone() };
    assert_eq!(solution(text, &other).calls, [json!({"_tool": "pay", "sum": 6})]);
    let raw = "[{raw: '{\"calls\": [{\"_tool\": \"pay\", \"sum\": 5}], \"output\": null}'}]";
    assert_eq!(solution(raw, &again).calls, [json!({"_tool": "pay", "sum": 5})], "raw text stays as it is");
    let done = tell("pay 5 once more", CallStatus::Done);
    assert_eq!(solution(text, &done).calls, [json!({"_tool": "pay", "sum": 5})]);
}
