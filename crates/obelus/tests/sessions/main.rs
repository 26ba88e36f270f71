//! Saved sessions: show, export, import, fork, pause, prune, and answers from other processes.

mod again;
mod digests;
mod doubt;
mod edits;
mod ended;
mod imported;
mod only;
mod paused;
mod rules;
mod waiting;

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A folder with a plan of three calls that each write a mark; the second deletes, so a person is asked.
struct Harness {
    folder: PathBuf,
}

const PLAN: &str = r#"
context:
  - type: tool
    tool:
      mark: {type: object, properties: {id: {}, after: {}}, x-effect: create, x-trust: trusted, x-target: []}
      wipe: {type: object, properties: {id: {}, after: {}}, x-effect: delete, x-trust: trusted}
  - type: plan
    plan:
      - {_tool: mark, id: a, _outputPath: †state.a}
      - {_tool: wipe, id: b, after: †state.a, _outputPath: †state.b}
      - {_tool: mark, id: c, after: †state.b, _outputPath: †state.c}
activities:
  mark: {exec: [./mark.sh]}
  wipe: {exec: [./mark.sh]}
"#;

/// Waits while a file `wait-ID` exists, writes a mark, and returns its id.
const MARK: &str = "#!/bin/sh\nread -r line\nid=${line#*\\\"id\\\":\\\"}\nid=${id%%\\\"*}\n\
    echo \"began-$id\" >> \"${0%/*}/marks\"\nwhile [ -e \"${0%/*}/wait-$id\" ]; do sleep 0.02; done\n\
    echo \"$id\" >> \"${0%/*}/marks\"\necho \"\\\"$id\\\"\"\n";

impl Harness {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-sessions-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("plan.yaml"), PLAN).unwrap();
        fs::write(folder.join("mark.sh"), MARK).unwrap();
        fs::set_permissions(folder.join("mark.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder }
    }

    /// The folder of the store, for its owner only, as the program makes it.
    fn create_store(&self) {
        fs::DirBuilder::new().mode(0o700).create(self.folder.join("store")).unwrap();
    }

    fn obelus(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_obelus"));
        command.args(args).arg("--store").arg(self.folder.join("store")).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn does(&self, args: &[&str]) -> Output {
        self.obelus(args).output().unwrap()
    }

    /// The JSON printed by a command that must succeed.
    /// Stdout of a command that must succeed.
    fn succeeds(&self, args: &[&str]) -> String {
        let output = self.does(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", words(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.does(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", words(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn run(&self) -> Output {
        self.does(&["plan", "run", "plan.yaml", "--session", "s", "--json"])
    }

    fn begin(&self) -> Child {
        self.obelus(&["plan", "run", "plan.yaml", "--session", "s", "--json"]).spawn().unwrap()
    }

    fn marks(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("marks")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn done(&self) -> Vec<String> {
        self.marks().into_iter().filter(|mark| !mark.starts_with("began")).collect()
    }

    fn hold(&self, id: &str) -> PathBuf {
        let gate = self.folder.join(format!("wait-{id}"));
        fs::write(&gate, "").unwrap();
        gate
    }

    fn wait_for(&self, mark: &str) {
        eventually(mark, || self.marks().iter().any(|known| known == mark));
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1500 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not within fifteen seconds: {what}");
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn state(document: &Value) -> Value {
    let messages = document["context"].as_array().unwrap();
    messages.iter().filter(|message| message["type"] == "state").map(|message| message["data"].clone()).collect()
}

#[test]
fn a_question_is_answered_from_another_process_while_one_holds_the_store() {
    let harness = Harness::new("held");
    assert_eq!(harness.run().status.code(), Some(3));
    let gate = harness.hold("a");
    let without: Vec<&str> = PLAN.lines().filter(|line| !line.contains("_tool: wipe")).collect();
    fs::write(harness.folder.join("short.yaml"), without.join("\n").replace("†state.b,", "†state.a,")).unwrap();
    let other = harness.obelus(&["plan", "run", "short.yaml", "--session", "t", "--json"]).spawn().unwrap();
    harness.wait_for("began-a");
    eventually("the second run holds at its first call", || harness.marks().len() == 3);
    // Reading works while another process holds the store.
    assert_eq!(harness.json(&["sessions", "list", "--json"]).as_array().unwrap().len(), 2);
    assert_eq!(harness.json(&["inbox", "--json"])[0]["id"], "s:q1");
    let taken = harness.json(&["approve", "s:q1", "--json"]);
    assert_eq!(taken["holder"], other.id(), "{taken}");
    eventually("the holder goes on with the session that was answered", || harness.done().ends_with(&["c".to_owned()]));
    let twice = harness.does(&["approve", "s:q1"]);
    assert!(words(&twice).contains("approved already"), "{}", words(&twice));
    // Pause the session that the holder itself runs: the holder ends, and another process goes on.
    harness.does(&["sessions", "pause", "t"]);
    fs::remove_file(gate).unwrap();
    let shown = || harness.json(&["sessions", "show", "t", "--json"]);
    eventually("the call that ran ends", || state(&shown()) == json!([{"a": "a"}]));
    assert_eq!(shown()["paused"], "a person at the command line");
    assert_eq!(
        harness.marks().iter().filter(|mark| *mark == "began-c").count(),
        1,
        "nothing starts while it is paused"
    );
    let output = other.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["paused"], "a person at the command line");
    harness.json(&["sessions", "resume", "t", "--json"]);
    assert_eq!(harness.done(), ["a", "b", "c", "a", "c"]);
    assert!(!harness.folder.join("store/obelus.sock").exists());
}

#[test]
fn a_stopped_holder_is_named_and_not_waited_for_forever() {
    let harness = Harness::new("stopped");
    assert_eq!(harness.run().status.code(), Some(3));
    let gate = harness.hold("a");
    let mut other = harness.obelus(&["plan", "run", "plan.yaml", "--session", "t", "--json"]).spawn().unwrap();
    eventually("the second run holds at its first call", || harness.marks().len() == 3);
    let signal =
        |name: &str| assert!(Command::new("kill").args([name, &other.id().to_string()]).status().unwrap().success());
    signal("-STOP");
    let begun = std::time::Instant::now();
    let waiting = [&["approve", "s:q1"][..], &["sessions", "pause", "t"]];
    let waiting: Vec<Child> = waiting.iter().map(|args| harness.obelus(args).spawn().unwrap()).collect();
    for child in waiting {
        let output = child.wait_with_output().unwrap();
        let said = words(&output);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains(&format!("held by process {}", other.id())), "{said}");
        assert!(said.contains("waiting for the process") && said.contains("does not answer"), "{said}");
    }
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    signal("-CONT");
    fs::remove_file(gate).unwrap();
    other.wait().unwrap();
}

#[test]
fn a_silent_client_does_not_keep_the_holder_alive() {
    let harness = Harness::new("silent");
    let gate = harness.hold("a");
    let mut holder = harness.begin();
    harness.wait_for("began-a");
    let _silent = std::os::unix::net::UnixStream::connect(harness.folder.join("store/obelus.sock")).unwrap();
    fs::remove_file(gate).unwrap();
    let begun = std::time::Instant::now();
    eventually("the holder ends", || holder.try_wait().unwrap().is_some());
    assert!(begun.elapsed() < Duration::from_secs(8), "it waited for the silent client: {:?}", begun.elapsed());
}

#[test]
fn sessions_are_listed_with_status_and_agent_and_shown_with_their_history() {
    let harness = Harness::new("story");
    assert_eq!(harness.run().status.code(), Some(3));
    let listed = String::from_utf8(harness.does(&["sessions", "list", "--lang", "ru"]).stdout).unwrap();
    assert!(listed.contains("ждёт вас") && listed.contains("2 записи") && listed.contains("plan.yaml"), "{listed}");
    let row = harness.json(&["sessions", "list", "--json"])[0].clone();
    assert_eq!((&row["id"], &row["status"]), (&json!("s"), &json!("waiting")), "{row}");
    assert!(harness.does(&["approve", "s:q1"]).status.success());
    assert_eq!(harness.json(&["sessions", "list", "--json"])[0]["status"], "done");
    let told = |args: &[&str]| String::from_utf8(harness.does(args).stdout).unwrap();
    let shown = told(&["sessions", "show", "s", "--lang", "en"]);
    for line in ["done · mode full", "✓ mark", "? wipe (question q1)", "question q1: approved", "✓ wipe", "Memory"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let log = told(&["sessions", "log", "s", "--lang", "ru"]);
    assert!(log.contains("вопрос q1: разрешено (человек в командной строке)"), "{log}");
    assert!(log.lines().all(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit())), "{log}");
    // Earlier points of the session are shown as they were.
    let early = told(&["sessions", "show", "s", "--at", "2", "--lang", "en"]);
    assert!(!early.contains("approved") && !early.contains("✓ wipe"), "{early}");
}

#[test]
fn a_paused_session_starts_nothing_until_it_is_resumed() {
    let harness = Harness::new("pause");
    assert_eq!(harness.run().status.code(), Some(3));
    assert_eq!(harness.does(&["sessions", "pause", "s"]).status.code(), Some(0));
    let run = harness.run();
    assert_eq!(run.status.code(), Some(3));
    assert!(words(&run).contains("obelus sessions resume s"), "{}", words(&run));
    // The answer is accepted; the paused session acts on it later.
    let approved = harness.does(&["approve", "s:q1"]);
    assert_eq!(approved.status.code(), Some(0), "{}", words(&approved));
    assert!(words(&approved).starts_with("it is noted; the session was paused by"), "{}", words(&approved));
    assert!(harness.json(&["inbox", "--json"]).as_array().unwrap().is_empty());
    assert_eq!(harness.done(), ["a"]);
    let resumed = harness.does(&["sessions", "resume", "s", "--json"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", words(&resumed));
    assert_eq!(harness.done(), ["a", "b", "c"]);
    let again = harness.does(&["sessions", "resume", "s"]);
    assert!(words(&again).contains("not paused"), "{}", words(&again));
}

#[test]
fn dur_11_a_message_to_a_paused_session_is_stored_without_waiting() {
    let harness = Harness::new("paused-chat");
    let chat = |words: &str| {
        let mut command = harness.obelus(&["chat", "--agent", "notes", "--session", "n"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), words.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    assert_eq!(chat("first\n").status.code(), Some(0));
    assert_eq!(harness.does(&["sessions", "pause", "n"]).status.code(), Some(0));
    let noted = chat("second\n");
    assert_eq!(noted.status.code(), Some(3), "{}", words(&noted));
    assert!(String::from_utf8_lossy(&noted.stdout).contains("it is noted"), "{noted:?}");
    let resumed = harness.does(&["sessions", "resume", "n"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", words(&resumed));
    let log = String::from_utf8(harness.does(&["sessions", "log", "n"]).stdout).unwrap();
    assert!(log.contains("You: second") && log.matches("Writes a note down").count() == 2, "{log}");
}

#[test]
fn dur_14_a_session_whose_journal_has_lost_its_records_is_stopped() {
    let harness = Harness::new("lost");
    let say = |words: &str| harness.does(&["run", "notes", "--say", words, "--session", "n"]);
    assert_eq!(say("first").status.code(), Some(0));
    let connection = rusqlite::Connection::open(harness.folder.join("store/obelus.db")).unwrap();
    connection.execute("DELETE FROM record", []).unwrap();
    drop(connection);
    let stopped = say("second");
    assert_eq!(stopped.status.code(), Some(2), "{}", words(&stopped));
    assert!(words(&stopped).contains("session `n`"), "{}", words(&stopped));
}

#[test]
fn a_session_is_moved_to_another_store_and_continues_there() {
    let harness = Harness::new("carry");
    assert_eq!(harness.run().status.code(), Some(3));
    let file = harness.folder.join("s.jsonl");
    let file = file.to_str().unwrap();
    assert_eq!(harness.does(&["sessions", "export", "s", "--out", file]).status.code(), Some(0));
    assert_eq!(
        harness.does(&["sessions", "export", "s", "--out", file]).status.code(),
        Some(2),
        "nothing is written over"
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "what was said in a session is for its owner");
    let before = harness.json(&["sessions", "show", "s", "--json"]);
    assert!(words(&harness.does(&["sessions", "import", file])).contains("already"));
    assert_eq!(harness.does(&["sessions", "rm", "s", "--yes"]).status.code(), Some(0));
    assert_eq!(harness.does(&["sessions", "import", file, "--trusted"]).status.code(), Some(0));
    assert_eq!(harness.json(&["sessions", "show", "s", "--json"]), before);
    assert_eq!(harness.does(&["approve", "s:q1"]).status.code(), Some(0));
    assert_eq!(harness.done(), ["a", "b", "c"]);

    let text = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (name, broken, says) in [
        ("short", lines[..lines.len() - 1].join("\n"), "its first line says"),
        ("gap", [lines[0], lines[2]].join("\n"), "line 2: record 2 stands where record 1"),
        ("form", text.replace("{\"obelus_session\":1", "{\"obelus_session\":9"), "of form 9"),
        ("other", "{}\n".to_owned(), "line 1: it does not begin as an exported session"),
        ("torn", text[..text.len() - 9].to_owned(), "line "),
        ("many", format!("[{}{{}}]", "{},".repeat(5_000_000)), "line 1: it has more than 4000000 values"),
        ("long", " ".repeat((64 << 20) + 1), "line 1: the line is longer than 64 MiB"),
    ] {
        let path = harness.folder.join(name);
        fs::write(&path, broken).unwrap();
        let refused = harness.does(&["sessions", "import", path.to_str().unwrap(), "--as", name]);
        assert_eq!(refused.status.code(), Some(2), "{name}");
        assert!(words(&refused).contains(says), "{name}: {}", words(&refused));
    }
    assert_eq!(harness.json(&["sessions", "list", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn dur_12_a_diverging_session_returns_to_its_last_rest_and_its_journal_is_saved() {
    let harness = Harness::new("back");
    assert_eq!(harness.run().status.code(), Some(3));
    let path = |name: &str| harness.folder.join(name).to_str().unwrap().to_owned();
    let (file, saved) = (path("s.jsonl"), path("saved.jsonl"));
    let sound = harness.does(&["sessions", "back", "s", "--save", &saved]);
    assert!(words(&sound).contains("nothing to go back from"), "{}", words(&sound));
    assert!(!Path::new(&saved).exists());
    // A digest that another version would have written.
    assert_eq!(harness.does(&["sessions", "export", "s", "--out", &file]).status.code(), Some(0));
    let text = fs::read_to_string(&file).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.len() - 1;
    lines[last]["digest"] = "0123456789abcdef".into();
    // The session was paused after that.
    let pause = json!({"pause": {"by": "ann"}});
    lines.push(json!({"seq": last + 1, "at": lines[last]["at"], "input": pause}));
    lines[0]["records"] = (last + 1).into();
    let changed: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(&file, changed.join("\n") + "\n").unwrap();
    assert_eq!(harness.does(&["sessions", "rm", "s", "--yes"]).status.code(), Some(0));
    let refused = harness.does(&["sessions", "import", &file]);
    assert!(words(&refused).contains("was changed or damaged"), "it cannot be paused: {}", words(&refused));
    assert_eq!(harness.does(&["sessions", "import", &file, "--trusted"]).status.code(), Some(0));
    let stopped = harness.does(&["approve", "s:q1"]);
    assert_eq!(stopped.status.code(), Some(2));
    assert!(words(&stopped).contains("obelus sessions back s --save FILE"), "{}", words(&stopped));
    let back = harness.does(&["sessions", "back", "s", "--save", &saved]);
    assert_eq!(back.status.code(), Some(0), "{}", words(&back));
    assert_eq!(fs::read_to_string(&saved).unwrap().lines().count(), last + 2);
    assert_eq!(harness.json(&["sessions", "show", "s", "--json"])["paused"], "ann", "it stays paused");
    assert_eq!(harness.done(), ["a"], "nothing was done");
}

#[test]
fn a_fork_starts_where_the_original_was_and_repeats_nothing() {
    let harness = Harness::new("fork");
    assert_eq!(harness.run().status.code(), Some(3));
    assert_eq!(harness.does(&["approve", "s:q1"]).status.code(), Some(0));
    let original = harness.json(&["sessions", "show", "s", "--json"]);
    // At record 1 the first call is running; the original knows its outcome.
    assert_eq!(harness.does(&["sessions", "fork", "s", "early", "--at", "1"]).status.code(), Some(0));
    let early = harness.json(&["sessions", "show", "early", "--json"]);
    assert_eq!((state(&early), early["paused"].clone()), (json!([{"a": "a"}]), json!("the fork of `s` at 1")));
    assert_eq!(harness.does(&["sessions", "resume", "early"]).status.code(), Some(3));
    assert_eq!(harness.json(&["inbox", "--json"])[0]["id"], "early:q1");
    assert_eq!(harness.done(), ["a", "b", "c"], "nothing was done again");
    // A fork at the end of a turn is not paused.
    assert_eq!(harness.does(&["sessions", "fork", "s", "late"]).status.code(), Some(0));
    let mut late = harness.json(&["sessions", "show", "late", "--json"]);
    late["id"] = "s".into();
    assert_eq!(late, original);
    assert_eq!(harness.json(&["sessions", "show", "s", "--json"]), original);
    assert!(words(&harness.does(&["sessions", "fork", "s", "x", "--at", "99"])).contains("records, not 99"));
    assert!(words(&harness.does(&["sessions", "show", "s", "--at", "99"])).contains("records, not 99"));
    let at_two = harness.json(&["sessions", "show", "s", "--at", "2", "--json"]);
    assert_eq!(state(&at_two), json!([{"a": "a"}]));
}

#[test]
fn a_fork_asks_about_calls_without_a_known_end() {
    let harness = Harness::new("doubt");
    let gate = harness.hold("a");
    let mut run = harness.begin();
    harness.wait_for("began-a");
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(harness.does(&["sessions", "fork", "s", "f"]).status.code(), Some(0));
    fs::remove_file(gate).unwrap();
    harness.wait_for("a");
    let asked = harness.json(&["inbox", "--json"]);
    assert_eq!((asked[0]["session"].clone(), asked[0]["about"].clone()), (json!("f"), json!("in_doubt")));
    harness.does(&["answer", "f:q1", "happened", "--result", "\"a\""]);
    assert_eq!(harness.does(&["sessions", "resume", "f"]).status.code(), Some(3), "the second call needs a yes");
    assert_eq!(harness.done(), ["a"]);
}

#[test]
fn a_fork_knows_the_result_that_a_person_gave_in_the_original() {
    let harness = Harness::new("given");
    let gate = harness.hold("a");
    let mut run = harness.begin();
    harness.wait_for("began-a");
    run.kill().unwrap();
    run.wait().unwrap();
    harness.does(&["answer", "s:q1", "happened", "--result", "\"mine\""]);
    // At record 1 the call was running.
    assert_eq!(harness.does(&["sessions", "fork", "s", "f", "--at", "1"]).status.code(), Some(0));
    let forked = harness.json(&["sessions", "show", "f", "--json"]);
    assert_eq!(state(&forked), json!([{"a": "mine"}]));
    let open = harness.json(&["inbox", "--json"]);
    assert!(open.as_array().unwrap().iter().all(|question| question["about"] != "in_doubt"), "{open}");
    fs::remove_file(gate).unwrap();
}

#[test]
fn only_ended_sessions_are_pruned() {
    let harness = Harness::new("prune");
    assert_eq!(harness.run().status.code(), Some(3));
    harness.does(&["plan", "run", "plan.yaml", "--session", "t", "--mode", "canary"]);
    let names = |args: &[&str]| String::from_utf8(harness.does(args).stdout).unwrap();
    assert_eq!(names(&["sessions", "prune", "--days", "1"]), "");
    assert_eq!(names(&["sessions", "prune", "--days", "0", "--dry-run"]), "t\n");
    let shrunk = harness.does(&["sessions", "prune", "--days", "0", "--shrink"]);
    assert_eq!((shrunk.status.code(), &*shrunk.stdout), (Some(0), &b"t\n"[..]));
    assert!(words(&shrunk).contains("bytes smaller"), "{}", words(&shrunk));
    assert_eq!(harness.json(&["sessions", "list", "--json"])[0]["id"], "s");
}

/// All stores have the same two sessions, written by versions of that form; the last one has a third that is long
/// enough for a checkpoint. Their questions stay open for a hundred years, so that the machine's clock does not matter.
#[test]
fn stores_of_older_formats_open_and_their_sessions_continue() {
    for form in [1, 2, 3] {
        let harness = Harness::new(&format!("form-{form}"));
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        harness.create_store();
        fs::copy(fixtures.join(format!("store-form-{form}/obelus.db")), harness.folder.join("store/obelus.db"))
            .unwrap();
        let rows = harness.json(&["sessions", "list", "--json"]);
        let names: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["id"]).collect();
        assert!(names.ends_with(&[&json!("asks"), &json!("trip")]), "{names:?}");
        if form == 3 {
            let long = harness.json(&["sessions", "show", "long", "--json"]);
            assert_eq!(long["context"].as_array().unwrap().len(), 3 + 1030);
        }
        let trip = harness.json(&["sessions", "show", "trip", "--json"]);
        assert_eq!(
            state(&trip),
            json!([{"weather": {"sky": "rain", "t": 4}}, {"reminder": {"at": "noon", "text": "rain"}}])
        );
        assert_eq!(harness.json(&["inbox", "--json"])[0]["id"], "asks:q1");
        let answered = harness.does(&["deny", "asks:q1", "--json"]);
        assert_eq!(answered.status.code(), Some(0), "{}", words(&answered));
        let rows = harness.json(&["sessions", "list", "--json"]);
        let asks = rows.as_array().unwrap().iter().find(|row| row["id"] == "asks").unwrap();
        assert_eq!(asks["records"], 3);
    }
}

#[test]
fn a_store_of_a_later_format_is_refused_with_advice() {
    let harness = Harness::new("later");
    assert_eq!(harness.run().status.code(), Some(3));
    let connection = rusqlite::Connection::open(harness.folder.join("store/obelus.db")).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    for args in [&["plan", "run", "plan.yaml", "--session", "s"][..], &["sessions", "list"], &["inbox"]] {
        let refused = harness.does(args);
        assert_eq!(refused.status.code(), Some(2));
        assert!(
            words(&refused).contains("form 99") && words(&refused).contains("use a newer obelus"),
            "{}",
            words(&refused)
        );
    }
}
