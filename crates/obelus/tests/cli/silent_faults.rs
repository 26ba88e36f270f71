//! Mistakes of users and failures of the system are reported, and not passed over.

use std::process::Command;

use crate::support::{Folder, obelus};

fn agent(folder: &Folder, more: &str) -> String {
    folder.file("p.yaml", "- {user: go, when: .requests == 1, answer: {calls: [{_tool: send}]}}\n- output: done\n");
    let tool = "{type: object, properties: {to: {type: string}}, x-effect: create, x-trust: trusted, x-target: []}";
    let rest = format!("mode: full\ntools: {{send: {tool}}}\nactivities: {{send: {{jq: '1'}}}}\n");
    folder.file("agent.yaml", format!("name: x\nmodel: playbook:p.yaml\n{more}\n{rest}"))
}

#[test]
fn an_unknown_time_zone_is_refused_with_its_place_and_the_nearest() {
    for (zone, hint) in [("Europe/Moskva", "did you mean `Europe/Moscow`?"), ("'+03:00'", "such as"), ("''", "such as")]
    {
        let folder = Folder::new("time-zone");
        let agent = agent(&folder, &format!("time_zone: {zone}"));
        for command in [&["agents", "check", &agent][..], &["run", &agent, "--say", "go"]] {
            let said = obelus(command);
            let text = format!("{}{}", said.stdout, said.stderr);
            assert!(text.contains("agent.yaml:3") && text.contains("there is no time zone"), "{zone}: {text}");
            assert!(text.contains(hint), "{zone}: {text}");
        }
    }
}

#[test]
fn an_unknown_language_and_labels_of_unknown_parameters_are_noted() {
    let folder = Folder::new("odd-language");
    let agent = agent(&folder, "language: xx");
    let text = std::fs::read_to_string(&agent).unwrap();
    std::fs::write(&agent, text.replace("x-target: []", "x-target: [], x-labels: {too: whom}")).unwrap();
    let said = obelus(&["agents", "check", &agent]);
    let text = format!("{}{}", said.stdout, said.stderr);
    assert!(text.contains("`xx`: what the program says to people is in `ru` and `en`"), "{text}");
    assert!(text.contains("the tool has no parameter `too`; did you mean `to`?"), "{text}");
}

#[test]
fn a_misspelt_name_of_an_input_is_refused() {
    let folder = Folder::new("input-names");
    let plan = folder.file(
        "plan.yaml",
        "context:
  - {type: input, data: {number: '17'}}
  - {type: tool, tool: {echo: {type: object, properties: {a: {}, b: {}}, x-effect: read}}}
  - {type: plan, plan: [{_tool: echo, a: †input.number, b: '†input.more || †input.number', _outputPath: †state.a}]}
activities: {echo: {jq: .call.a}}
",
    );
    let run = |input: &str| obelus(&["plan", "run", &plan, "--input", input]);
    run(r#"{"nubmer": "18"}"#).exits(2).says("the input has no `nubmer`; did you mean `number`?");
    run(r#"{"number": "18", "more": "x"}"#).exits(0).prints("18");
}

#[test]
fn a_store_that_cannot_be_read_is_not_an_empty_store() {
    let folder = Folder::new("unreadable-store");
    let file = folder.file("file", "x");
    obelus(&["inbox", "--store", &file]).exits(2);
    obelus(&["sessions", "list", "--store", &file]).exits(2);
    obelus(&["inbox", "--store", &folder.path("none")]).exits(0);
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure_except_to_a_closed_pipe() {
    let run = |command: &str| {
        let program = env!("CARGO_BIN_EXE_obelus");
        Command::new("bash").args(["-c", &command.replace("obelus", program)]).output().unwrap()
    };
    let full = run("obelus agents list > /dev/full");
    assert_eq!(full.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&full.stderr).contains("No space left"), "{full:?}");
    let closed = run("obelus agents list | true; exit ${PIPESTATUS[0]}");
    assert_eq!((closed.status.code(), closed.stderr.len()), (Some(0), 0), "{closed:?}");
}

#[test]
fn a_fork_names_the_effects_that_it_may_repeat_and_a_changed_export_is_called_changed() {
    let folder = Folder::new("fork-effects");
    let (agent, store) = (agent(&folder, ""), folder.path("store"));
    let at = |words: &[&str]| obelus(&[words, &["--store", &store]].concat());
    at(&["run", &agent, "--say", "go", "--session", "s"]).exits(0);
    at(&["sessions", "fork", "s", "early", "--at", "1"]).exits(0).says("send × 1");
    let late = at(&["sessions", "fork", "s", "late"]).exits(0);
    assert!(!late.stderr.contains("send"), "{}", late.stderr);
    let paused = at(&["sessions", "show", "early", "--lang", "ru"]).exits(0).stdout;
    assert!(!paused.contains("the fork of"), "{paused}");
    let export = at(&["sessions", "export", "s"]).exits(0).stdout;
    // The last one is the message; words of consent come before.
    let (before, after) = export.rsplit_once("\"go\"").unwrap();
    let changed = folder.file("changed.jsonl", format!("{before}\"no\"{after}"));
    let refused = at(&["sessions", "import", &changed, "--as", "copy"]).exits(2).stderr;
    assert!(refused.contains("was changed or damaged") && !refused.contains("sessions back"), "{refused}");
}

#[test]
fn limits_out_of_range_are_refused_with_the_range() {
    let folder = Folder::new("limits");
    for (limits, words) in [("calls: -1", "a whole number from 0 to 4294967295"), ("requests: 0", "it is at least 1")] {
        let agent = agent(&folder, &format!("limits: {{{limits}}}"));
        let said = obelus(&["agents", "check", &agent]);
        let text = format!("{}{}", said.stdout, said.stderr);
        assert!(text.contains(words), "{limits}: {text}");
    }
}

#[test]
fn a_new_russian_agent_has_whole_descriptions() {
    let folder = Folder::new("new-ru");
    obelus(&["new", "desk", "--lang", "ru", "--in", &folder.path("agents")]).exits(0);
    let text = std::fs::read_to_string(folder.path("agents/desk/agent.yaml")).unwrap();
    assert!(text.contains("{description: 'цена, которую узнали последней'}"), "{text}");
}
