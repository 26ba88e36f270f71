//! A command that is given again shows how things stand, and does nothing twice.

use std::fs;

use super::{Harness, words};

const REQUEST: &str = r#"
model: playbook:playbook.yaml
context:
  - {type: text, role: user, text: pay Anna}
  - type: tool
    tool:
      pay:
        type: object
        properties: {to: {type: string}, _outputPath: {const: †state.paid}}
        x-effect: create
        x-target: []
        x-trust: trusted
activities: {pay: {exec: [sh, -c, 'cat >> paid; echo >> paid; echo 1']}}
"#;

/// As the request, but it asks before it pays.
const AGENT: &str = r#"
name: cashier
language: [en, ru]
model: playbook:playbook.yaml
mode: full
tools:
  pay:
    type: object
    properties: {to: {type: string}, _outputPath: {const: †state.paid}}
    x-effect: create
    x-risky: [to]
    x-trust: trusted
activities: {pay: {jq: '1'}}
"#;

const PLAYBOOK: &str = r#"
- when: 'any(.results[]; .tool == "pay") or .user == "thanks"'
  answer: {output: paid}
- answer: {calls: [{_tool: pay, to: Anna}]}
"#;

#[test]
fn a_message_that_is_repeated_while_its_question_is_open_is_not_added_again() {
    let harness = Harness::new("again-said");
    fs::write(harness.folder.join("agent.yaml"), AGENT).unwrap();
    fs::write(harness.folder.join("playbook.yaml"), PLAYBOOK).unwrap();
    let say = |text: &str, lang: &str, code: i32| {
        let output = harness.does(&["run", "agent.yaml", "--session", "s", "--say", text, "--lang", lang]);
        assert_eq!(output.status.code(), Some(code), "{text}: {}", words(&output));
        words(&output)
    };
    let said = |text: &str| {
        let log = String::from_utf8(harness.does(&["sessions", "log", "s", "--lang", "en"]).stdout).unwrap();
        log.matches(&format!("You: {text}\n")).count()
    };
    say("pay Anna", "en", 3);
    for (lang, told) in [("en", "It was not added again."), ("ru", "Второй раз оно не добавлено.")]
    {
        let again = say("pay Anna", lang, 3);
        assert!(again.contains(told) && again.contains("obelus approve s:q1 --store "), "{again}");
    }
    assert_eq!(said("pay Anna"), 1);
    // Other words are a message, and so are the same words when nothing is open.
    say("thanks", "en", 3);
    assert_eq!(said("thanks"), 1);
    assert_eq!(harness.does(&["approve", "s:q1"]).status.code(), Some(0));
    let later = say("thanks", "en", 0);
    assert!(!later.contains("not added"), "{later}");
    assert_eq!(said("thanks"), 2);
}

#[test]
fn a_request_begins_once_also_after_a_later_message() {
    let harness = Harness::new("again");
    fs::write(harness.folder.join("request.yaml"), REQUEST).unwrap();
    fs::write(harness.folder.join("playbook.yaml"), PLAYBOOK).unwrap();
    let run = ["run", "request.yaml", "--session", "s"];
    for args in [&run[..], &[&run[..], &["--say", "thanks"]].concat(), &run, &run] {
        let output = harness.does(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", words(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("paid"), "{args:?}: {}", words(&output));
    }
    assert_eq!(fs::read_to_string(harness.folder.join("paid")).unwrap().lines().count(), 1);
}
