//! A message while an earlier question is open is answered on stdout, as always.

use std::fs;

use super::{Harness, words};

const REQUEST: &str = r#"
model: playbook:playbook.yaml
context:
  - {type: text, role: user, text: wipe it}
  - type: tool
    tool:
      wipe: {type: object, properties: {_outputPath: {const: †state.wiped}}, x-effect: delete, x-trust: trusted}
activities: {wipe: {exec: [echo, '1']}}
"#;

const PLAYBOOK: &str = "
- user: hello
  answer: {output: Good day.}
- answer: {say: I am about to wipe it., calls: [{_tool: wipe}]}
";

#[test]
fn the_answer_is_on_stdout_while_an_earlier_question_is_open() {
    let harness = Harness::new("waiting");
    fs::write(harness.folder.join("request.yaml"), REQUEST).unwrap();
    fs::write(harness.folder.join("playbook.yaml"), PLAYBOOK).unwrap();
    let run = ["run", "request.yaml", "--session", "s"];
    let asked = harness.does(&run);
    assert_eq!((asked.status.code(), String::from_utf8_lossy(&asked.stdout).as_ref()), (Some(3), ""));
    assert!(words(&asked).contains("I am about to wipe it."), "{}", words(&asked));
    let answered = harness.does(&[&run[..], &["--say", "hello"]].concat());
    let stdout = String::from_utf8_lossy(&answered.stdout).into_owned();
    assert_eq!((answered.status.code(), stdout.as_str()), (Some(3), "Good day.\n"), "{}", words(&answered));
    assert!(!words(&answered).contains("Good day."), "{}", words(&answered));
    assert!(words(&answered).contains("obelus approve s:q1"), "{}", words(&answered));
}

#[test]
fn a_message_that_does_not_count_as_an_answer_says_why_and_a_plain_yes_answers() {
    let harness = Harness::new("unanswered");
    fs::write(harness.folder.join("request.yaml"), REQUEST).unwrap();
    fs::write(harness.folder.join("playbook.yaml"), PLAYBOOK).unwrap();
    let say =
        |session: &str, text: &str| words(&harness.does(&["run", "request.yaml", "--session", session, "--say", text]));
    harness.does(&["run", "request.yaml", "--session", "s"]);
    let left =
        "This message did not answer the question q1: only a plain “yes” right after it answers such a question.";
    assert!(say("s", "well, go ahead").contains(left), "it is no word of consent");
    assert!(!say("s", "hello").contains("did not answer"), "it is not meant as an answer");
    assert!(say("s", "yes").contains(left), "other messages came between");
    harness.does(&["run", "request.yaml", "--session", "t"]);
    assert!(say("t", "yes, go ahead").contains("✓"), "it is nothing but a yes");
}

#[test]
fn the_inbox_names_all_commands_that_answer_a_question() {
    let harness = Harness::new("commands");
    fs::write(harness.folder.join("request.yaml"), REQUEST).unwrap();
    fs::write(harness.folder.join("playbook.yaml"), PLAYBOOK).unwrap();
    harness.does(&["run", "request.yaml", "--session", "s"]);
    let store = harness.folder.join("store");
    let id = format!("s:q1 --store {}", store.display());
    for (lang, reason) in [("en", "REASON"), ("ru", "ПРИЧИНА")] {
        let inbox = harness.succeeds(&["inbox", "--lang", lang]);
        for command in [
            format!("obelus approve {id} · "),
            format!("obelus deny {id} --reason {reason} · "),
            format!("obelus answer {id} edit --params JSON\n"),
        ] {
            assert!(inbox.contains(&command), "{command}: {inbox}");
        }
    }
}
