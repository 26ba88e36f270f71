//! Tools of MCP servers: the notes example, elicitation, and pinned tools.

use std::fs;
use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::support::{Folder, Ran, at_a_terminal, command, end, obelus, program, root, run, start, wait_for};

const EXAMPLE: &str = "examples/mcp-notes";

/// A folder with notes, and a store; `None` without Python for the server.
struct Notes(Folder);

impl Notes {
    fn new(name: &str) -> Option<Self> {
        if program("python3", &["--version"]).output().is_err() {
            eprintln!("skipped: there is no `python3` to run the server of the example");
            return None;
        }
        let notes = Self(Folder::new(name));
        notes.0.file("notes.json", r#"[{"number": 1, "text": "buy milk"}]"#);
        Some(notes)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.env("NOTES_FILE", self.0.path("notes.json")).env("OBELUS_HOME", self.0.path("store"));
        command
    }

    fn does(&self, args: &[&str]) -> Ran {
        run(&mut self.command(args), b"")
    }

    fn says(&self, words: &str) -> Ran {
        self.does(&["run", EXAMPLE, "--say", words])
    }

    /// Starts a turn in the session `s`.
    fn begins(&self, words: &str) -> Begun {
        self.starts(&["run", EXAMPLE, "--session", "s", "--say", words])
    }

    fn starts(&self, args: &[&str]) -> Begun {
        Begun(Some(start(&mut self.command(args))))
    }

    /// The open questions, once a matching one exists.
    fn asked(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut found = Value::Null;
        wait_for(what, || {
            let ran = self.does(&["inbox", "--json"]);
            // The store cannot be read while another process creates it.
            if ran.stderr.contains("the store is in use") {
                return false;
            }
            let inbox = ran.exits(0).json();
            found = inbox.as_array().into_iter().flatten().find(|asked| fits(asked)).cloned().unwrap_or_default();
            !found.is_null()
        });
        found
    }

    fn kept(&self) -> Value {
        let text = fs::read_to_string(self.0.path("notes.json")).expect("the notes");
        serde_json::from_str(&text).expect("they are JSON")
    }

    /// A copy of the example with a changed file.
    fn altered(&self, file: &str, from: &str, to: &str) -> String {
        for name in ["agent.yaml", "mcp.lock", "playbook.yaml", "server.py"] {
            let mut text = fs::read_to_string(root().join(EXAMPLE).join(name)).expect("the example");
            if name == file {
                assert!(text.contains(from), "{file} has no `{from}`");
                text = text.replacen(from, to, 1);
            }
            self.0.file(&format!("agent/{name}"), text);
        }
        self.0.path("agent")
    }
}

/// A running command. It is killed when the test ends.
struct Begun(Option<Child>);

impl Begun {
    fn ends(mut self) -> Ran {
        end(self.0.take().expect("it was started"))
    }

    fn dies(mut self) {
        let mut child = self.0.take().expect("it was started");
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn is_of_call(asked: &Value) -> bool {
    asked["asked_by"] == "notes.sign"
}

#[test]
fn the_example_writes_shows_and_removes_notes_and_asks_before_removal() {
    let Some(notes) = Notes::new("mcp-example") else { return };
    assert_eq!(notes.says("Note: call Ada").exits(0).stdout, "Note 2 is written down.\n");
    notes.says("Show the notes").exits(0).prints("1. buy milk").prints("2. call Ada");
    let waits = notes.does(&["run", EXAMPLE, "--say", "Remove note 1", "--session", "r"]).exits(3);
    waits.says("it deletes").says("Remove a note");
    assert_eq!(notes.kept().as_array().map(Vec::len), Some(2));
    notes.does(&["approve", "r:q1"]).exits(0).prints("Note 1 is gone.");
    assert_eq!(notes.kept(), json!([{"number": 2, "text": "call Ada"}]));
    notes.says("Remove note 7").exits(3);
}

#[test]
fn an_elicitation_of_a_server_is_answered_from_another_process() {
    let Some(notes) = Notes::new("mcp-asks") else { return };
    let child = notes.begins("Sign note 1");
    let asked = notes.asked("the server asks", is_of_call);
    assert_eq!((&asked["id"], &asked["about"]), (&json!("s:q1"), &json!("input")));
    let words = asked["description"].as_str().expect("words");
    assert!(words.contains("notes.sign asks, in its own words:"), "{words}");
    assert!(words.contains("  │ notes: Who signs note 1, “buy milk”?") && words.contains("name: string"), "{words}");

    notes.does(&["answer", "s:q1", "value", r#"{"name": ""}"#]).says("shorter than 1 character");
    notes.does(&["answer", "s:q1", "approve"]).says("answer with a value, or deny it");
    notes.does(&["answer", "s:q1", "value", "Ada"]).exits(0).says("goes on with it");
    let ran = child.ends().exits(0).says("│ notes: Who signs note 1").says("obelus answer s:q1 value ANSWER");
    assert_eq!(ran.stdout, "Note 1 is signed by Ada.\n");
    assert_eq!(notes.kept()[0]["signed"], "Ada");
    notes.does(&["answer", "s:q1", "value", "Eve"]).says("answered already");
}

#[test]
fn a_denial_reaches_the_server_and_without_a_person_elicitations_are_declined() {
    let Some(notes) = Notes::new("mcp-no") else { return };
    let child = notes.begins("Sign note 1");
    notes.asked("the server asks", is_of_call);
    notes.does(&["deny", "s:q1", "--reason", "not today"]).exits(0);
    child.ends().exits(0).prints("That did not work: nobody signed it");
    // Without a terminal and without a session nobody can answer.
    notes.says("Sign note 1").exits(0).prints("That did not work: nobody signed it");
    assert_eq!(notes.kept()[0].get("signed"), None);
}

#[test]
fn at_a_terminal_the_person_who_started_it_is_asked() {
    let Some(notes) = Notes::new("mcp-terminal") else { return };
    // The terminal starts its own shell, so the path of the notes is passed in a file.
    let file = notes.0.path("notes.json");
    let agent = notes.altered("agent.yaml", "    timeout: 20\n", &format!("    env: {{NOTES_FILE: {file}}}\n"));
    let typed = [("Esc later", "a"), ("Answer", "Ada\r")];
    let Some(ran) = at_a_terminal(&["run", &agent, "--say", "Sign note 1"], &typed) else { return };
    let ran = ran.exits(0).prints("│ notes: Who signs note 1");
    ran.prints("Note 1 is signed by Ada.");
}

#[test]
fn after_a_crash_the_old_question_is_closed_and_the_call_is_in_doubt() {
    let Some(notes) = Notes::new("mcp-crash") else { return };
    let child = notes.begins("Sign note 1");
    notes.asked("the server asks", is_of_call);
    child.dies();
    notes.does(&["run", EXAMPLE, "--session", "s", "--say", "Sign note 1"]).exits(3).says("interrupted");
    let asked = notes.asked("whether it happened", |asked| asked["about"] == "in_doubt");
    notes.does(&["answer", "s:q1", "value", "Ada"]).says("closed without an answer");
    // The call runs again and asks again.
    let id = asked["id"].as_str().expect("an id");
    let child = notes.starts(&["answer", id, "did-not"]);
    let asked = notes.asked("the server asks again", is_of_call);
    notes.does(&["answer", asked["id"].as_str().expect("an id"), "value", "Ada"]).exits(0);
    child.ends().exits(0).prints("Note 1 is signed by Ada.");
}

#[test]
fn a_session_keeps_its_tools_and_changes_are_reported() {
    let Some(notes) = Notes::new("mcp-change") else { return };
    let agent = notes.altered("", "", "");
    let say = |words: &str| notes.does(&["run", &agent, "--session", "s", "--say", words]);
    let ran = say("Note: one").exits(0).prints("Note 2 is written down.");
    assert!(!ran.stderr.contains("changed"), "{}", ran.stderr);
    notes.altered("server.py", "Writes a note down, and gives it a number.", "Sends a note to everybody.");
    let ran = say("Note: two").exits(0).says("the tool `notes.add` has changed since this session began");
    ran.prints("is not what this session was given, and is not called");
    assert_eq!(notes.kept().as_array().map(Vec::len), Some(2), "it was not called");
    say("Show the notes").exits(0).prints("2. one");
    notes.does(&["agents", "pin", &agent, "--yes"]).exits(0).prints("notes.add  changed");
    let fresh = notes.does(&["run", &agent, "--session", "t", "--say", "Note: two"]);
    fresh.exits(0).prints("Note 3 is written down.");
}

#[test]
fn an_invalid_section_is_reported_with_its_place() {
    let folder = Folder::new("mcp-nonsense");
    let agent = |section: &str| folder.file("a/agent.yaml", format!("name: a\nmode: full\n{section}\n"));
    for (section, place, words) in [
        ("mcp:\n  notes:\n    command: [python3]\n    timout: 10", ":6:", "did you mean `timeout`?"),
        ("mcp:\n  notes: {}", ":4:", "`command` or `url`"),
        ("mcp:\n  notes:\n    command: [python3]\n    url: http://example.test/mcp", ":", "exclude each other"),
        ("mcp:\n  no spaces: {command: [x]}", ":4:", "no spaces"),
        ("mcp: [notes]", ":3:", ""),
    ] {
        let file = agent(section);
        let ran = obelus(&["agents", "check", &file]).exits(1).prints(&format!("{file}{place}"));
        assert!(ran.stdout.contains(words), "{section}: {}", ran.stdout);
    }
    // `run` reports the same error before anything starts.
    let file = agent("mcp:\n  notes:\n    command: [python3]\n    timout: 10");
    obelus(&["run", &file, "--say", "hi"]).exits(2).says("did you mean `timeout`?");
}

#[test]
fn servers_of_a_file_replace_those_of_the_agent_and_one_that_does_not_start_is_named() {
    let Some(notes) = Notes::new("mcp-file") else { return };
    let server = root().join(EXAMPLE).join("server.py");
    let section = json!({"mcp": {"notes": {"command": ["python3", server], "offer": ["list"]}}});
    let file = notes.0.file("servers.json", section.to_string());
    let with = |words: &str| notes.does(&["run", EXAMPLE, "--mcp", &file, "--say", words, "--mode", "full"]);
    notes.does(&["agents", "pin", EXAMPLE, "--mcp", &file, "--yes"]).exits(0).prints("notes.list  new");
    with("Show the notes").exits(0).prints("1. buy milk");
    with("Note: one").exits(0).prints("That did not work");
    // They also replace the servers of a continued session, which keeps its tools.
    notes.does(&["run", EXAMPLE, "--session", "s", "--say", "Show the notes"]).exits(0);
    let ran = notes.does(&["run", EXAMPLE, "--session", "s", "--mcp", &file, "--say", "Show the notes"]).exits(0);
    ran.says("the tool `notes.add` is not offered any more").prints("1. buy milk");

    let broken = notes.0.file("broken.yaml", "notes: {command: [python3, -c, 'raise SystemExit(\"no disk\")']}\n");
    let ran = notes.does(&["run", EXAMPLE, "--mcp", &broken, "--say", "hi"]).exits(2);
    ran.says("MCP server `notes`").says("no disk");
    let wrong = notes.0.file("wrong.yaml", "notes: {commando: [x]}\n");
    notes.does(&["run", EXAMPLE, "--mcp", &wrong, "--say", "hi"]).exits(2).says("did you mean `command`?");
    notes.does(&["chat", "--agent", EXAMPLE, "--mcp", &broken]).exits(2).says("MCP server `notes`");
}

#[test]
fn agents_show_and_prompt_list_the_servers_and_their_tools() {
    let Some(notes) = Notes::new("mcp-show") else { return };
    let shown = notes.does(&["agents", "show", EXAMPLE, "--json"]).exits(0).json();
    assert_eq!(shown["mcp"], json!(["notes"]));
    notes.does(&["agents", "prompt", EXAMPLE, "--say", "hi"]).exits(0).prints("notes.sign");
}

#[test]
fn pol_8_annotations_of_a_server_are_untrusted_until_a_person_pins_them() {
    let Some(notes) = Notes::new("mcp-pin") else { return };
    notes.does(&["agents", "pin", EXAMPLE, "--check"]).exits(0).says("all 4 tools are pinned");
    let agent = notes.altered("", "", "");
    fs::remove_file(notes.0.path("agent/mcp.lock")).unwrap();
    let prompt = || notes.does(&["agents", "prompt", &agent, "--say", "hi"]).exits(0).stdout;
    let marked = r#""unchecked_words_of":"notes""#;
    assert!(prompt().contains(marked));
    notes.does(&["run", &agent, "--session", "a", "--say", "Note: one"]).exits(3).says("agents pin");
    let asked = notes.does(&["inbox", "--json"]).exits(0).json();
    assert!(asked[0]["reasons"].to_string().contains("notes"), "what it proposes was steered by the server: {asked}");
    notes.does(&["agents", "pin", &agent]).exits(2).prints("notes.add  new").says("add --yes");
    notes.does(&["agents", "pin", &agent, "--yes"]).exits(0).says("pinned");
    assert!(!prompt().contains(marked));
    notes.does(&["run", &agent, "--session", "b", "--say", "Note: one"]).exits(0);

    notes.altered("server.py", "Writes a note down, and gives it a number.", "Sends a note to everybody.");
    let ran = notes.does(&["agents", "pin", &agent, "--check"]).exits(1).says("1 of 4 tools");
    ran.prints("notes.add  changed").prints("Sends a note to everybody.").prints("notes.list  pinned");
    assert!(prompt().contains(marked));
    notes.0.file("agent/mcp.lock", "[]");
    notes.does(&["run", &agent, "--say", "hi"]).exits(2).says("mcp.lock").says("pin the tools again");
}
