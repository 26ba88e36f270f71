//! Agents with a playbook: which calls of its rules are made again, and what is told of people's answers.

use crate::support::{Folder, Ran, obelus};

const AGENT: &str = "
name: lib
language: [en, ru]
model: playbook:playbook.yaml
mode: full
limits: {requests: 4}
tools:
  find_book:
    {type: object, properties: {title: {type: string}, _outputPath: {const: †state.book}}, x-effect: read, x-trust: trusted}
  lend:
    {type: object, properties: {reader: {type: string}, _outputPath: {const: †state.loan}}, x-effect: create,
     x-risky: [reader]}
activities:
  find_book: {jq: '{found: true}'}
  lend: {jq: '{lent: true}'}
";

/// An agent with this playbook.
struct Library {
    folder: Folder,
    agent: String,
    store: String,
}

impl Library {
    fn new(name: &str, playbook: &str) -> Self {
        let folder = Folder::new(name);
        folder.file("lib/playbook.yaml", playbook);
        folder.file("lib/agent.yaml", AGENT);
        Self { agent: folder.path("lib"), store: folder.path("store"), folder }
    }

    fn say(&self, words: &str) -> Ran {
        obelus(&["run", &self.agent, "--say", words, "--session", "s", "--store", &self.store, "--lang", "en"])
    }

    fn does(&self, args: &[&str]) -> Ran {
        obelus(&[args, &["--store", &self.store, "--lang", "en"]].concat())
    }
}

#[test]
fn a_rule_reads_once_while_its_other_call_waits() {
    let calls = "[{user: lend, answer: {calls: [{_tool: find_book, title: Emma}, {_tool: lend, reader: Ann}]}}]";
    let library = Library::new("playbook-waits", calls);
    let ran = library.say("lend").exits(3).says("Waiting for a person");
    assert_eq!(ran.stderr.matches("▸ find book").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_run_that_reaches_a_limit_while_a_question_is_open_exits_with_3() {
    let calls =
        "[{answer: {calls: [{_tool: find_book, title: 'book {{ plan|length }}'}, {_tool: lend, reader: Ann}]}}]";
    let library = Library::new("playbook-limit", calls);
    library.say("lend").exits(3).says("A limit was reached").says("Waiting for a person");
}

#[test]
fn a_denied_call_is_asked_about_again_after_a_later_message() {
    let rules = "
- {when: 'any(.results[]; .tool == \"lend\")', output: Lent.}
- {when: 'any(.plan[]; .status == \"denied\")', output: Not lent.}
- {user: lend, answer: {calls: [{_tool: lend, reader: Ann}]}}
";
    let library = Library::new("playbook-denied", rules);
    library.say("lend").exits(3);
    library.does(&["deny", "s:q1"]).prints("Not lent.");
    library.say("lend it after all").exits(3).says("obelus approve s:q2");
    library.does(&["approve", "s:q2"]).exits(0).prints("Lent.");
    library.say("lend once more").exits(3);
}

const LEND: &str = "
- {when: 'any(.results[]; .tool == \"lend\")', output: Lent.}
- {user: lend, answer: {calls: [{_tool: lend, reader: Ann}]}}
";

#[test]
fn a_value_that_a_person_changed_is_not_told_as_proposed() {
    let library = Library::new("playbook-edited", LEND);
    library.say("lend").exits(3);
    library.does(&["answer", "s:q1", "edit", "--params", r#"{"reader": "Bob"}"#]).exits(0);
    library.does(&["sessions", "show", "s", "--why", "state.loan"]).exits(0).prints("reader: Bob  changed by a person");
    library.say("lend").exits(3);
    library.does(&["approve", "s:q2"]).exits(0);
    library.does(&["sessions", "show", "s", "--why", "state.loan"]).exits(0).prints("reader: Ann  as it was proposed");
}
