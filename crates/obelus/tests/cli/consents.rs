//! The result of an answer is shown at once, and a standing consent covers similar calls.

use serde_json::json;

use crate::support::{Folder, obelus};

/// An agent whose tool `change` needs a person.
const AGENT: &str = concat!(
    include_str!("../fixtures/desk.yaml"),
    "    x-labels: {sum: {en: amount, ru: сумма}}
    x-entity: {name: deal, id: id}
    properties: {id: {type: integer}, sum: {type: integer}}
  drop: {type: object, x-effect: delete, x-trust: trusted, properties: {id: {type: integer}}}
activities:
  change: {jq: '{title: \"Windows\"}'}
  drop: {jq: 'true'}
"
);

const PLAYBOOK: &str = "- user: '^set (?<id>\\d+)'
  answer:
    say: May I?
    calls: [{_tool: change, id: '{{ m.id | int }}', sum: 5, _outputPath: †state.changed}]
    output: The amount is set.
- user: '^drop (?<id>\\d+)'
  answer: {say: May I?, calls: [{_tool: drop, id: '{{ m.id | int }}', _outputPath: †state.dropped}], output: Gone.}
";

/// A folder with the agent, and the path of its file.
fn desk(name: &str) -> (Folder, String, String) {
    let folder = Folder::new(name);
    folder.file("p.yaml", PLAYBOOK);
    let agent = folder.file("agent.yaml", AGENT);
    let store = folder.path("store");
    (folder, agent, store)
}

#[test]
fn after_an_answer_the_result_of_the_step_is_shown_and_the_turn_continues() {
    let (_folder, agent, store) = desk("answered");
    obelus(&["run", &agent, "--say", "set 1", "--session", "s", "--store", &store]).exits(3);
    let answered = obelus(&["answer", "s:q1", "approve", "--store", &store]).exits(0);
    let answered = answered.says("▸ Change a deal").says("✓ Change a deal: Windows");
    answered.prints("The amount is set.");
}

#[test]
fn several_questions_are_approved_at_once_and_the_others_are_one_line_each() {
    let (_folder, agent, store) = desk("several");
    for words in ["set 1", "set 2", "set 3"] {
        obelus(&["run", &agent, "--say", words, "--session", "s", "--store", &store]).exits(3);
    }
    let first = obelus(&["approve", "s:q1", "--store", &store]).exits(3);
    first.says("? s:q2 Change a deal · 2").says("? s:q3 Change a deal · 3").says("These questions still wait; in full");
    obelus(&["approve", "s:q2", "s:q9", "--store", &store]).exits(2).says("q9");
    obelus(&["inbox", "--store", &store]).exits(0).prints("s:q2").prints("s:q3");
    obelus(&["approve", "s:q2", "s:q3", "--store", &store]).exits(0).says("✓ Change a deal: Windows");
}

#[test]
fn a_consent_is_shown_before_it_counts_and_can_be_revoked() {
    let (_folder, agent, store) = desk("consent");
    let say = |words: &str| obelus(&["run", &agent, "--say", words, "--session", "s", "--store", &store]);
    say("set 1").exits(3);
    let also = ["answer", "s:q1", "approve", "--also", "tool", "--store", &store];
    let shown = obelus(&also)
        .exits(3)
        .prints("“Change a deal” without asking, if it sets nothing but: id, amount; for any record");
    obelus(&["inbox", "--store", &store]).exits(0).prints("s:q1");
    let (_, code) = shown.stderr.trim_end().rsplit_once(' ').expect("a code");
    obelus(&[&also[..], &["--agreed", "00000000"]].concat()).exits(3);
    obelus(&[&also[..], &["--agreed", code]].concat()).exits(0).prints("The amount is set.");
    // The next call of this kind runs without a question, and names the consent.
    say("set 2").exits(0).says("▸ Change a deal · by your consent c1").says("✓ Change a deal");
    let consents = ["sessions", "consents", "s", "--store", &store];
    let listed = obelus(&[&consents[..], &["--json"]].concat()).exits(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["uses"], &listed[0]["holds"]), (&json!("c1"), &json!(1), &json!(true)));
    obelus(&["sessions", "show", "s", "--why", "†state.changed", "--store", &store])
        .exits(0)
        .prints("by your consent c1");
    let call = _folder.file("call.json", json!({"_tool": "change", "id": 3, "sum": 9}).to_string());
    let explain = ["policy", "explain", &agent, &call, "--store", &store];
    obelus(&explain).exits(0).prints("confirm");
    obelus(&[&explain[..], &["--session", "s"]].concat()).exits(0).prints("allow").prints("consent c1");
    obelus(&[&consents[..], &["--revoke", "c1"]].concat()).exits(0);
    obelus(&consents).exits(0).prints("taken back");
    say("set 3").exits(3);
}

#[test]
fn a_consent_does_not_hold_in_a_fork_or_an_import() {
    let (folder, agent, store) = desk("copied");
    let say = |name: &str, words: &str| obelus(&["run", &agent, "--say", words, "--session", name, "--store", &store]);
    let at = |args: &[&str]| obelus(&[args, &["--store", &store]].concat());
    say("s", "set 1").exits(3);
    let also = ["answer", "s:q1", "approve", "--also", "tool", "--store", &store];
    let shown = obelus(&also).exits(3);
    let (_, code) = shown.stderr.trim_end().rsplit_once(' ').expect("a code");
    obelus(&[&also[..], &["--agreed", code]].concat()).exits(0);
    let file = folder.path("s.jsonl");
    at(&["sessions", "export", "s", "--out", &file]).exits(0);
    at(&["sessions", "fork", "s", "fork"]).exits(0);
    at(&["sessions", "import", &file, "--as", "copy"]).exits(0);
    at(&["sessions", "resume", "copy"]).exits(0);
    for name in ["fork", "copy"] {
        say(name, "set 2").exits(3);
        at(&["sessions", "consents", name]).exits(0).prints("taken back");
    }
    say("s", "set 3").exits(0).says("by your consent c1");
}

#[test]
fn a_question_about_what_was_done_before_in_the_session_says_so() {
    let (_folder, agent, store) = desk("again");
    let say = |words: &str| obelus(&["run", &agent, "--say", words, "--session", "s", "--store", &store]).exits(3);
    let at = |args: &[&str]| obelus(&[args, &["--store", &store]].concat()).exits(0);
    let note = "the same was done before in this session, at 2";
    let first = say("set 1");
    assert!(!first.stderr.contains(note), "{}", first.stderr);
    at(&["approve", "s:q1"]);
    say("set 1 again").says(note);
    at(&["inbox"]).prints(note);
    at(&["inbox", "--lang", "ru"]).prints("то же самое уже сделано в этой сессии: 2");
    let view = &at(&["inbox", "--json"]).json()[0]["view"];
    assert!(view["calls"][0]["done_before"].as_str().is_some_and(|text| text.starts_with(note)), "{view}");
    at(&["deny", "s:q2", "--reason", "no"]);
    say("set 2");
    assert!(!at(&["inbox"]).stdout.contains(note), "another deal");
}

#[test]
fn a_deletion_gets_no_standing_consent() {
    let (_folder, agent, store) = desk("never");
    obelus(&["run", &agent, "--say", "drop 1", "--session", "s", "--store", &store]).exits(3);
    let refused = obelus(&["answer", "s:q1", "approve", "--also", "tool", "--store", &store]).exits(2);
    refused.says("deletions and configuration are asked about every time");
    obelus(&["inbox", "--store", &store]).exits(0).prints("s:q1");
}
