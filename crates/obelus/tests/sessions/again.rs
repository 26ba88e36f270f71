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

const PLAYBOOK: &str = r#"
- when: 'any(.results[]; .tool == "pay") or .user == "thanks"'
  answer: {output: paid}
- answer: {calls: [{_tool: pay, to: Anna}]}
"#;

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
