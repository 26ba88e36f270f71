//! Sessions whose process was killed: effects in doubt, and how to continue.

use std::fs;

use serde_json::json;

use crate::{Harness, PLAN, words};

#[test]
fn ask_8_an_effect_in_doubt_is_in_the_inbox_before_the_session_runs() {
    let harness = Harness::new("doubt");
    let gate = harness.hold("a");
    let mut child = harness.begin();
    harness.wait_for("began-a");
    assert_eq!(harness.json(&["inbox", "--json"]), json!([]), "a call that is at work is not in doubt");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(gate).unwrap();
    let waiting = harness.json(&["inbox", "--json"]);
    assert_eq!((&waiting[0]["id"], &waiting[0]["about"]), (&json!("s:q1"), &json!("in_doubt")), "{waiting}");
    let told = String::from_utf8(harness.does(&["inbox", "--lang", "ru"]).stdout).unwrap();
    assert!(told.contains("Неизвестно, произошло ли это") && told.contains("obelus answer s:q1 --store"), "{told}");
    let shown = String::from_utf8(harness.does(&["sessions", "show", "s", "--lang", "en"]).stdout).unwrap();
    assert!(shown.contains("to answer: obelus answer s:q1 --store"), "{shown}");
    assert!(shown.contains("it may still be running, so check before you answer"), "{shown}");
    // Reading the inbox changes nothing; the answer reaches the question that opening the session will ask.
    assert_eq!(harness.json(&["inbox", "--json"])[0]["id"], "s:q1");
    let answered = harness.does(&["answer", "s:q1", "happened", "--result", "\"a\""]);
    assert_eq!(answered.status.code(), Some(3), "{}", words(&answered));
    assert!(!words(&answered).contains("q1"), "it is answered, not asked: {}", words(&answered));
    assert!(words(&answered).contains("✓ mark"), "the step is shown: {}", words(&answered));
    let log = String::from_utf8(harness.does(&["sessions", "log", "s", "--lang", "en"]).stdout).unwrap();
    assert!(log.contains(": it is not known whether it happened (question q1)"), "no request for an approval: {log}");
    let (_, after) = log.split_once("question q1: it happened").expect("the answer");
    assert!(after.contains("✓"), "the step is listed: {log}");
    let begun = harness.marks().into_iter().filter(|mark| mark == "began-a").count();
    assert_eq!(begun, 1, "nothing is repeated");
    assert_eq!(harness.json(&["inbox", "--json"])[0]["about"], "call");
}

#[test]
fn a_session_with_an_effect_in_doubt_is_removed_only_on_purpose() {
    let harness = Harness::new("doubt-kept");
    let gate = harness.hold("a");
    let mut child = harness.begin();
    harness.wait_for("began-a");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(gate).unwrap();
    let refused = harness.does(&["sessions", "rm", "s", "--lang", "en"]);
    assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
    assert!(words(&refused).contains("s:q1"), "{}", words(&refused));
    assert_eq!(harness.does(&["sessions", "prune", "--days", "0"]).status.code(), Some(0));
    assert_eq!(harness.json(&["inbox", "--json"])[0]["id"], "s:q1", "it stays");
    assert_eq!(harness.does(&["sessions", "rm", "s", "--yes"]).status.code(), Some(0));
    assert_eq!(harness.json(&["inbox", "--json"]), json!([]));
}

#[test]
fn a_session_that_was_killed_while_it_read_says_how_to_continue() {
    let harness = Harness::new("under-way");
    fs::write(harness.folder.join("plan.yaml"), PLAN.replacen("x-effect: create", "x-effect: read", 1)).unwrap();
    let gate = harness.hold("a");
    let mut child = harness.begin();
    harness.wait_for("began-a");
    let said = "to continue: obelus plan run plan.yaml --session s --store ";
    let list = || words(&harness.does(&["sessions", "list", "--lang", "en"]));
    assert!(!list().contains("to continue"), "it is at work: {}", list());
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(gate).unwrap();
    assert!(list().contains(&format!("`s` was interrupted, and nobody works on it now; {said}")), "{}", list());
    let shown = words(&harness.does(&["sessions", "show", "s", "--lang", "en"]));
    assert!(shown.contains(said), "{shown}");
    assert_eq!(harness.run().status.code(), Some(3), "the second step asks");
    assert!(!list().contains("to continue"), "{}", list());
}

#[test]
fn an_effect_whose_result_later_steps_need_is_not_settled_without_it() {
    let harness = Harness::new("no-result");
    let gate = harness.hold("a");
    let mut child = harness.begin();
    harness.wait_for("began-a");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(gate).unwrap();
    let inbox = String::from_utf8(harness.does(&["inbox", "--lang", "en"]).stdout).unwrap();
    assert!(inbox.contains("if it happened, later steps need its result: «wipe»"), "{inbox}");
    let answer = |more: &[&str]| harness.does(&[&["answer", "s:q1", "happened", "--lang", "en"], more].concat());
    let refused = answer(&[]);
    assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
    assert!(words(&refused).contains("later steps need its result: «wipe». Add --result JSON"), "{}", words(&refused));
    assert_eq!(harness.json(&["inbox", "--json"])[0]["view"]["result_read_by"], json!(["wipe"]), "nothing is decided");
    // What is not known is reported, and the dependent step did not run.
    let answered = answer(&["--result", "null"]);
    assert_eq!(answered.status.code(), Some(1), "{}", words(&answered));
    let said = "wipe (id: b, after: †state.a): not run: the result of the step that it needs was not given";
    assert!(words(&answered).contains(said), "{}", words(&answered));
}

#[test]
fn commands_that_do_not_continue_an_interrupted_session_name_the_one_that_does() {
    let harness = Harness::new("way-on");
    let files = [
        (
            "p.yaml",
            "rules:\n  - when: .requests == 1\n    answer: {calls: [{_tool: look, id: a, _outputPath: †state.a}]}\notherwise: {answer: {say: seen}}\n",
        ),
        (
            "agent.yaml",
            "name: reader\nlanguage: en\nmode: full\nmodel: playbook:p.yaml\n\
             tools: {look: {type: object, properties: {id: {}}, x-effect: read, x-trust: trusted}}\n\
             activities: {look: {exec: [./mark.sh]}}\n",
        ),
    ];
    files.iter().for_each(|(name, text)| fs::write(harness.folder.join(name), text).unwrap());
    let gate = harness.hold("a");
    let mut child = harness.obelus(&["run", "agent.yaml", "--session", "r", "--say", "look"]).spawn().unwrap();
    harness.wait_for("began-a");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(gate).unwrap();
    for command in [&["run", "agent.yaml", "--session", "r"][..], &["sessions", "resume", "r"]] {
        let output = harness.does(command);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", words(&output));
        let said = "`r` was interrupted, and nobody works on it now; to continue: obelus chat --session r --store ";
        assert!(words(&output).contains(said), "{command:?}: {}", words(&output));
    }
    let inbox = words(&harness.does(&["inbox"]));
    assert!(inbox.contains("to continue: obelus chat --session r --store "), "{inbox}");
    let chat = harness.does(&["chat", "--session", "r"]);
    assert!(String::from_utf8_lossy(&chat.stdout).contains("seen"), "{}", words(&chat));
}

#[test]
fn a_second_approval_after_an_interruption_says_how_the_session_continues() {
    let harness = Harness::new("approved-and-killed");
    let call = "{_tool: look, id: a, requires_confirmation: true, _outputPath: †state.a}";
    let files = [
        (
            "p.yaml",
            format!(
                "rules:\n  - when: .requests == 1\n    answer: {{calls: [{call}]}}\notherwise: {{answer: {{say: seen}}}}\n"
            ),
        ),
        (
            "agent.yaml",
            "name: reader\nlanguage: en\nmode: full\nmodel: playbook:p.yaml\n\
             tools: {look: {type: object, properties: {id: {}}, x-effect: read, x-trust: trusted}}\n\
             activities: {look: {exec: [./mark.sh]}}\n"
                .to_owned(),
        ),
    ];
    files.iter().for_each(|(name, text)| fs::write(harness.folder.join(name), text).unwrap());
    let gate = harness.hold("a");
    assert_eq!(harness.does(&["run", "agent.yaml", "--session", "r", "--say", "look"]).status.code(), Some(3));
    let mut child = harness.obelus(&["approve", "r:q1"]).spawn().unwrap();
    harness.wait_for("began-a");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(gate).unwrap();
    let again = words(&harness.does(&["approve", "r:q1"]));
    assert!(again.contains("approved already; `r` was interrupted"), "{again}");
    assert!(again.contains("to continue: obelus chat --session r --store "), "{again}");
}
