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

#[test]
fn a_call_that_is_ignored_because_it_was_denied_is_told() {
    let rules =
        "[{user: lend, answer: {say: I try., calls: [{_tool: lend, reader: Ann, requires_confirmation: false}]}}]";
    let library = Library::new("playbook-ignored", rules);
    library.say("lend").exits(3);
    library.does(&["deny", "s:q1"]);
    library.say("lend it after all").exits(0);
    for command in ["show", "log"] {
        let shown = library.does(&["sessions", command, "s"]).exits(0).prints("denied: it was denied before");
        assert_eq!(shown.stdout.matches("it was denied before").count(), 1, "{}", shown.stdout);
    }
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
    let edited = || {
        let why = library.does(&["sessions", "show", "s", "--why", "state.loan", "--json"]).exits(0).json();
        why["because"][0]["params"][0]["edited"].clone()
    };
    assert_eq!(edited(), true);
    library.say("lend").exits(3);
    library.does(&["approve", "s:q2"]).exits(0);
    assert_eq!(edited(), serde_json::Value::Null);
    library.does(&["sessions", "show", "s", "--why", "state.loan"]).exits(0).prints("reader: Ann  as it was proposed");
}

#[test]
fn a_question_about_a_removed_tool_tells_why_it_is_closed() {
    let library = Library::new("playbook-removed", LEND);
    library.say("lend").exits(3);
    let (before, _) = AGENT.split_once("  lend:\n").expect("the tool");
    library.folder.file("lib/agent.yaml", format!("{before}activities:\n  find_book: {{jq: '{{found: true}}'}}\n"));
    let closed = "closed without an answer: the agent's file no longer has this tool";
    for _ in 0..2 {
        let told = library.does(&["approve", "s:q1"]).exits(1).says(closed);
        assert!(!told.stderr.contains("by nobody"), "{}", told.stderr);
    }
    library.does(&["sessions", "log", "s"]).exits(0).prints(&format!("question q1: {closed}"));
}

#[test]
fn russian_answers_and_denials_are_told_in_russian() {
    let library = Library::new("playbook-russian", LEND);
    library.say("lend").exits(3);
    let russian = |args: &[&str]| obelus(&[args, &["--store", &library.store, "--lang", "ru"]].concat());
    russian(&["answer", "s:q1", "value", "5"])
        .exits(1)
        .says("на этот вопрос отвечают словом `approve`, `deny` или `edit`");
    russian(&["deny", "s:q1"]).says("отклонено: без объяснения");
    russian(&["sessions", "log", "s"]).exits(0).prints("отклонено: без объяснения");
    russian(&["approve", "s:q1"]).exits(1).says("на вопрос s:q1 уже ответили: отклонено");
}
