//! How a session continues: with its own file and input, with the present rules of its agent, and after a kill.

use std::fs;

use crate::{Harness, PLAN, words};

/// A session continues only with what it was made of (PLAN-12, POL-6).
#[test]
fn another_plan_input_or_agent_under_a_session_is_refused() {
    let harness = Harness::new("other");
    let write = |name: &str, text: &str| fs::write(harness.folder.join(name), text).unwrap();
    let short = PLAN.replace("      - {_tool: wipe, id: b, after: †state.a, _outputPath: †state.b}\n", "");
    let short = short.replace("†state.b,", "†state.a,");
    write("short.yaml", &short);
    write("same.yaml", &short.replace("activities:", "# a comment\nactivities:"));
    write("other.yaml", &short.replace("id: c", "id: d"));
    write("schema.yaml", &format!("schema: {{type: string}}\n{short}"));
    write("words.yaml", &short.replace("context:", "context:\n  - {role: user, content: do it}"));
    fs::create_dir_all(harness.folder.join("agents/helper")).unwrap();
    write("agents/helper/agent.yaml", "name: helper\nmodel: 'playbook:answers.yaml'\n");
    write("agents/helper/answers.yaml", "- output: hello\n");
    let run = |args: &[&str]| harness.does(&[args, &["--session", "s"]].concat());
    assert_eq!(run(&["plan", "run", "short.yaml"]).status.code(), Some(0));
    assert_eq!(harness.done(), ["a", "c"]);
    for (args, says) in [
        (&["plan", "run", "other.yaml"][..], "it was made with another plan"),
        (&["plan", "run", "schema.yaml"], "it was made with another schema"),
        (&["plan", "run", "words.yaml"], "another context: message 0 differs"),
        (&["run", "short.yaml", "--input", "{\"town\": \"Riga\"}"], "it was made with another input"),
        (&["run", "helper", "--say", "hi"], "it was made of the file short.yaml"),
    ] {
        let refused = run(args);
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{args:?}: {}", words(&refused));
        for part in [says, "the session `s`", "--session", "obelus sessions rm s"] {
            assert!(words(&refused).contains(part), "{args:?}: {}", words(&refused));
        }
    }
    // The same plan again prints its result, and runs nothing.
    let again = run(&["plan", "run", "same.yaml"]);
    assert_eq!(again.status.code(), Some(0), "{}", words(&again));
    assert!(String::from_utf8_lossy(&again.stdout).contains("✓"));
    assert_eq!(harness.done(), ["a", "c"]);
    // The session of an agent does not run a plan from a file, nor with another input.
    let talk = harness.does(&["run", "helper", "--say", "hi", "--session", "talk"]);
    assert_eq!(talk.status.code(), Some(0), "{}", words(&talk));
    let refused = harness.does(&["run", "helper", "--say", "hi", "--input", "{\"a\": 1}", "--session", "talk"]);
    assert!(words(&refused).contains("it was made with another input"), "{}", words(&refused));
    let refused = harness.does(&["plan", "run", "short.yaml", "--session", "talk"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(words(&refused).contains("it was made of the agent `helper`"), "{}", words(&refused));
    assert_eq!(harness.done(), ["a", "c"]);
}

/// POL-9: the present rules of the agent's file apply to earlier sessions, and people are told of changes.
#[test]
fn a_stored_session_continues_under_the_current_rules_of_its_agent() {
    let harness = Harness::new("present");
    let agent = |more: &str| {
        let text = format!(
            "name: helper\nmodel: playbook:answers.yaml\nmode: full\ntools:\n  \
             mark: {{type: object, properties: {{id: {{}}}}, x-effect: create, x-trust: trusted, x-target: []}}\n  \
             wipe: {{type: object, properties: {{id: {{}}}}, x-effect: delete, x-trust: trusted}}\n\
             activities:\n  mark: {{exec: [../../mark.sh]}}\n  wipe: {{exec: [../../mark.sh]}}\n{more}"
        );
        fs::create_dir_all(harness.folder.join("agents/helper")).unwrap();
        fs::write(harness.folder.join("agents/helper/agent.yaml"), text).unwrap();
    };
    let answer = |word: &str, id: &str| {
        let call = format!("{{_tool: {word}, id: {id}, _outputPath: †state.{id}}}");
        format!("- {{user: {word}, once: true, answer: {{calls: [{call}], output: null}}}}\n")
    };
    let answers = format!("{}{}- output: ok\n", answer("wipe", "b"), answer("mark", "a"));
    agent("");
    fs::write(harness.folder.join("agents/helper/answers.yaml"), answers).unwrap();
    let say = |id: &str, text: &str| harness.does(&["run", "helper", "--say", text, "--session", id]);
    let asked = say("s", "wipe");
    assert_eq!(asked.status.code(), Some(3), "{}", words(&asked));
    assert_eq!(say("t", "mark").status.code(), Some(0));
    assert_eq!(harness.done(), ["a"]);
    agent("policy: {refuse: [wipe, mark]}\n");
    let question = harness.json(&["inbox", "--json"])[0]["id"].as_str().unwrap().to_owned();
    let approved = harness.does(&["approve", &question]);
    assert!(words(&approved).contains("the agent's file has changed"), "{}", words(&approved));
    let refused = say("t", "mark");
    assert!(words(&refused).contains("its present rules hold: the policy"), "{}", words(&refused));
    assert_eq!(harness.done(), ["a"], "what is refused now does not run on an old yes");
    let again = say("t", "mark");
    assert!(!words(&again).contains("has changed"), "it is told once: {}", words(&again));
    let log = String::from_utf8(harness.does(&["sessions", "log", "t", "--json"]).stdout).unwrap();
    assert!(log.contains("\"rules\""), "{log}");
    // A mode that a person chose remains until the file has another one.
    agent("");
    harness.does(&["run", "helper", "--say", "hello", "--session", "m", "--mode", "shadow"]);
    let has_mode = |mode: &str| {
        let shown = harness.does(&["sessions", "show", "m"]);
        let shown = format!("{}{}", String::from_utf8_lossy(&shown.stdout), words(&shown));
        assert!(shown.contains(&format!("mode {mode}")), "{shown}");
    };
    say("m", "hello");
    has_mode("shadow");
    let file = harness.folder.join("agents/helper/agent.yaml");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("mode: full", "mode: canary")).unwrap();
    let told = say("m", "hello");
    assert!(words(&told).contains("the mode full → canary"), "{}", words(&told));
    has_mode("canary");
    // A file with errors stops the session, because its rules are unknown.
    agent("");
    assert_eq!(say("u", "wipe").status.code(), Some(3));
    let question = harness.json(&["inbox", "--json"])[0]["id"].as_str().unwrap().to_owned();
    agent("policy: {refuse: [wpie]}\n");
    let stopped = harness.does(&["approve", &question]);
    assert_eq!(stopped.status.code(), Some(2), "{}", words(&stopped));
    assert!(words(&stopped).contains("did you mean `wipe`?"), "{}", words(&stopped));
    assert_eq!(harness.done(), ["a"]);
}

/// Writes the agent `helper`, which marks what it is told to if these parts of its file have the tool `mark`.
fn helper(harness: &Harness, parts: &str) {
    let folder = harness.folder.join("agents/helper");
    let text = format!("name: helper\nmodel: playbook:answers.yaml\nmode: full\n{parts}");
    let call = "{_tool: mark, id: a, _outputPath: †state.a}";
    let answers = format!("- {{user: mark, once: true, answer: {{calls: [{call}], output: null}}}}\n- output: ok\n");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("agent.yaml"), text).unwrap();
    fs::write(folder.join("answers.yaml"), answers).unwrap();
}

/// The tool `mark`.
const MARK: &str =
    "tools:\n  mark: {type: object, properties: {id: {}}, x-effect: create, x-trust: trusted, x-target: []}\n";

/// A session `s` that used a tool which its agent got after the session had begun.
pub(super) fn session_with_later_tool(name: &str) -> Harness {
    let harness = Harness::new(name);
    helper(&harness, "");
    harness.succeeds(&["run", "helper", "--say", "hello", "--session", "s"]);
    helper(&harness, &format!("{MARK}activities:\n  mark: {{exec: [../../mark.sh]}}\n"));
    harness.succeeds(&["run", "helper", "--say", "mark", "--session", "s"]);
    assert_eq!(harness.done(), ["a"]);
    harness
}

/// POL-9: tools that the agent got later are bound to today's activities, for those who look at the past too.
#[test]
fn the_log_of_a_session_has_the_calls_of_tools_that_its_agent_got_later() {
    let harness = session_with_later_tool("later");
    assert!(harness.succeeds(&["sessions", "log", "s"]).contains("mark"));
    harness.succeeds(&["sessions", "fork", "s", "copy"]);
    assert!(harness.succeeds(&["sessions", "log", "copy"]).contains("mark"));
}

/// DUR-12: the journal names the activities, so the past does not depend on what the file binds now.
#[test]
fn a_session_goes_on_after_its_agent_lost_a_tool_that_it_got_later() {
    let harness = session_with_later_tool("lost");
    helper(&harness, "");
    assert!(harness.succeeds(&["sessions", "log", "s"]).contains("mark"));
    harness.succeeds(&["run", "helper", "--say", "hello", "--session", "s"]);
    harness.succeeds(&["run", "helper", "--say", "hello", "--session", "s"]);
    let log = harness.succeeds(&["sessions", "log", "s", "--json"]);
    assert_eq!(log.matches("\"input\":{\"rules\"").count(), 2, "each change is told once: {log}");
    assert_eq!(harness.done(), ["a"]);
}

/// Reading a session needs no activities, so a mistake in today's file does not hide the past.
#[test]
fn the_log_of_a_session_is_shown_while_the_binding_of_a_later_tool_is_wrong() {
    let harness = session_with_later_tool("wrong-binding");
    helper(&harness, &format!("{MARK}activities:\n  mark: {{exce: [../../mark.sh]}}\n"));
    assert!(harness.succeeds(&["sessions", "log", "s"]).contains("mark"));
    assert_eq!(harness.does(&["run", "helper", "--say", "hello", "--session", "s"]).status.code(), Some(2));
}

/// DUR-12: a tool that the model carried out is bound later; the calls before that stay the model's.
#[test]
fn the_log_of_a_session_stays_when_a_tool_of_the_model_gets_an_activity() {
    let harness = Harness::new("bound-later");
    helper(&harness, MARK);
    harness.succeeds(&["run", "helper", "--say", "mark", "--session", "s"]);
    let log = harness.succeeds(&["sessions", "log", "s", "--json"]);
    assert!(harness.done().is_empty() && log.contains("mark"), "the model carried it out: {log}");
    for binding in ["activities:\n  mark: {exec: [../../mark.sh]}\n", ""] {
        helper(&harness, &format!("{MARK}{binding}"));
        assert!(harness.succeeds(&["sessions", "log", "s", "--json"]).starts_with(log.trim_end()));
        harness.succeeds(&["run", "helper", "--say", "mark", "--session", "s"]);
        harness.succeeds(&["sessions", "log", "s"]);
    }
    assert_eq!(harness.done(), ["a"], "only the bound tool ran");
}

/// DUR-12: a tool that `--activities` bound is bound by the agent's file later.
#[test]
fn a_session_goes_on_when_its_agent_binds_a_tool_that_another_file_had_bound() {
    let harness = Harness::new("bound-twice");
    helper(&harness, MARK);
    fs::write(harness.folder.join("bound.yaml"), "mark: {exec: [./mark.sh]}\n").unwrap();
    harness.succeeds(&["run", "helper", "--say", "mark", "--session", "s", "--activities", "bound.yaml"]);
    assert_eq!(harness.done(), ["a"]);
    helper(&harness, &format!("{MARK}activities:\n  mark: {{exec: [../../mark.sh]}}\n"));
    assert!(harness.succeeds(&["sessions", "log", "s"]).contains("mark"));
    harness.succeeds(&["run", "helper", "--say", "hello", "--session", "s"]);
}

/// The call is detached, so the turn ends without it; the question stays open.
#[test]
fn a_plan_with_an_effect_in_doubt_is_not_a_success() {
    let harness = Harness::new("in-doubt");
    let plan = PLAN.lines().filter(|line| !line.contains("id: b") && !line.contains("id: c")).collect::<Vec<_>>();
    let plan = plan.join("\n").replace(", _outputPath: †state.a", "");
    fs::write(harness.folder.join("plan.yaml"), plan).unwrap();
    let gate = harness.hold("a");
    let mut run = harness.begin();
    harness.wait_for("began-a");
    run.kill().unwrap();
    run.wait().unwrap();
    fs::remove_file(gate).unwrap();
    for _ in 0..2 {
        let run = harness.does(&["plan", "run", "plan.yaml", "--session", "s"]);
        assert_eq!(run.status.code(), Some(3), "{}", words(&run));
        assert!(words(&run).contains("not known whether this happened"), "{}", words(&run));
    }
}

/// SQLite leaves a rollback journal beside the file, which a read-only process cannot roll back.
#[test]
fn a_store_can_be_read_after_its_creation_was_killed() {
    let harness = Harness::new("created");
    let store = harness.folder.join("store");
    harness.create_store();
    let connection = rusqlite::Connection::open(store.join("obelus.db")).unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 1; CREATE TABLE half (made); BEGIN; INSERT INTO half VALUES (1);")
        .unwrap();
    connection.cache_flush().unwrap();
    // The files as a process killed now would leave them.
    for name in ["obelus.db", "obelus.db-journal"] {
        fs::copy(store.join(name), harness.folder.join(name)).unwrap();
    }
    drop(connection);
    for name in ["obelus.db", "obelus.db-journal"] {
        fs::copy(harness.folder.join(name), store.join(name)).unwrap();
    }
    let look = |args: &[&str]| {
        let looked = harness.does(args);
        assert_eq!(looked.status.code(), Some(0), "{args:?}: {}", words(&looked));
    };
    look(&["sessions", "list"]);
    look(&["inbox"]);
}

#[test]
fn the_commands_that_answer_name_the_store_that_was_named() {
    let harness = Harness::new("named-store");
    let asked = harness.does(&["plan", "run", "plan.yaml", "--session", "s"]);
    assert_eq!(asked.status.code(), Some(3), "{}", words(&asked));
    assert!(words(&asked).contains("obelus approve s:q1 --store "), "{}", words(&asked));
}
